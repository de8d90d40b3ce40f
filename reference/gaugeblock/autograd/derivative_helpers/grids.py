"""Gradients of sampling an image or a volume at the places of a grid."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any, NamedTuple

import gaugeblock as gb
from gaugeblock import Tensor

NEAREST, BICUBIC = 1, 2
ZEROS, REFLECTION = 0, 2
_SHARPNESS = -0.75
"""The free coefficient of the cubic weights."""


class Tap(NamedTuple):
    """Whole places along one dim that are read, how much of each, and how that changes with the place."""

    places: Tensor
    weight: Tensor
    slope: Tensor


def _inside(places: Tensor, size: int, padding: int, align: bool) -> tuple[Tensor, Tensor]:
    """Places moved into the image, and the direction in which they move there: 0 beyond its border."""
    turn = gb.ones_like(places)
    if padding == ZEROS:
        return places, turn
    if padding == REFLECTION:
        low, span = (0.0, size - 1) if align else (-0.5, size)
        if not span:
            return gb.zeros_like(places), gb.zeros_like(places)
        off = (places - low).abs()
        extra, odd = off.fmod(span), (off / span).floor() % 2 == 1
        turn = gb.where((places < low) != odd, -1.0, turn)
        places = gb.where(odd, span - extra + low, extra + low)
    return places.clamp(0, size - 1), turn.masked_fill((places <= 0) | (places >= size - 1), 0)


def _cubic(t: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The weights of the places 1 before, at, 1 and 2 behind a place, from which it lies t away, with their slopes."""
    a = _SHARPNESS

    def near(x: Tensor) -> tuple[Tensor, Tensor]:
        return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Tensor) -> tuple[Tensor, Tensor]:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a

    (w0, s0), (w1, s1), (w2, s2), (w3, s3) = far(t + 1), near(t), near(1 - t), far(2 - t)
    return [(w0, s0), (w1, s1), (w2, -s2), (w3, -s3)]


def _taps(share: Tensor, size: int, mode: int, padding: int, align: bool) -> tuple[list[Tap], Tensor | float]:
    """What is read along one dim for numbers from -1 to 1, and how places change with these numbers."""
    scale = (size - 1) / 2 if align else size / 2
    real = (share + 1) * scale - (0 if align else 0.5)
    known = real.detach()
    if mode == BICUBIC:
        low = known.floor()
        moved = [_inside(low + (k - 1), size, padding, align)[0] for k in range(4)]
        return [Tap(p, w, s) for p, (w, s) in zip(moved, _cubic(real - low), strict=True)], scale
    place, turn = _inside(known, size, padding, align)
    one = gb.ones_like(place)
    if mode == NEAREST:
        return [Tap(place.round(), one, gb.zeros_like(one))], scale
    low = place.floor()
    part = place + turn * (real - known) - low
    return [Tap(low, 1 - part, -one), Tap(low + 1, part, one)], turn * scale


def grid_back(
    grad: Tensor, input: Tensor, grid: Tensor, mode: int, padding: int, align: bool, needed: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the image and of the grid."""
    batch, channels, *sizes = input.shape
    flat, back = input.reshape((batch, channels, prod(sizes))), grad.reshape((batch, channels, prod(grad.shape[2:])))
    count = back.shape[2]
    # The last of a place's numbers counts along the first dim.
    shares = [grid.select(-1, len(sizes) - 1 - k).reshape((batch, count)) for k in range(len(sizes))]
    found = [_taps(share, size, mode, padding, align) for share, size in zip(shares, sizes, strict=True)]
    image, slopes = gb.zeros_like(flat), [gb.zeros_like(share) for share in shares]
    for taps in product(*(taps for taps, _ in found)):
        known = gb.ones_like(shares[0], dtype=gb.bool)
        for tap, size in zip(taps, sizes, strict=True):
            known = known & (tap.places >= 0) & (tap.places < size)
        index = gb.zeros_like(shares[0], dtype=gb.int64)
        for tap, size in zip(taps, sizes, strict=True):
            index = index * size + tap.places.masked_fill(~known, 0).to(gb.int64)
        spread = index.unsqueeze(1).expand(back.shape)
        if needed[0]:
            weight = prod((tap.weight for tap in taps[1:]), start=taps[0].weight) * known
            image = image.scatter_add(2, spread, back * weight.unsqueeze(1))
        if needed[1] and mode != NEAREST:
            along = (back * flat.gather(2, spread)).sum(1) * known
            for k, tap in enumerate(taps):
                rest = prod((other.weight for j, other in enumerate(taps) if j != k), start=tap.slope)
                slopes[k] = slopes[k] + along * rest
    moved = [slope * factor for slope, (_, factor) in zip(slopes, found, strict=True)]
    places = gb.stack(moved[::-1], -1).reshape(grid.shape)
    return (image.reshape(input.shape) if needed[0] else None), (places if needed[1] else None)


HELPERS: dict[str, Callable[..., Any]] = {"grid_back": grid_back}
