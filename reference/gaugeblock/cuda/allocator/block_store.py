"""The blocks of one device: found, split, handed out, merged. No lock, no streams, no device calls."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from .allocator_config import MIN_BLOCK, SMALL_LIMIT, AllocatorConfig, round_size, segment_size
from .expandable_segments import ExpandableSegment
from .memory_history import MemoryHistory, Stack
from .pools import ALLOCATED, FREE, UNMAPPED, Block, BlockPool, FreeBlocks, PrivatePools
from .statistics import MALLOC, NO_SPLIT_CHANGE, Statistics


class Request(NamedTuple):
    """What malloc was asked for: bytes asked for, rounded, and of a fresh segment; where it is served; its stack."""

    requested: int
    size: int
    segment_size: int
    home: FreeBlocks
    stack: Stack | None


class BlockStore:
    """All blocks of an allocator, by address, and the pools of the free ones."""

    def __init__(self, device: int, config: AllocatorConfig) -> None:
        self.device = device
        self.config = config
        self.blocks: dict[int, Block] = {}
        self.small = BlockPool(is_small=True)
        self.large = BlockPool(is_small=False)
        self.private = PrivatePools()
        self.expandable: list[ExpandableSegment] = []
        self.statistics = Statistics(config.max_split_size)
        self.history = MemoryHistory(device)
        self.allowed: int | None = None
        """The most bytes that may be reserved; None for no limit."""
        self.ages = False
        """Whether free blocks have had ages since garbage collection was first on."""
        self.spares: list[Block] = []
        """Blocks that were merged away, to be used again."""

    @property
    def collects_garbage(self) -> bool:
        """Whether old unsplit blocks are given back above a threshold, which needs a limit."""
        return self.allowed is not None and self.config.garbage_collection_threshold > 0.0

    def request(self, requested: int, stream: int, stack: Stack | None) -> Request:
        """How a request is served: the private pool of a capture, if one wants the stream, else everybody's."""
        size = round_size(requested, self.config.roundup_power2_divisions)
        owner = self.private.capturing(stream)
        pools = self if owner is None else owner
        pool = pools.small if size <= SMALL_LIMIT else pools.large
        home = pool.of_stream(stream, self.blocks)
        return Request(requested, size, segment_size(size, self.config.large_segment_size), home, stack)

    def find(self, request: Request) -> Block | None:
        """The best free block for a request; it stays in its pool."""
        home = request.home
        if self.collects_garbage:
            home.pool.lookups += 1
            self.ages = True
        block = self._find_mixed(request) if self.expandable else home.find(request.size)
        limit = self.config.max_split_size
        if block is None or limit is None:
            return block
        if request.size < limit <= block.size:
            return None
        if request.size >= limit and block.size >= request.size + self.config.non_split_rounding:
            return None
        return block

    def _find_mixed(self, request: Request) -> Block | None:
        """Best fit where some blocks are of expandable segments; such a block counts with the address space after it.

        While expandable segments are off, none of their blocks serves.
        """
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

    def splits(self, block: Block, size: int) -> bool:
        """Return whether what `size` bytes leave of a block becomes a block of its own."""
        pool = block.home.pool
        remainder = block.size - size
        if pool.owner is not None and pool.owner.no_split:
            return False
        if pool.is_small or self.config.expandable_segments:
            return remainder >= MIN_BLOCK
        limit = self.config.max_split_size
        return (limit is None or size < limit) and remainder > SMALL_LIMIT

    def hand_out(self, block: Block, request: Request) -> None:
        """Make a free block the answer to a request: its low end, if it is split."""
        size = request.size
        was_split = block.is_split
        change = NO_SPLIT_CHANGE
        if self.splits(block, size):
            remainder = block.size - size
            self.insert_after(block, size)
            if block.expandable is None:
                change += -size if was_split else remainder + 1
        elif was_split and block.expandable is None:
            change -= block.size + 1
        block.state = ALLOCATED
        block.requested = request.requested
        pool = block.home.pool
        self.statistics.journal += block.size | MALLOC | pool.tag, request.requested, change
        history = self.history
        if history.active:
            history.handed_out(block, request.stack)

    def insert_after(self, block: Block, size: int) -> Block:
        """Cut a block off after `size` bytes; the rest, of the same state, is a block of its own."""
        rest = self.new_block(block.pointer + size, block.size - size, block.home)
        block.size = size
        rest.expandable = block.expandable
        rest.previous = block
        rest.next = block.next
        if rest.next is not None:
            rest.next.previous = rest
        block.next = rest
        rest.state = UNMAPPED if block.state == UNMAPPED else FREE
        self.shelve(rest)
        return rest

    def new_block(self, pointer: int, size: int, home: FreeBlocks) -> Block:
        """A free block without neighbours, known by its address, but not yet in its pool."""
        block = self.blocks[pointer] = Block(pointer, size, home)
        return block

    def shelve(self, block: Block) -> None:
        """Put a block, which is free or not mapped, where it is found."""
        if block.state == UNMAPPED:
            block.home.add_unmapped(block)
        else:
            block.born = block.home.pool.lookups
            block.home.add(block)

    def take_back(self, block: Block, stack: Stack | None, what: int) -> None:
        """Let an active block be free, merged with its free neighbours.

        `what` is FREED if its owner gives it back right now, COMPLETED if he did before and others were waited for.
        """
        tag = block.home.pool.tag
        size, requested = block.size, block.requested
        if self.history.active:
            self.history.completed(block, stack)
        block.state = FREE
        block, merges = self.merge(block)
        change = NO_SPLIT_CHANGE
        if block.expandable is None:
            change += size - block.size - merges
            if block.is_split:
                change += block.size + 1
        self.statistics.journal += size | what | tag, requested, change
        self.shelve(block)

    def merge(self, block: Block) -> tuple[Block, int]:
        """Join a block with its neighbours of the same state; returns what it became, and how many it took in."""
        merges = 0
        following = block.next
        if following is not None and following.state == block.state:
            self._absorb(block, following)
            merges = 1
        before = block.previous
        if before is not None and before.state == block.state:
            if before.state == UNMAPPED:
                before.home.remove_unmapped(before)
            self._join(before, block)
            block = before
            merges += 1
        return block, merges

    def _absorb(self, block: Block, following: Block) -> None:
        if following.state == UNMAPPED:
            following.home.remove_unmapped(following)
        self._join(block, following)

    def _join(self, block: Block, following: Block) -> None:
        block.size += following.size
        block.next = following.next
        if block.next is not None:
            block.next.previous = block
        del self.blocks[following.pointer]
        self.spares.append(following)

    def remove(self, block: Block) -> None:
        """Forget a free block that is a whole segment."""
        del self.blocks[block.pointer]

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
        private = [pool for owner in self.private.pools.values() for pool in (owner.small, owner.large)]
        return [self.small, self.large, *private]


def _expandable_size(block: Block) -> int:
    following = block.next
    if following is not None and following.state == UNMAPPED:
        return block.size + following.size
    return block.size
