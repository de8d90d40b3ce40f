"""The gamma function's relatives in float64: the derivatives of its logarithm, zeta, and incomplete gamma.

Of the regularised incomplete gamma functions P and Q, below the transition a series gives P, above it a continued
fraction gives Q. Far along the transition both take too many terms, and Temme's uniform expansion (1979) takes over.
What both share, x**a e**-x / gamma(a + 1), is one exponential: for large a of the distance of x from a and Stirling's
series, for small a of the logarithms.

The Hurwitz zeta function, and polygamma through it, adds up the first terms as they are, the smallest first; the
Euler-Maclaurin formula takes the rest.
"""

from __future__ import annotations

import math

from .error_function import erfc
from .exponential import exp
from .expression import F64, Expr, constant, select, when, while_loop
from .functions import ceil, copysign, fabs, floor, is_even, isfinite, isnan, mul_add, polynomial, rint, sqrt
from .log_gamma import about_two
from .logarithm import log, pow
from .special import Library, sin_pi

_STIRLING_OF_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_SHIFT = 12
_BERNOULLI = (-3617 / 510, 7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)
# (1/t - 2t / (1 - t**2) - pi cot(pi t)) / t in powers of t**2, for |t| <= 1/2: relative error 2**-60.
_COTANGENT_TAIL = (
    2.6275597564040074e-06, 7.229113560603137e-06, 3.06872541684332e-05, 0.00012247408676611932, 0.0004921755730245884,
    0.001989150089297264, 0.008154712402316654, 0.03468612396877236, 0.16464646742227734, 1.2898681336964528,
)  # fmt: skip


def _reciprocals(z: Expr) -> Expr:
    """1/z + 1/(z + 1) + ... + 1/(z + 11) as one fraction: pairs from both ends have their product in z (z + 11)."""
    u = z * (z + (_SHIFT - 1.0))
    below, above = u, constant(1.0, F64)
    for k in range(1, _SHIFT // 2):
        factor = u + float(k * (_SHIFT - 1 - k))
        above, below = mul_add(above, factor, below), below * factor
    return (z * 2.0 + (_SHIFT - 1.0)) * above / below


def _squared_reciprocals(z: Expr) -> Expr:
    """1/z**2 + 1/(z + 1)**2 + ... + 1/(z + 11)**2 as one fraction, in pairs as above."""
    u = z * (z + (_SHIFT - 1.0))
    below, above = u * u, u * 2.0 + (_SHIFT - 1.0) ** 2
    for k in range(1, _SHIFT // 2):
        product = float(k * (_SHIFT - 1 - k))
        square = (u + product) * (u + product)
        pair = u * 2.0 + ((_SHIFT - 1.0) ** 2 - 2.0 * product)
        above, below = mul_add(above, square, below * pair), below * square
    return above / below


def digamma(library: Library, x: Expr) -> Expr:
    """Logarithmic derivative of gamma: reflection, recurrence to 12, asymptotic series; NaN at negative integers."""
    reflected = x < 0.5
    z = select(reflected, 1.0 - x, x)
    small = z < float(_SHIFT)
    shifted = select(small, _reciprocals(z), 0.0)
    z = select(small, z + float(_SHIFT), z)
    inverse = 1.0 / (z * z)
    series = constant(0.0, F64)
    for coefficient in reversed(_STIRLING_OF_DIGAMMA):
        series = (series + coefficient) * inverse
    value = log(z) - 0.5 / z - series - shifted
    t = x - rint(x)
    square = t * t
    mirrored = value - (1.0 / t - t * (2.0 / (1.0 - square) + polynomial(square, _COTANGENT_TAIL)))
    result = select(reflected, mirrored, value)
    pole = (x == floor(x)) & (x < 0.0)
    result = select(pole | (x == -float("inf")), float("nan"), result)
    return select(x == 0.0, -copysign(constant(float("inf"), F64), x), result)


_MOST = 4000.0
"""Terms after which a sum is taken to have converged; enough for a below _LARGE."""
_LARGE = 1e5
_ONE_SERIES, _ENOUGH = 5.0, 2.0**-44
"""Up to here float64 leaves float32 enough digits of Q = 1 - P, if P is that exact; the series alone is faster."""
_LEAST_ORDERS = (1 / 2, 1 / 16)
"""Orders from which 1 - P has enough digits where the series is used, in float64 and for float32."""
_STIRLING_OF_LARGE = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_SMALL = 10
"""Orders below go by gamma itself, and those above by Stirling's series."""
_INFINITY, _NAN = float("inf"), float("nan")


def _less_log(mu: Expr, log_ratio: Expr) -> Expr:
    """mu - log(1 + mu), by its series near 0."""
    near = fabs(mu) < 0.15
    t = select(near, mu / (mu + 2.0), 0.0)
    square = t * t
    series = polynomial(square, tuple(2.0 / k for k in range(25, 1, -2))) * square
    return select(near, mu * t - t * series, mu - log_ratio)


def _over_gamma(a: Expr) -> tuple[Expr, Expr]:
    """(s, f) with 1 / gamma(a + 1) = f e**-s for 0 < a < 10."""
    n = rint(a - 1.0)
    product = constant(1.0, F64)
    for k in range(_SMALL - 1):
        product = select(n > float(k), product * (a - float(k)), product)
    return about_two(a - (n + 1.0)), select(n < 0.0, a + 1.0, 1.0 / product)


def _series(library: Library, a: Expr, x: Expr, wanted: Expr) -> Expr:
    """The sum over n of x**n / ((a + 1) ... (a + n)), for x not much larger than a."""
    one = constant(1.0, F64)
    start = select(wanted, one, _MOST)
    if library.single:
        return _series_as_fraction(a, x, start, _ENOUGH)

    def add(n: Expr, term: Expr, total: Expr) -> tuple[Expr, Expr, Expr]:
        term = term * (x / (a + n))
        return n + 1.0, term, total + term

    return while_loop(lambda n, term, total: (n < _MOST) & (term > total * library.unit), add, start, one, one)[2]


def _series_as_fraction(a: Expr, x: Expr, start: Expr, unit: float) -> Expr:
    """Return the same sum over its common denominator, by one division but with more roundings."""
    one, least = constant(1.0, F64), constant(2.0**-300, F64)

    def add(n: Expr, power: Expr, above: Expr, below: Expr) -> tuple[Expr, ...]:
        factor, scale = a + n, select(below > 2.0**300, least, 1.0)
        power = power * x
        above, below = mul_add(above, factor, power), below * factor
        return n + 1.0, power * scale, above * scale, below * scale

    found = while_loop(lambda n, power, above, _: (n < _MOST) & (power > above * unit), add, start, one, one, one)
    return found[2] / found[3]


def _fraction(a: Expr, x: Expr, wanted: Expr, unit: float) -> Expr:
    """Return the continued fraction of Q for x larger than a, by the recurrences of its convergents' parts."""
    zero, one, least = constant(0.0, F64), constant(1.0, F64), 2.0**-300
    b = x + 1.0 - a

    def goes_on(n: Expr, b: Expr, *parts: Expr) -> Expr:
        above, below, above_before, below_before = parts
        product = above * below_before
        return (n < _MOST) & (fabs(product - above_before * below) > fabs(product) * unit)

    def go_on(n: Expr, b: Expr, *parts: Expr) -> tuple[Expr, ...]:
        above, below, above_before, below_before = parts
        factor, b = n * (a - n), b + 2.0
        scale = select(fabs(below) > 1.0 / least, constant(least, F64), 1.0)
        above, above_before = mul_add(b, above, factor * above_before), above
        below, below_before = mul_add(b, below, factor * below_before), below
        return n + 1.0, b, above * scale, below * scale, above_before * scale, below_before * scale

    start = select(wanted & (b < 1.0 / least), one, _MOST)
    found = while_loop(goes_on, go_on, start, b, one, b, zero, one)
    return found[2] / found[3]


def _small_order(library: Library, a: Expr, x: Expr, log_x: Expr, log_above: Expr) -> Expr:
    """Q for small a and x, where 1 - P cancels because P is close to 1; given log x and log(1 + a)."""
    power = library("expm1", a * log_x + log_above - about_two(a))

    def add(n: Expr, term: Expr, total: Expr) -> tuple[Expr, Expr, Expr]:
        term = term * -x / n
        return n + 1.0, term, total + term / (a + n)

    one, zero = constant(1.0, F64), constant(0.0, F64)
    total = while_loop(
        lambda n, term, total: (n < _MOST) & (fabs(term) > fabs(total) * library.unit), add, one, one, zero
    )[2]
    return -power - (power + 1.0) * a * total


def _uniform(a: Expr, mu: Expr, phi: Expr, before: Expr, upper: bool) -> Expr:
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
    return 0.5 * erfc(root) + rest if upper else 0.5 * erfc(-root) - rest


def _usual(library: Library, a: Expr, x: Expr, upper: bool) -> Expr:
    """P or Q of finite positive arguments, each accurate where it is small."""
    far = (a > _LARGE) & (fabs(x - a) < 0.3 * a)
    below, least = (x < a + 1.0) | (x <= 1.0), _LEAST_ORDERS[library.single]
    if library.single:
        one_series = x < _ONE_SERIES
        below = below | (one_series & (a >= least) if upper else one_series)
    below = ~far & below
    large, small = a >= float(_SMALL), below & (a < least)
    mu = (x - a) / a
    log_x = library("log", select(large, x / a, x))
    log_above = library("log1p", select(small, a, mu))
    phi = _less_log(mu, log_above)
    inverse = 1.0 / a
    tail = select(far, 0.0, polynomial(inverse * inverse, _STIRLING_OF_LARGE) * inverse)
    log_gamma, factor = _over_gamma(select(large, 1.0, a))
    exponent = select(large, -a * select(fabs(mu) < 0.7, phi, mu - log_x) - tail, a * log_x - x - log_gamma)
    before = library("exp", exponent) * select(large, 1.0 / sqrt(a * (2.0 * math.pi)), factor)
    p = _series(library, a, x, below) * before
    q = _fraction(a, x, ~far & ~below, library.unit) * before * a
    value = select(below, 1.0 - p, q) if upper else select(below, p, 1.0 - q)
    if upper:
        value = when(small, lambda: _small_order(library, a, x, log_x, log_above), value)
    value = when(far, lambda: _uniform(a, mu, phi, before, upper), value)
    return select(value < 0.0, 0.0, select(value > 1.0, 1.0, value))


def _share(library: Library, a: Expr, x: Expr, upper: bool) -> Expr:
    positive = (a > 0.0) & (x > 0.0) & isfinite(a) & isfinite(x)
    value = select(positive, _usual(library, select(positive, a, 1.0), select(positive, x, 1.0), upper), _NAN)
    nothing, everything = (1.0, 0.0) if upper else (0.0, 1.0)
    value = select((a > 0.0) & (x == 0.0), nothing, value)
    value = select((a == 0.0) & (x > 0.0), everything, value)
    value = select((a == _INFINITY) & (x >= 0.0) & isfinite(x), nothing, value)
    return select((a >= 0.0) & isfinite(a) & (x == _INFINITY), everything, value)


def lower_gamma(library: Library, a: Expr, x: Expr) -> Expr:
    """P(a, x): the share of the gamma distribution below x; NaN for negative arguments."""
    return _share(library, a, x, False)


def upper_gamma(library: Library, a: Expr, x: Expr) -> Expr:
    """Q(a, x) = 1 - P(a, x)."""
    return _share(library, a, x, True)


_DIRECT = 12.0
"""Terms that are added up as they are."""


_CORRECTIONS = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
    -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19, 3.534707039629467e-21,
    -8.953517427037546e-23,
)  # fmt: skip
"""B_2j / (2j)! with the Bernoulli numbers B, for j = 1, 2, ..."""


def _zeta_of_positive(s: Expr, q: Expr) -> Expr:
    """Return the sum of (q + k)**-s over k >= 0 for s > 1 and q > 0."""
    zero = constant(0.0, F64)

    def add(k: Expr, total: Expr, edge: Expr) -> tuple[Expr, Expr, Expr]:
        power, first = pow(q + k, -s), k == _DIRECT
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


def _zeta_sum(s: Expr, q: Expr, mirrored: Expr) -> Expr:
    """Return zeta for s > 1 and q > 0, or for a whole s and a fractional q < 0, where `mirrored` holds.

    Below 0 it is zeta(s, q + n) for the whole n with 0 < q + n < 1, and the n terms before, which are a difference of
    two zetas of 1 - q - n and 1 - q up to their sign.
    """
    count = select(mirrored, ceil(-q), 0.0)
    start = q + count
    sign = select(is_even(s), constant(1.0, F64), -1.0)

    def add(part: Expr, total: Expr) -> tuple[Expr, Expr]:
        beyond = part == 2.0
        at = select(part == 0.0, start, select(beyond, 1.0 - start + count, 1.0 - start))
        weight = select(part == 0.0, 1.0, select(beyond, -sign, sign))
        return part + 1.0, total + weight * _zeta_of_positive(s, at)

    zero = constant(0.0, F64)
    parts = select(mirrored, constant(3.0, F64), 1.0)
    return while_loop(lambda part, _: part < parts, add, zero, zero)[1]


def zeta(library: Library, s: Expr, q: Expr) -> Expr:
    """The sum of (q + k)**-s over k >= 0: inf at s = 1 and at q = 0, -1, ...; NaN for s < 1, and for q < 0 unless s
    is a whole number."""
    whole = s == floor(s)
    below = (q < 0.0) & whole & (q != floor(q)) & (s > 1.0)
    value = _zeta_sum(select(s > 1.0, s, 2.0), select((q > 0.0) | below, q, 1.0), below)
    value = select(q <= 0.0, select(q == floor(q), _INFINITY, select(whole, value, _NAN)), value)
    value = select(s == 1.0, _INFINITY, select(s > 1.0, value, _NAN))
    return select(isnan(q) | isnan(s), _NAN, value)


def trigamma(library: Library, x: Expr) -> Expr:
    """Derivative of digamma: reflection, recurrence to 12, asymptotic series."""
    reflected = x < 0.0
    z = select(reflected, 1.0 - x, x)
    small = z < float(_SHIFT)
    shifted = select(small, _squared_reciprocals(z), 0.0)
    z = select(small, z + float(_SHIFT), z)
    inverse = 1.0 / z
    square = inverse * inverse
    value = inverse + (square * 0.5 + square * inverse * polynomial(square, _BERNOULLI)) + shifted

    def mirrored() -> Expr:
        ratio = math.pi / sin_pi(x - rint(x))
        return ratio * ratio - value

    value = when(reflected, mirrored, value)
    return select(isnan(x), x, select(x == _INFINITY, 0.0, value))


def polygamma(library: Library, x: Expr, order: Expr, factorial: Expr) -> Expr:
    """Derivative of digamma of a whole order >= 2, with its factorial: a factorial times zeta."""
    value = factorial * zeta(library, order + 1.0, x)
    return select(is_even(order), -value, value)


def polygamma_by_logarithm(library: Library, x: Expr, order: Expr, log_factorial: Expr) -> Expr:
    """polygamma for factorials that are no floats; 0 where zeta is below the smallest float."""
    value = zeta(library, order + 1.0, x)
    value = copysign(exp(log_factorial + log(fabs(value))), value)
    return select(is_even(order), -value, value)
