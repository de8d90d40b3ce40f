"""Images sampled at the places of a grid, and grids of affine maps: place by place, on widened operands."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .resampling import bump


def centred(share: Any, size: int, align: bool) -> Any:
    """A number from -1 to 1 as a place among ``size`` elements: corner to corner, or edge to edge."""
    return (share + 1) / 2 * (size - 1) if align else ((share + 1) * size - 1) / 2


def folded(place: Any, size: int, padding: int, align: bool) -> Any:
    """The place inside that stands for one outside: the nearest, or the one that mirrors show; none for zeros."""
    if padding == 0:
        return place
    low, high = (0, size - 1) if align else (np.longdouble(-0.5), size - np.longdouble(0.5))
    while padding == 2 and high > low and not low <= place <= high:
        place = 2 * low - place if place < low else 2 * high - place
    return min(max(place, 0), size - 1)


def shares(place: Any, mode: int) -> list[tuple[int, Any]]:
    """The elements along a dim that a place is made of, and how much each of them counts."""
    if mode == 1:
        return [(int(np.rint(place)), 1)]
    first = int(np.floor(place))
    if mode == 0:
        return [(first, first + 1 - place), (first + 1, place - first)]
    return [(k, bump(k - Fraction(float(place)))) for k in range(first - 1, first + 3)]


def sampled(x: Array, grid: Array, mode: int, padding: int, align: bool) -> Array:
    assert x.ndim == 4 or mode < 2, "no cubic volumes"
    sizes = x.shape[2:]
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    for at in np.ndindex(*grid.shape[:-1]):
        real = [centred(share, size, align) for share, size in zip(grid[at][::-1], sizes, strict=True)]
        if mode < 2:
            real = [folded(place, size, padding, align) for place, size in zip(real, sizes, strict=True)]
        for parts in product(*[shares(place, mode) for place in real]):
            where = [k if mode < 2 else int(folded(k, n, padding, align))
                     for (k, _), n in zip(parts, sizes, strict=True)]  # fmt: skip
            if all(0 <= k < n for k, n in zip(where, sizes, strict=True)):
                weight = np.prod([share for _, share in parts])
                y[(at[0], slice(None), *at[1:])] += x[(at[0], slice(None), *where)] * weight
    return y


def affine(theta: Array, size: list[int], align: bool) -> Array:
    """Each place of the image, as numbers from -1 to 1 with the last dim's first, under the map of its matrix."""
    sizes = size[2:]
    y = np.zeros((size[0], *sizes, len(sizes)), theta.dtype)
    for at in np.ndindex(size[0], *sizes):
        place = [np.longdouble(0 if n == 1 else 2 * k - n + 1) / max(n - 1 if align else n, 1)
                 for k, n in zip(at[1:], sizes, strict=True)]  # fmt: skip
        y[at] = theta[at[0]] @ np.array([*place[::-1], 1], np.longdouble)
    return y


GRIDS: dict[str, Oracle] = {
    **dict.fromkeys(("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), sampled),
    "affine_grid_generator": affine,
}
