"""Orthogonal polynomials of degree n at x; 0 for a negative degree, fractions of a degree are dropped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array

Step = Callable[[int, Array, Array, Array], Array]
HERMITE_LIMIT = 512
"""Degrees above give NaN."""


def _recurrence(x: Array, n: Array, first: Array, step: Step) -> Array:
    """p_n(x) from p_0 = 1, p_1 = `first` and ``p_{k+1} = step(k, x, p_k, p_{k-1})``."""
    degree = np.trunc(n)
    result = np.where(degree == 0, 1.0, np.where(degree == 1, first, 0.0))
    before, last = np.ones_like(x), first
    for k in range(1, int(degree.max(initial=0))):
        before, last = last, step(k, x, last, before)
        result = np.where(degree == k + 1, last, result)
    return np.where(np.isnan(x) & (degree > 0), np.nan, result)


def _doubled(k: int, x: Array, last: Array, before: Array) -> Array:
    return 2 * x * last - before


def _chebyshev(x: Array, n: Array, first: Array, angular: Callable[[Array, Array], Array], limit: int) -> Array:
    """A polynomial of one of the four kinds: by its recurrence, or for high degrees inside (-1, 1) by the angle."""
    degree = np.trunc(n)
    high = (degree > limit) & (np.abs(x) < 1)
    low = _recurrence(x, np.where(high, 0.0, n), first, _doubled)
    angle = np.arccos(np.where(high, x, 0.0))
    return np.where(high, angular(degree, angle), low)


def chebyshev_t(x: Array, n: Array) -> Array:
    """First kind: cos(n t) for x = cos(t)."""
    return _chebyshev(x, n, x, lambda k, t: np.cos(k * t), 6)


def chebyshev_u(x: Array, n: Array) -> Array:
    """Second kind: sin((n + 1) t) / sin(t)."""
    return _chebyshev(x, n, 2 * x, lambda k, t: np.sin((k + 1) * t) / np.sin(t), 8)


def chebyshev_v(x: Array, n: Array) -> Array:
    """Third kind: cos((n + 1/2) t) / cos(t / 2)."""
    return _chebyshev(x, n, 2 * x - 1, lambda k, t: np.cos((k + 0.5) * t) / np.cos(t / 2), 8)


def chebyshev_w(x: Array, n: Array) -> Array:
    """Fourth kind: sin((n + 1/2) t) / sin(t / 2)."""
    return _chebyshev(x, n, 2 * x + 1, lambda k, t: np.sin((k + 0.5) * t) / np.sin(t / 2), 8)


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
    low = np.where(n > HERMITE_LIMIT, 0, n)
    found = _recurrence(x, low, 2 * x, lambda k, x, last, before: 2 * (x * last - k * before))
    return np.where(n > HERMITE_LIMIT, np.nan, found)


def hermite_he(x: Array, n: Array) -> Array:
    """Hermite's polynomial for the weight exp(-x**2 / 2)."""
    low = np.where(n > HERMITE_LIMIT, 0, n)
    found = _recurrence(x, low, x, lambda k, x, last, before: x * last - k * before)
    return np.where(n > HERMITE_LIMIT, np.nan, found)


def laguerre_l(x: Array, n: Array) -> Array:
    """Laguerre's polynomial; 1 at x = 0."""
    return _recurrence(
        x, n, 1 - x, lambda k, x, last, before: ((2 * k + 1 - x) * last - k * before) / (k + 1)
    )


def legendre_p(x: Array, n: Array) -> Array:
    """Legendre's polynomial."""
    return _recurrence(x, n, x, lambda k, x, last, before: ((2 * k + 1) * x * last - k * before) / (k + 1))
