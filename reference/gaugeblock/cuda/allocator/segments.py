"""Segments come from the device and go back to it: on a miss, out of memory, by age, or when the cache is emptied.

An expandable segment is address space of the size of the device and more, in which memory is mapped page by page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..driver.protocol import Driver, DriverError, DriverOutOfMemory
from .allocator_config import SMALL_SEGMENT
from .block_store import FREE, UNMAPPED, Block, BlockPool, BlockStore, PrivatePool, Request

if TYPE_CHECKING:
    from .memory_snapshot import Stack


def allocate_segment(store: BlockStore, driver: Driver, request: Request, *, retry: bool) -> Block | None:
    """A free block of fresh memory for a request; None beyond the limit, and where the device has none."""
    statistics = store.statistics
    if retry:
        statistics.counters["num_alloc_retries"] += 1
    size = request.segment_size
    if beyond_limit(store, size):
        return None
    if store.config.expandable_segments:
        return allocate_expandable(store, driver, request)
    try:
        pointer = driver.malloc(store.device, size)
    except DriverOutOfMemory:
        return None
    home = request.home
    block = store.new_block(pointer, size, home)
    home.push(block)
    if home.pool.owner is not None:
        home.pool.owner.segments += 1
    statistics.segment(home.pool.tag, 1, size, home.pool.owner)
    statistics.counters["num_device_alloc"] += 1
    if store.history is not None:
        store.history.segment("segment_alloc", pointer, size, block, request.stack)
    return block


def beyond_limit(store: BlockStore, size: int) -> bool:
    """Return whether so many more bytes would be more than may be reserved."""
    return store.allowed is not None and store.statistics.reserved + size > store.allowed


def release_segment(store: BlockStore, driver: Driver, block: Block, stack: Stack | None) -> None:
    """Give a segment that is one free block back to the device."""
    driver.free(store.device, block.pointer)
    pool = block.home.pool
    if store.history is not None:
        store.history.segment("segment_free", block.pointer, block.size, block, stack)
    del store.blocks[block.pointer]
    if pool.owner is not None:
        pool.owner.segments -= 1
    store.statistics.segment(pool.tag, -1, -block.size, pool.owner)
    store.statistics.counters["num_device_free"] += 1


def release_oversize(store: BlockStore, driver: Driver, request: Request) -> bool:
    """Give back oversize blocks of the request's pool and stream until its size is reached; whether it was. One block
    that is large enough by itself goes alone, the smallest such; else the largest go first."""
    limit = store.config.max_split_size
    if limit is None:
        return False
    wanted = max(request.size, limit)
    home = request.home
    enough = next((block for block in home.from_size(wanted) if _releasable(block)), None)
    if enough is not None:
        release_segment(store, driver, enough, request.stack)
        return True
    released = 0
    for block in reversed([block for block in home.from_size(limit) if _releasable(block)]):
        if released >= wanted:
            break
        released += block.size
        release_segment(store, driver, block, request.stack)
    return released >= wanted


def release_pools(store: BlockStore, driver: Driver, pools: Iterable[BlockPool], stack: Stack | None) -> None:
    """Give back every segment of the pools that is one free block, and the whole free pages of expandable ones."""
    for pool in pools:
        expandable = []
        for block in list(pool):
            if block.expandable is not None:
                expandable.append(block)
            elif not block.is_split:
                release_segment(store, driver, block, stack)
        for block in expandable:
            unmap_block(store, block, stack)


def release_cached(store: BlockStore, driver: Driver, stack: Stack | None) -> None:
    """Give back what is free in everybody's pools, but not during a capture, and in private ones that were released."""
    if not store.captures:
        release_pools(store, driver, (store.large, store.small), stack)
    release_freeable(store, driver, stack)


def release_freeable(
    store: BlockStore, driver: Driver, stack: Stack | None, owners: Iterable[PrivatePool] | None = None
) -> None:
    """Give back what the private pools that were released hold and nobody uses, and forget those that are empty."""
    for owner in list(store.private.values() if owners is None else owners):
        if owner.freeable:
            release_pools(store, driver, (owner.small, owner.large), stack)
            _drop_unmapped(store, owner)
    underway = [pool for pool, _ in store.captures]
    for owner in list(store.private.values()):
        if owner.freeable and not owner.segments and owner not in underway:
            del store.private[owner.id]


def _drop_unmapped(store: BlockStore, owner: PrivatePool) -> None:
    """Give up expandable segments for which no memory could be had."""
    for pool in (owner.small, owner.large):
        for _, home in sorted(pool.streams.items()):
            for block in [store.blocks[address] for address in home.unmapped]:
                if not block.is_split:
                    drop_expandable(store, block)


def collect_garbage(store: BlockStore, driver: Driver, stack: Stack | None) -> None:
    """Give back unsplit large blocks of everybody's pool that are at least as old as the mean, again and again, until
    the memory held is down to the threshold's share of what is allowed, or none is left. Waits for nothing."""
    assert store.allowed is not None
    target = store.statistics.reserved - int(store.config.garbage_collection_threshold * store.allowed)
    if target <= 0:
        return
    now = store.large.lookups
    left = [block for block in store.large if _releasable(block)]
    reclaimed = 0
    while reclaimed < target and left:
        mean = sum(now - block.born for block in left) / len(left)
        old = [block for block in left if now - block.born >= mean]
        left = [block for block in left if now - block.born < mean]
        for block in old:
            reclaimed += block.size
            release_segment(store, driver, block, stack)


def _releasable(block: Block) -> bool:
    return block.expandable is None and not block.is_split


class ExpandableSegment:
    """Reserved addresses of one stream in one pool, in pages that have memory or have not. The range is 1 1/8 of the
    device's memory, so that pages given back in its middle can be mapped again at its end."""

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
        try:
            self.driver.stream_synchronize(self.device, self.stream)
        except DriverError:  # a stream that cannot be waited for, such as a destroyed one
            self.driver.synchronize(self.device)
        for page in range(first, last, self.page):
            self.driver.memory_unmap(self.device, page, self.page)
            self.driver.memory_release(self.device, self.handles.pop(page))
        return first, last - first

    def free(self) -> None:
        """Give the addresses back; no page may have memory."""
        self.driver.address_free(self.device, self.address, self.size)


def allocate_expandable(store: BlockStore, driver: Driver, request: Request) -> Block | None:
    """A free block of at least the rounded size, at the lowest address where mapping more memory makes one. None if the
    device has not got the memory; what was mapped by then stays as free blocks."""
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
    home.push_unmapped(block)
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
        store.split(block, mapped)
    block.state = FREE
    block, _ = store.merge(block)
    block.home.push(block)
    _count(store, block, mapped)
    store.statistics.counters["num_device_alloc"] += 1
    if store.history is not None:
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
        block = store.split(front, address - front.pointer)
        front.home.push(front)
    if size < block.size:
        store.split(block, size)
    block.state = UNMAPPED
    block, _ = store.merge(block)
    block.home.push_unmapped(block)
    _count(store, block, -size)
    store.statistics.counters["num_device_free"] += 1
    if store.history is not None:
        store.history.segment("segment_unmap", address, size, block, stack)
    if not block.is_split:
        drop_expandable(store, block)


def drop_expandable(store: BlockStore, block: Block) -> None:
    """Give up the segment that a single unmapped block makes up."""
    segment = block.expandable
    assert segment is not None
    segment.free()
    block.home.remove_unmapped(block)
    del store.blocks[block.pointer]
    store.expandable.remove(segment)


def _count(store: BlockStore, block: Block, size: int) -> None:
    home, segment = block.home, block.expandable
    assert segment is not None
    store.statistics.segment(home.pool.tag, 0, size, home.pool.owner)
    if home.pool.owner is not None:
        home.pool.owner.segments += size // segment.page
