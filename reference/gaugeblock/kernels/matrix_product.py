"""Products of matrices and vectors by NumPy's own BLAS, without NumPy in between.

    gemm(out_ptr, left_ptr, right_ptr, rows, columns, inner, left_order, left_step, right_order, right_step, table_ptr,
         count) -> None

    gemv(out_ptr, matrix_ptr, vector_ptr, order, rows, columns, step, vector_step) -> None
    dot(out_ptr, left_ptr, right_ptr, count, left_step, right_step) -> None

The table has `count` rows: where the matrices of a batch begin, in bytes from the addresses. The result is row-major.
The operands may be transposed: order 111 means that one is row-major, 112 that its transpose is, whose rows and columns
gemv is given then; step is the distance of rows (of the transpose's rows) in elements. A builtin is None where the
BLAS's symbols are not found.
"""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Callable, Sequence

from ..core.dtype import DType, float32, float64
from .code import NAME, Code
from .common import REST, declaration
from .compiler import Builtin, compiler
from .entry import EntryWriter
from .parallel import blas_library

PLAIN_ORDER, TRANSPOSED_ORDER = 111, 112
_ROW_MAJOR = 101
_SYMBOLS = (("scipy_cblas_{}64_", 64), ("cblas_{}64_", 64), ("scipy_cblas_{}", 32), ("cblas_{}", 32))
_TYPES = {float32: ("s", "float"), float64: ("d", "double")}


@functools.cache
def gemm(dtype: DType) -> Builtin | None:
    """The builtin for float32 or float64."""
    return _builtin("gemm", dtype, _text)


@functools.cache
def gemv(dtype: DType) -> Builtin | None:
    """Return the builtin of a matrix times a vector for float32 or float64."""
    return _builtin("gemv", dtype, _vector_text)


@functools.cache
def dot_product(dtype: DType) -> Builtin | None:
    """Return the builtin of the product of two vectors for float32 or float64."""
    return _builtin("dot", dtype, _dot_text)


def _builtin(name: str, dtype: DType, text: Callable[[str, int], str]) -> Builtin | None:
    letter, type = _TYPES[dtype]
    found = _find(letter + name)
    if found is None:
        return None
    address, bits = found
    entry = compiler().load(f"{name} {type} {bits}", lambda: text(type, bits))
    return compiler().builtin(name, entry, [address])


def _find(name: str) -> tuple[int, int] | None:
    """Address of the C function, and the width of its integers."""
    library = blas_library()
    if library is None:
        return None
    for pattern, bits in _SYMBOLS:
        function = getattr(library, pattern.format(name), None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0, bits
    return None


def _read(entry: EntryWriter, bits: int, count: int) -> tuple[list[str], list[str]]:
    """Read three addresses, and so many integers as the C function takes them."""
    pointers = [entry.register(f"inttoptr i64 {entry.integer(k)} to ptr") for k in range(3)]
    numbers = [entry.integer(3 + k) for k in range(count)]
    entry.check()
    given = numbers if bits == 64 else [entry.register(f"trunc i64 {number} to i32") for number in numbers]
    return pointers, given


def _vector_text(type: str, bits: int) -> str:
    entry = EntryWriter("gemv", "product of a matrix and a vector")
    (out, matrix, vector), (order, rows, columns, step, apart) = _read(entry, bits, 5)
    function = entry.register(f"load ptr, ptr {entry.descriptor()}")
    if bits == 64:
        order = entry.register(f"trunc i64 {order} to i32")
    given = [f"ptr {function}", f"i32 {order}", f"i{bits} {rows}", f"i{bits} {columns}", f"ptr {matrix}",
             f"i{bits} {step}", f"ptr {vector}", f"i{bits} {apart}", f"ptr {out}"]  # fmt: skip
    work = entry.register(f"mul i{bits} {rows}, {columns}")
    code = Code()
    code.line(f"call void @{REST}()")
    code.line(
        f"call void %function(i32 {_ROW_MAJOR}, i32 %order, i{bits} %rows, i{bits} %columns, {type} 1.0, ptr %matrix, "
        f"i{bits} %step, ptr %vector, i{bits} %apart, {type} 0.0, ptr %out, i{bits} 1)"
    )
    return _module(entry, code, given, "function order rows columns matrix step vector apart out", work, 8)


def _dot_text(type: str, bits: int) -> str:
    entry = EntryWriter("dot", "product of vectors")
    (out, left, right), (count, left_step, right_step) = _read(entry, bits, 3)
    function = entry.register(f"load ptr, ptr {entry.descriptor()}")
    given = [f"ptr {function}", f"i{bits} {count}", f"ptr {left}", f"i{bits} {left_step}", f"ptr {right}",
             f"i{bits} {right_step}", f"ptr {out}"]  # fmt: skip
    code = Code()
    code.line(f"call void @{REST}()")
    operands = f"i{bits} %count, ptr %left, i{bits} %left_step, ptr %right, i{bits} %right_step"
    code.store(type, code.register(f"call {type} %function({operands})"), "%out", 4)
    return _module(entry, code, given, "function count left left_step right right_step out", count, 6)


def _module(entry: EntryWriter, code: Code, given: Sequence[str], names: str, work: str, number: int) -> str:
    """Return the module of an entry point of so many arguments, which runs `code` with the operands that are `given`,
    called by `names` there. `work` is of the type of the last of them that is an int."""
    bits = next(one for one in reversed(given) if one.startswith("i")).split()[0]
    work = work if bits == "i64" else entry.register(f"sext {bits} {work} to i64")
    entry.run(f"call i1 @multiply({', '.join(given)})", work)
    text = entry.text("eq", number)
    parameters = ", ".join(f"{one.split()[0]} %{name}" for one, name in zip(given, names.split(), strict=True))
    multiply = code.function(f"define internal i1 @multiply({parameters})", "  ret i1 false")
    return "\n".join([declaration(REST), multiply, text, ""]).replace(f"@{entry.name}", f"@{NAME}")


def _text(type: str, bits: int) -> str:
    entry = EntryWriter("gemm", "matrix product")
    out, left, right = (entry.register(f"inttoptr i64 {entry.integer(k)} to ptr") for k in range(3))
    rows, columns, inner, left_order, left_step, right_order, right_step = (entry.integer(k) for k in range(3, 10))
    table, count = entry.register(f"inttoptr i64 {entry.integer(10)} to ptr"), entry.integer(11)
    entry.check()
    function = entry.register(f"load ptr, ptr {entry.descriptor()}")
    sizes = [rows, columns, inner, left_step, right_step]
    if bits == 32:
        sizes = [entry.register(f"trunc i64 {size} to i32") for size in sizes]
    rows_, columns_, inner_, left_, right_ = (f"i{bits} {size}" for size in sizes)
    first, second = (f"i32 {entry.register(f'trunc i64 {order} to i32')}" for order in (left_order, right_order))
    given = (f"ptr {function}", first, second, rows_, columns_, inner_, f"ptr {left}", left_, f"ptr {right}", right_,
             f"ptr {out}", f"ptr {table}", f"i64 {count}")  # fmt: skip
    work = entry.register(f"mul i64 {entry.register(f'mul i64 {rows}, {columns}')}, {inner}")
    work = entry.register(f"mul i64 {work}, {count}")
    entry.run(f"call i1 @multiply({', '.join(given)})", work)
    text = entry.text("eq", 12)
    names = "function first second rows columns inner left left_step right right_step out table count".split()
    types = ("ptr", "i32", "i32", *(f"i{bits}",) * 3, "ptr", f"i{bits}", "ptr", f"i{bits}", "ptr", "ptr", "i64")
    parameters = ", ".join(f"{type} %{name}" for type, name in zip(types, names, strict=True))
    code = Code()
    code.line(f"call void @{REST}()")
    with code.loop(0, "%count") as k:
        place = code.at("%table", k, 24)
        out, left, right = (
            code.move(pointer, code.load("i64", code.slot(place, slot)))
            for slot, pointer in enumerate(("%out", "%left", "%right"))
        )
        code.line(
            f"call void %function(i32 {_ROW_MAJOR}, i32 %first, i32 %second, i{bits} %rows, i{bits} %columns, "
            f"i{bits} %inner, {type} 1.0, ptr {left}, i{bits} %left_step, ptr {right}, i{bits} %right_step, "
            f"{type} 0.0, ptr {out}, i{bits} %columns)"
        )
    multiply = code.function(f"define internal i1 @multiply({parameters})", "  ret i1 false")
    return "\n".join([declaration(REST), multiply, text, ""]).replace("@gemm", f"@{NAME}")


ONE_PRODUCT = array("q", (0, 0, 0))
"""The table of a batch of one."""


def lay(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int] | None:
    """Order and step of a matrix, None when neither of its dims is contiguous."""
    (rows, columns), (down, along) = sizes, strides
    if (along == 1 or columns == 1) and (rows == 1 or down >= columns):
        return PLAIN_ORDER, max(columns, 1 if rows == 1 else down)
    if (down == 1 or rows == 1) and (columns == 1 or along >= rows):
        return TRANSPOSED_ORDER, max(rows, 1 if columns == 1 else along)
    return None
