"""Pools of blocks: small and large ones, each with its free blocks by stream, searched for the best fit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Generator, Iterator
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from .block import FREE, Block

if TYPE_CHECKING:
    from .private_pools import PrivatePool


class Shelf:
    """Addresses at which blocks of one size became free, as a heap, and the same as a set.

    An entry is not taken away when its block is merged into another or handed out, but when a search comes upon it;
    a block that becomes free again at the same address and size then needs no new one.
    """

    __slots__ = ("addresses", "present")

    def __init__(self) -> None:
        self.addresses: list[int] = []
        self.present: set[int] = set()


class FreeBlocks:
    """The free blocks of one stream in one pool, found by size, the lowest address first among equals.

    The list of sizes is short: the sizes of free blocks are multiples of 512, all different there, and together no
    more than the memory of the device.
    """

    __slots__ = ("blocks", "pool", "shelves", "sizes", "stream", "unmapped")

    def __init__(self, pool: BlockPool, stream: int, blocks: dict[int, Block]) -> None:
        self.pool = pool
        self.stream = stream
        self.blocks = blocks
        self.shelves: dict[int, Shelf] = {}
        self.sizes: list[int] = []
        self.unmapped: list[int] = []
        """Addresses of unmapped blocks of expandable segments, in order."""

    def add(self, block: Block) -> None:
        """Let a block, which is free and merged, be found."""
        shelf = self.shelves.get(block.size)
        if shelf is None:
            shelf = self.shelves[block.size] = Shelf()
            insort(self.sizes, block.size)
        if block.pointer not in shelf.present:
            shelf.present.add(block.pointer)
            heappush(shelf.addresses, block.pointer)

    def find(self, size: int) -> Block | None:
        """The smallest free block of at least `size` bytes, the lowest among equals; it stays where it is."""
        sizes = self.sizes
        place = bisect_left(sizes, size)
        while place < len(sizes):
            block = self.lowest(sizes[place])
            if block is not None:
                return block
            del self.shelves[sizes[place]], sizes[place]
        return None

    def lowest(self, size: int) -> Block | None:
        """The lowest free block of exactly `size` bytes; entries that are none any more are dropped."""
        shelf = self.shelves[size]
        addresses, blocks = shelf.addresses, self.blocks
        while addresses:
            block = blocks.get(addresses[0])
            if block is not None and block.state == FREE and block.size == size and block.home is self:
                return block
            shelf.present.remove(heappop(addresses))
        return None

    def from_size(self, size: int) -> Generator[Block, None, None]:
        """The free blocks of at least `size` bytes, by size and address. Nothing may change meanwhile."""
        for number in range(bisect_left(self.sizes, size), len(self.sizes)):
            exact = self.sizes[number]
            shelf = self.shelves[exact]
            taken: list[int] = []
            try:
                while (block := self.lowest(exact)) is not None:
                    taken.append(heappop(shelf.addresses))
                    yield block
            finally:
                for address in taken:
                    heappush(shelf.addresses, address)

    def __iter__(self) -> Iterator[Block]:
        return iter(sorted(self._all(), key=lambda block: (block.size, block.pointer)))

    def _all(self) -> Iterator[Block]:
        for size, shelf in self.shelves.items():
            for address in shelf.addresses:
                block = self.blocks.get(address)
                if block is not None and block.state == FREE and block.size == size and block.home is self:
                    yield block

    def entries(self) -> int:
        """How many entries there are, those that no block stands behind included."""
        return sum(len(shelf.addresses) for shelf in self.shelves.values())

    def purge(self) -> None:
        """Drop the entries that no block stands behind."""
        kept: dict[int, Shelf] = {}
        for block in self._all():
            shelf = kept.setdefault(block.size, Shelf())
            shelf.addresses.append(block.pointer)
        for shelf in kept.values():
            heapify(shelf.addresses)
            shelf.present.update(shelf.addresses)
        self.shelves = kept
        self.sizes = sorted(kept)

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
