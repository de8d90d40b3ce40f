"""How much of the memory that an allocator holds is of no use, and in which way.

With R reserved, A allocated (blocks in use, rounded), Q requested (what the program asked for), F the bytes of free
blocks and L the largest free block:

    idle      = 1 - A / R     held, but not in use
    scattered = 1 - L / F     free, but not in one piece: a request above L misses although F would do
    rounded   = 1 - Q / A     in use, but asked for by nobody

each 0 where its denominator is 0. `stuck` counts the free bytes in segments of which some block is in use; these cannot
be given back to the device by `empty_cache`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .snapshot import ACTIVE, INACTIVE, Segment


@dataclass(frozen=True)
class Fragmentation:
    """Sums over segments at one moment, in bytes."""

    reserved: int
    allocated: int
    requested: int
    free: int
    largest_free: int
    free_blocks: int
    stuck: int

    @property
    def idle(self) -> float:
        return _without(self.allocated, self.reserved)

    @property
    def scattered(self) -> float:
        return _without(self.largest_free, self.free)

    @property
    def rounded(self) -> float:
        return _without(self.requested, self.allocated)


def fragmentation_of(segments: Iterable[Segment]) -> Fragmentation:
    """The sums over segments. Free blocks of different streams and pools are counted together, though neither can serve
    the other's requests."""
    reserved = allocated = requested = free = largest = count = stuck = 0
    for segment in segments:
        reserved += segment.size
        used = any(block.state != INACTIVE for block in segment.blocks)
        for block in segment.blocks:
            size = block.size
            if block.state == INACTIVE:
                free += size
                count += 1
                largest = max(largest, size)
                stuck += size if used else 0
            elif block.state == ACTIVE:
                allocated += size
                requested += block.requested
    return Fragmentation(reserved, allocated, requested, free, largest, count, stuck)


def _without(part: int, whole: int) -> float:
    return 1 - part / whole if whole else 0.0
