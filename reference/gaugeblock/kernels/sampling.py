"""Formulas of sampling: the elements of an image that the places of a grid read, and what these add up to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

from .division import fmod
from .expression import BOOL, F64, Expr, constant, select
from .functions import cast, fabs, floor, is_even, minimum, rint

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
CUBIC = -0.75
"""The parameter of the cubic convolution kernel."""


class Sampling(NamedTuple):
    """The options of grid_sample for images with `dims` spatial dims. With `align`, -1 and 1 are the centers of the
    corner elements, else the outer edges of the image."""

    mode: int
    padding: int
    align: bool
    dims: int

    @property
    def corners(self) -> int:
        """Return how many elements a place reads."""
        return int((2, 1, 4)[self.mode] ** self.dims)


def cubic_weights(share: Any) -> tuple[Any, Any, Any, Any]:
    """Return what the four neighbours count of a place that lies `share` behind the second."""
    near, rest = cubic_near(share, CUBIC), 1 - share
    return cubic_far(share + 1, CUBIC), near, cubic_near(rest, CUBIC), cubic_far(rest + 1, CUBIC)


def cubic_near(x: Any, a: float) -> Any:
    """Return the cubic kernel with parameter `a` at a distance up to 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def cubic_far(x: Any, a: float) -> Any:
    """Return the cubic kernel with parameter `a` at a distance from 1 to 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _inside(place: Expr, size: Expr, how: Sampling) -> Expr:
    """Return a place moved into the image, where NaN is the first place."""
    if how.padding == REFLECTION:
        low, span = (0.0, size - 1.0) if how.align else (-0.5, size)
        off = fabs(place - low)
        extra = fmod(off, span)
        moved = select(is_even(floor(off / span)), extra + low, span - extra + low)
        place = select(span == 0.0, 0.0, moved)
    if how.padding == ZEROS:
        return place
    return minimum(select(place > 0.0, place, 0.0), size - 1.0)


def _taps(share: Expr, size: Expr, how: Sampling) -> list[tuple[Expr, Expr]]:
    """Return the whole places that a number from -1 to 1 names along a dim, and how much of each is read."""
    place = (share + 1.0) / 2.0 * (size - 1.0) if how.align else ((share + 1.0) * size - 1.0) / 2.0
    if how.mode == BICUBIC:
        low = floor(place)
        weights = cubic_weights(place - low)
        return [(_inside(low + (k - 1.0), size, how), weight) for k, weight in enumerate(weights)]
    place = _inside(place, size, how)
    if how.mode == NEAREST:
        return [(rint(place), constant(1.0, place.type))]
    low = floor(place)
    return [(low, 1.0 - (place - low)), (low + 1.0, place - low)]


def _corners(shares: tuple[Expr, ...], sizes: tuple[Expr, ...], how: Sampling) -> Iterator[tuple[Expr, Expr, Expr]]:
    """Yield of each element that is read whether it is within the image, its number in row-major order, its weight."""
    along = [_taps(share, size, how) for share, size in zip(shares, sizes, strict=True)]
    for taps in product(*along):
        known, number, weight = constant(True, BOOL), constant(0.0, F64), taps[0][1]
        for place, size in zip(taps, sizes, strict=True):
            known = known & (place[0] >= 0.0) & (place[0] < size)
            number = number * cast(size, F64) + cast(place[0], F64)
        for _, factor in taps[1:]:
            weight = weight * factor
        yield known, number, weight


@functools.cache
def elements_read(how: Sampling) -> Callable[..., tuple[Expr, ...]]:
    """Return the formula of the elements that places read, given their numbers and the sizes of the dims; what lies
    outside is the first."""

    def formula(*operands: Expr) -> tuple[Expr, ...]:
        found = _corners(operands[: how.dims], operands[how.dims :], how)
        return tuple([select(known, number, 0.0) for known, number, _ in found])

    return formula


@functools.cache
def sum_of_elements(how: Sampling) -> Callable[..., Expr]:
    """Return the formula of the weighted sum of the elements that are read, given these and what elements_read takes;
    what lies outside is 0."""

    def formula(*operands: Expr) -> Expr:
        values, rest = operands[: how.corners], operands[how.corners :]
        total = constant(0.0, values[0].type)
        for value, (known, _, weight) in zip(values, _corners(rest[: how.dims], rest[how.dims :], how), strict=True):
            total = total + select(known, value, 0.0) * weight
        return total

    return formula
