"""Special functions of real numbers, evaluated in double precision; those around the normal distribution.

erfcx(x) (x + 4) for x >= 0 is a Chebyshev series in (x - 4) / (x + 4), computed with 50 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from . import approximation
from .elementary import FUNCTIONS
from .error_function import erfc, inverse_ratio, short_inverse_ratio
from .exponential import exp
from .expression import F32, F64, INT, UINT, Complex, Expr, constant, select, when
from .functions import (
    bits_of,
    cast,
    chebyshev_series,
    copysign,
    fabs,
    float_of_bits,
    format_of,
    fused,
    isnan,
    mul_add,
    ordered_sum,
    polynomial,
    polynomial_by_pairs,
    powers_of_series,
    sqrt,
    times,
)
from .logarithm import log, log1p
from .trigonometry import half_turns, sin_cos, sine_of

Function = Callable[..., Expr]
SHORT: dict[str, Function] = {
    name: getattr(approximation, name) for name in ("exp", "expm1", "log", "log1p")
}
"""Functions of float64 expressions inside formulas whose result is rounded to float32."""


class Library(NamedTuple):
    """Functions of float64 expressions inside a formula, as exact as its result needs: that is float32 if `single`."""

    single: bool

    def __call__(self, name: str, *x: Expr) -> Expr:
        """Return the elementary function of this name."""
        short = SHORT.get(name) if self.single else None
        return short(*x) if short is not None else FUNCTIONS[name](*x)

    @property
    def unit(self) -> float:
        """Return the part of a sum that further terms may be left out for."""
        return 2.0**-40 if self.single else 2.0**-53

    def series(self, t: Expr, coefficients: tuple[float, ...]) -> Expr:
        """Return a Chebyshev series whose value is about its first coefficient, without the terms below the unit."""
        least = self.unit * abs(coefficients[0]) if self.single else 0.0
        count = next(k for k in range(len(coefficients), 0, -1) if abs(coefficients[k - 1]) > least)
        return self.whole_series(t, coefficients[:count])

    def whole_series(self, t: Expr, coefficients: tuple[float, ...]) -> Expr:
        """Return a Chebyshev series; by powers, where a few more units of float64 do not matter."""
        if not self.single:
            return chebyshev_series(t, coefficients)
        return polynomial_by_pairs(t, t * t, powers_of_series(coefficients))


def in_double(function: Function, *arguments: Expr) -> Expr:
    """function(library, arguments...) in float64, rounded once, by a `Library` for the arguments' type."""
    single = arguments[0].type is F32
    result: Expr = function(Library(single), *(cast(x, F64) for x in arguments))
    return cast(result, arguments[0].type)


def xlogy(library: Function, x: Expr, y: Expr) -> Expr:
    """x log y, 0 for x = 0, NaN for NaN y."""
    return select(isnan(y), y, select(x == 0.0, 0.0, x * library("log", y)))


def logaddexp(library: Library, a: Expr, b: Expr) -> Expr:
    """log(e**a + e**b)."""
    return _joined(library, a, b, library("exp", -fabs(a - b)), 1.0)


def logaddexp2(library: Library, a: Expr, b: Expr) -> Expr:
    """log2(2**a + 2**b)."""
    distance = -fabs(a - b)
    share = approximation.exp2_of_negative(distance) if library.single else library("exp2", distance)
    return _joined(library, a, b, share, 1.0 / math.log(2.0))


def _joined(library: Library, a: Expr, b: Expr, share: Expr, unit: float) -> Expr:
    """The larger of two logarithms and that of 1 + share, in a unit; NaN where one of them is."""
    top = select((a > b) | isnan(a), a, b)
    spread = approximation.log1p_of_share(share) if library.single else library("log1p", share)
    return select((a == b) & (fabs(a) == float("inf")), a, mul_add(spread, constant(unit, F64), top))


def sinc(library: Function, x: Expr) -> Expr:
    """sin(pi x) / (pi x), 1 for 0."""
    return select(x == 0.0, 1.0, sin_pi(x) / (x * math.pi))


def sin_pi(x: Expr) -> Expr:
    """sin(pi x), exact zeros at the integers."""
    return sine_of(half_turns(x))


def next_bits(x: Expr, bits: Expr, upward: Expr) -> Expr:
    """Bit pattern of the number next to x (not 0), its pattern given, towards or away from +inf."""
    one = constant(1, bits.type)
    return select(upward ^ (x < 0.0), bits + one, bits - one)


def next_after(x: Expr, y: Expr) -> Expr:
    """The float next to x in the direction of y."""
    smallest = float_of_bits(constant(1, UINT[x.type.bits]))
    moved = float_of_bits(next_bits(x, bits_of(x), y > x))
    moved = select(x == 0.0, copysign(smallest, y), moved)
    return select(isnan(x) | isnan(y), x + y, select(x == y, y, moved))


_ERFCX = (
    1.6320978781965259, -1.5054329427054698, 0.5903214182888945, -0.19828527172011035, 0.0569084302284687,
    -0.013773973050870096, 0.002729016733135232, -0.00041361807903024755, 3.89141838079606e-05, 4.795485503364818e-07,
    -8.699107081379825e-07, 1.2116707094396558e-07, 3.79196702608182e-09, -3.4533646779963824e-09,
    2.748862570381361e-10, 6.813959375318511e-11, -1.3568522747316355e-11, -1.0463235067416098e-12,
    4.851070321243456e-13, 8.458758172979241e-15, -1.6469363733616707e-14, 2.5314850886803307e-16,
    5.757244393379986e-16, -1.8245979193131863e-17, -2.1356377031907925e-17,
)
_HALF_ROOT = math.sqrt(0.5)
_HALF_ROOT_REST = -4.833646656726457e-17
"""The square root of 1/2 in two parts."""
_ROOT_REST = -9.667293313452913e-17
"""The square root of 2 minus math.sqrt(2)."""


def _falling(library: Library, x: Expr) -> Expr:
    """exp(x**2) erfc(x) of x >= 0."""
    if not library.single:
        return library.series((x - 4.0) / (x + 4.0), _ERFCX) / (x + 4.0)
    inverse = 1.0 / (x + 4.0)
    return library.series((x - 4.0) * inverse, _ERFCX) * inverse


def erfcx(library: Library, x: Expr) -> Expr:
    """exp(x**2) erfc(x)."""
    size = fabs(x)
    right = select(size == float("inf"), 0.0, _falling(library, size))
    below = select(x < 0.0, x, 0.0)
    square = below * below
    value = exp(square)
    value = select(value < float("inf"), value * (1.0 + fused(below, below, -square)), value)
    return select(x < 0.0, 2.0 * value - right, right)


def _scaled(x: Expr) -> tuple[Expr, Expr]:
    """x / sqrt(2) in two parts."""
    high = x * _HALF_ROOT
    return high, fused(x, constant(_HALF_ROOT, F64), -high) + x * _HALF_ROOT_REST


def ndtr(library: Library, x: Expr) -> Expr:
    """The normal distribution function."""
    if library.single:
        size = fabs(x) * _HALF_ROOT
        size = select(size > 30.0, 30.0, size)
        beyond = library("exp", -size * size) * _falling(library, size) * 0.5
        return select(x > 0.0, 1.0 - beyond, beyond)
    high, low = _scaled(-x)
    far = select(fabs(high) < 30.0, high, 0.0)
    tail = erfc(high)
    derivative = exp(-(far * far)) * (2.0 / math.sqrt(math.pi))
    corrected = tail - derivative * select(fabs(high) < 30.0, low, 0.0)
    return 0.5 * select(high > 26.6, tail, corrected)


def log_ndtr(library: Library, x: Expr) -> Expr:
    """Logarithm of the normal distribution function."""
    below = select(x < -1.0, x, -1.0)
    high, _ = _scaled(-below)
    left = log(_falling(library, high) * 0.5) - below * below * 0.5
    right = log1p(-ndtr(library, -select(x < -1.0, 0.0, x)))
    return select(isnan(x), x, select(x == -float("inf"), x, select(x < -1.0, left, right)))


# Hastings' rational start for a normal quantile (Abramowitz and Stegun 26.2.23).
_ABOVE = (0.010328, 0.802853, 2.515517)
_BELOW = (0.001308, 0.189269, 1.432788, 1.0)


def _far_quantile(library: Library, share: Expr) -> Expr:
    """Return the size of the normal quantile of a share below 2**-50: Hastings' start, then Halley steps."""
    t = sqrt(-2.0 * log(share))
    y = t - polynomial(t, _ABOVE) / polynomial(t, _BELOW)
    for _ in range(3):
        root = exp(y * y * 0.25)
        step = (_falling(library, y * _HALF_ROOT) - share * root * root * 2.0) * math.sqrt(math.pi / 2.0)
        y = y + step / (1.0 - y * step * 0.5)
    return y


def ndtri(library: Library, p: Expr) -> Expr:
    """Inverse of ndtr, by that of erf; -inf and inf at 0 and 1."""
    upper = p > 0.5
    share = select(upper, 1.0 - p, p)
    inside = select((share > 0.0) & (share <= 0.5), share, 0.5)
    x = 1.0 - inside * 2.0
    if library.single:
        size = x * math.sqrt(2.0) * short_inverse_ratio(-approximation.log_of_normal(inside * 4.0 * (1.0 - inside)))
    else:
        rest = times((inside * 4.0, constant(0.0, F64)), ordered_sum(constant(1.0, F64), -inside))
        high, low = inverse_ratio(*rest)
        size = mul_add(x * math.sqrt(2.0), high, x * (low * math.sqrt(2.0) + high * _ROOT_REST))
    size = when(inside < 2.0**-50, lambda: _far_quantile(library, inside), size)
    found = select(upper, size, -size)
    ends = select(p == 0.0, -float("inf"), select(p == 1.0, constant(float("inf"), F64), float("nan")))
    value = select((p > 0.0) & (p < 1.0), select(p == 0.5, 0.0, found), ends)
    return select(isnan(p), p, value)


def entropy(library: Function, x: Expr) -> Expr:
    """-x log x; 0 at 0, -inf below."""
    inside = select(x > 0.0, x, 1.0)
    value = select(x > 0.0, -x * library("log", inside), select(x == 0.0, constant(0.0, F64), -float("inf")))
    return select(isnan(x), x, value)


def xlog1py(library: Function, x: Expr, y: Expr) -> Expr:
    """x log(1 + y), 0 for x = 0, NaN for NaN y."""
    return select(isnan(y), y, select(x == 0.0, 0.0, x * library("log1p", y)))


def frexp(x: Expr) -> tuple[Expr, Expr]:
    """(mantissa, exponent) with ``x == mantissa * 2**exponent``; 0, inf and NaN are their own mantissa."""
    format, size = format_of(x), fabs(x)
    small = size < 2.0 ** (1 - format.bias)
    bits = bits_of(select(small, x * 2.0**format.mantissa, x))
    mask = (2 * format.bias + 1) << format.mantissa
    held = cast((bits & mask) >> format.mantissa, INT[32]) - (format.bias - 1)
    exponent = select(small, held - format.mantissa, held)
    mantissa = float_of_bits((bits & ~mask) | ((format.bias - 1) << format.mantissa))
    usual = (size > 0.0) & (size < float("inf"))
    return select(usual, mantissa, x), select(usual, exponent, constant(0, INT[32]))


def polar(size: Expr, angle: Expr) -> Complex:
    """``size * (cos(angle) + i sin(angle))``."""
    sine, cosine = sin_cos(angle)
    return Complex(size * cosine, size * sine)
