"""The product of two matrices by NumPy's own BLAS, without NumPy in between.

    gemm(out_ptr, left_ptr, right_ptr, rows, columns, inner, left_order, left_step, right_order, right_step, table_ptr,
         count) -> None

The table has `count` rows: where the matrices of a batch begin, in bytes from the addresses. The result is row-major.
The operands may be transposed: order 111 means that one is row-major, 112 that its transpose is, step is the distance
of rows (of the transpose's rows) in elements. The builtin is None where the BLAS's symbols are not found.
"""

from __future__ import annotations

import ctypes
import functools
from array import array

from ..core.dtype import DType, float32
from .code import NAME, Code
from .common import REST, declaration
from .compiler import Builtin, compiler
from .entry import EntryWriter
from .parallel import blas_library

PLAIN_ORDER, TRANSPOSED_ORDER = 111, 112
_ROW_MAJOR = 101
_SYMBOLS = (("scipy_cblas_{}gemm64_", 64), ("cblas_{}gemm64_", 64), ("scipy_cblas_{}gemm", 32), ("cblas_{}gemm", 32))


@functools.cache
def gemm(dtype: DType) -> Builtin | None:
    """The builtin for float32 or float64."""
    letter, type = ("s", "float") if dtype is float32 else ("d", "double")
    found = _find(letter)
    if found is None:
        return None
    address, bits = found
    entry = compiler().load(f"gemm {type} {bits}", lambda: _text(type, bits))
    return compiler().builtin("gemm", entry, [address])


def _find(letter: str) -> tuple[int, int] | None:
    """Address of the C function, and the width of its integers."""
    library = blas_library()
    if library is None:
        return None
    for pattern, bits in _SYMBOLS:
        function = getattr(library, pattern.format(letter), None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0, bits
    return None


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
