"""Kernels that count: out[k] = first + k * step, and from `half` on last - (top - k) * step.

    kernel(out_ptr, base, first, step, last, half, top, n)     float32 and float64, computed in float64
    kernel(out_ptr, base, first, step, n)                      int64

`base` is the address of the first element: a part that a thread writes knows by it how far it has come.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType, float32, int64
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .expression import BOOL, F32, F64, INT
from .isa import Level, current_level
from .lower import Emitter
from .pointwise import contiguous_address
from .pointwise_entry import Signature


@functools.cache
def steps_kernel(dtype: DType) -> Builtin:
    """The builtin for float32, float64 or int64; memoised."""
    level = current_level()
    signature = Signature(1, "iii" if dtype is int64 else "iddddd")
    row = compiler().load(f"steps {dtype.name} {level.name}", lambda: _text(dtype, level))
    return compiler().builtin("steps", contiguous_address(signature), [row, dtype.itemsize])


def _text(dtype: DType, level: Level) -> str:
    code = Emitter(1, "x", Declarations())
    out, base = code.load("ptr", "%pointers"), code.load("i64", "%numbers")
    gone = code.register(f"sub i64 {code.register(f'ptrtoint ptr {out} to i64')}, {base}")
    offset = code.register(f"sdiv exact i64 {gone}, {dtype.itemsize}")
    width = level.vector_bytes // 8
    stop = code.register(f"and i64 %n, {-width}")
    type, kind = (INT[64], "i64") if dtype is int64 else (F64, "double")
    numbers = [code.load(kind, code.slot("%numbers", k)) for k in range(1, 3 if dtype is int64 else 6)]
    for lanes, begin, end in ((width, "0", stop), (1, stop, "%n")):
        with code.scope(lanes):
            if dtype is int64:
                given = [numbers[0], numbers[1], _multiples(code, numbers[1])]
            else:
                given = [code.splat(number, type) for number in numbers]
            with code.loop(begin, end, lanes) as i:
                place = code.register(f"add i64 {offset}, {i}")
                value = _count(code, place, *given) if dtype is int64 else _line(code, _places(code, place), given)
                if dtype is float32:
                    value = code.register(f"fptrunc {code.type(F64)} {value} to {code.type(F32)}")
                code.store(code.type(SCALAR_TYPES[dtype]), value, code.at(out, i, dtype.itemsize), dtype.itemsize)
    return row_module(code, code.declarations, level.attributes)


def _places(code: Emitter, first: str) -> str:
    """first, first + 1, ... as float64."""
    first = code.register(f"sitofp i64 {first} to double")
    if code.width == 1:
        return first
    steps = ", ".join(f"double {k}.0" for k in range(code.width))
    return code.register(f"fadd {code.type(F64)} {code.splat(first, F64)}, <{steps}>")


def _multiples(code: Emitter, step: str) -> str:
    """0, step, 2 * step, ..."""
    if code.width == 1:
        return "0"
    counts = ", ".join(f"i64 {k}" for k in range(code.width))
    return code.register(f"mul {code.type(INT[64])} {code.splat(step, INT[64])}, <{counts}>")


def _count(code: Emitter, place: str, first: str, step: str, multiples: str) -> str:
    begin = code.register(f"add i64 {first}, {code.register(f'mul i64 {place}, {step}')}")
    return code.register(f"add {code.type(INT[64])} {code.splat(begin, INT[64])}, {multiples}")


def _line(code: Emitter, place: str, numbers: list[str]) -> str:
    first, step, last, half, top = numbers
    type = code.type(F64)
    ahead = code.register(f"fmul {type} {place}, {step}")
    back = code.register(f"fmul {type} {code.register(f'fsub {type} {top}, {place}')}, {step}")
    early = code.register(f"fcmp olt {type} {place}, {half}")
    values = code.register(f"fadd {type} {ahead}, {first}"), code.register(f"fsub {type} {last}, {back}")
    return code.register(f"select {code.type(BOOL)} {early}, {type} {values[0]}, {type} {values[1]}")
