"""The Hurwitz zeta function of float64 lanes, and polygamma through it.

The first terms are added up as they are, the smallest first; the Euler-Maclaurin formula takes the rest.
"""

from __future__ import annotations

import math

from .elementary import evaluated
from .expression import F64, Lane, constant, select
from .functions import ceil, copysign, fabs, floor, isfinite, isnan, rint, truncate
from .special import Function, sin_pi
from .while_loop import while_loop

_INFINITY, _NAN = float("inf"), float("nan")
_DIRECT = 12.0
"""Terms that are added up as they are."""


_CORRECTIONS = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
    -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19, 3.534707039629467e-21,
    -8.953517427037546e-23,
)  # fmt: skip
"""B_2j / (2j)! with the Bernoulli numbers B, for j = 1, 2, ..."""


def _of_positive(s: Lane, q: Lane) -> Lane:
    """Return the sum of (q + k)**-s over k >= 0 for s > 1 and q > 0."""
    zero = constant(0.0, F64)

    def add(k: Lane, total: Lane, edge: Lane) -> tuple[Lane, Lane, Lane]:
        power, first = evaluated("pow", q + k, -s), k == _DIRECT
        return k - 1.0, select(first, total, total + power), select(first, power, edge)

    _, total, edge = while_loop(lambda k, *_: k >= 0.0, add, constant(_DIRECT, F64), zero, zero)
    a = q + _DIRECT
    rest = edge * (a / (s - 1.0) + 0.5)
    factor, inverse = s * edge / a, 1.0 / (a * a)
    for j, number in enumerate(_CORRECTIONS):
        term = number * factor
        rest = rest + select(isfinite(term), term, 0.0)
        factor = factor * ((s + (2.0 * j + 1.0)) * (s + (2.0 * j + 2.0))) * inverse
    endless = select(q > 1.0, zero, select(q == 1.0, constant(1.0, F64), _INFINITY))
    return select(s == _INFINITY, endless, total + rest)


def _summed(s: Lane, q: Lane, mirrored: Lane) -> Lane:
    """Return zeta for s > 1 and q > 0, or for a whole s and a fractional q < 0, where `mirrored` holds.

    Below 0 it is zeta(s, q + n) for the whole n with 0 < q + n < 1, and the n terms before, which are a difference of
    two zetas of 1 - q - n and 1 - q up to their sign.
    """
    count = select(mirrored, ceil(-q), 0.0)
    start = q + count
    half = s * 0.5
    sign = select(truncate(half) == half, constant(1.0, F64), -1.0)

    def add(part: Lane, total: Lane) -> tuple[Lane, Lane]:
        beyond = part == 2.0
        at = select(part == 0.0, start, select(beyond, 1.0 - start + count, 1.0 - start))
        weight = select(part == 0.0, 1.0, select(beyond, -sign, sign))
        return part + 1.0, total + weight * _of_positive(s, at)

    zero = constant(0.0, F64)
    parts = select(mirrored, constant(3.0, F64), 1.0)
    return while_loop(lambda part, _: part < parts, add, zero, zero)[1]


def zeta(library: Function, s: Lane, q: Lane) -> Lane:
    """The sum of (q + k)**-s over k >= 0: inf at s = 1 and at q = 0, -1, ...; NaN for s < 1, and for q < 0 unless s
    is a whole number."""
    whole = s == floor(s)
    below = (q < 0.0) & whole & (q != floor(q)) & (s > 1.0)
    value = _summed(select(s > 1.0, s, 2.0), select((q > 0.0) | below, q, 1.0), below)
    value = select(q <= 0.0, select(q == floor(q), _INFINITY, select(whole, value, _NAN)), value)
    value = select(s == 1.0, _INFINITY, select(s > 1.0, value, _NAN))
    return select(isnan(q) | isnan(s), _NAN, value)


def trigamma(library: Function, x: Lane) -> Lane:
    """Derivative of digamma; by reflection below 1/2."""
    mirrored = x < 0.5
    ratio = math.pi / sin_pi(x - rint(x))
    at = select(mirrored, 1.0 - x, x)
    value = _of_positive(constant(2.0, F64), at)
    value = select(mirrored, ratio * ratio - value, value)
    return select(isnan(x), x, select(x == _INFINITY, 0.0, value))


def polygamma(library: Function, x: Lane, order: Lane, factorial: Lane) -> Lane:
    """Derivative of digamma of a whole order >= 2, with its factorial: a factorial times zeta."""
    half = order * 0.5
    value = factorial * zeta(library, order + 1.0, x)
    return select(truncate(half) == half, -value, value)


def polygamma_by_logarithm(library: Function, x: Lane, order: Lane, log_factorial: Lane) -> Lane:
    """polygamma for factorials that are no floats; 0 where zeta is below the smallest float."""
    half = order * 0.5
    value = zeta(library, order + 1.0, x)
    value = copysign(evaluated("exp", log_factorial + evaluated("log", fabs(value))), value)
    return select(truncate(half) == half, -value, value)
