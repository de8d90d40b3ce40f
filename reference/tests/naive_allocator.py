"""A naive caching allocator: a list of blocks, searched from end to end. The real one is compared with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gaugeblock.cuda.allocator.allocator_config import AllocatorConfig
from gaugeblock.cuda.driver.protocol import DriverOutOfMemory

from .table_device import Device

MIB = 1 << 20
FAMILIES = (
    "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
    "inactive_split_bytes", "requested_bytes",
)  # fmt: skip
POOLS = {"all": (True, False), "small_pool": (True,), "large_pool": (False,)}

@dataclass(eq=False)
class NaiveBlock:
    address: int
    size: int
    state: str = "inactive"
    requested: int = 0
    uses: list[int] = field(default_factory=list)
    waits: int = 0
    born: int = 0


@dataclass(eq=False)
class Naive:
    """A segment: whose it is, and its blocks; `page` of an expandable one, 0 of others."""

    small: bool
    pool: tuple[int, int]
    stream: int
    blocks: list[NaiveBlock]
    page: int = 0


class NaiveAllocator:
    """The rules of the caching allocator, written down once more without any thought of speed."""

    def __init__(self, driver: Device, config: AllocatorConfig, fixed: bool) -> None:
        self.driver, self.config, self.fixed = driver, config, fixed
        self.segments: list[Naive] = []
        self.events: dict[int, list[tuple[int, NaiveBlock]]] = {}
        self.captures: list[tuple[int, int]] = []
        self.users: Counter[tuple[int, int]] = Counter()
        self.deferred: list[NaiveBlock] = []
        self.captured: dict[NaiveBlock, set[int]] = {}
        self.lookups: Counter[tuple[bool, tuple[int, int]]] = Counter()
        self.figures = {(f, p): Counter({"current": 0}) for f in FAMILIES for p in POOLS}
        fraction = config.per_process_memory_fraction
        self.allowed = int(fraction * driver.total) if fraction < 1.0 else None
        self.collects = self.allowed is not None and config.garbage_collection_threshold > 0

    def account(self) -> None:
        """Compare the figures with those before; what grew was allocated, what fell was freed."""
        for pool, smalls in POOLS.items():
            now: Counter[str] = Counter()
            for segment in self.segments:
                if segment.small in smalls:
                    now["segment"] += not segment.page
                    for block in segment.blocks:
                        now["reserved_bytes"] += block.size * (block.state != "unmapped")
                        if block.state.startswith("active"):
                            now["active"] += 1
                            now["active_bytes"] += block.size
                            now["requested_bytes"] += block.requested
                        if block.state == "active_allocated":
                            now["allocation"] += 1
                            now["allocated_bytes"] += block.size
                        if block.state == "inactive" and len(segment.blocks) > 1 and not segment.page:
                            now["inactive_split"] += 1
                            now["inactive_split_bytes"] += block.size
            for family in FAMILIES:
                figure = self.figures[family, pool]
                change = now[family] - figure["current"]
                figure["allocated" if change > 0 else "freed"] += abs(change)
                figure["current"] = now[family]
                figure["peak"] = max(figure["peak"], now[family])

    def reserved(self) -> int:
        return self.figures["reserved_bytes", "all"]["current"]

    def everything(self) -> Iterator[tuple[Naive, NaiveBlock]]:
        return ((segment, block) for segment in self.segments for block in segment.blocks)

    def round(self, size: int) -> int:
        """The next multiple of 512, or of a part of the power of two below."""
        divisions = self.config.roundup_power2_divisions
        if divisions and size >= 512:
            power = 1
            while power * 2 <= size:
                power *= 2
            interval, edge = 0, MIB
            while power > edge and interval < 15:
                interval, edge = interval + 1, edge * 2
            count = divisions[interval]
            if count > 1 and size > 512 * count:
                step = power // count
                return -(-size // step) * step
        return max(512, -(-size // 512) * 512)

    def malloc(self, requested: int, stream: int) -> int | None:
        """The address, None out of memory."""
        if not self.captures:
            self.process()
        size = self.round(requested)
        small = size <= MIB
        pool = self.captures[-1] if self.captures else (0, 0)
        large = self.config.large_segment_size
        whole = 2 * MIB if small else large if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        found = self.find(size, small, pool, stream)
        if found is None:
            self.collect()
            found = self.fresh(size, whole, small, pool, stream)
        if found is None and self.release_oversize(size, small, pool, stream):
            found = self.fresh(size, whole, small, pool, stream)
        if found is None and not self.captures:
            self.process(wait=True)
            if self.fixed:
                found = self.find(size, small, pool, stream)
            if found is None:
                self.release_cached()
                found = self.fresh(size, whole, small, pool, stream)
        if found is None:
            return None
        segment, block = found
        rest = block.size - size
        limit = self.config.max_split_size
        if small or self.config.expandable_segments:
            splits = rest >= 512
        else:
            splits = (limit is None or size < limit) and rest > MIB
        if splits:
            tail = NaiveBlock(block.address + size, rest, born=self.lookups[small, pool])
            segment.blocks.insert(segment.blocks.index(block) + 1, tail)
            block.size = size
        block.state, block.requested = "active_allocated", requested
        self.account()
        return block.address

    def candidates(self, small: bool, pool: tuple[int, int], stream: int) -> list[tuple[Naive, NaiveBlock]]:
        return [(s, b) for s, b in self.free_blocks(small, pool) if s.stream == stream]

    def find(self, size: int, small: bool, pool: tuple[int, int], stream: int) -> tuple[Naive, NaiveBlock] | None:
        self.lookups[small, pool] += self.collects
        grows = self.config.expandable_segments
        fitting = [(s, b) for s, b in self.candidates(small, pool, stream) if b.size >= size and (grows or not s.page)]
        if not fitting:
            return None
        at = 0
        while fitting[at][0].page and at + 1 < len(fitting) and _reach(*fitting[at + 1]) < _reach(*fitting[at]):
            at += 1
        block, limit = fitting[at][1], self.config.max_split_size
        if limit is not None:
            if size < limit <= block.size:
                return None
            if size >= limit and block.size >= size + self.config.large_segment_size:
                return None
        return fitting[at]

    def fresh(
        self, size: int, whole: int, small: bool, pool: tuple[int, int], stream: int
    ) -> tuple[Naive, NaiveBlock] | None:
        if self.allowed is not None and self.reserved() + whole > self.allowed:
            return None
        if self.config.expandable_segments:
            return self.expand(size, small, pool, stream)
        try:
            address = self.driver.malloc(0, whole)
        except DriverOutOfMemory:
            return None
        block = NaiveBlock(address, whole)
        segment = Naive(small, pool, stream, [block])
        self.segments.append(segment)
        self.account()
        return segment, block

    def expand(self, size: int, small: bool, pool: tuple[int, int], stream: int) -> tuple[Naive, NaiveBlock] | None:
        """Map pages at the lowest address where free and unmapped blocks side by side have room."""
        segments = [s for s in self.segments if s.page and (s.small, s.pool, s.stream) == (small, pool, stream)]
        for segment in segments:
            for at, first in enumerate(segment.blocks):
                run, unmapped = 0, False
                for block in segment.blocks[at:]:
                    if block.state not in ("inactive", "unmapped"):
                        break
                    run += block.size
                    unmapped |= block.state == "unmapped"
                before = segment.blocks[at - 1].state if at else "active"
                if run >= size and unmapped and (first.state == "inactive" or before != "inactive"):
                    return self.map(segment, first.address, size)
        page = 2 * MIB if small else self.config.large_segment_size
        space = -(-(self.driver.total + self.driver.total // 8) // page) * page
        block = NaiveBlock(self.driver.address_reserve(0, space), space, "unmapped")
        segment = Naive(small, pool, stream, [block], page)
        self.segments.append(segment)
        return self.map(segment, block.address, size)

    def map(self, segment: Naive, start: int, size: int) -> tuple[Naive, NaiveBlock] | None:
        """Map what is unmapped in the range, in whole pages."""
        while True:
            block = next(b for b in segment.blocks if b.address == start)
            if block.state == "inactive" and block.size >= size:
                return segment, block
            at = segment.blocks.index(block)
            hole = block if block.state == "unmapped" else segment.blocks[at + 1]
            assert hole.state == "unmapped"
            wanted = min(hole.size, size - (hole.address - start))
            pages = range(hole.address, hole.address + wanted, segment.page)
            handles: list[int] = []
            try:
                while len(handles) < len(pages):
                    handles.append(self.driver.memory_create(0, segment.page))
            except DriverOutOfMemory:
                for handle in handles:
                    self.driver.memory_release(0, handle)
                return None
            for page, handle in zip(pages, handles, strict=True):
                self.driver.memory_map(0, page, segment.page, handle)
            length = len(pages) * segment.page
            tail = NaiveBlock(hole.address + length, hole.size - length, "unmapped")
            hole.size, hole.state = length, "inactive"
            if tail.size:
                segment.blocks.insert(segment.blocks.index(hole) + 1, tail)
            self.tidy(segment)
            self.account()

    def tidy(self, segment: Naive) -> None:
        """Join neighbours that are both free, or both not mapped."""
        joined: list[NaiveBlock] = []
        for block in segment.blocks:
            if joined and block.state == joined[-1].state and block.state in ("inactive", "unmapped"):
                joined[-1].size += block.size
                joined[-1].born = max(joined[-1].born, block.born)
            else:
                joined.append(block)
        segment.blocks = joined

    def complete(self, block: NaiveBlock) -> None:
        segment = next(s for s, b in self.everything() if b is block)
        block.state = "inactive"
        block.born = self.lookups[segment.small, segment.pool]
        self.tidy(segment)
        self.account()

    def free(self, address: int) -> None:
        block = next(b for _, b in self.everything() if b.address == address)
        if not block.uses:
            self.complete(block)
            return
        block.state = "active_pending_free"
        self.account()
        if self.captures:
            self.deferred.append(block)
        else:
            self.insert_events(block)

    def insert_events(self, block: NaiveBlock) -> None:
        for stream in block.uses:
            block.waits += 1
            self.events.setdefault(stream, []).append((self.driver.work[stream], block))
        block.uses = []

    def record_stream(self, address: int, stream: int) -> None:
        segment, block = next((s, b) for s, b in self.everything() if b.address == address)
        if stream != segment.stream and stream not in block.uses:
            block.uses.append(stream)
            if self.captures:
                self.captured.setdefault(block, set()).add(stream)

    def insert_deferred(self) -> None:
        for block in self.deferred:
            block.uses = [stream for stream in block.uses if stream not in self.captured.get(block, ())]
            self.insert_events(block)
            if not block.waits:
                self.complete(block)
        self.deferred = []

    def process(self, wait: bool = False) -> None:
        self.insert_deferred()
        for stream, queue in self.events.items():
            while queue and (wait or self.driver.done[stream] >= queue[0][0]):
                count, block = queue.pop(0)
                self.driver.done[stream] = max(self.driver.done[stream], count)
                block.waits -= 1
                if not block.waits:
                    self.complete(block)
        self.events = {stream: queue for stream, queue in self.events.items() if queue}

    def whole(self, small: bool, pool: tuple[int, int]) -> list[tuple[Naive, NaiveBlock]]:
        return [(s, b) for s, b in self.free_blocks(small, pool) if len(s.blocks) == 1 and not s.page]

    def free_blocks(self, small: bool, pool: tuple[int, int]) -> list[tuple[Naive, NaiveBlock]]:
        """The free blocks of a pool, by stream, size and address."""
        free = [(s, b) for s, b in self.everything() if b.state == "inactive" and (s.small, s.pool) == (small, pool)]
        return sorted(free, key=lambda found: (found[0].stream, found[1].size, found[1].address))

    def release(self, segment: Naive) -> None:
        self.driver.free(0, segment.blocks[0].address)
        self.segments.remove(segment)
        self.account()

    def release_cached(self) -> None:
        freeable = [pool for pool, users in self.users.items() if not users]
        order = [((0, 0), False), ((0, 0), True)] if not self.captures else []
        order += [(pool, small) for pool in freeable for small in (True, False)]
        for pool, small in order:
            for segment, _ in self.whole(small, pool):
                self.release(segment)
            self.unmap(small, pool)
            if pool != (0, 0) and not small:
                self.drop(pool)

    def drop(self, pool: tuple[int, int]) -> None:
        """Give up expandable segments of a released pool that never had memory."""
        for segment in sorted(self.segments, key=lambda s: (not s.small, s.stream, s.blocks[0].address)):
            if segment.pool == pool and [block.state for block in segment.blocks] == ["unmapped"]:
                self.segments.remove(segment)
                self.driver.address_free(0, segment.blocks[0].address, segment.blocks[0].size)

    def unmap(self, small: bool, pool: tuple[int, int]) -> None:
        for segment, block in [found for found in self.free_blocks(small, pool) if found[0].page]:
            start = segment.blocks[0].address
            first = start + -(-(block.address - start) // segment.page) * segment.page
            last = start + (block.address + block.size - start) // segment.page * segment.page
            if first >= last:
                continue
            self.driver.stream_synchronize(0, segment.stream)
            for page in range(first, last, segment.page):
                handle = self.driver.mapped[page]
                self.driver.memory_unmap(0, page, segment.page)
                self.driver.memory_release(0, handle)
            parts = [
                NaiveBlock(block.address, first - block.address),
                NaiveBlock(first, last - first, "unmapped"),
                NaiveBlock(last, block.address + block.size - last),
            ]
            at = segment.blocks.index(block)
            segment.blocks[at : at + 1] = [part for part in parts if part.size]
            self.tidy(segment)
            self.account()
            if len(segment.blocks) == 1:
                self.segments.remove(segment)
                self.driver.address_free(0, start, segment.blocks[0].size)

    def release_oversize(self, size: int, small: bool, pool: tuple[int, int], stream: int) -> bool:
        limit = self.config.max_split_size
        if limit is None:
            return False
        wanted = max(size, limit)
        free = [s for s, b in self.whole(small, pool) if s.stream == stream and b.size >= limit]
        if enough := [s for s in free if s.blocks[0].size >= wanted]:
            self.release(enough[0])
            return True
        released = 0
        while released < wanted and free:
            released += free[-1].blocks[0].size
            self.release(free.pop())
        return released >= wanted

    def collect(self) -> None:
        if not self.collects or self.allowed is None:
            return
        target = self.reserved() - int(self.config.garbage_collection_threshold * self.allowed)
        gone = 0
        while gone < target and (free := self.whole(False, (0, 0))):
            ages = {id(block): self.lookups[False, (0, 0)] - block.born for _, block in free}
            mean = sum(ages.values()) / len(ages)
            for segment, block in free:
                if ages[id(block)] >= mean:
                    gone += block.size
                    self.release(segment)

    def snapshot(self) -> list[tuple[Any, ...]]:
        """What a snapshot lists: runs of mapped blocks by address."""
        runs = []
        for segment in self.segments:
            run: list[tuple[Any, ...]] = []
            for block in [*segment.blocks, NaiveBlock(0, 0, "unmapped")]:
                if block.state != "unmapped":
                    requested = block.requested if block.state != "inactive" else 0
                    run.append((block.address, block.size, block.state, requested))
                elif run:
                    runs.append((run[0][0], segment.stream, segment.small, segment.pool, bool(segment.page), run))
                    run = []
        return sorted(runs, key=lambda run: run[0])


def _reach(segment: Naive, block: NaiveBlock) -> int:
    """The size of a block together with the unmapped one behind it."""
    at = segment.blocks.index(block)
    following = segment.blocks[at + 1] if at + 1 < len(segment.blocks) else None
    return block.size + (following.size if following is not None and following.state == "unmapped" else 0)
