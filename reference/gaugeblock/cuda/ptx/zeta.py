"""The Hurwitz zeta function of float64 lanes, and polygamma through it, by the sums of the CPU's kernels."""

from __future__ import annotations

import math

from ...kernels.elementary import evaluated
from ...kernels.expression import F64, Lane, constant, select
from ...kernels.functions import call, ceil, floor, isfinite, isnan, rint, truncate
from ...kernels.special import sin_pi
from ...operators.numeric.zeta import CORRECTIONS, DIRECT
from .loop import Loop

INFINITY, NAN = float("inf"), float("nan")
LOOPS = {
    "gb_zeta_terms": Loop(
        lambda s, q: (constant(float(DIRECT - 1), F64), constant(0.0, F64)),
        lambda s, q, k, total: k >= 0.0,
        lambda s, q, k, total: (k - 1.0, total + evaluated("pow", q + k, -s)),
        lambda s, q, k, total: total,
    )
}
"""The sum of the first terms, the smallest first."""


def positive(s: Lane, q: Lane) -> Lane:
    """The sum of (q + k)**-s over k >= 0 for s > 1 and q > 0."""
    a = q + float(DIRECT)
    edge = evaluated("pow", a, -s)
    rest = edge * (a / (s - 1.0) + 0.5)
    factor = s * edge / a
    for j, number in enumerate(CORRECTIONS):
        term = number * factor
        rest = rest + select(isfinite(term), term, 0.0)
        factor = factor * (s + (2.0 * j + 1.0)) * (s + (2.0 * j + 2.0)) / (a * a)
    endless = select(q > 1.0, constant(0.0, F64), select(q == 1.0, constant(1.0, F64), INFINITY))
    return select(s == INFINITY, endless, call("gb_zeta_terms", s, q) + rest)


def zeta(s: Lane, q: Lane) -> Lane:
    """The sum of (q + k)**-s over k >= 0: inf at s = 1 and at q = 0, -1, ...; NaN for s < 1, and for q < 0 unless s
    is a whole number."""
    whole = s == floor(s)
    below = (q < 0.0) & whole & (q != floor(q)) & (s > 1.0)
    count = select(below, ceil(-q), 0.0)
    start = select(q > 0.0, q, select(below, q + count, 1.0))
    value = call("gb_zeta_positive", select(s > 1.0, s, 2.0), start)
    nearest, power = select(below, 1.0 - start, 1.0), select(below, s, 2.0)
    left = call("gb_zeta_positive", power, nearest) - call("gb_zeta_positive", power, nearest + count)
    half = power * 0.5
    value = select(below, value + select(truncate(half) == half, left, -left), value)
    value = select(q <= 0.0, select(q == floor(q), INFINITY, select(whole, value, NAN)), value)
    value = select(s == 1.0, INFINITY, select(s > 1.0, value, NAN))
    return select(isnan(q) | isnan(s), NAN, value)


def polygamma(n: int, x: Lane) -> Lane:
    """The n-th derivative of digamma, n from 1 to 170: a factorial times zeta; for n = 1 by reflection below 1/2."""
    if n == 1:
        mirrored = x < 0.5
        ratio = math.pi / sin_pi(x - rint(x))
        value = zeta(constant(2.0, F64), select(mirrored, 1.0 - x, x))
        value = select(mirrored, ratio * ratio - value, value)
        return select(x == INFINITY, 0.0, value)
    value = float(math.factorial(n)) * zeta(constant(n + 1.0, F64), x)
    return value if n % 2 else -value
