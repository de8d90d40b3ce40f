"""Sizes: how a request is rounded, which pool serves it, and how much a fresh segment for it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30

MIN_BLOCK: Final = 512
"""Sizes and addresses of blocks are multiples of this."""
SMALL_LIMIT: Final = MIB
"""The largest rounded size that the small pool serves."""
SMALL_SEGMENT: Final = 2 * MIB
MIN_LARGE_REQUEST: Final = 10 * MIB
"""From this rounded size on, a segment is made to measure."""
ROUND_LARGE: Final = 2 * MIB
LARGE_SEGMENT: Final = 20 * MIB
"""The segment of large requests below MIN_LARGE_REQUEST, unless the configuration says otherwise."""
DIVISION_INTERVALS: Final = 16
"""Intervals with divisions of their own: from each power of two to the next, from 1 MiB on; the first and the last
stand for all sizes below and above."""


def round_size(size: int, divisions: Sequence[int] = ()) -> int:
    """`size` > 0 rounded up to a multiple of 512 or, where its interval has divisions, to the next of these."""
    if size < MIN_BLOCK:
        return MIN_BLOCK
    if divisions:
        count = divisions[division_interval(size)]
        if count > 1 and size > MIN_BLOCK * count:
            return _next_division(size, count)
    return size + MIN_BLOCK - 1 & -MIN_BLOCK


def division_interval(size: int) -> int:
    """The place, among the intervals, of the one that `size` lies in."""
    return min(max(size.bit_length() - MIB.bit_length(), 0), DIVISION_INTERVALS - 1)


def _next_division(size: int, count: int) -> int:
    floor = 1 << size.bit_length() - 1
    if size == floor:
        return size
    step = floor >> count.bit_length() - 1
    return floor << 1 if step == 0 else size + step - 1 & -step


def segment_size(rounded: int, large_segment: int = LARGE_SEGMENT) -> int:
    """How much to ask of the device for a block of `rounded` bytes."""
    if rounded <= SMALL_LIMIT:
        return SMALL_SEGMENT
    if rounded < MIN_LARGE_REQUEST:
        return large_segment
    return rounded + ROUND_LARGE - 1 & -ROUND_LARGE
