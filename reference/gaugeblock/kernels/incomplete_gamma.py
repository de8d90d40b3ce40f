"""The regularised incomplete gamma functions P and Q of float64 lanes.

Below the transition a series gives P, above it a continued fraction gives Q. Far along the transition both take too
many terms, and Temme's uniform expansion (1979) takes over. What both share, x**a e**-x / gamma(a + 1), is one
exponential: for large a of the distance of x from a and Stirling's series, for small a of the logarithms.
"""

from __future__ import annotations

import math

from .elementary import evaluated
from .expression import F64, Lane, constant, select
from .functions import copysign, fabs, isfinite, polynomial, rint, sqrt
from .log_gamma import about_two
from .special import Function
from .while_loop import when, while_loop

_EPSILON = 2.0**-53
_MOST = 4000.0
"""Terms after which a sum is taken to have converged; enough for a below _LARGE."""
_LARGE = 1e5
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_SMALL = 10
"""Orders below go by gamma itself, and those above by Stirling's series."""
_TINY = 1e-300
_INFINITY, _NAN = float("inf"), float("nan")


def _less_log(mu: Lane, log1p: Lane) -> Lane:
    """mu - log(1 + mu), by its series near 0."""
    near = fabs(mu) < 0.15
    t = select(near, mu / (mu + 2.0), 0.0)
    square = t * t
    series = polynomial(square, tuple(2.0 / k for k in range(25, 1, -2))) * square
    return select(near, mu * t - t * series, mu - log1p)


def _over_gamma(a: Lane) -> tuple[Lane, Lane]:
    """(s, f) with 1 / gamma(a + 1) = f e**-s for 0 < a < 10."""
    n = rint(a - 1.0)
    product = constant(1.0, F64)
    for k in range(_SMALL - 1):
        product = select(n > float(k), product * (a - float(k)), product)
    return about_two(a - (n + 1.0)), select(n < 0.0, a + 1.0, 1.0 / product)


def _series(a: Lane, x: Lane, wanted: Lane) -> Lane:
    """The sum over n of x**n / ((a + 1) ... (a + n)), for x not much larger than a."""
    one = constant(1.0, F64)

    def add(n: Lane, term: Lane, total: Lane) -> tuple[Lane, Lane, Lane]:
        term = term * x / (a + n)
        return n + 1.0, term, total + term

    start = select(wanted, one, _MOST)
    return while_loop(lambda n, term, total: (n < _MOST) & (term > total * _EPSILON), add, start, one, one)[2]


def _fraction(a: Lane, x: Lane, wanted: Lane) -> Lane:
    """The continued fraction of Q for x larger than a, by Lentz's method."""

    def apart(value: Lane) -> Lane:
        return select(fabs(value) < _TINY, _TINY, value)

    def go_on(n: Lane, b: Lane, c: Lane, d: Lane, total: Lane, step: Lane) -> tuple[Lane, ...]:
        factor = n * (a - n)
        b = b + 2.0
        d = 1.0 / apart(factor * d + b)
        c = apart(b + factor / c)
        step = c * d
        return n + 1.0, b, c, d, total * step, step

    b = x + 1.0 - a
    d = 1.0 / select(b == 0.0, _TINY, b)
    start = select(wanted, constant(1.0, F64), _MOST)
    begin = (start, b, constant(1.0 / _TINY, F64), d, d, constant(0.0, F64))
    return while_loop(lambda n, *rest: (n < _MOST) & (fabs(rest[-1] - 1.0) > _EPSILON), go_on, *begin)[4]


def _small_order(a: Lane, x: Lane, log: Lane, log1p: Lane) -> Lane:
    """Q for a < 1/2 and small x, where 1 - P cancels because P is close to 1; given log x and log(1 + a)."""
    power = evaluated("expm1", a * log + log1p - about_two(a))

    def add(n: Lane, term: Lane, total: Lane) -> tuple[Lane, Lane, Lane]:
        term = term * -x / n
        return n + 1.0, term, total + term / (a + n)

    one, zero = constant(1.0, F64), constant(0.0, F64)
    total = while_loop(
        lambda n, term, total: (n < _MOST) & (fabs(term) > fabs(total) * _EPSILON), add, one, one, zero
    )[2]
    return -power - (power + 1.0) * a * total


def _uniform(a: Lane, mu: Lane, phi: Lane, before: Lane, upper: bool) -> Lane:
    """P or Q for large a, by the first terms of the uniform expansion; phi = mu - log(1 + mu)."""
    eta = copysign(sqrt(phi * 2.0), mu)
    near = fabs(eta) < 0.02
    away, other = select(near, 1.0, eta), select(near, 1.0, mu)
    first = -1 / 3 + eta * (1 / 12 - eta * (2 / 135 - eta * (1 / 864 + eta / 2835.0)))
    first = select(near, first, 1.0 / other - 1.0 / away)
    second = 1.0 / (away * away * away) - 1.0 / (other * other * other) - 1.0 / (other * other) - 1.0 / (12.0 * other)
    second = select(near, -1 / 540 - eta / 288.0, second)
    rest = before * (first + second / a)
    root = eta * sqrt(a * 0.5)
    return 0.5 * evaluated("erfc", root) + rest if upper else 0.5 * evaluated("erfc", -root) - rest


def _usual(a: Lane, x: Lane, upper: bool) -> Lane:
    """P or Q of finite positive arguments, each accurate where it is small."""
    far = (a > _LARGE) & (fabs(x - a) < 0.3 * a)
    below = ~far & ((x < a + 1.0) | (x <= 1.0))
    large, small = a >= float(_SMALL), below & (a < 0.5)
    mu = (x - a) / a
    log = evaluated("log", select(large, x / a, x))
    log1p = evaluated("log1p", select(small, a, mu))
    phi = _less_log(mu, log1p)
    inverse = 1.0 / a
    tail = select(far, 0.0, polynomial(inverse * inverse, _STIRLING) * inverse)
    log_gamma, factor = _over_gamma(select(large, 1.0, a))
    exponent = select(large, -a * select(fabs(mu) < 0.7, phi, mu - log) - tail, a * log - x - log_gamma)
    before = evaluated("exp", exponent) * select(large, 1.0 / sqrt(a * (2.0 * math.pi)), factor)
    p = _series(a, x, below) * before
    q = _fraction(a, x, ~far & ~below) * before * a
    value = select(below, 1.0 - p, q) if upper else select(below, p, 1.0 - q)
    if upper:
        value = when(small, lambda: _small_order(a, x, log, log1p), value)
    value = when(far, lambda: _uniform(a, mu, phi, before, upper), value)
    return select(value < 0.0, 0.0, select(value > 1.0, 1.0, value))


def _share(a: Lane, x: Lane, upper: bool) -> Lane:
    positive = (a > 0.0) & (x > 0.0) & isfinite(a) & isfinite(x)
    value = select(positive, _usual(select(positive, a, 1.0), select(positive, x, 1.0), upper), _NAN)
    nothing, everything = (1.0, 0.0) if upper else (0.0, 1.0)
    value = select((a > 0.0) & (x == 0.0), nothing, value)
    value = select((a == 0.0) & (x > 0.0), everything, value)
    value = select((a == _INFINITY) & (x >= 0.0) & isfinite(x), nothing, value)
    return select((a >= 0.0) & isfinite(a) & (x == _INFINITY), everything, value)


def lower(library: Function, a: Lane, x: Lane) -> Lane:
    """P(a, x): the share of the gamma distribution below x; NaN for negative arguments."""
    return _share(a, x, False)


def upper(library: Function, a: Lane, x: Lane) -> Lane:
    """Q(a, x) = 1 - P(a, x)."""
    return _share(a, x, True)
