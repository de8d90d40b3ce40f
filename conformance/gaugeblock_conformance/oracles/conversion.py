"""Conversion between dtypes, as an array model: integers modulo a power of two, floats rounded once, to even."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array, dtype_name, numpy_dtype
from ..values import COMPLEX, FLOATS

_COMPONENT = {"complex64": "float32", "complex128": "float64"}


def component(dtype: str) -> str:
    """The real dtype of a complex one's parts; any other dtype itself."""
    return _COMPONENT.get(dtype, dtype)


def cast(array: Array, dtype: str) -> Array:
    """``array`` converted to ``dtype``.

    Integers wrap, floats lose their fraction on the way to integers, floats and long doubles are rounded to nearest
    even in one step, complex numbers lose the imaginary part, and everything that is not zero is True. The result for
    floats outside the range of an integer dtype is whatever NumPy gives.
    """
    source, target = array.dtype, numpy_dtype(dtype)
    if source == target:
        return array
    with np.errstate(all="ignore"):
        if dtype == "bool":
            return np.asarray(array != 0)
        if source.kind == "c" and dtype not in COMPLEX:
            return cast(np.asarray(array.real), dtype)
        if dtype == "bfloat16":
            return round_to_bfloat16(array)
        if dtype_name(source) == "bfloat16":
            array = np.asarray(array.astype(np.float32))
        if dtype in FLOATS or dtype in COMPLEX or source.kind not in "fd":
            return np.asarray(array.astype(target))
        return np.asarray(np.trunc(array).astype(np.int64 if dtype != "uint64" else np.uint64).astype(target))


def round_to_bfloat16(array: Array) -> Array:
    """Reals of any dtype to bfloat16, in one rounding (by way of a float32 that keeps a sticky last bit)."""
    bits = np.atleast_1d(round_to_odd(array)).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    rounded = np.where(nan, np.uint16(0x7FC0), rounded)
    return np.asarray(rounded.view(numpy_dtype("bfloat16")).reshape(array.shape))


def round_to_odd(array: Array) -> Array:
    """Reals as float32 with the last bit set wherever the conversion is not exact: a later rounding is then right."""
    wide: Any = np.asarray(array, dtype=np.longdouble if array.dtype.itemsize >= 8 else np.float64)
    near = np.asarray(wide.astype(np.float32))
    even = (near.reshape(-1).view(np.uint32).reshape(near.shape) & 1) == 0
    off = (near != wide) & even & ~np.isnan(wide)
    toward = np.where(wide > near, np.float32(np.inf), np.float32(-np.inf)).astype(np.float32)
    return np.asarray(np.where(off, np.nextafter(near, toward), near), dtype=np.float32)
