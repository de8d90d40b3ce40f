"""Single elements and arrays at raw addresses.

`ADDRESS_SPACE` is a byte buffer that starts at ORIGIN and reaches over all addresses, so that ``struct`` and
``numpy.ndarray`` can work at any address without a buffer object per tensor. Nothing here keeps memory alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct, pack, unpack_from
from typing import Any

from ..core import lazy_numpy as np
from ..core.dtype import ALL_DTYPES, FLOAT8, DType, bfloat16
from ..core.rounding import ROUNDED_HERE, rounded

ORIGIN = 64
ADDRESS_SPACE: Any = memoryview((ctypes.c_char * (1 << 62)).from_address(ORIGIN)).cast("B")

_CODES = {
    "bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "e", "bfloat16": "H", "float32": "f", "float64": "d", "complex32": "ee",
    "complex64": "ff", "complex128": "dd", "float8_e4m3fn": "B", "float8_e5m2": "B", "float8_e4m3fnuz": "B",
    "float8_e5m2fnuz": "B",
}  # fmt: skip

_word = Struct("=I")
_single = Struct("=f")


_PACKERS = tuple(Struct("=" + _CODES[dtype.name]).pack for dtype in ALL_DTYPES)


def pack_element(dtype: DType, value: Any) -> bytes:
    """The bytes of a real `value`. Raises struct.error or OverflowError when it is too big."""
    return _PACKERS[dtype.index](value)


def pack_elements(dtype: DType, values: Sequence[Any]) -> bytes:
    """The bytes of a few real `values` in a row. Raises struct.error or OverflowError when one is too big."""
    return pack(f"={len(values)}{_CODES[dtype.name]}", *values)


def read_elements(dtype: DType, address: int, count: int) -> tuple[Any, ...]:
    """Return a few integers in a row."""
    return unpack_from(f"={count}{_CODES[dtype.name]}", ADDRESS_SPACE, address - ORIGIN)


def store_bytes(address: int, data: bytes) -> None:
    """Store a few bytes at `address`."""
    start = address - ORIGIN
    ADDRESS_SPACE[start : start + len(data)] = data


def _reader(dtype: DType) -> Callable[[int], Any]:
    unpack = Struct("=" + _CODES[dtype.name]).unpack_from
    if dtype.is_complex:
        return lambda address: complex(*unpack(ADDRESS_SPACE, address - ORIGIN))
    if dtype is bfloat16:
        return lambda address: _single.unpack(_word.pack(unpack(ADDRESS_SPACE, address - ORIGIN)[0] << 16))[0]
    if dtype in FLOAT8:
        return lambda address: _numbers_of(dtype)[ADDRESS_SPACE[address - ORIGIN]]
    return lambda address: unpack(ADDRESS_SPACE, address - ORIGIN)[0]


@cache
def _numbers_of(dtype: DType) -> tuple[float, ...]:
    """Return the numbers of all patterns of a dtype of 8 bits."""
    return tuple(np.arange(256, dtype=np.uint8).view(dtype.numpy).astype(np.float64).tolist())


_READERS = tuple(_reader(dtype) for dtype in ALL_DTYPES)


def read_element(address: int, dtype: DType) -> Any:
    """The element at `address` as a Python number of the dtype's kind."""
    return _READERS[dtype.index](address)


def write_element(address: int, dtype: DType, value: Any) -> None:
    """Store `value`, converted as NumPy converts it to the dtype, at `address`."""
    array_at(address, dtype, (), ())[()] = rounded(value, dtype) if dtype in ROUNDED_HERE else value


def read_bytes(address: int, nbytes: int) -> bytes:
    """A copy of `nbytes` bytes from `address`."""
    return ctypes.string_at(address, nbytes) if nbytes else b""


def write_bytes(address: int, data: bytes) -> None:
    """Store `data` at `address`."""
    if data:
        ctypes.memmove(address, data, len(data))


def array_at(address: int, dtype: DType, sizes: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A NumPy array over the elements at `address`; `strides` in elements. Nothing keeps the memory alive."""
    numpy = dtype.numpy
    if not address or 0 in sizes:
        return np.empty(sizes, numpy)
    itemsize = numpy.itemsize
    return np.ndarray(sizes, numpy, ADDRESS_SPACE, address - ORIGIN, tuple([stride * itemsize for stride in strides]))
