"""Orthogonal polynomials of float64 expressions; 0 for a negative degree, fractions of a degree are dropped."""

from __future__ import annotations

from collections.abc import Callable

from .exponential import cosh, sinh
from .expression import F64, Expr, constant, select, when, while_loop
from .functions import fabs, is_even, isnan, truncate
from .logarithm import acosh
from .special import Function
from .trigonometry import acos, cos, sin

Step = Callable[[Expr, Expr, Expr], Expr]
Closed = Callable[[Expr, Expr], Expr]
HERMITE_LIMIT = 512
"""Degrees above give NaN."""
RECURRENCE_LIMIT = 1 << 14
"""Degrees of the polynomials of Laguerre and Legendre above give NaN."""
CHEBYSHEV_LIMIT = 512
"""Degrees up to which Chebyshev's polynomials come from the recurrence outside (-1, 1)."""
_NAN = float("nan")


def _degree(n: Expr) -> Expr:
    """Whole degrees; -1 for what no 64-bit integer holds."""
    return select(fabs(n) < 2.0**63, truncate(n), -1.0)


def _recurrence(x: Expr, degree: Expr, linear: Expr, step: Step) -> Expr:
    """p_n(x) from p_0 = 1, p_1 = `linear` and ``p_{k+1} = step(k, p_k, p_{k-1})``."""
    one = constant(1.0, F64)
    _, _, last = while_loop(
        lambda k, before, last: k < degree,
        lambda k, before, last: (k + 1.0, last, step(k, last, before)),
        one, one, linear,
    )  # fmt: skip
    return select(degree == 0.0, 1.0, select(degree > 0.0, select(isnan(x), _NAN, last), 0.0))


def _limited(x: Expr, n: Expr, limit: int, linear: Expr, step: Step) -> Expr:
    """The recurrence up to a degree, NaN above."""
    degree = _degree(n)
    above = degree > float(limit)
    return select(above, _NAN, _recurrence(x, select(above, 0.0, degree), linear, step))


def _chebyshev(x: Expr, n: Expr, linear: Expr, inside: Closed, outside: Closed, mirrored: Closed, limit: int) -> Expr:
    """A polynomial of one of the four kinds: by its recurrence, or for high degrees by a closed form. `inside` takes
    degree and angle for |x| < 1, `outside` degree and arcosh |x| for x >= 1, `mirrored` for x <= -1."""
    degree, size = _degree(n), fabs(x)
    angular = (degree > float(limit)) & (size < 1.0)
    hyperbolic = (degree > float(CHEBYSHEV_LIMIT)) & (size >= 1.0)
    counted = select(angular | hyperbolic | isnan(x), 0.0, degree)
    found = _recurrence(x, counted, linear, lambda k, last, before: 2.0 * x * last - before)
    found = when(angular, lambda: inside(degree, acos(x)), found)

    def far() -> Expr:
        area = acosh(size)
        left = mirrored(degree, area)
        return select(x < 0.0, select(is_even(degree), left, -left), outside(degree, area))

    found = when(hyperbolic, far, found)
    return select(isnan(x) & (degree > 0.0), _NAN, found)


def _cosh(k: Expr, t: Expr) -> Expr:
    return cosh(k * t)


def _sinh_ratio(k: Expr, t: Expr) -> Expr:
    """sinh(k t) / sinh(t), k at t = 0."""
    zero = t == 0.0
    return select(zero, k, sinh(k * t) / sinh(select(zero, 1.0, t)))


def _third(k: Expr, t: Expr) -> Expr:
    return cosh((k + 0.5) * t) / cosh(t * 0.5)


def _fourth(k: Expr, t: Expr) -> Expr:
    return _sinh_ratio(2.0 * k + 1.0, t * 0.5)


def chebyshev_t(library: Function, x: Expr, n: Expr) -> Expr:
    """First kind: cos(n t) for x = cos(t)."""
    return _chebyshev(x, n, x, lambda k, t: cos(k * t), _cosh, _cosh, 6)


def chebyshev_u(library: Function, x: Expr, n: Expr) -> Expr:
    """Second kind: sin((n + 1) t) / sin(t)."""
    growing: Closed = lambda k, t: _sinh_ratio(k + 1.0, t)  # noqa: E731
    inside: Closed = lambda k, t: sin((k + 1.0) * t) / sin(t)  # noqa: E731
    return _chebyshev(x, n, 2.0 * x, inside, growing, growing, 8)


def chebyshev_v(library: Function, x: Expr, n: Expr) -> Expr:
    """Third kind: cos((n + 1/2) t) / cos(t / 2)."""
    inside: Closed = lambda k, t: cos((k + 0.5) * t) / cos(t * 0.5)  # noqa: E731
    return _chebyshev(x, n, 2.0 * x - 1.0, inside, _third, _fourth, 8)


def chebyshev_w(library: Function, x: Expr, n: Expr) -> Expr:
    """Fourth kind: sin((n + 1/2) t) / sin(t / 2)."""
    inside: Closed = lambda k, t: sin((k + 0.5) * t) / sin(t * 0.5)  # noqa: E731
    return _chebyshev(x, n, 2.0 * x + 1.0, inside, _fourth, _third, 8)


def hermite_h(library: Function, x: Expr, n: Expr) -> Expr:
    """Hermite's polynomial for the weight exp(-x**2)."""
    return _limited(x, n, HERMITE_LIMIT, 2.0 * x, lambda k, last, before: 2.0 * (x * last - k * before))


def hermite_he(library: Function, x: Expr, n: Expr) -> Expr:
    """Hermite's polynomial for the weight exp(-x**2 / 2)."""
    return _limited(x, n, HERMITE_LIMIT, x, lambda k, last, before: x * last - k * before)


def laguerre_l(library: Function, x: Expr, n: Expr) -> Expr:
    """Laguerre's polynomial; 1 at x = 0."""
    step: Step = lambda k, last, before: ((2.0 * k + 1.0 - x) * last - k * before) / (k + 1.0)  # noqa: E731
    found = _limited(x, n, RECURRENCE_LIMIT, 1.0 - x, step)
    return select((x == 0.0) & (_degree(n) >= 0.0), 1.0, found)


def legendre_p(library: Function, x: Expr, n: Expr) -> Expr:
    """Legendre's polynomial; 1 or -1 at x = 1 and x = -1."""
    step: Step = lambda k, last, before: ((2.0 * k + 1.0) * x * last - k * before) / (k + 1.0)  # noqa: E731
    found = _limited(x, n, RECURRENCE_LIMIT, x, step)
    degree = _degree(n)
    ends = select((x > 0.0) | is_even(degree), constant(1.0, F64), -1.0)
    return select((fabs(x) == 1.0) & (degree >= 0.0), ends, found)


def _shifted(function: Function) -> Function:
    """Return the polynomial at 2 x - 1."""
    return lambda library, x, n: function(library, 2.0 * x - 1.0, n)


shifted_chebyshev_t = _shifted(chebyshev_t)
shifted_chebyshev_u = _shifted(chebyshev_u)
shifted_chebyshev_v = _shifted(chebyshev_v)
shifted_chebyshev_w = _shifted(chebyshev_w)
