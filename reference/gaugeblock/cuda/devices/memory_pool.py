"""MemPool: memory of its own for the tensors that are made within ``use_mem_pool``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from ..allocator.caching_allocator import CachingAllocator
from ..allocator.pools import PoolId
from ..driver.installed_driver import device_index
from .devices import AnyDevice
from .drivers import runtime


class MemPool:
    """A pool for each device that it is used on. Its memory goes back to the device once pool and tensors are gone.

    With `use_on_oom` everybody's requests may take its free blocks before they fail; with `no_split` its blocks are
    handed out whole. TypeError for an `allocator`, which is not supported.
    """

    def __init__(self, allocator: None = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        self._pools: dict[CachingAllocator, PoolId] = {}
        if allocator is not None:
            raise TypeError(f"MemPool(): argument 'allocator' must be None, not {type(allocator).__name__}")
        self.use_on_oom = bool(use_on_oom)
        self.no_split = bool(no_split)

    def pool_of(self, allocator: CachingAllocator) -> PoolId:
        """The pool of a device's allocator."""
        found = self._pools.get(allocator)
        if found is None:
            found = allocator.create_pool(use_on_oom=self.use_on_oom, no_split=self.no_split)
            self._pools[allocator] = found
        return found

    @property
    def id(self) -> PoolId:
        """The pool of the current device, as a pair of numbers."""
        return self.pool_of(runtime().memory(device_index("MemPool")).allocator)

    def snapshot(self) -> list[dict[str, Any]]:
        """The segments of the pool, of all devices it was used on."""
        return [
            segment
            for allocator, pool in self._pools.items()
            for segment in allocator.memory_snapshot()
            if tuple(segment["segment_pool_id"]) == pool
        ]

    def __del__(self) -> None:
        for allocator, pool in self._pools.items():
            allocator.release_pool(pool)


@contextmanager
def use_mem_pool(pool: MemPool, device: AnyDevice = None) -> Iterator[None]:
    """A block in which this thread's memory of a device comes from `pool`. TypeError for what is none."""
    if not isinstance(pool, MemPool):
        raise TypeError(f"use_mem_pool(): argument 'pool' must be MemPool, not {type(pool).__name__}")
    allocator = runtime().memory(device_index("use_mem_pool", device)).allocator
    thread = get_ident()
    made = pool.pool_of(allocator)
    allocator.begin_allocate_to_pool(made, lambda stream: get_ident() == thread)
    try:
        yield
    finally:
        allocator.end_allocate_to_pool(made)
        allocator.release_pool(made)
