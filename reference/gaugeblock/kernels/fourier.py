"""Transforms of lines by the loops inside NumPy's Fourier ufuncs, called without NumPy in between.

    kernel(out_ptr, in_ptr, factor, points_in, points_out, step_in, step_out, points, ndim, sizes..., strides...)

as for pointwise kernels, but each place of the box is a line: so many points, which are so many bytes apart. Lines are
cut off or padded with zeros. `factor` has the bits of the number that results are multiplied by; `points` are those
that one line counts for when lines are shared out to threads.
"""

from __future__ import annotations

import ctypes
import functools
import sys

from ..core import lazy_numpy as np
from ..core.dtype import DType
from .code import NAME, PLAIN, Code
from .common import SHARE_GRID, declaration
from .compiler import Builtin, compiler
from .entry import EntryWriter
from .pointwise import rows_driver
from .sharing import MAX_DIMS

NUMBERS = 7
"""Arguments behind the addresses and before the sizes."""


class _UFunc(ctypes.Structure):
    """The beginning of NumPy's PyUFuncObject, which its C API lays down."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__), ("nin", ctypes.c_int), ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int), ("identity", ctypes.c_int), ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)), ("ntypes", ctypes.c_int), ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    )  # fmt: skip


@functools.cache
def transform_kernel(name: str, dtype: DType) -> Builtin | None:
    """Return the builtin of the ufunc of this name for lines of a floating or complex dtype; None for a NumPy that has
    no such loop."""
    found = _loop(name, dtype)
    if found is None:
        return None
    entry, row = [compiler().load(f"fourier {text.__name__}", text) for text in (_entry, _row)]
    return compiler().builtin(name, entry, [row, rows_driver(2, None), *found])


def factor_bits(factor: float, dtype: DType) -> int:
    """Return a number of the real dtype as the kernel takes it."""
    data = np.asarray(factor, dtype.to_real().numpy).tobytes()
    return int.from_bytes(data.ljust(8, b"\0"), sys.byteorder, signed=True)


def _loop(name: str, dtype: DType) -> tuple[int, int] | None:
    """Return the addresses of the loop for input of a dtype and of its data."""
    ufunc = getattr(getattr(np.fft, "_pocketfft_umath", None), name, None)
    if not isinstance(ufunc, np.ufunc):
        return None
    fields = _UFunc.from_address(id(ufunc))
    known = fields.nin == 2 and fields.nout == 1 and fields.nargs == 3 and fields.ntypes == ufunc.ntypes
    kinds = [types[0] for types in ufunc.types]
    if not known or fields.name != name.encode() or dtype.numpy.char not in kinds:
        return None
    place = kinds.index(dtype.numpy.char)
    return fields.functions[place] or 0, (fields.data and fields.data[place]) or 0


def _entry() -> str:
    """LLVM IR of the entry point. The row function is given the numbers, then the loop and its data."""
    entry = EntryWriter(NAME, "Fourier transform")
    pointers, numbers, own = (entry.register(f"alloca [{size} x i64]") for size in (2, NUMBERS + 1, 2))
    for place in range(2):
        entry.put("i64", entry.integer(place), pointers, place)
        entry.put("i64", "0", own, place)
    entry.inexact = True
    for place in range(NUMBERS - 1):
        item = entry.object(2 + place)
        entry.put("i64", entry.register(f"call i64 @PyLong_AsSsize_t(ptr {item})"), numbers, place)
    ndim, first = entry.integer(1 + NUMBERS), 2 + NUMBERS
    sizes, strides = (entry.register(f"alloca [{size} x i64]") for size in (MAX_DIMS, 2 * MAX_DIMS))
    total = entry.register(f"add i64 {entry.register(f'mul i64 {ndim}, 3')}, {first}")
    fits, small = entry.register(f"icmp eq i64 {total}, %nargs"), entry.register(f"icmp ule i64 {ndim}, {MAX_DIMS}")
    entry.require(entry.register(f"and i1 {fits}, {small}"))
    lines = entry.array(first, ndim, sizes)
    start, amount = entry.register(f"add i64 {ndim}, {first}"), entry.register(f"mul i64 {ndim}, 2")
    entry.array(start, amount, strides)
    entry.check(always=True)
    entry.proceed(lines)
    descriptor = entry.descriptor()
    row, driver = (entry.load("ptr", entry.slot(descriptor, place)) for place in range(2))
    for place in range(2):
        entry.put("i64", entry.load("i64", entry.slot(descriptor, 2 + place)), numbers, NUMBERS - 1 + place)
    points = entry.load("i64", entry.slot(numbers, NUMBERS - 2))
    call = f"ptr {row}, ptr {pointers}, ptr {numbers}, i64 {ndim}, ptr {sizes}, ptr {strides}, ptr {own}, ptr null"
    call += ", i64 1, i64 2"
    shared = f"call i1 @{SHARE_GRID}(ptr {driver}, {call}, i64 0, i64 {points})"
    entry.run(f"call i1 {driver}({call})", entry.register(f"mul i64 {lines}, {points}"), shared)
    return "\n".join([PLAIN, declaration(SHARE_GRID), entry.text("sge", first), ""])


def _row() -> str:
    """LLVM IR of the row function: one call of the loop for all lines along the first dim."""
    code = Code()
    given, sizes, steps = (code.register(f"alloca [{size} x i64]") for size in (3, 3, 5))
    factor = code.register("ptrtoint ptr %numbers to i64")
    addresses = [code.load("i64", code.slot("%pointers", place)) for place in (1, 0)]
    for place, value in enumerate((addresses[0], factor, addresses[1])):
        code.store("i64", value, code.slot(given, place))
    points_in, points_out, step_in, step_out = (code.load("i64", code.slot("%numbers", place)) for place in range(1, 5))
    for place, value in enumerate(("%n", points_in, points_out)):
        code.store("i64", value, code.slot(sizes, place))
    apart = [code.load("i64", code.slot("%strides", place)) for place in (1, 0)]
    for place, value in enumerate((apart[0], "0", apart[1], step_in, step_out)):
        code.store("i64", value, code.slot(steps, place))
    loop, data = (code.load("ptr", code.slot("%numbers", NUMBERS - 1 + place)) for place in range(2))
    code.line(f"call void {loop}(ptr {given}, ptr {sizes}, ptr {steps}, ptr {data})")
    head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides)"
    return code.function(head, "  ret i1 false")
