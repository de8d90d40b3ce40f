"""Special functions of one or two numbers in decimal arithmetic: Bessel's of the first and second kind, Airy's, the
incomplete gamma functions, zeta and its kin, the normal distribution.

Every distinct argument is computed once: test data come from small tables. Where a function crosses zero its error is
measured by its size around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Near
from .special import digamma, erfc_exact, lgamma, lgamma_positive, pi

_CONTEXT = Context(prec=150, Emax=MAX_EMAX, Emin=MIN_EMIN)
_TINY = Decimal(10) ** -130
_FAIR = 2e-9
"""What its sums for large parameters reach of the incomplete gamma functions, and of the trigamma function."""
_ROUGH = 1e-7
"""What PyTorch's approximations of Bessel's functions reach in double, which are those of single."""

Known = dict[str, float]


def each(function: Callable[..., float], *operands: Any) -> Array:
    """``function`` of every element of the operands, which broadcast, as float64."""
    known = _known(function)
    arrays = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in operands])
    found = np.empty(arrays[0].shape, np.float64)
    for at in np.ndindex(*found.shape):
        point = tuple(float(a[at]) for a in arrays)
        key = repr(point)  # which tells zeros of both signs apart
        if key not in known:
            with localcontext(_CONTEXT):
                known[key] = function(*point)
        found[at] = known[key]
    return found


@cache
def _known(function: Callable[..., float]) -> Known:
    return {}


@cache
def _euler() -> Decimal:
    """Euler's constant, from harmonic numbers by Brent and McMillan."""
    n = 90
    with localcontext(_CONTEXT):
        a, b = -Decimal(n).ln(), Decimal(1)
        upper, lower = a, b
        for k in range(1, 8 * n):
            b = b * n * n / (k * k)
            a = (a * n * n / k + b) / k
            upper, lower = upper + a, lower + b
        return upper / lower


def _series(first: Decimal, ratio: Callable[[int], Decimal], weight: Callable[[int], Decimal] | None = None) -> Decimal:
    """The sum of terms, each the one before times ``ratio(k)``; weighed, if so wanted."""
    term, k = first, 0
    total = term * (weight(0) if weight else 1)
    while k < 20 or abs(term) > _TINY:
        k += 1
        term *= ratio(k)
        total += term * (weight(k) if weight else 1)
        if not term:
            break
    return total


def _first_kind(order: int, x: Decimal) -> Decimal:
    quarter = -x * x / 4
    return _series((x / 2) ** order if order else Decimal(1), lambda k: quarter / (k * (k + order)))


@cache
def _harmonic(k: int) -> Decimal:
    return _harmonic(k - 1) + 1 / Decimal(k) if k else Decimal(0)


def _second_kind_zero(x: Decimal) -> Decimal:
    quarter = -x * x / 4
    harmonics = _series(Decimal(1), lambda k: quarter / (k * k), _harmonic)
    return 2 / pi() * (((x / 2).ln() + _euler()) * _first_kind(0, x) - harmonics)


def _j(order: int) -> Callable[[float], float]:
    def value(x: float) -> float:
        return float(_first_kind(order, Decimal(x))) if math.isfinite(x) else math.nan if math.isnan(x) else 0.0

    return value


def _y(order: int) -> Callable[[float], float]:
    def value(x: float) -> float:
        if math.isnan(x) or x < 0:
            return math.nan
        if x == 0:
            return -math.inf
        wide = Decimal(x)
        zeroth = _second_kind_zero(wide)
        # J1 Y0 - J0 Y1 is 2 / (π x).
        first = (_first_kind(1, wide) * zeroth - 2 / (pi() * wide)) / _first_kind(0, wide)
        return float(first if order else zeroth)

    return value


_J0, _J1, _Y0, _Y1 = _j(0), _j(1), _y(0), _y(1)


@cache
def _airy_at_zero() -> tuple[Decimal, Decimal]:
    """Airy's function and its slope at 0, the latter with its sign changed."""
    third, three = Decimal(1) / 3, Decimal(3).ln()
    return (-2 * third * three - lgamma_positive(2 * third)).exp(), (-third * three - lgamma_positive(third)).exp()


def _airy(x: float) -> float:
    """By the two power series of its equation; far out it is below every number in single."""
    if x > 40:
        return 0.0
    wide = Decimal(x)
    cube = wide**3
    even = _series(Decimal(1), lambda k: cube / ((3 * k - 1) * 3 * k))
    odd = _series(wide, lambda k: cube / (3 * k * (3 * k + 1)))
    at_zero, slope = _airy_at_zero()
    return float(at_zero * even - slope * odd)


def _lower_share(a: float, x: float) -> Decimal:
    wide = Decimal(a)
    log = wide * Decimal(x).ln() - Decimal(x) - lgamma_positive(wide + 1)
    return log.exp() * _series(Decimal(1), lambda k: Decimal(x) / (wide + k))


def _igamma(a: float, x: float) -> float:
    return float(_lower_share(a, x))


def _igammac(a: float, x: float) -> float:
    return float(1 - _lower_share(a, x))


# B(2j) / (2j)! of the Euler-Maclaurin sum.
_BERNOULLI = [
    Decimal(a) / b / math.factorial(2 * j)
    for j, (a, b) in enumerate(
        [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798)], 1
    )
]


def _zeta(s: float, q: float) -> float:
    """The sum of (q + k)^-s: thirty terms, and what the Euler-Maclaurin formula says of the rest."""
    if s == 1:
        return math.inf
    if s < 1:
        return math.nan
    power, start = Decimal(s), Decimal(q)
    total = sum(((start + k) ** -power for k in range(30)), Decimal(0))
    end = start + 30
    total += end ** (1 - power) / (power - 1) + end**-power / 2
    factor = power
    for j, share in enumerate(_BERNOULLI, 1):
        total += share * factor * end ** (-power - 2 * j + 1)
        factor *= (power + 2 * j - 1) * (power + 2 * j)
    return float(total)


def _ndtr(x: float) -> float:
    return float(erfc_exact(-Decimal(x) / Decimal(2).sqrt()) / 2) if math.isfinite(x) else x if x != x else float(x > 0)


def _log_ndtr(x: float) -> float:
    if not math.isfinite(x):
        return x if x < 0 or x != x else 0.0
    share = erfc_exact(abs(Decimal(x)) / Decimal(2).sqrt()) / 2
    return float(share.ln() if x < 0 else (1 - share).ln())


def polygamma(n: int, x: Array) -> Near:
    if n == 0:
        value = digamma(x)
        return Near(value, np.maximum(np.abs(value), 1), 8)
    value = (-1) ** (n + 1) * math.factorial(n) * each(_zeta, n + 1.0, x)
    return Near(value, np.abs(value), 32, least=_FAIR if n == 1 else 0.0)


def multigamma(x: Array, p: int) -> Near:
    wide = x.astype(np.longdouble)
    below = np.asarray(wide <= (p - 1) / 2)
    inside = np.where(below, np.longdouble(p), wide)
    parts = np.stack([lgamma(np.asarray(inside - np.longdouble(j) / 2)) for j in range(p)])
    constant = p * (p - 1) / 4 * np.log(np.longdouble(math.pi))
    scale = np.abs(parts).sum(axis=0) + constant + 1
    return Near(parts.sum(axis=0) + constant, scale, 16, open={"below_the_domain": below})


def _relative(function: Callable[..., float], units: float) -> Oracle:
    def oracle(*operands: Any) -> Near:
        value = each(function, *operands)
        return Near(value, np.abs(value), units)

    return oracle


def _absolute(function: Callable[..., float], near_zero: Callable[[Array], Any], least: float = 0.0) -> Oracle:
    def oracle(*operands: Any) -> Near:
        value = each(function, *operands)
        scale = np.maximum(np.abs(value), near_zero(np.abs(np.asarray(operands[0]))))
        return Near(value, scale, 64, least=least)

    return oracle


def _airy_near(x: Array) -> Near:
    value = each(_airy, x)
    return Near(value, np.where(x > 0, np.abs(value), 1.0), 32, least=_ROUGH)


TRANSCENDENTAL: dict[str, Oracle] = {
    "special_bessel_j0": _absolute(_J0, lambda size: 1, _ROUGH),
    "special_bessel_j1": _absolute(_J1, lambda size: np.minimum(size, 1), _ROUGH),
    "special_bessel_y0": _absolute(_Y0, lambda size: 1, _ROUGH),
    "special_bessel_y1": _absolute(_Y1, lambda size: 1, _ROUGH),
    "special_airy_ai": _airy_near,
    "special_zeta": _relative(_zeta, 32),
    "igamma": _absolute(_igamma, lambda size: 1, _FAIR),
    "igammac": _absolute(_igammac, lambda size: 1, _FAIR),
    "polygamma": polygamma,
    "special_polygamma": polygamma,
    "mvlgamma": multigamma,
    "special_multigammaln": multigamma,
    "special_ndtr": _absolute(_ndtr, lambda size: 1),
    "special_log_ndtr": _relative(_log_ndtr, 64),
}
