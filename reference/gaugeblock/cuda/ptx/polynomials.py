"""Orthogonal polynomials of float64 lanes, by the recurrences and closed forms of the CPU's kernels."""

from __future__ import annotations

from collections.abc import Callable

from ...kernels.elementary import evaluated
from ...kernels.expression import F64, Lane, constant, select
from ...kernels.functions import call, fabs, isnan, truncate
from ...operators.numeric.polynomials import CHEBYSHEV_LIMIT, HERMITE_LIMIT, RECURRENCE_LIMIT
from .loop import Loop

Step = Callable[[Lane, Lane, Lane, Lane], Lane]
Closed = Callable[[Lane, Lane], Lane]
NAN = float("nan")


def _recurrence(step: Step) -> Loop:
    """Of x, a whole degree, and the polynomial of degree 1: degree, and the last two polynomials, from 1 on."""
    one = constant(1.0, F64)
    return Loop(
        lambda x, degree, linear: (one, one, linear),
        lambda x, degree, linear, k, before, last: k < degree,
        lambda x, degree, linear, k, before, last: (k + 1.0, last, step(k, x, last, before)),
        lambda x, degree, linear, k, before, last: select(
            degree == 0.0, 1.0, select(degree > 0.0, select(isnan(x), NAN, last), 0.0)
        ),
    )


LOOPS = {
    "gb_chebyshev": _recurrence(lambda k, x, last, before: 2.0 * x * last - before),
    "gb_hermite_h": _recurrence(lambda k, x, last, before: 2.0 * (x * last - k * before)),
    "gb_hermite_he": _recurrence(lambda k, x, last, before: x * last - k * before),
    "gb_laguerre_l": _recurrence(lambda k, x, last, before: ((2.0 * k + 1.0 - x) * last - k * before) / (k + 1.0)),
    "gb_legendre_p": _recurrence(lambda k, x, last, before: ((2.0 * k + 1.0) * x * last - k * before) / (k + 1.0)),
}
"""Routines by name; each takes x, the degree and the polynomial of degree 1."""


def _degree(n: Lane) -> Lane:
    """Whole degrees; -1 for what no 64-bit integer holds."""
    return select(fabs(n) < 2.0**63, truncate(n), -1.0)


def _even(degree: Lane) -> Lane:
    half = degree * 0.5
    return truncate(half) == half


def _limited(name: str, x: Lane, degree: Lane, limit: int, linear: Lane) -> Lane:
    above = degree > float(limit)
    return select(above, NAN, call(name, x, select(above, 0.0, degree), linear))


def _chebyshev(
    x: Lane, n: Lane, linear: Lane, inside: Closed, outside: Closed, mirrored: Closed, limit: int
) -> Lane:
    """By the recurrence, or for high degrees by a closed form: `inside` of degree and angle for |x| < 1, `outside` of
    degree and arcosh |x| for x >= 1, `mirrored` for x <= -1."""
    degree, size = _degree(n), fabs(x)
    angular = (degree > float(limit)) & (size < 1.0)
    hyperbolic = (degree > float(CHEBYSHEV_LIMIT)) & (size >= 1.0)
    found = call("gb_chebyshev", x, select(angular | hyperbolic, 0.0, degree), linear)
    found = select(angular, inside(degree, evaluated("acos", select(angular, x, 0.0))), found)
    area = evaluated("acosh", select(hyperbolic, size, 1.0))
    left = mirrored(degree, area)
    left = select(_even(degree), left, -left)
    found = select(hyperbolic, select(x < 0.0, left, outside(degree, area)), found)
    return select(isnan(x) & (degree > 0.0), NAN, found)


def _cosh(k: Lane, t: Lane) -> Lane:
    return evaluated("cosh", k * t)


def _sinh_ratio(k: Lane, t: Lane) -> Lane:
    """sinh(k t) / sinh(t), k at t = 0."""
    zero = t == 0.0
    return select(zero, k, evaluated("sinh", k * t) / evaluated("sinh", select(zero, 1.0, t)))


def _third(k: Lane, t: Lane) -> Lane:
    return evaluated("cosh", (k + 0.5) * t) / evaluated("cosh", t * 0.5)


def _fourth(k: Lane, t: Lane) -> Lane:
    return _sinh_ratio(2.0 * k + 1.0, t * 0.5)


def chebyshev_t(x: Lane, n: Lane) -> Lane:
    """First kind: cos(n t) for x = cos(t)."""
    return _chebyshev(x, n, x, lambda k, t: evaluated("cos", k * t), _cosh, _cosh, 6)


def chebyshev_u(x: Lane, n: Lane) -> Lane:
    """Second kind: sin((n + 1) t) / sin(t)."""
    growing: Closed = lambda k, t: _sinh_ratio(k + 1.0, t)  # noqa: E731
    inside: Closed = lambda k, t: evaluated("sin", (k + 1.0) * t) / evaluated("sin", t)  # noqa: E731
    return _chebyshev(x, n, 2.0 * x, inside, growing, growing, 8)


def chebyshev_v(x: Lane, n: Lane) -> Lane:
    """Third kind: cos((n + 1/2) t) / cos(t / 2)."""
    inside: Closed = lambda k, t: evaluated("cos", (k + 0.5) * t) / evaluated("cos", t * 0.5)  # noqa: E731
    return _chebyshev(x, n, 2.0 * x - 1.0, inside, _third, _fourth, 8)


def chebyshev_w(x: Lane, n: Lane) -> Lane:
    """Fourth kind: sin((n + 1/2) t) / sin(t / 2)."""
    inside: Closed = lambda k, t: evaluated("sin", (k + 0.5) * t) / evaluated("sin", t * 0.5)  # noqa: E731
    return _chebyshev(x, n, 2.0 * x + 1.0, inside, _fourth, _third, 8)


def hermite_h(x: Lane, n: Lane) -> Lane:
    """Hermite's polynomial for the weight exp(-x**2)."""
    return _limited("gb_hermite_h", x, _degree(n), HERMITE_LIMIT, 2.0 * x)


def hermite_he(x: Lane, n: Lane) -> Lane:
    """Hermite's polynomial for the weight exp(-x**2 / 2)."""
    return _limited("gb_hermite_he", x, _degree(n), HERMITE_LIMIT, x)


def laguerre_l(x: Lane, n: Lane) -> Lane:
    """Laguerre's polynomial; 1 at x = 0."""
    degree = _degree(n)
    found = _limited("gb_laguerre_l", x, degree, RECURRENCE_LIMIT, 1.0 - x)
    return select((x == 0.0) & (degree >= 0.0), 1.0, found)


def legendre_p(x: Lane, n: Lane) -> Lane:
    """Legendre's polynomial; 1 or -1 at x = 1 and x = -1."""
    degree = _degree(n)
    found = _limited("gb_legendre_p", x, degree, RECURRENCE_LIMIT, x)
    ends = select((x > 0.0) | _even(degree), constant(1.0, F64), -1.0)
    return select((fabs(x) == 1.0) & (degree >= 0.0), ends, found)


def shifted(function: Callable[[Lane, Lane], Lane]) -> Callable[[Lane, Lane], Lane]:
    """The polynomial at 2 x - 1."""
    return lambda x, n: function(2.0 * x - 1.0, n)
