"""Conversion of float64 to bfloat16 with a single rounding; NumPy rounds twice, first to float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtype import DType, bfloat16


def rounded(values: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Return `values` as an array of `dtype`, floats rounded once, to nearest, ties to even."""
    array = np.asarray(values)
    if dtype is bfloat16 and array.dtype == np.float64:
        array = to_odd(array)
    return array.astype(dtype.numpy)


def to_odd(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return float64 values as float32, rounded to odd.

    Rounding the result to fewer bits then gives what rounding the values themselves would.
    """
    with np.errstate(all="ignore"):
        near = array.astype(np.float32)
        inexact = (near != array) & ~np.isnan(array)
        bits = near.view(np.int32) - (np.abs(near) > np.abs(array))
    odd: np.ndarray[Any, Any] = np.where(inexact, bits | 1, bits).astype(np.int32).view(np.float32)
    return odd
