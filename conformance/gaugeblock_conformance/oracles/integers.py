"""Pointwise operators on integers and bools: exact results modulo two to the number of bits.

Operands are arrays of one dtype and of one shape, numbers among them 0-dim arrays of that dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..backend import Array

Formula = Callable[..., Any]


class DivisionByZero(ArithmeticError):
    """An integer divisor is zero: the call must raise RuntimeError."""


def bits(dtype: np.dtype[Any]) -> int:
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize


def wrap(value: int, dtype: np.dtype[Any]) -> int:
    """A Python int modulo two to the bits of ``dtype``, as that dtype reads it."""
    if dtype.kind == "b":
        return int(value != 0)
    low = value & ((1 << bits(dtype)) - 1)
    return low - (1 << bits(dtype)) if dtype.kind == "i" and low >> (bits(dtype) - 1) else low


def _divisible(b: Array) -> Array:
    if (b == 0).any():
        raise DivisionByZero
    return b


def _floor_quotient(a: Array, b: Array) -> Array:
    """a // b towards minus infinity; the smallest value by -1 wraps to itself."""
    _divisible(b)
    if a.dtype.kind == "u":
        return a // b
    minus = b == -1
    return np.where(minus, np.negative(a), a // np.where(minus, np.ones_like(b), b))


def _remainder(a: Array, b: Array) -> Any:
    return np.subtract(a, _floor_quotient(a, b) * b)


def _trunc_quotient(a: Array, b: Array) -> Array:
    floor = _floor_quotient(a, b)
    inexact = floor * b != a
    return np.where(inexact & ((a < 0) != (b < 0)), floor + np.ones_like(floor), floor)


def _fmod(a: Array, b: Array) -> Any:
    return np.subtract(a, _trunc_quotient(a, b) * b)


def _divide(a: Array, b: Array, rounding_mode: str | None = None) -> Array:
    return _floor_quotient(a, b) if rounding_mode == "floor" else _trunc_quotient(a, b)


def _power(base: Array, exponent: Array) -> Array:
    """base ** exponent modulo 2**bits by squaring; negative exponents give 1, ±1 or 0 for bases 1, -1 and others."""
    base, left = (np.array(v) for v in np.broadcast_arrays(base, exponent))
    result = np.ones_like(base)
    square = base.copy()
    negative = left < 0
    odd = (left & 1) == 1
    left = np.where(negative, np.zeros_like(left), left)
    while left.any():
        result = np.where(left & 1 == 1, result * square, result)
        square = square * square
        left = left >> 1
    inverse = np.where(base == 1, base, np.zeros_like(base))
    if base.dtype.kind == "i":
        inverse = np.where(base == -1, np.where(odd, base, np.negative(base)), inverse)
    return np.where(negative, inverse, result)


def _shift_count(count: Array, width: int) -> tuple[Array, Array]:
    beyond = (count < 0) | (count >= width)
    return beyond, np.where(beyond, np.zeros_like(count), count)


def _shift_left(a: Array, count: Array) -> Array:
    beyond, amount = _shift_count(count, bits(a.dtype))
    return np.where(beyond, np.zeros_like(a), np.left_shift(a, amount))


def _shift_right(a: Array, count: Array) -> Array:
    beyond, amount = _shift_count(count, bits(a.dtype))
    ones = np.invert(np.zeros_like(a)) if a.dtype.kind == "i" else np.zeros_like(a)
    signs = np.where(a < 0, ones, np.zeros_like(a))
    return np.where(beyond, signs, np.right_shift(a, amount))


def _clamp(a: Array, low: Array | None = None, high: Array | None = None) -> Array:
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _isclose(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool = False) -> Array:
    wide_a, wide_b = (v.astype(np.longdouble) for v in (a, b))
    near = np.abs(wide_a - wide_b) <= atol + rtol * np.abs(wide_b)
    return np.asarray((a == b) | near)


def _no(a: Array) -> Array:
    return np.zeros(np.shape(a), dtype=bool)


COMPARISONS: Mapping[str, Formula] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "logical_not": np.logical_not,
}  # fmt: skip

INTEGER: Mapping[str, Formula] = {
    **COMPARISONS,
    "add": lambda a, b, alpha: a + alpha * b,
    "sub": lambda a, b, alpha: a - alpha * b,
    "rsub": lambda a, b, alpha: b - alpha * a,
    "mul": lambda a, b: a * b,
    "neg": np.negative,
    "abs": lambda a: np.where(a < 0, np.negative(a), a),
    "square": lambda a: a * a,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "bitwise_left_shift": _shift_left,
    "bitwise_right_shift": _shift_right,
    "signbit": lambda a: a < 0,
    "isnan": _no,
    "isinf": _no,
    "isposinf": _no,
    "isneginf": _no,
    "isfinite": lambda a: ~_no(a),
    "isclose": _isclose,
    "div": _divide,
    "floor_divide": _floor_quotient,
    "remainder": _remainder,
    "fmod": _fmod,
    "gcd": np.gcd,
    "lcm": np.lcm,
    "pow": _power,
    "sign": lambda a: (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype),
    "sgn": lambda a: (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype),
    "relu": lambda a: np.where(a > 0, a, np.zeros_like(a)),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.maximum,
    "fmin": np.minimum,
    "heaviside": lambda a, values: np.where(a == 0, values, (a > 0).astype(a.dtype)),
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "round": lambda a: a,
    "trunc": lambda a: a,
    "addcmul": lambda a, b, c, value: a + value * b * c,
    "where": np.where,
    "clamp": _clamp,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "nan_to_num": lambda a, *replacements: a,
}

BOOLEAN: Mapping[str, Formula] = {
    **COMPARISONS,
    "add": lambda a, b, alpha: a | (alpha & b),
    "mul": np.logical_and,
    "bitwise_and": np.logical_and,
    "bitwise_or": np.logical_or,
    "bitwise_xor": np.logical_xor,
    "bitwise_not": np.logical_not,
    "pow": lambda a, b: a | ~b,
    **{name: INTEGER[name] for name in ("isnan", "isinf", "isposinf", "isneginf", "isfinite", "where", "nan_to_num")},
    "isclose": _isclose,
    "signbit": _no,
    "sign": lambda a: a,
    "sgn": lambda a: a,
    "heaviside": lambda a, values: a | values,
    **dict.fromkeys(("maximum", "fmax", "clamp_min"), np.logical_or),
    **dict.fromkeys(("minimum", "fmin", "clamp_max"), np.logical_and),
    "clamp": _clamp,
}
