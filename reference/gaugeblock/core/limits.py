"""finfo and iinfo: the numeric limits of a dtype."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from .dtype import DEFAULTS, DType

_float_facts: Any = ml_dtypes.finfo


class FloatLimits:
    """Limits of a floating dtype, as Python floats."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, dtype: DType) -> None:
        facts: Any = _float_facts(dtype.numpy)
        self.bits = dtype.itemsize * 8
        self.dtype = dtype.name
        self.eps = float(facts.eps)
        self.max = float(facts.max)
        self.min = float(facts.min)
        self.tiny = self.smallest_normal = float(facts.smallest_normal)
        self.resolution = float(facts.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class IntLimits:
    """Limits of an integer dtype, as Python ints."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype: DType) -> None:
        facts = np.iinfo(dtype.numpy)
        self.bits = dtype.itemsize * 8
        self.dtype = dtype.name
        self.min = int(facts.min)
        self.max = int(facts.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def finfo(type: DType | None = None) -> FloatLimits:
    """The limits of a floating dtype, or of a complex dtype's components; the default dtype's without argument.

    Raises TypeError for other dtypes.
    """
    dtype = DEFAULTS.dtype if type is None else type
    if not isinstance(dtype, DType) or dtype.kind < 2:
        raise TypeError(f"finfo() requires a floating point dtype, got {dtype!r}; use iinfo for integers")
    return _float_limits(dtype.to_real())


def iinfo(type: DType) -> IntLimits:
    """The limits of an integer dtype. Raises TypeError for other dtypes."""
    if not isinstance(type, DType) or type.kind != 1:
        raise TypeError(f"iinfo() requires an integer dtype, got {type!r}; use finfo for floats")
    return _int_limits(type)


_float_limits = cache(FloatLimits)
_int_limits = cache(IntLimits)
