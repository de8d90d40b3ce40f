"""Why a request was not served: where the memory was that it could not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .fragmentation import Fragmentation, fragmentation_of
from .snapshot import INACTIVE, Segment
from .units import counted, size_text

SMALL = 1 << 20
"""The largest rounded size that the small pool serves."""


class Pieces(NamedTuple):
    """Free blocks: their bytes together, how many there are, the largest."""

    total: int = 0
    blocks: int = 0
    largest: int = 0

    def plus(self, size: int) -> Pieces:
        return Pieces(self.total + size, self.blocks + 1, max(self.largest, size))


@dataclass(frozen=True)
class Shortage:
    """A request that failed, at an event: the bytes asked for, as rounded, the segment that the device was asked for
    and the bytes it had left; the state of the cache then, and its free blocks by why they did not serve.

    `too_small` are those of the request's own pool and stream, `missed` the ones among these that would do: PyTorch
    does not look again after it waited for events (its issue 189504, mode "faithful"). `other_streams` are those of its
    pool but of other streams, `other_pools` those of the pool for the other sizes and of private pools.
    """

    event: int
    size: int
    rounded: int
    segment: int
    device_left: int
    at: Fragmentation
    too_small: Pieces
    missed: Pieces
    other_streams: Pieces
    other_pools: Pieces

    def lines(self) -> list[str]:
        """The reasons in words, those without bytes left out."""
        said = [
            f"{size_text(self.at.reserved - self.at.free)} in use",
            f"{size_text(self.device_left)} left on the device, of which {size_text(self.segment)} were wanted",
        ]
        for pieces, why in (
            (self.too_small, "free, but in pieces that are too small"),
            (self.missed, "free and large enough, but not looked at again after waiting for events"),
            (self.other_streams, "free, but for other streams"),
            (self.other_pools, "free, but in the pools of other sizes or of captured graphs"),
        ):
            if pieces.blocks:
                blocks = f"{counted(pieces.blocks, 'block')}, the largest of {size_text(pieces.largest)}"
                said.append(f"{size_text(pieces.total)} {why}: {blocks}")
        return said


def shortage_of(
    event: int, size: int, stream: int, pool: tuple[int, int], segments: Iterable[Segment], figures: Mapping[str, Any]
) -> Shortage:
    """Sort the free blocks of `segments`; `figures` has rounded, segment_size and free of the allocator's error."""
    segments = list(segments)
    rounded = figures.get("rounded", size)
    kind = "small" if rounded <= SMALL else "large"
    too_small = missed = other_streams = other_pools = Pieces()
    for segment in segments:
        for block in segment.blocks:
            if block.state != INACTIVE:
                continue
            if segment.pool != pool or segment.kind != kind:
                other_pools = other_pools.plus(block.size)
            elif segment.stream != stream:
                other_streams = other_streams.plus(block.size)
            elif block.size < rounded:
                too_small = too_small.plus(block.size)
            else:
                missed = missed.plus(block.size)
    return Shortage(
        event,
        size,
        rounded,
        figures.get("segment_size", rounded),
        figures.get("free", 0),
        fragmentation_of(segments),
        too_small,
        missed,
        other_streams,
        other_pools,
    )
