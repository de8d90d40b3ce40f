"""Bessel functions of float64 lanes, of order 0 and 1: series near 0, amplitude and phase (or decay) far out.

Near 0 the zeros of J0 and J1 are taken out as factors, each in two parts, so that the value is exact beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from . import bessel_tables as tables
from .chebyshev import series
from .expression import F64, Lane, constant, select
from .functions import copysign, fabs, mul_add, sqrt

Function = Callable[..., Lane]

NEAR, FAR = 8.0, 5.0
"""Where I0 and I1, and where J and Y, change from the series to the asymptotic form."""
_I0 = tuple(1.0 / math.factorial(k) ** 2 for k in range(30, -1, -1))
_I1 = tuple(0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(30, -1, -1))
J0_ZEROS = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
J1_ZEROS = ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17))


def _polynomial(x: Lane, coefficients: tuple[float, ...]) -> Lane:
    result = constant(coefficients[0], F64)
    for coefficient in coefficients[1:]:
        result = mul_add(result, x, constant(coefficient, F64))
    return result


def _growing(library: Function, x: Lane, head: Lane, tail: tuple[float, ...], *, scaled: bool) -> Lane:
    """I of 0 <= x from its head below NEAR, times exp(-x) if `scaled`."""
    far = series(16.0 / select(x < NEAR, NEAR, x) - 1.0, tail) / sqrt(select(x < NEAR, NEAR, x))
    if scaled:
        return select(x < NEAR, head * library("exp", -select(x < NEAR, x, 0.0)), far)
    half = library("exp", x * 0.5)
    return select(x < NEAR, head, select(x == float("inf"), x, far * half * half))


def _square(x: Lane, limit: float) -> Lane:
    """x * x, kept within the square of `limit`."""
    inside = select(x < limit, x, limit)
    return inside * inside


def modified_i0(library: Function, x: Lane, *, scaled: bool = False) -> Lane:
    """I0(x), or I0(x) exp(-|x|)."""
    size = fabs(x)
    head = _polynomial(_square(size, NEAR) * 0.25, _I0)
    return select(x != x, x, _growing(library, size, head, tables.I0_TAIL, scaled=scaled))


def modified_i1(library: Function, x: Lane, *, scaled: bool = False) -> Lane:
    """I1(x), or I1(x) exp(-|x|)."""
    size = fabs(x)
    head = size * _polynomial(_square(size, NEAR) * 0.25, _I1)
    value = _growing(library, size, head, tables.I1_TAIL, scaled=scaled)
    return select(x != x, x, copysign(value, x))


def i0e(library: Function, x: Lane) -> Lane:
    """I0(x) exp(-|x|)."""
    return modified_i0(library, x, scaled=True)


def i1e(library: Function, x: Lane) -> Lane:
    """I1(x) exp(-|x|)."""
    return modified_i1(library, x, scaled=True)


def _decaying(library: Function, x: Lane, near: Lane, tail: tuple[float, ...], *, scaled: bool) -> Lane:
    """K of x from its value up to 2, times exp(x) if `scaled`; inf at 0, NaN below."""
    beyond = select(x > 2.0, x, 2.0)
    far = series(4.0 / beyond - 1.0, tail) / sqrt(beyond)
    if scaled:
        near = near * library("exp", select(x > 2.0, 2.0, x))
    else:
        half = library("exp", beyond * -0.5)
        far = far * half * half
    value = select(x > 2.0, far, near)
    return select(x > 0.0, value, select(x == 0.0, constant(float("inf"), F64), float("nan")))


def _logarithm(library: Function, x: Lane) -> Lane:
    """Return log(x / 2) for x <= 2; x is scaled up first where x / 2 may underflow to 0."""
    inside = select(x > 0.0, select(x > 2.0, 2.0, x), 1.0)
    tiny = inside < 2.0**-1000
    scaled = select(tiny, inside * 2.0**100, inside)
    return library("log", scaled * 0.5) - select(tiny, constant(100 * math.log(2.0), F64), 0.0)


def modified_k0(library: Function, x: Lane, *, scaled: bool = False) -> Lane:
    """K0(x), or K0(x) exp(x)."""
    square = _square(x, 2.0)
    growing = _polynomial(square * 0.25, _I0[-14:])
    near = series(square * 0.5 - 1.0, tables.K0_HEAD) - _logarithm(library, x) * growing
    return _decaying(library, x, near, tables.K0_TAIL, scaled=scaled)


def modified_k1(library: Function, x: Lane, *, scaled: bool = False) -> Lane:
    """K1(x), or K1(x) exp(x)."""
    square = _square(x, 2.0)
    growing = x * _polynomial(square * 0.25, _I1[-14:])
    near = series(square * 0.5 - 1.0, tables.K1_HEAD) / x + _logarithm(library, x) * growing
    return _decaying(library, x, near, tables.K1_TAIL, scaled=scaled)


def scaled_k0(library: Function, x: Lane) -> Lane:
    """K0(x) exp(x)."""
    return modified_k0(library, x, scaled=True)


def scaled_k1(library: Function, x: Lane) -> Lane:
    """K1(x) exp(x)."""
    return modified_k1(library, x, scaled=True)


def _waves(x: Lane, even: tuple[float, ...], odd: tuple[float, ...]) -> tuple[Lane, Lane]:
    """The amplitudes P and Q of cosine and sine of the phase for x >= FAR, over sqrt(pi x)."""
    ratio = FAR / select(x < FAR, FAR, x)
    t = ratio * ratio * 2.0 - 1.0
    scale = sqrt(select(x < FAR, FAR, x)) * math.sqrt(math.pi)
    return series(t, even) / scale, ratio * series(t, odd) / scale


def _beside(x: Lane, zeros: tuple[tuple[float, float], ...]) -> Lane:
    """The product of ``x**2 - zero**2``."""
    result = constant(1.0, F64)
    for high, low in zeros:
        result = result * ((x - high) - low) * (x + high)
    return result


def _small(x: Lane) -> Lane:
    """``x**2`` as the argument of a series on [0, FAR]."""
    return _square(x, FAR) * (2.0 / FAR**2) - 1.0


def _head_j0(x: Lane) -> Lane:
    return series(_small(x), tables.J0_HEAD) * _beside(x, J0_ZEROS)


def _head_j1(x: Lane) -> Lane:
    return x * series(_small(x), tables.J1_HEAD) * _beside(x, J1_ZEROS)


def bessel_j0(library: Function, x: Lane) -> Lane:
    """J0(x); 0 at infinity."""
    size = fabs(x)
    p, q = _waves(size, tables.P0_TAIL, tables.Q0_TAIL)
    cosine, sine = library("cos", size), library("sin", size)
    far = p * (cosine + sine) - q * (sine - cosine)
    return select(size < FAR, _head_j0(size), select(size == float("inf"), 0.0, far))


def bessel_j1(library: Function, x: Lane) -> Lane:
    """J1(x); 0 at infinity."""
    size = fabs(x)
    p, q = _waves(size, tables.P1_TAIL, tables.Q1_TAIL)
    cosine, sine = library("cos", size), library("sin", size)
    far = p * (sine - cosine) + q * (sine + cosine)
    value = select(size < FAR, _head_j1(size), select(size == float("inf"), 0.0, far))
    return select(x < 0.0, -value, value)


def _ends(x: Lane, value: Lane) -> Lane:
    inside = select(x == float("inf"), 0.0, value)
    return select(x > 0.0, inside, select(x == 0.0, constant(-float("inf"), F64), float("nan")))


def bessel_y0(library: Function, x: Lane) -> Lane:
    """Y0(x); -inf at 0, NaN below."""
    p, q = _waves(x, tables.P0_TAIL, tables.Q0_TAIL)
    cosine, sine = library("cos", x), library("sin", x)
    far = p * (sine - cosine) + q * (cosine + sine)
    inside = select((x > 0.0) & (x < FAR), x, 1.0)
    near = series(_small(inside), tables.Y0_HEAD) + library("log", inside) * _head_j0(inside) * (2.0 / math.pi)
    return _ends(x, select(x < FAR, near, far))


def bessel_y1(library: Function, x: Lane) -> Lane:
    """Y1(x); -inf at 0, NaN below."""
    p, q = _waves(x, tables.P1_TAIL, tables.Q1_TAIL)
    cosine, sine = library("cos", x), library("sin", x)
    far = q * (sine - cosine) - p * (sine + cosine)
    inside = select((x > 0.0) & (x < FAR), x, 1.0)
    near = inside * series(_small(inside), tables.Y1_HEAD)
    near = near + (library("log", inside) * _head_j1(inside) - 1.0 / inside) * (2.0 / math.pi)
    return _ends(x, select(x < FAR, near, far))


def spherical_j0(library: Function, x: Lane) -> Lane:
    """sin(x) / x; 1 at 0, 0 at infinity."""
    value = library("sin", x) / x
    return select(x == 0.0, 1.0, select(fabs(x) == float("inf"), 0.0, value))
