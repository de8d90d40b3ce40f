"""finfo and iinfo: the numeric limits of a dtype."""

from __future__ import annotations

from functools import cache

from .dtype import DEFAULTS, DType

_FORMATS = {"float16": (3, 10, 15), "bfloat16": (2, 7, 127), "float32": (6, 23, 127), "float64": (15, 52, 1023)}
"""Decimal digits, bits of the fraction, and the largest exponent."""
_NARROW_FORMATS = {
    "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6), "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14),
    "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7), "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15),
}  # fmt: skip
"""eps, the largest number and the smallest normal one, as PyTorch gives them; eps of e5m2fnuz is half the step at 1."""


class FloatLimits:
    """Limits of a floating dtype, as Python floats."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, dtype: DType) -> None:
        self.bits = dtype.itemsize * 8
        self.dtype = dtype.name
        if dtype.name in _NARROW_FORMATS:
            self.eps, self.max, self.tiny = _NARROW_FORMATS[dtype.name]
            digits = 0
        else:
            digits, fraction, largest = _FORMATS[dtype.name]
            self.eps = 2.0**-fraction
            self.max = (2.0 - self.eps) * 2.0**largest
            self.tiny = 2.0 ** (1 - largest)
        self.min = -self.max
        self.smallest_normal = self.tiny
        self.resolution = float(f"1e-{digits}")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class IntLimits:
    """Limits of an integer dtype, as Python ints."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype: DType) -> None:
        self.bits = dtype.itemsize * 8
        self.dtype = dtype.name
        self.min = -(1 << self.bits - 1) if dtype.is_signed else 0
        self.max = self.min + (1 << self.bits) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def finfo(type: DType | None = None) -> FloatLimits:
    """The limits of a floating dtype, or of a complex dtype's components; the default dtype's without argument. Raises
    TypeError for other dtypes."""
    dtype = DEFAULTS.dtype if type is None else type
    if not isinstance(dtype, DType) or dtype.kind < 2:
        raise TypeError(f"finfo() requires a floating point dtype, got {dtype!r}; use iinfo for integers")
    return _float_limits(dtype.to_real())


def iinfo(type: DType) -> IntLimits:
    """The limits of an integer dtype. Raises TypeError for other dtypes."""
    if not isinstance(type, DType) or type.kind != 1 or type.quantized:
        raise TypeError(f"iinfo() requires an integer dtype, got {type!r}; use finfo for floats")
    return _int_limits(type)


_float_limits = cache(FloatLimits)
_int_limits = cache(IntLimits)
