"""Transforms of lines by the loops inside NumPy's Fourier ufuncs, called without NumPy in between.

    kernel(out_ptr, in_ptr, factor, points_in, points_out, step_in, step_out, loop, data, points, ndim, sizes...,
           strides...) -> None

as for pointwise kernels, but each place of the box is a line: so many points, which are so many bytes apart. Lines are
cut off or padded with zeros. `factor` has the bits of the number that results are multiplied by; `loop` and `data` are
the addresses that `transform_loop` finds; `points` are those that one line counts for when lines are shared out.
"""

from __future__ import annotations

import ctypes
import functools
import sys

from ..core import lazy_numpy as np
from ..core.dtype import DType
from .code import NAME, Code
from .compiler import Builtin, compiler
from .pointwise import rows_builtin
from .pointwise_entry import Signature

NUMBERS = 8
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
def lines_kernel() -> Builtin:
    """Return the builtin."""
    row = compiler().load("fourier lines", _text)
    return rows_builtin("lines", Signature(1, "m" + "i" * NUMBERS), row, (0, 0), 0, weighted=True)


def factor_bits(factor: float, dtype: DType) -> int:
    """Return a number of the real dtype as the kernel takes it."""
    data = np.asarray(factor, dtype.to_real().numpy).tobytes()
    return int.from_bytes(data.ljust(8, b"\0"), sys.byteorder, signed=True)


@functools.cache
def transform_loop(name: str, dtype: DType) -> tuple[int, int] | None:
    """Return the addresses of the loop of the ufunc of this name for lines of a floating or complex dtype, and of its
    data; None for a NumPy that has no such loop."""
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


def _text() -> str:
    """LLVM IR of the row function: one call of the loop for all lines along the first dim."""
    code = Code()
    numbers = [code.load("i64", code.slot("%numbers", place)) for place in range(1, 5)]
    pointers, apart = ([code.load("i64", code.slot(array, k)) for k in (1, 0)] for array in ("%pointers", "%strides"))
    given = pointers[0], code.register("ptrtoint ptr %numbers to i64"), pointers[1]
    arrays = [given, ("%n", *numbers[:2]), (apart[0], "0", apart[1], *numbers[2:])]
    places = [code.register(f"alloca [{len(array)} x i64]") for array in arrays]
    for array, place in zip(arrays, places, strict=True):
        for k, value in enumerate(array):
            code.store("i64", value, code.slot(place, k))
    loop, data = (code.load("ptr", code.slot("%numbers", place)) for place in (5, 6))
    code.line(f"call void {loop}({', '.join(f'ptr {place}' for place in places)}, ptr {data})")
    head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides)"
    return code.function(head, "  ret i1 false")
