"""Segments come from the device and go back to it: on a miss, out of memory, by age, or when the cache is emptied."""

from __future__ import annotations

from collections.abc import Iterable

from ..driver.protocol import Driver, DriverOutOfMemory
from .block_store import BlockStore, Request
from .expandable_segments import allocate_expandable, drop_expandable, unmap_block
from .memory_history import Stack
from .pools import Block, BlockPool, PrivatePool


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
    store.shelve(block)
    if home.pool.owner is not None:
        home.pool.owner.segments += 1
    statistics.segment(home.pool.tag, 1, size, home.pool.owner)
    statistics.counters["num_device_alloc"] += 1
    store.history.segment("segment_alloc", pointer, size, block, request.stack)
    return block


def beyond_limit(store: BlockStore, size: int) -> bool:
    """Return whether so many more bytes would be more than may be reserved."""
    return store.allowed is not None and store.statistics.reserved + size > store.allowed


def release_segment(store: BlockStore, driver: Driver, block: Block, stack: Stack | None) -> None:
    """Give a segment that is one free block back to the device."""
    driver.free(store.device, block.pointer)
    pool = block.home.pool
    store.history.segment("segment_free", block.pointer, block.size, block, stack)
    store.remove(block)
    if pool.owner is not None:
        pool.owner.segments -= 1
    store.statistics.segment(pool.tag, -1, -block.size, pool.owner)
    store.statistics.counters["num_device_free"] += 1


def release_oversize(store: BlockStore, driver: Driver, request: Request) -> bool:
    """Give back oversize blocks of the request's pool and stream until its size is reached; whether it was.

    One block that is large enough by itself goes alone, the smallest such; else the largest go first.
    """
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


def release_freeable(
    store: BlockStore, driver: Driver, stack: Stack | None, owners: Iterable[PrivatePool] | None = None
) -> None:
    """Give back what the private pools that were released hold and nobody uses, and forget those that are empty."""
    for owner in list(store.private.pools.values() if owners is None else owners):
        if owner.freeable:
            release_pools(store, driver, (owner.small, owner.large), stack)
            _drop_unmapped(store, owner)
    store.private.forget_empty()


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
