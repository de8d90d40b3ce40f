"""Chebyshev series of float64 lanes."""

from __future__ import annotations

from .expression import F64, Lane, constant


def series(t: Lane, coefficients: tuple[float, ...]) -> Lane:
    """The sum of ``coefficients[k] * T_k(t)`` for t in [-1, 1], by Clenshaw's recurrence."""
    twice = t + t
    last, before = constant(0.0, F64), constant(0.0, F64)
    for coefficient in reversed(coefficients[1:]):
        last, before = twice * last - before + coefficient, last
    return t * last - before + coefficients[0]
