"""Where functions are differentiated: distinct numbers away from integers, halves and the ends of a domain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ..backend import Array

# Fractional parts that are at least 0.12 from an integer and from a half.
_PARTS = ((0.13, 0.37), (0.63, 0.87))
_REACH = 2.0
_MARGIN = 0.1
_CELLS = 8


def points(
    random: np.random.Generator, count: int, low: float | None = None, high: float | None = None,
    exclude: Sequence[float] = (),
) -> Array:
    """``count`` distinct numbers between ``low`` and ``high`` (default: -2 and 2), in random order.

    Kinks of operators lie at integers and halves, and where two operands are equal. Of a wide range they are those near
    zero, since far from it many functions are flat; a range too narrow for such numbers is filled evenly.
    """  # fmt: skip
    low = (-_REACH if high is None else min(-_REACH, high - 3)) if low is None else low
    high = (max(_REACH, low + 3)) if high is None else high
    low, high = max(low, -1e3), min(high, 1e3)
    per_part = max(4, count)
    cells = np.arange(np.floor(low), np.ceil(high))
    cells = np.sort(cells[np.argsort(np.abs(cells + 0.5), kind="stable")][:_CELLS])
    grid: Array = (cells[:, None] + _fractions(per_part)).reshape(-1)
    margin = min(_MARGIN, (high - low) / 8)
    grid = grid[(grid >= low + margin) & (grid <= high - margin)]
    for value in exclude:
        grid = grid[np.abs(grid - value) > margin]
    if len(grid) < count:
        grid = np.linspace(low + margin, high - margin, max(count, 2) + 2)[1:-1]
    chosen = random.permutation(grid)[:count]
    jitter = 0.2 * (grid[1] - grid[0]) if len(grid) > 1 else 0.0
    return np.asarray(chosen + random.uniform(-jitter, jitter, count))


@cache
def _fractions(count: int) -> Array:
    """``count`` numbers in each of the fractional parts."""
    return np.concatenate([np.linspace(first, last, count) for first, last in _PARTS])


def complex_points(
    random: np.random.Generator, count: int, low: float | None = None, high: float | None = None
) -> Array:
    """Complex numbers whose parts are such points."""
    return np.asarray(points(random, count, low, high) + 1j * points(random, count))
