"""The regularised incomplete gamma functions P and Q.

Below the transition a series gives P, above it a continued fraction gives Q. Far along the transition both take too
many terms, and Temme's uniform expansion (1979) takes over.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dtype import float64
from ..arrays import Array, from_array, values
from ..invoke import apply
from .zeta import zeta

EPSILON = 2.0**-53
MOST = 4000
"""Terms after which a sum is taken to have converged; enough for a below LARGE."""
LARGE = 1e5
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _function(name: str, array: Array) -> Array:
    return values(apply(name, from_array(array, float64)))


def _less_log(x: Array) -> Array:
    """x - log(1 + x), by its series near 0."""
    near = np.abs(x) < 0.15
    t = np.where(near, x / (2 + x), 0.0)
    square = t * t
    series = np.zeros_like(t)
    for k in range(25, 1, -2):
        series = (series + 2.0 / k) * square
    return np.where(near, x * t - t * series, x - np.log1p(x))


def _prefactor(a: Array, x: Array) -> Array:
    """x**a exp(-x) / gamma(a + 1)."""
    large = a >= 10
    big = np.where(large, a, 10.0)
    inverse = 1 / (big * big)
    tail = np.zeros_like(big)
    for coefficient in reversed(STIRLING):
        tail = tail * inverse + coefficient
    mu = (x - big) / big
    distance = np.where(np.abs(mu) < 0.7, _less_log(mu), mu - np.log(x / big))
    far = np.exp(-big * distance - tail / big) / np.sqrt(2 * math.pi * big)
    small = np.where(large, 1.0, a)
    near = np.exp(small * np.log(x) - x - _function("lgamma", small + 1))
    return np.where(large, far, near)


def _series(a: Array, x: Array) -> Array:
    """P(a, x), for x not much larger than a."""
    term, total = np.ones_like(a), np.ones_like(a)
    for n in range(1, MOST):
        term = term * x / (a + n)
        total = total + term
        if not (term > total * EPSILON).any():
            break
    return total * _prefactor(a, x)


def _log_gamma_beside_one(a: Array) -> Array:
    """Return log(gamma(1 + a)) for a in [0, 0.5], with a small relative error."""
    powers = np.arange(2.0, 50.0)
    total = np.zeros_like(a)
    for power, value in zip(powers[::-1], zeta(powers, np.ones_like(powers))[::-1], strict=True):
        total = -a * (value / power + total)
    return -a * (np.euler_gamma + total)


def _small_order(a: Array, x: Array) -> Array:
    """Return Q(a, x) for a < 0.5 and small x, where 1 - P cancels because P is close to 1."""
    log = a * np.log(x) - _log_gamma_beside_one(a)
    term, total = np.ones_like(a), np.zeros_like(a)
    for n in range(1, MOST):
        term = term * -x / n
        total = total + term / (a + n)
        if not (np.abs(term) > np.abs(total) * EPSILON).any():
            break
    return np.asarray(-np.expm1(log) - np.exp(log) * a * total)


def _fraction(a: Array, x: Array) -> Array:
    """Q(a, x), for x larger than a, by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full_like(a, 1 / tiny), 1 / np.where(b == 0, tiny, b)
    total = d
    for n in range(1, MOST):
        factor = n * (a - n)
        b = b + 2
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        step = c * d
        total = total * step
        if not (np.abs(step - 1) > EPSILON).any():
            break
    return total * _prefactor(a, x) * a


def _uniform(a: Array, x: Array) -> tuple[Array, Array]:
    """(P, Q) for large a, by the first terms of the uniform expansion."""
    mu = (x - a) / a
    phi = _less_log(mu)
    eta = np.copysign(np.sqrt(2 * phi), mu)
    near = np.abs(eta) < 0.02
    away = np.where(near, 1.0, eta)
    other = np.where(near, 1.0, mu)
    first = 1 / other - 1 / away
    first = np.where(near, -1 / 3 + eta * (1 / 12 - eta * (2 / 135 - eta * (1 / 864 + eta / 2835))), first)
    second = 1 / away**3 - 1 / other**3 - 1 / other**2 - 1 / (12 * other)
    second = np.where(near, -1 / 540 - eta / 288, second)
    rest = np.exp(-a * phi) / np.sqrt(2 * math.pi * a) * (first + second / a)
    root = eta * np.sqrt(a / 2)
    upper = 0.5 * _function("erfc", root) + rest
    return 0.5 * _function("erfc", -root) - rest, upper


def _both(a: Array, x: Array) -> tuple[Array, Array]:
    """(P, Q) of finite positive arguments, each accurate where it is small."""
    lower, upper = np.empty_like(a), np.empty_like(a)
    far = (a > LARGE) & (np.abs(x - a) < 0.3 * a)
    below = ~far & ((x <= 1) | (x < a + 1)) & ((x < a) | (x <= 1.1) | (x < a + 1))
    for mask, method in ((far, 0), (below, 1), (~far & ~below, 2)):
        if not mask.any():
            continue
        if method == 0:
            lower[mask], upper[mask] = _uniform(a[mask], x[mask])
        elif method == 1:
            found = _series(a[mask], x[mask])
            lower[mask], upper[mask] = found, 1 - found
            small = mask & (a < 0.5)
            upper[small] = _small_order(a[small], x[small])
        else:
            found = _fraction(a[mask], x[mask])
            lower[mask], upper[mask] = 1 - found, found
    return lower, upper


def _with_ends(a: Array, x: Array, place: int) -> Array:
    usual = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    result = np.full(a.shape, np.nan)
    ends = (float(place), float(1 - place))
    result[(a > 0) & (x == 0)] = ends[0]
    result[(a == 0) & (x > 0)] = ends[1]
    result[np.isposinf(a) & (x >= 0) & np.isfinite(x)] = ends[0]
    result[(a >= 0) & np.isfinite(a) & np.isposinf(x)] = ends[1]
    if usual.any():
        result[usual] = np.clip(_both(a[usual], x[usual])[place], 0.0, 1.0)
    return result


def lower(a: Array, x: Array) -> Array:
    """P(a, x): the share of the gamma distribution below x; NaN for negative arguments."""
    return _with_ends(a, x, 0)


def upper(a: Array, x: Array) -> Array:
    """Q(a, x) = 1 - P(a, x)."""
    return _with_ends(a, x, 1)
