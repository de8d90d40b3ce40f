"""Pointwise operators on real floats.

``EXACT`` holds formulas whose double precision result rounds to the right answer in every float dtype; ``WIDE`` those
that are evaluated in more precision than the dtype has (float64 in long double); ``NATIVE`` those that are defined by
the steps of the dtype itself. Numbers among the operands are 0-dim arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..backend import Array, numpy_dtype
from . import special
from .conversion import cast
from .integers import COMPARISONS

Formula = Callable[..., Any]

PI = np.longdouble("3.14159265358979323846264338327950288")
LN2 = np.longdouble("0.693147180559945309417232121458176568")


def _step(dtype: str) -> Any:
    """The type of the steps of a formula on ``dtype``: half floats are computed in float32."""
    return np.float64 if dtype == "float64" else np.float32


def _power(a: Array, b: Array) -> Array:
    """C's power: for a single exponent of 0.5 NumPy takes a square root, which differs at minus infinity and zero."""
    base, exponent = np.broadcast_arrays(a, b)
    return np.asarray(np.where((exponent == 0.5) & (np.isneginf(base) | (base == 0)), np.abs(base), np.power(a, b)))


def _floor_quotient(a: Array, b: Array) -> Array:
    """floor(a / b) by way of the exact remainder, so that the rounding of a / b cannot reach the next integer."""
    rest = np.fmod(a, b)
    quotient = (a - rest) / b
    quotient = np.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)
    whole = np.floor(quotient)
    whole = np.where(quotient - whole > 0.5, whole + 1, whole)
    whole = np.where(quotient == 0, np.copysign(np.zeros_like(quotient), a / b), whole)
    return np.where(b == 0, a / b, whole)


def _divide(dtype: str, a: Array, b: Array, rounding_mode: str | None = None) -> Array:
    """The quotient is rounded as a float is before ``trunc`` cuts it, but ``floor`` never passes an integer."""
    step = _step(dtype)
    a, b = a.astype(step), b.astype(step)
    if rounding_mode is None:
        return cast(a / b, dtype)
    return cast(_floor_quotient(a, b) if rounding_mode == "floor" else np.trunc(a / b), dtype)


def _remainder(a: Array, b: Array) -> Array:
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _sign(a: Array) -> Any:
    return (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype)


def _clamp(a: Array, low: Array | None = None, high: Array | None = None) -> Array:
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _isclose(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool = False) -> Any:
    near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b))
    return (a == b) | near | (np.isnan(a) & np.isnan(b) & bool(equal_nan))


def _logit(x: Array, eps: Array | None = None) -> Array:
    if eps is not None:
        x = np.minimum(np.maximum(x, eps), 1 - eps)
    central = (x > 0.25) & (x < 0.75)
    inner, outer = np.where(central, x, 0.5), np.where(central, 0.5, x)
    return np.where(central, np.log1p((2 * inner - 1) / (1 - inner)), np.log(outer) - np.log1p(-outer))


def _xlogy(a: Array, b: Array) -> Array:
    return np.where(np.isnan(b), b, np.where(a == 0, np.zeros_like(a), a * np.log(b)))


def _lerp(a: Array, b: Array, weight: Array) -> Any:
    return np.where(np.abs(weight) < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _sinc(dtype: str, x: Array) -> Array:
    step = _step(dtype)
    angle = (PI.astype(step) * x.astype(step)).astype(np.longdouble)
    return cast(np.where(x == 0, np.ones_like(angle), np.sin(angle) / np.where(x == 0, 1, angle)), dtype)


def _round_decimals(dtype: str, x: Array, decimals: int) -> Array:
    step = _step(dtype)
    narrow, ten = x.astype(step), step(10.0 ** abs(int(decimals)))
    if decimals < 0:
        return cast(np.rint(narrow / ten) * ten, dtype)
    return cast(np.rint(narrow * ten) / ten, dtype)


def _nextafter(dtype: str, a: Array, b: Array) -> Array:
    """One step on the scale of bit patterns, which is monotone for each sign."""
    kind: Any = {2: np.int16, 4: np.int32, 8: np.int64}[numpy_dtype(dtype).itemsize]
    a, b = np.broadcast_arrays(a, b)
    bits = np.atleast_1d(np.ascontiguousarray(a)).view(kind).reshape(a.shape)
    grows = np.abs(b.astype(np.longdouble)) > np.abs(a.astype(np.longdouble))
    outward = grows & (np.signbit(a) == np.signbit(b))
    moved = np.where(outward, bits + kind(1), bits - kind(1))
    smallest = np.where(np.signbit(b), np.iinfo(kind).min + 1, 1).astype(kind)
    moved = np.where(a == 0, smallest, moved).astype(kind)
    result = np.where(a == b, b, np.ascontiguousarray(moved).view(numpy_dtype(dtype)).reshape(a.shape))
    nan = np.isnan(a) | np.isnan(b)
    return np.asarray(np.where(nan, numpy_dtype(dtype).type(np.nan), result))


def _nan_to_num(dtype: str, a: Array, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Array:
    from ..values import table

    finite = table(dtype)[np.isfinite(table(dtype))]
    kind = numpy_dtype(dtype).type
    top = finite.max() if posinf is None else kind(posinf)
    bottom = finite.min() if neginf is None else kind(neginf)
    a = np.where(np.isnan(a), kind(0 if nan is None else nan), a)
    return np.where(a == np.inf, top, np.where(a == -np.inf, bottom, a)).astype(a.dtype)


def _ldexp(dtype: str, a: Array, b: Array) -> Array:
    factor = cast(np.exp2(b.astype(np.longdouble)), dtype)
    return cast(a.astype(np.float64) * factor.astype(np.float64), dtype)


EXACT: Mapping[str, Formula] = {
    **COMPARISONS,
    "mul": lambda a, b: a * b,
    "neg": np.negative,
    "abs": np.abs,
    "square": lambda a: a * a,
    "signbit": np.signbit,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isposinf": lambda a: a == np.inf,
    "isneginf": lambda a: a == -np.inf,
    "isclose": _isclose,
    "remainder": _remainder,
    "fmod": np.fmod,
    "reciprocal": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "sign": _sign,
    "sgn": _sign,
    "relu": lambda a: np.where(a < 0, np.zeros_like(a), a),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "copysign": np.copysign,
    "heaviside": lambda a, values: np.where(a == 0, values, (a > 0).astype(a.dtype)),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "frac": lambda a: np.where(np.isinf(a), np.nan, np.copysign(a - np.trunc(a), a)),
    "where": np.where,
    "clamp": _clamp,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
}

WIDE: Mapping[str, Formula] = {
    "add": lambda a, b, alpha: a + alpha * b,
    "sub": lambda a, b, alpha: a - alpha * b,
    "rsub": lambda a, b, alpha: b - alpha * a,
    "addcmul": lambda a, b, c, value: a + value * b * c,
    "addcdiv": lambda a, b, c, value: a + value * b / c,
    "lerp": _lerp,
    "xlogy": _xlogy,
    **{
        name: getattr(np, name)
        for name in """exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh hypot logaddexp
        logaddexp2 deg2rad rad2deg""".split()
    },
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "sigmoid": _sigmoid,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "logit": _logit,
    "pow": _power,
    "angle": lambda a: np.where(np.isnan(a), a, np.where(a < 0, PI, 0 * PI)),
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "lgamma": special.lgamma,
    "digamma": special.digamma,
    "special_spherical_bessel_j0": lambda a: np.where(a == 0, 1, np.where(np.isinf(a), 0, np.sin(a) / a)),
    "special_entr": lambda a: np.where(a < 0, -np.inf, np.where(a == 0, 0, -a * np.log(a))),
    "special_xlog1py": lambda a, b: np.where(np.isnan(b), b, np.where(a == 0, 0, a * np.log1p(b))),
}

NATIVE: Mapping[str, Formula] = {
    "div": _divide,
    "floor_divide": lambda dtype, a, b: _divide(dtype, a, b, "floor"),
    "sinc": _sinc,
    "round.decimals": _round_decimals,
    "nextafter": _nextafter,
    "nan_to_num": _nan_to_num,
    "ldexp": _ldexp,
}
