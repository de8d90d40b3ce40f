"""Whether a Python number fits a dtype, where an operator must not wrap it."""

from __future__ import annotations

import math

from ..core.dtype import DType
from ..core.limits import finfo, iinfo
from ..iteration.operand import Number


def check_fits(operator: str, value: Number, dtype: DType) -> None:
    """RuntimeError when `value` is outside the finite range of `dtype`; negative ints wrap in unsigned dtypes."""
    if dtype.kind == 0:
        return
    if not _fits(value, dtype):
        raise RuntimeError(f"{operator}(): value cannot be converted to type {dtype.name} without overflow: {value!r}")


def _fits(value: Number, dtype: DType) -> bool:
    if isinstance(value, complex):
        if not dtype.is_complex:
            return value.imag == 0 and _fits(value.real, dtype)
        part = dtype.to_real()
        return _fits(value.real, part) and _fits(value.imag, part)
    if dtype.kind == 1:
        if isinstance(value, float) and not math.isfinite(value):
            return False
        limits = iinfo(dtype)
        low = limits.min if dtype.is_signed else -limits.max - 1
        return low <= math.trunc(value) <= limits.max
    if isinstance(value, float) and not math.isfinite(value):
        return True
    return abs(value) <= finfo(dtype.to_real()).max
