"""Conversions that NumPy lacks or rounds twice: to bfloat16 and the 8-bit floats, and to complex32 and back."""

from __future__ import annotations

from typing import Any

from . import lazy_numpy as np
from .dtype import FLOAT8, DType, bfloat16, complex32, float8_e4m3fn, float8_e5m2

ROUNDED_HERE = frozenset({bfloat16, complex32}) | FLOAT8
"""Dtypes whose memory NumPy must not convert other numbers to."""


def rounded(values: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Return `values` as an array of `dtype`, floats rounded once, to nearest, ties to even."""
    array = np.asarray(values)
    if dtype is complex32:
        records = array
        if array.dtype != complex32.numpy:
            records = np.empty(array.shape, complex32.numpy)
            records["real"], records["imag"] = array.real, array.imag
        return records
    if array.dtype == dtype.numpy:
        return array
    if dtype in FLOAT8:
        return _rounded_to_8_bits(array, dtype)
    if dtype is bfloat16 and array.dtype == np.float64:
        array = to_odd(array)
    return array.astype(dtype.numpy)


def _rounded_to_8_bits(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Return an array of an 8-bit float: in e4m3fn what is too large becomes the largest number, as in PyTorch."""
    with np.errstate(all="ignore"):
        narrow = to_odd(array) if array.dtype == np.float64 else array.astype(np.float32)
        if dtype is float8_e4m3fn:
            narrow = np.clip(narrow, -448, 448)
        found: np.ndarray[Any, Any] = narrow.astype(dtype.numpy)
    if dtype is float8_e5m2:
        found.view(np.uint8)[np.isnan(narrow)] |= 1
    return found


def complex_numbers(records: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the records of complex32 as an array of complex64."""
    numbers = np.empty(records.shape, np.complex64)
    numbers.real, numbers.imag = records["real"], records["imag"]
    return numbers


def to_odd(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return float64 values as float32, rounded to odd. Rounding the result to fewer bits then gives what rounding the
    values themselves would."""
    with np.errstate(all="ignore"):
        near = array.astype(np.float32)
        inexact = (near != array) & ~np.isnan(array)
        bits = near.view(np.int32) - (np.abs(near) > np.abs(array))
    odd: np.ndarray[Any, Any] = np.where(inexact, bits | 1, bits).astype(np.int32).view(np.float32)
    return odd
