"""Images through a matrix of weights along a dim: as they are, or as bytes by whole weights, each pass rounded."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

MOST_BITS, SUM_BITS = 22, 15
"""How many bits behind the point whole weights may have, and how many bits in all."""


def _whole(weights: Array) -> tuple[Array, int]:
    """Weights as whole numbers of 16 bits, and how many of those stand behind the point."""
    bits, largest = 0, float(weights.max(initial=0.0))
    while bits < MOST_BITS and int(0.5 + largest * (1 << (bits + 1))) < 1 << SUM_BITS:
        bits += 1
    scaled = weights * (1 << bits)
    return np.where(scaled < 0, scaled - 0.5, scaled + 0.5).astype(np.int64), bits


def mixed(array: Array, weights: Array, axis: int) -> Array:
    """`array` with the dim `axis` through `weights` [result, elements]; bytes are rounded, and cut off at 0 and 255."""
    if array.dtype == np.uint8:
        whole, bits = _whole(weights)
        sums = np.tensordot(array.astype(np.int64), whole, (axis, 1))
        found = np.clip((sums + (1 << bits >> 1)) >> bits, 0, 255).astype(np.uint8)
    else:
        found = np.tensordot(array, weights.astype(array.dtype), (axis, 1))
    return np.moveaxis(found, -1, axis)
