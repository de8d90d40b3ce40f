"""Pools of blocks: small and large ones, each with its free blocks by stream, searched for the best fit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Generator, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from .block import FREE, Block

if TYPE_CHECKING:
    from .private_pools import PrivatePool


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
        """Whether an entry has a free block behind it."""
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
