"""Allocators that round, choose, split, merge or give back wrongly: the naive one with one rule overridden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..allocator.model import Model
from ..allocator.rules import HUGE_FROM, MIB, SMALL_LIMIT, UNIT, Rules, up
from ..allocator.state import INACTIVE, Block, Segment
from ..backend_allocator import CALLS
from .mutant import Intercepted, Patch, rows
from .naive_allocator import NaiveCalls, NaiveDevice

OPERATORS = tuple(CALLS)


def of_model(model: Callable[[NaiveDevice, Rules], Model]) -> Patch:
    """Every allocator is a naive one over what ``model`` makes."""

    def patch(c: Intercepted) -> Any:
        calls = c.memory.get("calls")
        if calls is None:
            calls = c.memory["calls"] = NaiveCalls(model)
        return c.by(lambda: calls.answer(c.operator, *c.args, **c.kwargs))

    return patch


def of_rules(rules: type[Rules]) -> Patch:
    """Naive allocators whose configuration is read as ``rules``."""
    return of_model(lambda device, chosen: Model(device, rules(**vars(chosen))))


class _RoundsTo256(Rules):
    def rounded(self, size: int) -> int:
        return up(size, 256)


class _RoundsTo1024(Rules):
    def rounded(self, size: int) -> int:
        return up(size, 1024)


class _RoundsNothingLarge(Rules):
    def rounded(self, size: int) -> int:
        return size if size > MIB else super().rounded(size)


class _SmallEndsBefore(Rules):
    def is_small(self, rounded: int) -> bool:
        return rounded < SMALL_LIMIT


class _SmallEndsBehind(Rules):
    def is_small(self, rounded: int) -> bool:
        return rounded <= SMALL_LIMIT + UNIT


class _SmallSegmentsAreLarger(Rules):
    def segment_size(self, rounded: int) -> int:
        return 4 * MIB if self.is_small(rounded) else super().segment_size(rounded)


class _HugeBeginsBehind(Rules):
    def segment_size(self, rounded: int) -> int:
        return self.large_segment if rounded == HUGE_FROM else super().segment_size(rounded)


class _HugeIsExact(Rules):
    def segment_size(self, rounded: int) -> int:
        return rounded if rounded >= HUGE_FROM else super().segment_size(rounded)


class _LargeSegmentsAreExact(Rules):
    def segment_size(self, rounded: int) -> int:
        return rounded if MIB < rounded < HUGE_FROM else super().segment_size(rounded)


class _SmallSplitsAbove512(Rules):
    def splits(self, found: int, rounded: int) -> bool:
        return super().splits(found, rounded) and found - rounded != UNIT


class _SmallIsNotSplit(Rules):
    def splits(self, found: int, rounded: int) -> bool:
        return not self.is_small(rounded) and super().splits(found, rounded)


class _LargeSplitsFromOneMib(Rules):
    def splits(self, found: int, rounded: int) -> bool:
        return super().splits(found, rounded) or (not self.is_small(rounded) and found - rounded == SMALL_LIMIT)


class _LargeSplitsFrom512(Rules):
    def splits(self, found: int, rounded: int) -> bool:
        return found - rounded >= UNIT


class _FirstFit(Model):
    def best(self, fitting: Sequence[Block]) -> Block | None:
        return min(fitting, key=lambda b: b.address, default=None)


class _WorstFit(Model):
    def best(self, fitting: Sequence[Block]) -> Block | None:
        return max(fitting, key=lambda b: (b.size, -b.address), default=None)


class _LastAmongEquals(Model):
    def best(self, fitting: Sequence[Block]) -> Block | None:
        return min(fitting, key=lambda b: (b.size, -b.address), default=None)


class _NeedsRoom(Model):
    def find(self, rounded: int, stream: int) -> Block | None:
        return self.best([b for b in self.free_blocks(self.rules.is_small(rounded), stream) if b.size > rounded])


class _AnyPool(Model):
    def find(self, rounded: int, stream: int) -> Block | None:
        free = [*self.free_blocks(True, stream), *self.free_blocks(False, stream)]
        return self.best([b for b in free if b.size >= rounded])


class _AnyStream(Model):
    def free_blocks(self, small: bool, stream: int) -> list[Block]:
        return [b for s in self.segments if s.small == small for b in s.blocks if b.state == INACTIVE]


class _NeverReuses(Model):
    def find(self, rounded: int, stream: int) -> Block | None:
        return None


class _TwoSegments(Model):
    def take_segment(self, rounded: int, stream: int) -> Block | None:
        super().take_segment(rounded, stream)
        return super().take_segment(rounded, stream)


class _HighEnd(Model):
    def split(self, block: Block, rounded: int) -> Block:
        rest = Block(block.address + block.size - rounded, rounded, block.segment)
        block.size -= rounded
        block.segment.blocks.insert(block.segment.blocks.index(block) + 1, rest)
        return rest


class _LosesUnits(Model):
    def split(self, block: Block, rounded: int) -> Block:
        found = super().split(block, rounded)
        rest = block.segment.blocks[block.segment.blocks.index(block) + 1]
        if rest.size > UNIT:
            rest.size -= UNIT
        return found


class _Overlaps(Model):
    def split(self, block: Block, rounded: int) -> Block:
        found = super().split(block, rounded)
        rest = block.segment.blocks[block.segment.blocks.index(block) + 1]
        if rounded > UNIT:
            rest.address -= UNIT
            rest.size += UNIT
        return found


class _ZeroTakesABlock(Model):
    def malloc(self, size: int, stream: int = 0) -> int:
        return super().malloc(size or 1, stream)


class _NeverMerges(Model):
    def merge(self, segment: Segment) -> None:
        return


class _MergesWhole(Model):
    """Neighbours join only when the whole segment is free."""

    def merge(self, segment: Segment) -> None:
        if all(b.state == INACTIVE for b in segment.blocks):
            super().merge(segment)


class _MergesOnce(Model):
    """Of two free neighbours only one joins."""

    def merge(self, segment: Segment) -> None:
        count = len(segment.blocks)
        before = [replace_block(b) for b in segment.blocks]
        super().merge(segment)
        if count - len(segment.blocks) == 2:
            k = next(k for k, b in enumerate(segment.blocks) if b.size != before[k].size)
            last = before[k + 2]
            segment.blocks[k].size -= last.size
            segment.blocks.insert(k + 1, last)


def replace_block(block: Block) -> Block:
    return replace(block) if block.state == INACTIVE else block


class _AcceptsAnything(Model):
    def free(self, address: int) -> None:
        if address in self.live:
            super().free(address)


class _AcceptsInterior(Model):
    def free(self, address: int) -> None:
        inside = [a for a, b in self.live.items() if a <= address < a + b.size]
        super().free(inside[0] if inside else address)


class _LosesBeforeItRefuses(Model):
    """The figures change although the free is refused."""

    def free(self, address: int) -> None:
        if address and address not in self.live:
            self.figures.freed["allocation.all"] += 1
        super().free(address)


class _EmptiesNothing(Model):
    def empty_cache(self) -> None:
        return


class _EmptiesLargeOnly(Model):
    def release_free_segments(self) -> None:
        for segment in [s for s in self.segments if s.whole and not s.small]:
            self.release(segment)


class _EmptiesOne(Model):
    def release_free_segments(self) -> None:
        for segment in [s for s in self.segments if s.whole][:1]:
            self.release(segment)


class _EmptiesLive(Model):
    def release_free_segments(self) -> None:
        for segment in [s for s in self.segments if s.blocks[0].state == INACTIVE]:
            self.live = {a: b for a, b in self.live.items() if b.segment is not segment}
            self.release(segment)


class _FreesToTheDevice(Model):
    """Segments go back as soon as they are free."""

    def free(self, address: int) -> None:
        super().free(address)
        self.release_free_segments()


MUTANTS = rows(
    "allocator",
    ("sizes-round-to-256", "allocator/request-is-rounded-up-to-512", OPERATORS, of_rules(_RoundsTo256)),
    ("sizes-round-to-1024", "allocator/request-is-rounded-up-to-512", OPERATORS, of_rules(_RoundsTo1024)),
    ("large-sizes-are-not-rounded", "allocator/request-is-rounded-up-to-512", OPERATORS, of_rules(_RoundsNothingLarge)),
    ("small-pool-ends-before-1-mib", "allocator/small-and-large-requests-have-own-pools", OPERATORS,
     of_rules(_SmallEndsBefore)),
    ("small-pool-ends-behind-1-mib", "allocator/small-and-large-requests-have-own-pools", OPERATORS,
     of_rules(_SmallEndsBehind)),
    ("small-segments-have-4-mib", "allocator/segment-size-follows-the-request", OPERATORS,
     of_rules(_SmallSegmentsAreLarger)),
    ("ten-mib-share-a-segment", "allocator/segment-size-follows-the-request", OPERATORS, of_rules(_HugeBeginsBehind)),
    ("huge-segments-are-not-rounded", "allocator/segment-size-follows-the-request", OPERATORS, of_rules(_HugeIsExact)),
    ("large-segments-hold-one-block", "allocator/segment-size-follows-the-request", OPERATORS,
     of_rules(_LargeSegmentsAreExact)),
    ("remainder-of-512-stays", "allocator/small-remainder-is-split-off", OPERATORS, of_rules(_SmallSplitsAbove512)),
    ("small-blocks-are-not-split", "allocator/small-remainder-is-split-off", OPERATORS, of_rules(_SmallIsNotSplit)),
    ("remainder-of-1-mib-is-split-off", "allocator/large-remainder-is-split-off-above-1-mib", OPERATORS,
     of_rules(_LargeSplitsFromOneMib)),
    ("large-blocks-split-like-small-ones", "allocator/large-remainder-is-split-off-above-1-mib", OPERATORS,
     of_rules(_LargeSplitsFrom512)),
    ("first-fit", "allocator/best-fit-wins", OPERATORS, of_model(_FirstFit)),
    ("worst-fit", "allocator/best-fit-wins", OPERATORS, of_model(_WorstFit)),
    ("best-fit-takes-the-highest-address", "allocator/best-fit-wins", OPERATORS, of_model(_LastAmongEquals)),
    ("exact-fit-is-no-fit", "allocator/hit-asks-the-device-for-nothing allocator/best-fit-wins", OPERATORS,
     of_model(_NeedsRoom)),
    ("pools-serve-each-other", "allocator/small-and-large-requests-have-own-pools", OPERATORS, of_model(_AnyPool)),
    ("streams-share-free-blocks", "allocator/block-belongs-to-its-stream", OPERATORS, of_model(_AnyStream)),
    ("nothing-is-reused", "allocator/freed-memory-is-reused allocator/hit-asks-the-device-for-nothing", OPERATORS,
     of_model(_NeverReuses)),
    ("misses-take-two-segments", "allocator/miss-takes-one-segment", OPERATORS, of_model(_TwoSegments)),
    ("high-end-is-handed-out", "allocator/low-end-is-handed-out", OPERATORS, of_model(_HighEnd)),
    ("splits-lose-a-unit", "allocator/blocks-tile-their-segment", OPERATORS, of_model(_LosesUnits)),
    ("blocks-overlap-by-a-unit", "allocator/blocks-tile-their-segment allocator/live-memory-does-not-overlap",
     OPERATORS, of_model(_Overlaps)),
    ("zero-bytes-take-a-block", "allocator/zero-bytes-take-nothing", OPERATORS, of_model(_ZeroTakesABlock)),
    ("neighbours-never-merge", "allocator/free-neighbours-merge allocator/fragmentation-shows", OPERATORS,
     of_model(_NeverMerges)),
    ("only-whole-segments-merge", "allocator/free-neighbours-merge", OPERATORS, of_model(_MergesWhole)),
    ("one-of-two-neighbours-merges", "allocator/free-neighbours-merge", OPERATORS, of_model(_MergesOnce)),
    ("any-pointer-can-be-freed", "allocator/foreign-pointers-are-refused", OPERATORS, of_model(_AcceptsAnything)),
    ("pointers-into-blocks-can-be-freed", "allocator/foreign-pointers-are-refused", OPERATORS,
     of_model(_AcceptsInterior)),
    ("refused-frees-are-counted", "allocator/foreign-pointers-are-refused", OPERATORS, of_model(_LosesBeforeItRefuses)),
    ("emptying-does-nothing", "allocator/empty-cache-releases-free-segments", OPERATORS, of_model(_EmptiesNothing)),
    ("emptying-keeps-small-segments", "allocator/empty-cache-releases-free-segments", OPERATORS,
     of_model(_EmptiesLargeOnly)),
    ("emptying-gives-back-one-segment", "allocator/empty-cache-releases-free-segments", OPERATORS,
     of_model(_EmptiesOne)),
    ("emptying-takes-live-memory",
     "allocator/empty-cache-keeps-live-memory allocator/empty-cache-releases-free-segments", OPERATORS,
     of_model(_EmptiesLive)),
    ("nothing-is-cached", "allocator/hit-asks-the-device-for-nothing", OPERATORS,
     of_model(_FreesToTheDevice)),
)
