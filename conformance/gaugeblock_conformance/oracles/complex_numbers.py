"""Pointwise operators on complex numbers, in twice the precision of the dtype (complex128 in long double)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..backend import Array
from .conversion import component
from .integers import COMPARISONS
from .reals import LN2, PI

Formula = Callable[..., Any]


def join(real: Array, imag: Array) -> Array:
    """Complex numbers of two parts, which no multiplication by 1j has touched."""
    made = np.empty(np.broadcast(real, imag).shape, np.result_type(real, np.complex64))
    made.real, made.imag = real, imag
    return made


def by_parts(formula: Formula, dtype: str, z: Array, *numbers: Any) -> Array:
    """A formula of real floats on both parts."""
    return join(*[formula(component(dtype), part, *numbers) for part in (z.real, z.imag)])


def _expm1(z: Array) -> Array:
    x, y = z.real, z.imag
    half = np.sin(y / 2)
    return join(np.expm1(x) * np.cos(y) - 2 * half * half, np.exp(x) * np.sin(y))


def _log1p(z: Array) -> Array:
    x, y = z.real, z.imag
    near = np.log1p(2 * x + (x * x + y * y)) / 2
    far = np.log(np.hypot(1 + x, y))
    return join(np.where(np.hypot(x, y) < 0.5, near, far), np.arctan2(y, 1 + x))


def _power(z: Array, w: Array) -> Array:
    safe = np.where(z == 0, np.ones_like(z), z)
    value = np.exp(w * np.log(safe))
    zero = np.where(w == 0, np.ones_like(value), np.where(w.real > 0, np.zeros_like(value), np.nan))
    return np.where(z == 0, zero, value)


def _sgn(z: Array) -> Array:
    size = np.hypot(z.real, z.imag)
    return np.where(size == 0, np.zeros_like(z), z / np.where(size == 0, 1, size))


def _sinc(z: Array) -> Array:
    angle = PI.astype(z.real.dtype) * z
    return np.where(z == 0, np.ones_like(z), np.sin(angle) / np.where(z == 0, np.ones_like(z), angle))


def _isclose(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool = False) -> Any:
    finite = np.isfinite(a) & np.isfinite(b)
    near = finite & (np.abs(a - b) <= atol + rtol * np.abs(b))
    return (a == b) | near | (np.isnan(a) & np.isnan(b) & bool(equal_nan))


def _logaddexp(a: Array, b: Array) -> Array:
    larger = np.where(a.real >= b.real, a, b)
    smaller = np.where(a.real >= b.real, b, a)
    return larger + _log1p(np.exp(smaller - larger))


COMPLEX: Mapping[str, Formula] = {
    **{name: COMPARISONS[name] for name in ("eq", "ne", "logical_and", "logical_or", "logical_xor", "logical_not")},
    "add": lambda a, b, alpha: a + alpha * b,
    "sub": lambda a, b, alpha: a - alpha * b,
    "rsub": lambda a, b, alpha: b - alpha * a,
    "mul": lambda a, b: a * b,
    "div": lambda a, b, rounding_mode=None: a / b,
    "neg": np.negative,
    "abs": lambda a: np.hypot(a.real, a.imag),
    "angle": lambda a: np.arctan2(a.imag, a.real),
    "sgn": _sgn,
    "square": lambda a: a * a,
    "reciprocal": lambda a: 1 / a,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isclose": _isclose,
    "ldexp": lambda a, b: a * np.exp(b * LN2.astype(b.real.dtype)),
    **{name: getattr(np, name) for name in "exp log sqrt sin cos tan sinh cosh tanh".split()},
    "exp2": lambda a: np.exp(a * LN2.astype(a.real.dtype)),
    "expm1": _expm1,
    "log2": lambda a: np.log(a) / LN2.astype(a.real.dtype),
    "log10": lambda a: np.log(a) / np.log(a.real.dtype.type(10)),
    "log1p": _log1p,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "logaddexp": _logaddexp,
    "pow": _power,
    "sinc": _sinc,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "addcmul": lambda a, b, c, value: a + value * b * c,
    "addcdiv": lambda a, b, c, value: a + value * b / c,
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "where": np.where,
}
