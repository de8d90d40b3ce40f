"""The blocks of one device: found, split, allocated, freed, merged. No lock, no streams, no device calls.

Free blocks lie in a small and a large pool, by stream, and are searched for the best fit. Captured graphs and users
have pools of their own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from .allocator_config import EXBIBYTE, SMALL_LIMIT, AllocatorConfig, round_size, segment_size
from .statistics import LIMIT, MALLOC, NO_SPLIT_CHANGE, Statistics

if TYPE_CHECKING:
    from .memory_snapshot import MemoryHistory, Stack
    from .segments import ExpandableSegment

FREE: Final = 0
ALLOCATED: Final = 1
SHARED: Final = 2
"""Allocated, and other streams than its own were recorded to use it."""
PENDING: Final = 3
"""Given back by its owner, while the work of other streams on it goes on."""
UNMAPPED: Final = 4
"""Address space of an expandable segment without memory."""

STATE_NAMES: Final = {
    FREE: "inactive",
    ALLOCATED: "active_allocated",
    SHARED: "active_allocated",
    PENDING: "active_pending_free",
}


class Block:
    """A node of the list of blocks that tile a segment, in the order of their addresses.

    `requested` is what was asked for, while the block is active; `home` is the set of free blocks of its pool and
    stream, to which it returns; `born` is the age counter of its pool when it became free.
    """

    __slots__ = ("born", "expandable", "home", "next", "pointer", "previous", "requested", "size", "state")

    def __init__(self, pointer: int, size: int, home: FreeBlocks, state: int = FREE) -> None:
        self.pointer = pointer
        self.size = size
        self.home = home
        self.requested = 0
        self.state = state
        self.born = 0
        self.previous: Block | None = None
        self.next: Block | None = None
        self.expandable: ExpandableSegment | None = None

    @property
    def is_split(self) -> bool:
        """Return whether it shares its segment with other blocks."""
        return self.previous is not None or self.next is not None

    def head(self) -> Block:
        """The first block of the segment."""
        block = self
        while block.previous is not None:
            block = block.previous
        return block


class FreeBlocks:
    """The free blocks of one stream in one pool, found by size, the lowest address first among equals.

    A free list is a heap of addresses at which blocks of one size became free. An entry stays when its block is
    allocated or merged into another; a search drops it when it finds it. Until then, or until `purge`, a list may hold
    stale and duplicate addresses. The list of sizes is short: free blocks have multiples of 512, all different there,
    and together no more than the memory of the device.
    """

    __slots__ = ("blocks", "lists", "pool", "sizes", "stream", "unmapped")

    def __init__(self, pool: BlockPool, stream: int, blocks: dict[int, Block]) -> None:
        self.pool = pool
        self.stream = stream
        self.blocks = blocks
        self.lists: dict[int, list[int]] = {}
        self.sizes: list[int] = []
        self.unmapped: list[int] = []
        """Addresses of unmapped blocks of expandable segments, in order."""

    def push(self, block: Block) -> None:
        """Let a block, which is free and merged, be found."""
        addresses = self.lists.get(block.size)
        if addresses is None:
            self.lists[block.size] = [block.pointer]
            insort(self.sizes, block.size)
        elif not addresses or addresses[0] != block.pointer:
            heappush(addresses, block.pointer)

    def find(self, size: int) -> Block | None:
        """The smallest free block of at least `size` bytes, the lowest among equals; it stays where it is."""
        sizes, lists, blocks = self.sizes, self.lists, self.blocks
        place = bisect_left(sizes, size)
        while place < len(sizes):
            exact = sizes[place]
            addresses = lists[exact]
            while addresses:
                block = blocks.get(addresses[0])
                if block is not None and block.state == FREE and block.size == exact and block.home is self:
                    return block
                heappop(addresses)
            del lists[exact], sizes[place]
        return None

    def from_size(self, size: int) -> Generator[Block, None, None]:
        """The free blocks of at least `size` bytes, by size and address. Nothing may change meanwhile."""
        for place in range(bisect_left(self.sizes, size), len(self.sizes)):
            exact = self.sizes[place]
            addresses = self.lists[exact]
            taken: list[int] = []
            try:
                while addresses:
                    address = heappop(addresses)
                    if self._stands(address, exact) and not (taken and taken[-1] == address):
                        taken.append(address)
                        yield self.blocks[address]
            finally:
                for address in taken:
                    heappush(addresses, address)

    def _stands(self, address: int, size: int) -> bool:
        """Return whether an entry has a free block behind it."""
        block = self.blocks.get(address)
        return block is not None and block.state == FREE and block.size == size and block.home is self

    def __iter__(self) -> Iterator[Block]:
        """The free blocks by size and address."""
        return self.from_size(0)

    def entries(self) -> int:
        """Return the number of entries, those that no block stands behind included."""
        return sum(map(len, self.lists.values()))

    def purge(self) -> None:
        """Drop the entries that no block stands behind, and second ones."""
        kept: dict[int, list[int]] = {}
        for block in self:
            kept.setdefault(block.size, []).append(block.pointer)
        self.lists = kept
        self.sizes = list(kept)

    def push_unmapped(self, block: Block) -> None:
        insort(self.unmapped, block.pointer)

    def remove_unmapped(self, block: Block) -> None:
        del self.unmapped[bisect_right(self.unmapped, block.pointer) - 1]


class BlockPool:
    """The small or the large blocks of everybody, or of one private pool."""

    __slots__ = ("is_small", "lookups", "no_split", "owner", "streams", "tag")

    def __init__(self, is_small: bool, owner: PrivatePool | None = None, no_split: bool = False) -> None:
        self.is_small = is_small
        self.owner = owner
        self.no_split = no_split
        self.tag = 0 if is_small else 1
        self.streams: dict[int, FreeBlocks] = {}
        self.lookups = 0
        """Number of searches for a free block while garbage collection is on; ages of blocks are counted in it."""

    def of_stream(self, stream: int, blocks: dict[int, Block]) -> FreeBlocks:
        """The free blocks of a stream; `blocks` are all blocks of the allocator by address."""
        free = self.streams.get(stream)
        if free is None:
            free = self.streams[stream] = FreeBlocks(self, stream, blocks)
        return free

    def __iter__(self) -> Iterator[Block]:
        """The free blocks, by stream, size and address."""
        for stream in sorted(self.streams):
            yield from self.streams[stream]


PoolId = tuple[int, int]
Filter = Callable[[int], bool]
"""Returns whether a stream allocates from the pool."""
NO_POOL: Final[PoolId] = (0, 0)


class PrivatePool:
    """A small and a large pool, apart from everybody's.

    `use_count` counts the users: the pool itself until it is released, and every begin_allocate_to_pool; at 0 its
    memory may be given back. `segments` counts what the device gave for it. With `use_on_oom` everybody's requests
    may take its free blocks before they fail; with `no_split` its blocks are never split.
    """

    __slots__ = ("id", "large", "segments", "small", "use_count", "use_on_oom")

    def __init__(self, id: PoolId, use_on_oom: bool = False, no_split: bool = False) -> None:
        self.id = id
        self.small = BlockPool(True, self, no_split)
        self.large = BlockPool(False, self, no_split)
        self.use_count = 1
        self.segments = 0
        self.use_on_oom = use_on_oom

    @property
    def freeable(self) -> bool:
        return self.use_count == 0

class Request(NamedTuple):
    """A request of malloc: bytes asked for, rounded, and of a fresh segment; where it is served; its stack."""

    requested: int
    size: int
    segment_size: int
    home: FreeBlocks
    stack: Stack | None


class BlockStore:
    """All blocks of an allocator, by address, and the pools of the free ones."""

    config: AllocatorConfig
    oversize: int
    """Blocks from this size on serve no smaller request."""
    split_limit: int
    """Requests from this size on leave a block whole."""
    unsplit: int
    """The most bytes that a request in a large pool leaves of a block without a split."""

    def __init__(self, device: int, config: AllocatorConfig) -> None:
        self.device = device
        self.blocks: dict[int, Block] = {}
        self.small = BlockPool(is_small=True)
        self.large = BlockPool(is_small=False)
        self.private: dict[PoolId, PrivatePool] = {}
        self.pools_made = 0
        self.captures: list[tuple[PrivatePool, Filter]] = []
        """The pools that captures underway allocate from, the latest last."""
        self.expandable: list[ExpandableSegment] = []
        self.statistics = Statistics(config.max_split_size)
        self.journal = self.statistics.journal
        self.history: MemoryHistory | None = None
        """The history of allocations while it is recorded, else None."""
        self.allowed: int | None = None
        """The most bytes that may be reserved; None for no limit."""
        self.spares: list[Block] = []
        """Blocks that were merged away, to be used again."""
        self.configure(config)

    def configure(self, config: AllocatorConfig) -> None:
        """Follow a configuration from now on."""
        self.config = config
        self.statistics.set_oversize(config.max_split_size)
        self.oversize = EXBIBYTE if config.max_split_size is None else config.max_split_size
        self.split_limit = EXBIBYTE if config.expandable_segments else self.oversize
        self.divisions = config.roundup_power2_divisions
        self.unsplit = 0 if config.expandable_segments else SMALL_LIMIT

    @property
    def collects_garbage(self) -> bool:
        """Return whether old unsplit blocks are given back above a threshold, which needs a limit."""
        return self.allowed is not None and self.config.garbage_collection_threshold > 0.0

    def stack(self, level: str) -> Stack | None:
        """The stack of the caller of the allocator, if it is recorded at this level."""
        return None if self.history is None else self.history.stack(level)

    def request(self, requested: int, stream: int, stack: Stack | None) -> Request:
        """Return how a request is served: by the pool of a capture, if one wants the stream, else by everybody's."""
        size = round_size(requested, self.config.roundup_power2_divisions)
        pools = next((pool for pool, filter in reversed(self.captures) if filter(stream)), self)
        pool = pools.small if size <= SMALL_LIMIT else pools.large
        home = pool.of_stream(stream, self.blocks)
        return Request(requested, size, segment_size(size, self.config.large_segment_size), home, stack)

    def find(self, request: Request) -> Block | None:
        """The best free block for a request; it stays in its pool."""
        home = request.home
        if self.collects_garbage:
            home.pool.lookups += 1
        block = self._find_mixed(request) if self.expandable else home.find(request.size)
        limit = self.config.max_split_size
        if block is None or limit is None:
            return block
        if request.size < limit <= block.size:
            return None
        return None if request.size >= limit and block.size >= request.size + self.config.non_split_rounding else block

    def _find_mixed(self, request: Request) -> Block | None:
        """Best fit where some blocks are of expandable segments; such a block counts with the address space after it.
        While expandable segments are off, none of their blocks serves."""
        with closing(request.home.from_size(request.size)) as candidates:
            if not self.config.expandable_segments:
                return next((block for block in candidates if block.expandable is None), None)
            best = next(candidates, None)
            while best is not None and best.expandable is not None:
                following = next(candidates, None)
                if following is None or _expandable_size(following) >= _expandable_size(best):
                    return best
                best = following
            return best

    def new_block(self, pointer: int, size: int, home: FreeBlocks) -> Block:
        """A free block that is a whole segment, known by its address, but not yet in its pool."""
        block = self.blocks[pointer] = Block(pointer, size, home)
        block.born = home.pool.lookups
        return block

    def alloc_found_block(self, block: Block, size: int, requested: int, stack: Stack | None = None) -> int:
        """Allocate a free block, split after `size` bytes where the rest can serve other requests; its address."""
        pool = block.home.pool
        remainder = block.size - size
        change = NO_SPLIT_CHANGE
        if remainder > (0 if pool.is_small else self.unsplit) and size < self.split_limit and not pool.no_split:
            if block.expandable is None:
                change += remainder + 1 if block.next is None and block.previous is None else -size
            self.split(block, size)
        elif block.expandable is None and (block.next is not None or block.previous is not None):
            change -= block.size + 1
        block.state = ALLOCATED
        block.requested = requested
        journal = self.journal
        journal += block.size | MALLOC | pool.tag, requested, change
        if self.history is not None:
            self.history.allocated(block, stack)
        if len(journal) > LIMIT:
            self.tidy()
        return block.pointer

    def split(self, block: Block, size: int) -> Block:
        """Cut a block off after `size` bytes; the rest, free or unmapped as it is, becomes a block of its own."""
        pointer, remainder, home = block.pointer + size, block.size - size, block.home
        if self.spares:
            rest = self.spares.pop()
            rest.pointer = pointer
            rest.size = remainder
            rest.home = home
            rest.state = block.state
        else:
            rest = Block(pointer, remainder, home, block.state)
        self.blocks[pointer] = rest
        rest.expandable = block.expandable
        rest.previous = block
        rest.next = following = block.next
        if following is not None:
            following.previous = rest
        block.next = rest
        block.size = size
        if rest.state == FREE:
            home.push(rest)
        else:
            home.push_unmapped(rest)
        return rest

    def free_block(self, block: Block, what: int, stack: Stack | None = None) -> None:
        """Let an active block be free, merged with its free neighbours. `what` is FREED if its owner gives it back
        right now, COMPLETED if he did before and others were waited for."""
        if self.history is not None:
            self.history.completed(block, stack)
        size, requested, home = block.size, block.requested, block.home
        following, before = block.next, block.previous
        block.state = FREE
        change = NO_SPLIT_CHANGE + size
        if following is None and before is None:
            change -= size
        elif (following is not None and not following.state) or (before is not None and not before.state):
            block, merges = self.merge(block)
            change += 1 - merges if block.next is not None or block.previous is not None else -block.size - merges
        else:
            change += 1
        journal = self.journal
        journal += size | what | home.pool.tag, requested, change if block.expandable is None else NO_SPLIT_CHANGE
        block.born = home.pool.lookups
        addresses = home.lists.get(block.size)
        if not addresses or addresses[0] != block.pointer:
            home.push(block)

    def merge(self, block: Block) -> tuple[Block, int]:
        """Join a block with its neighbours of the same state; returns what it became, and how many it took in."""
        state, blocks = block.state, self.blocks
        merges = 0
        following, before = block.next, block.previous
        if following is not None and following.state == state:
            if state == UNMAPPED:
                following.home.remove_unmapped(following)
            block.size += following.size
            del blocks[following.pointer]
            self.spares.append(following)
            block.next = following = following.next
            if following is not None:
                following.previous = block
            merges = 1
        if before is not None and before.state == state:
            if state == UNMAPPED:
                before.home.remove_unmapped(before)
            before.size += block.size
            del blocks[block.pointer]
            self.spares.append(block)
            before.next = following
            if following is not None:
                following.previous = before
            return before, merges + 1
        return block, merges

    def tidy(self) -> None:
        """Bring the statistics up to date, and drop entries of free blocks when most have no block behind them."""
        self.statistics.settle()
        limit = 2 * len(self.blocks) + 1024
        for pool in self.pools():
            for home in pool.streams.values():
                if home.entries() > limit:
                    home.purge()

    def pools(self) -> list[BlockPool]:
        """All pools, everybody's first."""
        private = [pool for owner in self.private.values() for pool in (owner.small, owner.large)]
        return [self.small, self.large, *private]


def _expandable_size(block: Block) -> int:
    following = block.next
    return block.size + following.size if following is not None and following.state == UNMAPPED else block.size
