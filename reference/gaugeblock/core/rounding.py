"""Conversions that NumPy lacks or rounds twice: float64 to bfloat16, and complex numbers to complex32 and back."""

from __future__ import annotations

from typing import Any

from . import lazy_numpy as np
from .dtype import DType, bfloat16, complex32

ROUNDED_HERE = frozenset({bfloat16, complex32})
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
    if dtype is bfloat16 and array.dtype == np.float64:
        array = to_odd(array)
    return array.astype(dtype.numpy)


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
