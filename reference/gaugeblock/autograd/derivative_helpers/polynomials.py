"""Derivatives of orthogonal polynomials, by differentiating the recurrences that define them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...calls.functions import tensor_ops as ops
from . import Tensor

# Name: p1 = a x + b, and (a, b, c) of k for p(k + 1) = (a x + b) p(k) - c p(k - 1).
_CHEBYSHEV = {"t": (1, 0), "u": (2, 0), "v": (2, -1), "w": (2, 1)}
_OTHERS: dict[str, tuple[tuple[int, int], Callable[[int], tuple[float, float, float]]]] = {
    "hermite_polynomial_h": ((2, 0), lambda k: (2, 0, 2 * k)),
    "hermite_polynomial_he": ((1, 0), lambda k: (1, 0, k)),
    "laguerre_polynomial_l": ((-1, 1), lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))),
    "legendre_polynomial_p": ((1, 0), lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1))),
}


SLOPE_LIMIT = 1 << 14
"""The highest degree whose derivative is computed; the recurrence takes too long beyond it."""


def polynomial_slope(name: str, x: Tensor, n: Tensor | float) -> Tensor:
    """Return the derivative with respect to x of the polynomial of degree n, an integer or a tensor of integers. 0
    below degree 1, NaN above SLOPE_LIMIT."""
    shifted = name.startswith("shifted")
    point = x * 2 - 1 if shifted else x
    degree = n.trunc() if isinstance(n, Tensor) and n.is_floating_point() else n
    largest: Any = degree
    if isinstance(degree, Tensor):
        largest = degree.max().item() if degree.numel() else 0
    top = int(largest)
    (slope, intercept), step = _OTHERS[name] if name in _OTHERS else (_CHEBYSHEV[name[-1]], lambda k: (2, 0, 1))
    before, value = ops.ones_like(point), point * slope + intercept
    before_slope, value_slope = ops.zeros_like(point), ops.full_like(point, slope)
    found = _chosen(ops.zeros_like(point), value_slope, degree, 1)
    for k in range(1, min(top, SLOPE_LIMIT)):
        a, b, c = step(k)
        factor = point * a + b
        before, value, before_slope, value_slope = (
            value,
            factor * value - before * c,
            value_slope,
            value * a + factor * value_slope - before_slope * c,
        )
        found = _chosen(found, value_slope, degree, k + 1)
    if top > SLOPE_LIMIT:
        unknown = ops.full_like(point, float("nan"))
        found = ops.where(degree > SLOPE_LIMIT, unknown, found) if isinstance(degree, Tensor) else unknown
    return found * 2 if shifted else found


def _chosen(found: Tensor, value: Tensor, degree: Tensor | float, k: int) -> Tensor:
    if isinstance(degree, Tensor):
        return ops.where(degree == k, value, found)
    return value if int(degree) == k else found
