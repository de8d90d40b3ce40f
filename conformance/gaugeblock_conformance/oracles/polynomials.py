"""Orthogonal polynomials by their recurrences, in long double.

Errors are measured by the recurrence on absolute values, which bounds every sum on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Near

# First polynomial as (constant, factor of x), and from k and x the factors of the last one and of the one before.
Step = Callable[[int, Any], tuple[Any, Any, Any]]


def _fixed(first: tuple[int, int], slope: tuple[int, int]) -> tuple[tuple[int, int], Step]:
    """P(k+1) = (slope[0] + slope[1] x) P(k) - P(k-1)."""
    return first, lambda k, x: (slope[0] + slope[1] * x, 1, 1)


_FAMILIES: dict[str, tuple[tuple[int, int], Step]] = {
    "chebyshev_polynomial_t": _fixed((0, 1), (0, 2)),
    "chebyshev_polynomial_u": _fixed((0, 2), (0, 2)),
    "chebyshev_polynomial_v": _fixed((-1, 2), (0, 2)),
    "chebyshev_polynomial_w": _fixed((1, 2), (0, 2)),
    "shifted_chebyshev_polynomial_t": _fixed((-1, 2), (-2, 4)),
    "shifted_chebyshev_polynomial_u": _fixed((-2, 4), (-2, 4)),
    "shifted_chebyshev_polynomial_v": _fixed((-3, 4), (-2, 4)),
    "shifted_chebyshev_polynomial_w": _fixed((-1, 4), (-2, 4)),
    "hermite_polynomial_h": ((0, 2), lambda k, x: (2 * x, 2 * k, 1)),
    "hermite_polynomial_he": ((0, 1), lambda k, x: (x, k, 1)),
    "laguerre_polynomial_l": ((1, -1), lambda k, x: (2 * k + 1 - x, k, k + 1)),
    "legendre_polynomial_p": ((0, 1), lambda k, x: ((2 * k + 1) * x, k, k + 1)),
}


def evaluated(family: str, x: Any, n: Any) -> Near:
    """The polynomial of degree ``n`` at ``x``, zero for negative degrees; both broadcast."""
    (constant, factor), step = _FAMILIES[family]
    x, n = np.broadcast_arrays(np.asarray(x, np.longdouble), np.asarray(n, np.float64))
    last, now = np.ones_like(x), constant + factor * x
    size_last, size = np.ones_like(x), abs(constant) + abs(factor) * np.abs(x)
    value, scale = np.where(n == 0, last, 0), np.ones_like(x)
    for k in range(1, int(np.max(n, initial=0)) + 1):
        value, scale = np.where(n == k, now, value), np.where(n == k, size, scale)
        a, b, c = step(k, x)
        last, now = now, (a * now - b * last) / c
        size_last, size = size, (_size(family, k, x) * size + b * size_last) / c
    return Near(value, scale, 16)


def _size(family: str, k: int, x: Array) -> Any:
    """The first factor of a step with all its terms taken absolutely."""
    if family == "laguerre_polynomial_l":
        return 2 * k + 1 + np.abs(x)
    shift = 2 if family.startswith("shifted") else 0
    return np.abs(_FAMILIES[family][1](k, np.abs(x))[0]) + 2 * shift


def _oracle(family: str) -> Oracle:
    return lambda x, n: evaluated(family, x, n)


POLYNOMIALS: dict[str, Oracle] = {f"special_{family}": _oracle(family) for family in _FAMILIES}
