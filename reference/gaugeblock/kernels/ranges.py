"""Kernels that count: out[k] = first + k * step, and from `half` on last - (top - k) * step.

    kernel(out_ptr, base, first, step, last, half, top, n)     float32 and float64, computed in float64
    kernel(out_ptr, base, first, step, n)                      int64

`base` is the address of the first element: a part that a thread writes knows by it how far it has come.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType, float32, int64
from .code import NAME, Code
from .compiler import Builtin, compiler
from .isa import Level, current_level
from .pointwise import contiguous_address
from .pointwise_entry import Signature


@functools.cache
def _kernel(dtype: DType, level: Level) -> Builtin:
    signature = Signature(1, "iii" if dtype is int64 else "iddddd")
    row = compiler().load(f"steps {dtype.name} {level.name}", lambda: _text(dtype, level))
    return compiler().builtin("steps", contiguous_address(signature), [row, dtype.itemsize])


def steps_kernel(dtype: DType) -> Builtin:
    """The builtin for float32, float64 or int64; memoised."""
    return _kernel(dtype, current_level())


def _text(dtype: DType, level: Level) -> str:
    code = Code()
    out, base = code.load("ptr", "%pointers"), code.load("i64", "%numbers")
    gone = code.register(f"sub i64 {code.register(f'ptrtoint ptr {out} to i64')}, {base}")
    offset = code.register(f"sdiv exact i64 {gone}, {dtype.itemsize}")
    width = level.vector_bytes // 8
    stop = code.register(f"and i64 %n, {-width}")
    if dtype is int64:
        _count(code, out, offset, stop, width)
    else:
        _line(code, out, offset, stop, width, "float" if dtype is float32 else "double")
    head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0"
    return "\n".join([code.function(head, "  ret i1 false"), f"attributes #0 = {{ {level.attributes} }}", ""])


def _splat(code: Code, type: str, value: str, width: int) -> str:
    if width == 1:
        return value
    vector = f"<{width} x {type}>"
    one = code.register(f"insertelement {vector} poison, {type} {value}, i32 0")
    return code.register(f"shufflevector {vector} {one}, {vector} poison, <{width} x i32> zeroinitializer")


def _vector(type: str, width: int) -> str:
    return type if width == 1 else f"<{width} x {type}>"


def _places(type: str, width: int) -> str:
    """0, 1, ... below the width."""
    zero = ".0" if type == "double" else ""
    return f"0{zero}" if width == 1 else f"<{', '.join(f'{type} {k}{zero}' for k in range(width))}>"


def _count(code: Code, out: str, offset: str, stop: str, width: int) -> None:
    first, step = (code.load("i64", code.slot("%numbers", k)) for k in (1, 2))
    for lanes, begin, end in ((width, "0", stop), (1, stop, "%n")):
        type = _vector("i64", lanes)
        spread = code.register(f"mul {type} {_splat(code, 'i64', step, lanes)}, {_places('i64', lanes)}")
        with code.loop(begin, end, lanes) as i:
            gone = code.register(f"mul i64 {step}, {code.register(f'add i64 {offset}, {i}')}")
            value = _splat(code, "i64", code.register(f"add i64 {first}, {gone}"), lanes)
            code.store(type, code.register(f"add {type} {value}, {spread}"), code.at(out, i, 8))


def _line(code: Code, out: str, offset: str, stop: str, width: int, stored: str) -> None:
    numbers = [code.load("double", code.slot("%numbers", k)) for k in range(1, 6)]
    size = 4 if stored == "float" else 8
    for lanes, begin, end in ((width, "0", stop), (1, stop, "%n")):
        type = _vector("double", lanes)
        first, step, last, half, top = (_splat(code, "double", number, lanes) for number in numbers)
        with code.loop(begin, end, lanes) as i:
            here = code.register(f"sitofp i64 {code.register(f'add i64 {offset}, {i}')} to double")
            place = code.register(f"fadd {type} {_splat(code, 'double', here, lanes)}, {_places('double', lanes)}")
            ahead = code.register(f"fmul {type} {place}, {step}")
            back = code.register(f"fmul {type} {code.register(f'fsub {type} {top}, {place}')}, {step}")
            early = code.register(f"fcmp olt {type} {place}, {half}")
            values = (code.register(f"fadd {type} {ahead}, {first}"), code.register(f"fsub {type} {last}, {back}"))
            value = code.register(f"select {_vector('i1', lanes)} {early}, {type} {values[0]}, {type} {values[1]}")
            if stored == "float":
                value = code.register(f"fptrunc {type} {value} to {_vector(stored, lanes)}")
            code.store(_vector(stored, lanes), value, code.at(out, i, size), size)
