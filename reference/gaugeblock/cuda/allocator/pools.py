"""Blocks and their pools: small and large ones, each with its free blocks by stream, searched for the best fit.

Captured graphs and users have pools of their own: `PrivatePools`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Generator, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .expandable_segments import ExpandableSegment

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

    def __init__(self, pointer: int, size: int, home: FreeBlocks) -> None:
        self.pointer = pointer
        self.size = size
        self.home = home
        self.requested = 0
        self.state = FREE
        self.born = 0
        self.previous: Block | None = None
        self.next: Block | None = None
        self.expandable: ExpandableSegment | None = None

    @property
    def is_split(self) -> bool:
        """Whether it shares its segment with other blocks."""
        return self.previous is not None or self.next is not None

    def head(self) -> Block:
        """The first block of the segment."""
        block = self
        while block.previous is not None:
            block = block.previous
        return block


class FreeBlocks:
    """The free blocks of one stream in one pool, found by size, the lowest address first among equals.

    A shelf is a heap of addresses at which blocks of one size became free. An entry is not taken away when its block
    is handed out or merged into another, but when a search comes upon it; so an address may stand there in vain, or
    twice, until `purge`. The list of sizes is short: those of free blocks are multiples of 512, all different there,
    and together no more than the memory of the device.
    """

    __slots__ = ("blocks", "pool", "shelves", "sizes", "stream", "unmapped")

    def __init__(self, pool: BlockPool, stream: int, blocks: dict[int, Block]) -> None:
        self.pool = pool
        self.stream = stream
        self.blocks = blocks
        self.shelves: dict[int, list[int]] = {}
        self.sizes: list[int] = []
        self.unmapped: list[int] = []
        """Addresses of unmapped blocks of expandable segments, in order."""

    def add(self, block: Block) -> None:
        """Let a block, which is free and merged, be found."""
        shelf = self.shelves.get(block.size)
        if shelf is None:
            self.shelves[block.size] = [block.pointer]
            insort(self.sizes, block.size)
        elif not shelf or shelf[0] != block.pointer:
            heappush(shelf, block.pointer)

    def find(self, size: int) -> Block | None:
        """The smallest free block of at least `size` bytes, the lowest among equals; it stays where it is."""
        sizes, shelves, blocks = self.sizes, self.shelves, self.blocks
        place = bisect_left(sizes, size)
        while place < len(sizes):
            exact = sizes[place]
            shelf = shelves[exact]
            while shelf:
                block = blocks.get(shelf[0])
                if block is not None and block.state == FREE and block.size == exact and block.home is self:
                    return block
                heappop(shelf)
            del shelves[exact], sizes[place]
        return None

    def from_size(self, size: int) -> Generator[Block, None, None]:
        """The free blocks of at least `size` bytes, by size and address. Nothing may change meanwhile."""
        for place in range(bisect_left(self.sizes, size), len(self.sizes)):
            exact = self.sizes[place]
            shelf = self.shelves[exact]
            taken: list[int] = []
            try:
                while shelf:
                    address = heappop(shelf)
                    if self._stands(address, exact) and not (taken and taken[-1] == address):
                        taken.append(address)
                        yield self.blocks[address]
            finally:
                for address in taken:
                    heappush(shelf, address)

    def _stands(self, address: int, size: int) -> bool:
        """Return whether an entry has a free block behind it."""
        block = self.blocks.get(address)
        return block is not None and block.state == FREE and block.size == size and block.home is self

    def __iter__(self) -> Iterator[Block]:
        """The free blocks by size and address."""
        for size in self.sizes:
            for address in sorted(set(self.shelves[size])):
                if self._stands(address, size):
                    yield self.blocks[address]

    def entries(self) -> int:
        """How many entries there are, those that no block stands behind included."""
        return sum(map(len, self.shelves.values()))

    def purge(self) -> None:
        """Drop the entries that no block stands behind, and second ones."""
        kept: dict[int, list[int]] = {}
        for block in self:
            kept.setdefault(block.size, []).append(block.pointer)
        self.shelves = kept
        self.sizes = list(kept)

    def add_unmapped(self, block: Block) -> None:
        insort(self.unmapped, block.pointer)

    def remove_unmapped(self, block: Block) -> None:
        del self.unmapped[bisect_right(self.unmapped, block.pointer) - 1]


class BlockPool:
    """The small or the large blocks of everybody, or of one private pool."""

    __slots__ = ("is_small", "lookups", "owner", "streams", "tag")

    def __init__(self, is_small: bool, owner: PrivatePool | None = None) -> None:
        self.is_small = is_small
        self.owner = owner
        self.tag = 0 if is_small else 1
        self.streams: dict[int, FreeBlocks] = {}
        self.lookups = 0
        """How often a free block was looked for while garbage collection is on: the clock of the blocks' ages."""

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
"""Whether the allocations of a stream go to the pool."""
NO_POOL: Final[PoolId] = (0, 0)


class PrivatePool:
    """A small and a large pool, apart from everybody's.

    `use_count` counts the users: the pool itself until it is released, and every begin_allocate_to_pool; at 0 its
    memory may be given back. `segments` counts what the device gave for it. With `use_on_oom` everybody's requests
    may take its free blocks before they fail; with `no_split` its blocks are never split.
    """

    __slots__ = ("id", "large", "no_split", "segments", "small", "use_count", "use_on_oom")

    def __init__(self, id: PoolId, use_on_oom: bool = False, no_split: bool = False) -> None:
        self.id = id
        self.small = BlockPool(is_small=True, owner=self)
        self.large = BlockPool(is_small=False, owner=self)
        self.use_count = 1
        self.segments = 0
        self.use_on_oom = use_on_oom
        self.no_split = no_split

    @property
    def freeable(self) -> bool:
        return self.use_count == 0


class PrivatePools:
    """The private pools of a device, by id, and the stack of captures underway."""

    def __init__(self) -> None:
        self.pools: dict[PoolId, PrivatePool] = {}
        self.captures: list[tuple[PrivatePool, Filter]] = []
        self._made = 0

    def create(self, use_on_oom: bool, no_split: bool) -> PoolId:
        """Make a pool, which `release` gives up."""
        self._made += 1
        id = (0, self._made)
        self.pools[id] = PrivatePool(id, use_on_oom, no_split)
        return id

    def begin(self, id: PoolId, filter: Filter) -> None:
        """Let allocations of the streams that `filter` accepts go to a pool, which is made if there is none such."""
        if any(pool.id == id for pool, _ in self.captures):
            raise RuntimeError(f"begin_allocate_to_pool(): allocations to the pool {id} are underway already")
        pool = self.pools.get(id)
        if pool is None:
            _check_id(id)
            pool = self.pools[id] = PrivatePool(id)
        elif pool.freeable:
            raise RuntimeError(f"begin_allocate_to_pool(): the pool {id} has been released")
        else:
            pool.use_count += 1
        self.captures.append((pool, filter))

    def end(self, id: PoolId) -> None:
        """Undo `begin`; the pool stays in use until it is released once more."""
        for place, (pool, _) in enumerate(self.captures):
            if pool.id == id:
                del self.captures[place]
                return
        raise RuntimeError(f"end_allocate_to_pool(): no allocations to the pool {id} are underway")

    def release(self, id: PoolId) -> None:
        """Take back one use of a pool."""
        pool = self.get("release_pool", id)
        if pool.freeable:
            raise RuntimeError(f"release_pool(): the pool {id} has been released as often as it was used")
        pool.use_count -= 1

    def get(self, operator: str, id: PoolId) -> PrivatePool:
        pool = self.pools.get(id)
        if pool is None:
            raise RuntimeError(f"{operator}(): there is no pool {id}")
        return pool

    def forget_empty(self) -> None:
        """Forget the released pools that hold no memory any more."""
        underway = [pool for pool, _ in self.captures]
        for pool in list(self.pools.values()):
            if pool.freeable and not pool.segments and pool not in underway:
                del self.pools[pool.id]

    def capturing(self, stream: int) -> PrivatePool | None:
        """The pool that allocations of a stream go to, by the latest capture that wants them; None for everybody's."""
        for pool, filter in reversed(self.captures):
            if filter(stream):
                return pool
        return None


def _check_id(id: PoolId) -> None:
    if not (isinstance(id, tuple) and len(id) == 2 and all(isinstance(part, int) for part in id)) or id == NO_POOL:
        raise RuntimeError(
            f"begin_allocate_to_pool(): argument 'pool' must be a pair of ints other than (0, 0), got {id}"
        )
