"""The rules of the chapter over plain lists: what an allocator does, told as slowly and as plainly as can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .figures import KEYS, Figures
from .rules import Rules
from .state import ALLOCATED, INACTIVE, PENDING, Block, Device, Event, OutOfMemory, Refused, Segment


class Model:
    """A caching allocator over ``device``. Streams are numbers, 0 is the default one.

    ``searches_again``: whether blocks are searched once more after the wait for other streams, before memory is given
    up (the spec wishes it).
    """

    def __init__(self, device: Device, rules: Rules | None = None) -> None:
        self.device = device
        self.rules = rules or Rules()
        self.segments: list[Segment] = []
        self.live: dict[int, Block] = {}
        self.waiting: list[tuple[Event, Block]] = []
        self.busy: set[int] = set()
        self.allowed: int | None = None
        self.searches = {True: 0, False: 0}
        self.figures = Figures()
        self.searches_again = True
        self.waited_in_vain = False

    def malloc(self, size: int, stream: int = 0) -> int:
        """The address of a block. Raises OutOfMemory."""
        if size == 0:
            return 0
        self.process_events()
        rounded = self.rules.rounded(size)
        self.waited_in_vain = False
        if self.allowed is not None and self.rules.threshold:
            self.searches[self.rules.is_small(rounded)] += 1
        block = self.find(rounded, stream) or self.new_block(rounded, stream)
        if block is None:
            self.figures.counts["num_ooms"] += 1
            raise OutOfMemory
        return self.hand_out(block, rounded, size)

    def new_block(self, rounded: int, stream: int) -> Block | None:
        """A block where no free one fits: the tries of the section on running out of memory."""
        self.collect_garbage()
        block = self.take_segment(rounded, stream)
        if block is None and self.release_oversize(rounded, stream):
            block = self.take_segment(rounded, stream)
        if block is None:
            had_waiting = bool(self.waiting)
            self.wait_for_all()
            if had_waiting:
                found = self.find(rounded, stream)
                self.waited_in_vain = found is not None
                if found is not None and self.searches_again:
                    return found
            self.release_free_segments()
            self.figures.counts["num_alloc_retries"] += 1
            block = self.take_segment(rounded, stream)
        return block

    def find(self, rounded: int, stream: int) -> Block | None:
        """The best free block, if it may serve."""
        fitting = [b for b in self.free_blocks(self.rules.is_small(rounded), stream) if b.size >= rounded]
        best = self.best(fitting)
        return best if best is not None and self.rules.serves(best.size, rounded) else None

    def best(self, fitting: Sequence[Block]) -> Block | None:
        return min(fitting, key=lambda b: (b.size, b.address), default=None)

    def free_blocks(self, small: bool, stream: int) -> list[Block]:
        chosen = [s for s in self.segments if s.small == small and s.stream == stream]
        return [b for s in chosen for b in s.blocks if b.state == INACTIVE]

    def take_segment(self, rounded: int, stream: int) -> Block | None:
        """A new segment as one inactive block; None if the limit or the device refuses."""
        size = self.rules.segment_size(rounded)
        if self.allowed is not None and self.reserved + size > self.allowed:
            return None
        try:
            address = self.device.malloc(size)
        except Refused:
            return None
        segment = Segment(address, size, stream, self.rules.is_small(rounded))
        segment.blocks.append(Block(address, size, segment))
        self.segments.append(segment)
        self.figures.counts["num_device_alloc"] += 1
        self.note()
        return segment.blocks[0]

    @property
    def reserved(self) -> int:
        return sum(s.size for s in self.segments)

    def hand_out(self, block: Block, rounded: int, size: int) -> int:
        if self.rules.splits(block.size, rounded):
            block = self.split(block, rounded)
        block.state, block.requested = ALLOCATED, size
        self.live[block.address] = block
        self.note()
        return block.address

    def split(self, block: Block, rounded: int) -> Block:
        """Cut the block in two; the part that is handed out."""
        rest = Block(block.address + rounded, block.size - rounded, block.segment)
        rest.since = self.searches[block.segment.small]
        block.size = rounded
        place = block.segment.blocks.index(block)
        block.segment.blocks.insert(place + 1, rest)
        return block

    def free(self, address: int) -> None:
        """Raises RuntimeError for an address that is not live."""
        if address == 0:
            return
        block = self.live.pop(address, None)
        if block is None:
            raise RuntimeError(f"invalid device pointer: {address}")
        uses, block.uses = sorted(block.uses), set()
        if not uses:
            self.deactivate(block)
            return
        block.state, block.waits = PENDING, len(uses)
        self.waiting += [(Event(stream, stream not in self.busy), block) for stream in uses]
        self.note()

    def deactivate(self, block: Block) -> None:
        """The block becomes inactive and joins its neighbours."""
        if block.state == ALLOCATED:
            # Allocated figures fall when the free is asked for, active ones when it is complete.
            block.state = PENDING
            self.note()
        block.state, block.requested = INACTIVE, 0
        block.since = self.searches[block.segment.small]
        self.merge(block.segment)
        self.note()

    def merge(self, segment: Segment) -> None:
        merged: list[Block] = []
        for block in segment.blocks:
            if merged and merged[-1].state == block.state == INACTIVE:
                merged[-1].size += block.size
                merged[-1].since = max(merged[-1].since, block.since)
            else:
                merged.append(block)
        segment.blocks = merged

    def record_stream(self, address: int, stream: int) -> None:
        block = self.live.get(address)
        if block is not None and stream != block.segment.stream:
            block.uses.add(stream)

    def occupy(self, stream: int) -> None:
        self.busy.add(stream)

    def finish(self, stream: int) -> None:
        self.busy.discard(stream)
        for event, _ in self.waiting:
            event.done = event.done or event.stream == stream

    def process_events(self) -> None:
        """Blocks of which all events are done become inactive; those of one stream are looked at in order."""
        stuck: set[int] = set()
        left: list[tuple[Event, Block]] = []
        ready: list[Block] = []
        for event, block in self.waiting:
            if not event.done or event.stream in stuck:
                stuck.add(event.stream)
                left.append((event, block))
                continue
            block.waits -= 1
            if block.waits == 0:
                ready.append(block)
        self.waiting = left
        self.figures.loose = self.figures.loose or len(ready) > 1
        for block in ready:
            self.deactivate(block)

    def wait_for_all(self) -> None:
        self.figures.counts["num_sync_all_streams"] += 1
        for event, _ in list(self.waiting):
            self.finish(event.stream)
        self.process_events()

    def empty_cache(self) -> None:
        self.wait_for_all()
        self.release_free_segments()

    def release_free_segments(self) -> None:
        for segment in [s for s in self.segments if s.whole]:
            self.release(segment)

    def release(self, segment: Segment) -> None:
        """Give the segment back; the device waits for all its streams when it takes memory."""
        self.segments.remove(segment)
        self.device.free(segment.address, segment.size)
        for stream in list(self.busy):
            self.finish(stream)
        self.figures.counts["num_device_free"] += 1
        self.note()

    def release_oversize(self, rounded: int, stream: int) -> bool:
        """Give back cached blocks above the largest size for splitting; whether they are enough for the request."""
        limit = self.rules.max_split
        if limit is None:
            return False
        wanted = max(rounded, limit)
        found = self.free_blocks(self.rules.is_small(rounded), stream)
        enough = self.best([b for b in found if b.size >= wanted])
        if enough is not None:
            self.release(enough.segment)
            return True
        total = 0
        for block in sorted(found, key=lambda b: (b.size, b.address), reverse=True):
            if total >= wanted or block.size < limit:
                break
            total += block.size
            self.release(block.segment)
        return total >= wanted

    def collect_garbage(self) -> None:
        """Give back the free segments of the large pool that were not used for longest, above the threshold."""
        if self.allowed is None or not self.rules.threshold:
            return
        goal = self.reserved - int(self.rules.threshold * self.allowed)
        whole = [s.blocks[0] for s in self.segments if s.whole and not s.small]
        while goal > 0 and whole:
            mean = sum(self.age(b) for b in whole) / len(whole)
            for block in [b for b in whole if self.age(b) >= mean]:
                whole.remove(block)
                goal -= block.size
                self.release(block.segment)

    def age(self, block: Block) -> int:
        return self.searches[block.segment.small] - block.since

    def set_memory_fraction(self, fraction: float) -> None:
        self.allowed = int(fraction * self.device.memory) if fraction < 1 else None

    def note(self) -> None:
        self.figures.see(self.currents())

    def currents(self) -> dict[str, int]:
        """The current figures, counted anew."""
        state = dict.fromkeys(KEYS, 0)
        limit = self.rules.max_split or float("inf")
        for segment in self.segments:
            blocks = segment.blocks
            given = [block.size for block in blocks if block.state == ALLOCATED]
            active = [block for block in blocks if block.state != INACTIVE]
            split = [block.size for block in blocks if block.state == INACTIVE] if len(blocks) > 1 else []
            active_bytes = sum([block.size for block in active])
            requested = sum([block.requested for block in active])
            amounts = (
                1, segment.size, len(given), sum(given), len(active), active_bytes, requested, len(split), sum(split),
            )  # fmt: skip
            for keys, amount in zip(_BY_POOL[segment.small], amounts, strict=True):
                if amount:
                    for key in keys:
                        state[key] += amount
            state["oversize_segments"] += segment.size >= limit
            state["oversize_allocations"] += sum([size >= limit for size in given])
        return state

    def snapshot(self) -> list[dict[str, Any]]:
        """Segments by address, in PyTorch's names."""
        return [_described(segment) for segment in sorted(self.segments, key=lambda s: s.address)]


_COUNTED = (
    "segment", "reserved_bytes", "allocation", "allocated_bytes", "active", "active_bytes", "requested_bytes",
    "inactive_split", "inactive_split_bytes",
)  # fmt: skip
"""The families in the order in which `currents` counts them."""
_BY_POOL = {
    small: [(f"{family}.all", f"{family}.{pool}") for family in _COUNTED]
    for small, pool in ((True, "small_pool"), (False, "large_pool"))
}
"""The keys of what is counted, for a small and a large pool: that of the whole, and that of the pool."""


def _described(segment: Segment) -> dict[str, Any]:
    active = [b for b in segment.blocks if b.state != INACTIVE]
    return {
        "address": segment.address,
        "total_size": segment.size,
        "allocated_size": sum(b.size for b in active if b.state == ALLOCATED),
        "active_size": sum(b.size for b in active),
        "requested_size": sum(b.requested for b in active),
        "stream": segment.stream,
        "segment_type": "small" if segment.small else "large",
        "blocks": [
            {"address": b.address, "size": b.size, "requested_size": b.requested, "state": b.state}
            for b in segment.blocks
        ],
    }
