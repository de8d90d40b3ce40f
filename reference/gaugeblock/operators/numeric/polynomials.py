"""Orthogonal polynomials of degree n at x; 0 for a negative degree, fractions of a degree are dropped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array

Step = Callable[[int, Array, Array, Array], Array]
Closed = Callable[[Array, Array], Array]
HERMITE_LIMIT = 512
"""Degrees above give NaN."""
RECURRENCE_LIMIT = 1 << 14
"""Degrees of the polynomials of Laguerre and Legendre above give NaN."""
CHEBYSHEV_LIMIT = 512
"""Degrees up to which Chebyshev's polynomials come from the recurrence outside (-1, 1)."""


def _degree(n: Array) -> Array:
    """Whole degrees; -1 for what no 64-bit integer holds."""
    return np.where(np.abs(n) < 2.0**63, np.trunc(n), -1.0)


def _recurrence(x: Array, n: Array, first: Array, step: Step) -> Array:
    """p_n(x) from p_0 = 1, p_1 = `first` and ``p_{k+1} = step(k, x, p_k, p_{k-1})``."""
    degree = _degree(n)
    result = np.where(degree == 0, 1.0, np.where(degree == 1, first, 0.0))
    before, last = np.ones_like(x), first
    for k in range(1, int(degree.max(initial=0))):
        before, last = last, step(k, x, last, before)
        result = np.where(degree == k + 1, last, result)
    return np.where(np.isnan(x) & (degree > 0), np.nan, result)


def _limited(x: Array, n: Array, limit: int, first: Array, step: Step) -> Array:
    """The recurrence up to a degree, NaN above."""
    degree = _degree(n)
    return np.where(degree > limit, np.nan, _recurrence(x, np.where(degree > limit, 0.0, n), first, step))


def _doubled(k: int, x: Array, last: Array, before: Array) -> Array:
    return 2 * x * last - before


def _chebyshev(
    x: Array, n: Array, first: Array, inside: Closed, outside: Closed, mirrored: Closed, limit: int
) -> Array:
    """A polynomial of one of the four kinds: by its recurrence, or for high degrees by a closed form.

    `inside` takes degree and angle for |x| < 1, `outside` degree and arcosh |x| for x >= 1, `mirrored` for x <= -1.
    """
    degree = _degree(n)
    angular = (degree > limit) & (np.abs(x) < 1)
    hyperbolic = (degree > CHEBYSHEV_LIMIT) & (np.abs(x) >= 1)
    settled = angular | hyperbolic | np.isnan(x)
    found = _recurrence(x, np.where(settled, 0.0, n), first, _doubled)
    if angular.any():
        found = np.where(angular, inside(degree, np.arccos(np.where(angular, x, 0.0))), found)
    if hyperbolic.any():
        area = np.arccosh(np.where(hyperbolic, np.abs(x), 1.0))
        left = np.where(degree % 2 == 0, 1.0, -1.0) * mirrored(degree, area)
        found = np.where(hyperbolic, np.where(x < 0, left, outside(degree, area)), found)
    return np.where(np.isnan(x) & (degree > 0), np.nan, found)


def _cosh(k: Array, t: Array) -> Array:
    return np.asarray(np.cosh(k * t))


def _sinh_ratio(k: Array, t: Array) -> Array:
    """sinh(k t) / sinh(t), k at t = 0."""
    return np.where(t == 0, k, np.sinh(k * t) / np.sinh(np.where(t == 0, 1.0, t)))


def _third(k: Array, t: Array) -> Array:
    return np.asarray(np.cosh((k + 0.5) * t) / np.cosh(t / 2))


def _fourth(k: Array, t: Array) -> Array:
    return _sinh_ratio(2 * k + 1, t / 2)


def chebyshev_t(x: Array, n: Array) -> Array:
    """First kind: cos(n t) for x = cos(t)."""
    return _chebyshev(x, n, x, lambda k, t: np.cos(k * t), _cosh, _cosh, 6)


def chebyshev_u(x: Array, n: Array) -> Array:
    """Second kind: sin((n + 1) t) / sin(t)."""
    growing: Closed = lambda k, t: _sinh_ratio(k + 1, t)  # noqa: E731
    return _chebyshev(x, n, 2 * x, lambda k, t: np.sin((k + 1) * t) / np.sin(t), growing, growing, 8)


def chebyshev_v(x: Array, n: Array) -> Array:
    """Third kind: cos((n + 1/2) t) / cos(t / 2)."""
    return _chebyshev(x, n, 2 * x - 1, lambda k, t: np.cos((k + 0.5) * t) / np.cos(t / 2), _third, _fourth, 8)


def chebyshev_w(x: Array, n: Array) -> Array:
    """Fourth kind: sin((n + 1/2) t) / sin(t / 2)."""
    return _chebyshev(x, n, 2 * x + 1, lambda k, t: np.sin((k + 0.5) * t) / np.sin(t / 2), _fourth, _third, 8)


def shifted_chebyshev_t(x: Array, n: Array) -> Array:
    """First kind at 2 x - 1."""
    return chebyshev_t(2 * x - 1, n)


def shifted_chebyshev_u(x: Array, n: Array) -> Array:
    """Second kind at 2 x - 1."""
    return chebyshev_u(2 * x - 1, n)


def shifted_chebyshev_v(x: Array, n: Array) -> Array:
    """Third kind at 2 x - 1."""
    return chebyshev_v(2 * x - 1, n)


def shifted_chebyshev_w(x: Array, n: Array) -> Array:
    """Fourth kind at 2 x - 1."""
    return chebyshev_w(2 * x - 1, n)


def hermite_h(x: Array, n: Array) -> Array:
    """Hermite's polynomial for the weight exp(-x**2)."""
    return _limited(x, n, HERMITE_LIMIT, 2 * x, lambda k, x, last, before: 2 * (x * last - k * before))


def hermite_he(x: Array, n: Array) -> Array:
    """Hermite's polynomial for the weight exp(-x**2 / 2)."""
    return _limited(x, n, HERMITE_LIMIT, x, lambda k, x, last, before: x * last - k * before)


def laguerre_l(x: Array, n: Array) -> Array:
    """Laguerre's polynomial; 1 at x = 0."""
    found = _limited(
        x, n, RECURRENCE_LIMIT, 1 - x, lambda k, x, last, before: ((2 * k + 1 - x) * last - k * before) / (k + 1)
    )
    return np.where((x == 0) & (_degree(n) >= 0), 1.0, found)


def legendre_p(x: Array, n: Array) -> Array:
    """Legendre's polynomial; 1 or -1 at x = 1 and x = -1."""
    found = _limited(
        x, n, RECURRENCE_LIMIT, x, lambda k, x, last, before: ((2 * k + 1) * x * last - k * before) / (k + 1)
    )
    degree = _degree(n)
    ends = np.where((x > 0) | (degree % 2 == 0), 1.0, -1.0)
    return np.where((np.abs(x) == 1) & (degree >= 0), ends, found)
