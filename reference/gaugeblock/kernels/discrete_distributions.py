"""Formulas for numbers of the Poisson and the binomial distribution, in float64, of uniform numbers in [0, 1).

Where the mean is below `FEW`, probabilities are taken from one uniform number until it is used up. Elsewhere numbers
are proposed and rejected: the transformed rejection of Hörmann (1993), PTRS and BTRS, with probabilities in the form
of Loader (2000), whose terms do not cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lgamma, log, pi

from .exponential import exp
from .expression import F64, UINT, Expr, constant, select, while_loop
from .functions import cast, fabs, floor, isnan, maximum, minimum, polynomial, sqrt, truncate
from .functions import lookup as looked_up
from .logarithm import log as log_of
from .logarithm import log1p

Draw = Callable[[Expr], Sequence[Expr]]
"""Gives two uniform numbers for the number of a round, in UINT[64]."""
FEW = 10.0
MOST = 128.0
"""With a mean below FEW, the chance of so many is far below 2**-53."""
ROUNDS = 128
MOST_TRIALS = 2.0**53
"""More trials count as so many."""
_SERIES = (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
"""Stirling's: log k! = k log k - k + log(2 pi k) / 2 + sum of these over odd powers of k."""
_TABLED = 8
_TABLE = tuple([lgamma(k + 1) - (k * log(k) if k else 0) + k for k in range(_TABLED)])


def poisson(draw: Draw, rate: Expr) -> Expr:
    """Return a number of the Poisson distribution with a rate >= 0."""
    few = rate < FEW
    small = _inverted(draw(constant(0, UINT[64]))[0], select(few, exp(-rate), 1.0), lambda k: rate / k)
    root = sqrt(maximum(rate, constant(FEW, F64)))
    wide = root * 2.53 + 0.931
    slope = wide * 0.02483 - 0.059
    scale, enough = 1.1239 + 1.1328 / (wide - 3.4), 0.9277 - 3.6224 / (wide - 2.0)

    def test(k: Expr, v: Expr, us: Expr) -> Expr:
        miss = rate - k
        chance = _shifted(k, miss) - miss - _correction(k)
        return (k >= 0.0) & (log_of(v * scale / (slope / (us * us) + wide)) <= chance)

    large = _rejected(draw, ~few & (rate < float("inf")), (slope, wide, rate + 0.43, enough), test)
    return select(few, small, select(rate < float("inf"), large, rate))


def binomial(draw: Draw, count: Expr, chance: Expr) -> Expr:
    """Return how many of `count` trials, a number that is truncated, succeed; NaN for NaN. A number of trials below 0
    counts as 0, a chance outside [0, 1] as the next one inside."""
    missing, zero = isnan(count) | isnan(chance), constant(0.0, F64)
    trials = select(missing, zero, minimum(maximum(truncate(count), zero), constant(MOST_TRIALS, F64)))
    share = select(missing, zero, minimum(maximum(chance, zero), constant(1.0, F64)))
    swapped = share > 0.5
    share = select(swapped, 1.0 - share, share)
    mean = trials * share
    few, odds = mean < FEW, share / (1.0 - share)
    first = select(few, exp(trials * log1p(-share)), 1.0)
    small = _inverted(draw(constant(0, UINT[64]))[0], first, lambda k: (trials + 1.0 - k) / k * odds)
    root = sqrt(maximum(mean, constant(FEW, F64)) * (1.0 - share))
    wide = root * 2.53 + 1.15
    slope = wide * 0.0248 + share * 0.01 - 0.0873
    scale, enough = (2.83 + 5.1 / wide) * root, 0.92 - 4.2 / wide

    def logarithm(k: Expr) -> Expr:
        """Of the chance of k successes, but for a summand that is the same for all k."""
        left, miss = trials - k, mean - k
        return _shifted(k, miss) + _shifted(left, -miss) - _correction(k) - _correction(left)

    highest = logarithm(floor((trials + 1.0) * share))

    def test(k: Expr, v: Expr, us: Expr) -> Expr:
        inside = (k >= 0.0) & (k <= trials)
        ratio = logarithm(minimum(maximum(k, zero), trials)) - highest
        return inside & (log_of(v * scale / (slope / (us * us) + wide)) <= ratio)

    large = _rejected(draw, ~few, (slope, wide, mean + 0.5, enough), test)
    found = select(few, minimum(small, trials), large)
    return select(missing, float("nan"), select(swapped, trials - found, found))


def _inverted(uniform: Expr, first: Expr, ratio: Callable[[Expr], Expr]) -> Expr:
    """Return the number whose probability uses a uniform number up, given the probability of 0 and the ratio of that of
    k to that of k - 1."""

    def step(k: Expr, left: Expr, chance: Expr) -> Sequence[Expr]:
        following = k + 1.0
        return following, left - chance, chance * ratio(following)

    zero = constant(0.0, F64)
    return while_loop(lambda k, left, chance: (left >= chance) & (k < MOST), step, zero, uniform, first)[0]


def _rejected(
    draw: Draw, wanted: Expr, shape: tuple[Expr, Expr, Expr, Expr], test: Callable[[Expr, Expr, Expr], Expr]
) -> Expr:
    """Return the first proposal that is near enough to the middle or passes the test, where it is wanted."""
    slope, wide, middle, enough = shape

    def step(going: Expr, turn: Expr, found: Expr) -> Sequence[Expr]:
        u, v = draw(turn)
        u = u - 0.5
        us = 0.5 - fabs(u)
        k = floor((slope * 2.0 / us + wide) * u + middle)
        near = (us >= 0.07) & (v <= enough)
        usable = (us > 0.0) & ((us >= 0.013) | (v <= us))
        return ~(near | (usable & test(k, v, us))), turn + 1, k

    begin = wanted, constant(0, UINT[64]), constant(0.0, F64)
    return while_loop(lambda going, turn, found: going & (turn < ROUNDS), step, *begin)[2]


def _shifted(k: Expr, miss: Expr) -> Expr:
    """k log((k + miss) / k), 0 for k = 0."""
    return select(k > 0.0, k * log1p(miss / maximum(k, constant(1.0, F64))), 0.0)


def _correction(k: Expr) -> Expr:
    """log k! - (k log k - k) for a whole number."""
    far = maximum(k, constant(float(_TABLED), F64))
    inverse = 1.0 / far
    series = polynomial(inverse * inverse, _SERIES) * inverse + log_of(far * (2 * pi)) * 0.5
    near = looked_up(_TABLE, cast(minimum(maximum(k, constant(0.0, F64)), far), UINT[64]), F64)
    return select(k < float(_TABLED), near, series)
