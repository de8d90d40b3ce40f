"""The regularised incomplete gamma functions P and Q of float64 lanes, by the three ways of the CPU's kernels."""

from __future__ import annotations

import math

from ...kernels.elementary import evaluated
from ...kernels.expression import F64, Lane, constant, select
from ...kernels.functions import call, copysign, fabs, isfinite, sqrt
from ...operators.numeric.incomplete_gamma import EPSILON, LARGE, MOST, STIRLING
from .loop import Loop

TINY = 1e-300
INFINITY, NAN = float("inf"), float("nan")


def _apart(x: Lane) -> Lane:
    """`x` kept from 0."""
    return select(fabs(x) < TINY, TINY, x)


def _first_fraction(a: Lane, x: Lane) -> tuple[Lane, ...]:
    b = x + 1.0 - a
    d = 1.0 / select(b == 0.0, TINY, b)
    return constant(1.0, F64), b, constant(1.0 / TINY, F64), d, d, constant(0.0, F64)


def _next_fraction(a: Lane, x: Lane, n: Lane, b: Lane, c: Lane, d: Lane, total: Lane, step: Lane) -> tuple[Lane, ...]:
    factor = n * (a - n)
    b = b + 2.0
    d = 1.0 / _apart(factor * d + b)
    c = _apart(b + factor / c)
    step = c * d
    return n + 1.0, b, c, d, total * step, step


LOOPS = {
    "gb_gamma_series": Loop(
        lambda a, x: (constant(1.0, F64), constant(1.0, F64), constant(1.0, F64)),
        lambda a, x, n, term, total: (n < float(MOST)) & (term > total * EPSILON),
        lambda a, x, n, term, total: (n + 1.0, term * x / (a + n), total + term * x / (a + n)),
        lambda a, x, n, term, total: total,
    ),
    "gb_gamma_fraction": Loop(
        _first_fraction,
        lambda a, x, n, b, c, d, total, step: (n < float(MOST)) & (fabs(step - 1.0) > EPSILON),
        _next_fraction,
        lambda a, x, n, b, c, d, total, step: total,
    ),
}
"""Sums over n of a and x: the series of P and Lentz's method for Q, without what stands before them."""


def _less_log(x: Lane) -> Lane:
    """x - log(1 + x), by its series near 0."""
    near = fabs(x) < 0.15
    t = select(near, x / (2.0 + x), 0.0)
    square = t * t
    series = constant(0.0, F64)
    for k in range(25, 1, -2):
        series = (series + 2.0 / k) * square
    return select(near, x * t - t * series, x - evaluated("log1p", x))


def _prefactor(a: Lane, x: Lane) -> Lane:
    """x**a exp(-x) / gamma(a + 1)."""
    large = a >= 10.0
    big = select(large, a, 10.0)
    inverse = 1.0 / (big * big)
    tail = constant(0.0, F64)
    for coefficient in reversed(STIRLING):
        tail = tail * inverse + coefficient
    mu = (x - big) / big
    distance = select(fabs(mu) < 0.7, _less_log(mu), mu - evaluated("log", x / big))
    far = evaluated("exp", -big * distance - tail / big) / sqrt(2.0 * math.pi * big)
    small = select(large, 1.0, a)
    near = evaluated("exp", small * evaluated("log", x) - x - call("lgamma", small + 1.0))
    return select(large, far, near)


def _uniform(a: Lane, x: Lane, upper: bool) -> Lane:
    """P or Q for large a, by the first terms of the uniform expansion."""
    mu = (x - a) / a
    phi = _less_log(mu)
    eta = copysign(sqrt(2.0 * phi), mu)
    near = fabs(eta) < 0.02
    away, other = select(near, 1.0, eta), select(near, 1.0, mu)
    first = -1 / 3 + eta * (1 / 12 - eta * (2 / 135 - eta * (1 / 864 + eta / 2835.0)))
    first = select(near, first, 1.0 / other - 1.0 / away)
    second = 1.0 / (away * away * away) - 1.0 / (other * other * other) - 1.0 / (other * other) - 1.0 / (12.0 * other)
    second = select(near, -1 / 540 - eta / 288.0, second)
    rest = evaluated("exp", -a * phi) / sqrt(2.0 * math.pi * a) * (first + second / a)
    root = eta * sqrt(a * 0.5)
    return 0.5 * evaluated("erfc", root) + rest if upper else 0.5 * evaluated("erfc", -root) - rest


def _share(a: Lane, x: Lane, upper: bool) -> Lane:
    """P or Q; each is accurate where it is small."""
    usual = (a > 0.0) & (x > 0.0) & isfinite(a) & isfinite(x)
    far = (a > LARGE) & (fabs(x - a) < 0.3 * a)
    series = (x < a + 1.0) | (x <= 1.0)
    p, q = usual & ~far & series, usual & ~far & ~series
    before = _prefactor(select(usual, a, 1.0), select(usual, x, 1.0))
    below = call("gb_gamma_series", select(p, a, 1.0), select(p, x, 1.0)) * before
    above = call("gb_gamma_fraction", select(q, a, 1.0), select(q, x, 3.0)) * before * a
    value = select(p, 1.0 - below, above) if upper else select(p, below, 1.0 - above)
    value = select(far, _uniform(a, x, upper), value)
    value = select(value < 0.0, 0.0, select(value > 1.0, 1.0, value))
    nothing, everything = (1.0, 0.0) if upper else (0.0, 1.0)
    value = select(usual, value, NAN)
    value = select((a > 0.0) & (x == 0.0), nothing, value)
    value = select((a == 0.0) & (x > 0.0), everything, value)
    value = select((a == INFINITY) & (x >= 0.0) & isfinite(x), nothing, value)
    return select((a >= 0.0) & isfinite(a) & (x == INFINITY), everything, value)


def lower(a: Lane, x: Lane) -> Lane:
    """P(a, x): the share of the gamma distribution below x; NaN for negative arguments."""
    return _share(a, x, False)


def upper(a: Lane, x: Lane) -> Lane:
    """Q(a, x) = 1 - P(a, x)."""
    return _share(a, x, True)
