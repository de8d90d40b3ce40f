"""Expandable segments: address space of the size of the device and more, in which memory is mapped page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..driver.protocol import Driver, DriverError, DriverOutOfMemory
from .allocator_config import SMALL_SEGMENT
from .pools import FREE, UNMAPPED, Block

if TYPE_CHECKING:
    from .block_store import BlockStore, Request
    from .memory_history import Stack


class ExpandableSegment:
    """Reserved addresses of one stream in one pool, in pages that have memory or have not.

    The range is 1 1/8 of the device's memory, so that pages given back in its middle can be mapped again at its end.
    """

    def __init__(self, driver: Driver, device: int, stream: int, page: int) -> None:
        self.driver = driver
        self.device = device
        self.stream = stream
        self.page = page
        total = driver.properties(device).total_memory
        self.size = -(-(total + total // 8) // page) * page
        self.address = driver.address_reserve(device, self.size)
        self.handles: dict[int, int] = {}
        """The memory of each mapped page, by the page's address."""

    def map(self, address: int, size: int) -> int:
        """Give memory to the pages of a range that begins at one; returns its size in whole pages, 0 for no memory."""
        end = address + -(-size // self.page) * self.page
        fresh: dict[int, int] = {}
        mapped = []
        try:
            for page in range(address, end, self.page):
                fresh[page] = self.driver.memory_create(self.device, self.page)
            for page, handle in fresh.items():
                self.driver.memory_map(self.device, page, self.page, handle)
                mapped.append(page)
        except DriverError as error:
            for page in mapped:
                self.driver.memory_unmap(self.device, page, self.page)
            for handle in fresh.values():
                self.driver.memory_release(self.device, handle)
            if isinstance(error, DriverOutOfMemory):
                return 0
            raise
        self.handles |= fresh
        return end - address

    def unmap(self, address: int, size: int) -> tuple[int, int]:
        """Take the memory of the pages that lie whole in a range; returns the address and size of what was unmapped."""
        first = self.address + -(-(address - self.address) // self.page) * self.page
        last = self.address + (address + size - self.address) // self.page * self.page
        if first >= last:
            return address, 0
        self._wait()
        for page in range(first, last, self.page):
            self.driver.memory_unmap(self.device, page, self.page)
            self.driver.memory_release(self.device, self.handles.pop(page))
        return first, last - first

    def _wait(self) -> None:
        """Wait for the stream; for one that cannot be waited for, such as a destroyed one, for the whole device."""
        try:
            self.driver.stream_synchronize(self.device, self.stream)
        except DriverError:
            self.driver.synchronize(self.device)

    def free(self) -> None:
        """Give the addresses back; no page may have memory."""
        self.driver.address_free(self.device, self.address, self.size)


def allocate_expandable(store: BlockStore, driver: Driver, request: Request) -> Block | None:
    """A free block of at least the rounded size, at the lowest address where mapping more memory makes one.

    None if the device has not got the memory; what was mapped by then stays as free blocks.
    """
    try:
        block = _candidate(store, driver, request)
    except DriverOutOfMemory:
        return None
    if block.state == UNMAPPED:
        mapped = map_block(store, block, min(block.size, request.size), request.stack)
        if mapped is None:
            return None
        block = mapped
    while block.size < request.size:
        assert block.next is not None
        mapped = map_block(store, block.next, min(request.size - block.size, block.next.size), request.stack)
        if mapped is None:
            return None
        block = mapped
    return block


def _candidate(store: BlockStore, driver: Driver, request: Request) -> Block:
    home = request.home
    for address in home.unmapped:
        block = store.blocks[address]
        if block.previous is not None and block.previous.state == FREE:
            block = block.previous
        if _has_room(block, request.size):
            return block
    page = SMALL_SEGMENT if home.pool.is_small else store.config.large_segment_size
    segment = ExpandableSegment(driver, store.device, home.stream, page)
    store.expandable.append(segment)
    block = store.new_block(segment.address, segment.size, home)
    block.expandable = segment
    block.state = UNMAPPED
    store.shelve(block)
    return block


def _has_room(block: Block | None, size: int) -> bool:
    while size > 0 and block is not None and block.state in (FREE, UNMAPPED):
        size -= block.size
        block = block.next
    return size <= 0


def map_block(store: BlockStore, block: Block, size: int, stack: Stack | None) -> Block | None:
    """Give memory to the front of an unmapped block; returns the free block that it joined, None without memory."""
    assert block.expandable is not None
    address = block.pointer
    mapped = block.expandable.map(address, size)
    if not mapped:
        return None
    block.home.remove_unmapped(block)
    if mapped < block.size:
        store.insert_after(block, mapped)
    block.state = FREE
    block, _ = store.merge(block)
    store.shelve(block)
    _count(store, block, mapped)
    store.statistics.counters["num_device_alloc"] += 1
    store.history.segment("segment_map", address, mapped, block, stack)
    return block


def unmap_block(store: BlockStore, block: Block, stack: Stack | None) -> None:
    """Take the memory of the whole pages of a free block; a segment without any memory is given up."""
    segment = block.expandable
    assert segment is not None
    address, size = segment.unmap(block.pointer, block.size)
    if not size:
        return
    if address > block.pointer:
        front = block
        block = store.insert_after(front, address - front.pointer)
        store.shelve(front)
    if size < block.size:
        store.insert_after(block, size)
    block.state = UNMAPPED
    block, _ = store.merge(block)
    store.shelve(block)
    _count(store, block, -size)
    store.statistics.counters["num_device_free"] += 1
    store.history.segment("segment_unmap", address, size, block, stack)
    if not block.is_split:
        drop_expandable(store, block)


def drop_expandable(store: BlockStore, block: Block) -> None:
    """Give up the segment that a single unmapped block makes up."""
    segment = block.expandable
    assert segment is not None
    segment.free()
    block.home.remove_unmapped(block)
    store.remove(block)
    store.expandable.remove(segment)


def _count(store: BlockStore, block: Block, size: int) -> None:
    home, segment = block.home, block.expandable
    assert segment is not None
    store.statistics.segment(home.pool.tag, 0, size, home.pool.owner)
    if home.pool.owner is not None:
        home.pool.owner.segments += size // segment.page
