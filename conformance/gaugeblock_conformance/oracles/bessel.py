"""Modified Bessel functions, scaled erfc and the normal quantile of single numbers, in decimal arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from functools import cache

from .special import erfc_exact, pi

_DIGITS = 220
"""K comes from terms that cancel by a factor exp(2 x)."""
_FAR = 300.0
"""Arguments above are not judged."""


def growing(order: int, x: Decimal) -> Decimal:
    """I of order 0 or 1, by its power series."""
    term = total = x / 2 if order else Decimal(1)
    k = 0
    while abs(term) > abs(total) * Decimal(10) ** -60:
        k += 1
        term *= x * x / 4 / (k * (k + order))
        total += term
    return total


@cache
def _euler() -> Decimal:
    """Euler's constant, by Brent and McMillan's sums."""
    with localcontext() as context:
        context.prec = _DIGITS
        n = 150
        term = Decimal(1)
        harmonic = upper = Decimal(0)
        lower = Decimal(0)
        for k in range(8 * n):
            lower += term
            upper += term * harmonic
            harmonic += Decimal(1) / (k + 1)
            term *= Decimal(n * n) / ((k + 1) * (k + 1))
        return upper / lower - Decimal(n).ln()


def _decaying(x: Decimal) -> tuple[Decimal, Decimal]:
    """K0 and K1 of x > 0: the logarithmic series, and the Wronskian."""
    with localcontext() as context:
        context.prec = _DIGITS
        term, harmonic, total = Decimal(1), Decimal(0), Decimal(0)
        zeroth = first = Decimal(0)
        k = 0
        while term > zeroth * Decimal(10) ** -(_DIGITS - 10):
            zeroth += term
            first += term * x / 2 / (k + 1)
            total += term * harmonic
            k += 1
            harmonic += Decimal(1) / k
            term *= x * x / 4 / (k * k)
        k0 = total - ((x / 2).ln() + _euler()) * zeroth
        return k0, (1 / x - first * k0) / zeroth


def _modified(order: int, *, scaled: bool) -> Callable[[float], float]:
    def value(x: float) -> float:
        if math.isnan(x):
            return x
        if math.isinf(x) or abs(x) > _FAR:
            return 0.0 if scaled else math.copysign(math.inf, x) if order else math.inf
        exact = growing(order, Decimal(x))
        return float(exact * (-abs(Decimal(x))).exp() if scaled else exact)

    return value


def _second(order: int, *, scaled: bool) -> Callable[[float], float]:
    def value(x: float) -> float:
        if math.isnan(x) or x < 0:
            return math.nan
        if x == 0:
            return math.inf
        if x > _FAR:
            return 0.0
        exact = _decaying(Decimal(x))[order]
        return float(exact * Decimal(x).exp() if scaled else exact)

    return value


def _erfcx(x: float) -> float:
    if math.isnan(x):
        return x
    if math.isinf(x) or x < -25:
        return 0.0 if x > 0 else math.inf
    return float(erfc_exact(Decimal(x)) * (Decimal(x) * Decimal(x)).exp())


def _ndtri(p: float) -> float:
    if math.isnan(p) or not 0 <= p <= 1:
        return math.nan
    if p in (0, 1):
        return math.inf if p else -math.inf
    if p == 0.5:
        return 0.0
    share = min(Decimal(p), 1 - Decimal(p))
    low, high = Decimal(0), Decimal(40)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(middle) > share else (low, middle)
    y = low
    for _ in range(8):
        density = (-y * y / 2).exp() / (2 * pi()).sqrt()
        miss = (_tail(y) - share) / density
        y += miss / (1 - miss * y / 2)
    return math.copysign(float(y), p - 0.5)


def _tail(y: Decimal) -> Decimal:
    """The share of the normal distribution above y."""
    return erfc_exact(y / Decimal(2).sqrt()) / 2


COSTLY: Mapping[str, Callable[[float], float]] = {
    "i0": _modified(0, scaled=False),
    "special_i0e": _modified(0, scaled=True),
    "special_i1": _modified(1, scaled=False),
    "special_i1e": _modified(1, scaled=True),
    "special_modified_bessel_i0": _modified(0, scaled=False),
    "special_modified_bessel_i1": _modified(1, scaled=False),
    "special_modified_bessel_k0": _second(0, scaled=False),
    "special_modified_bessel_k1": _second(1, scaled=False),
    "special_scaled_modified_bessel_k0": _second(0, scaled=True),
    "special_scaled_modified_bessel_k1": _second(1, scaled=True),
    "special_erfcx": _erfcx,
    "special_ndtri": _ndtri,
}
"""By name without overload. A value takes a millisecond: too long for the tests that draw whole tensors."""
