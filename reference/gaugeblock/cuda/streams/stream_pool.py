"""Streams that are used over and over: a few for each driver, device and priority, in turn.

A stream of the pool is never destroyed, so no block of an allocator outlives the stream that it belongs to.
"""

from __future__ import annotations

from threading import RLock
from weakref import WeakKeyDictionary

from ...core.fork_safety import fork_safe
from ..driver.protocol import Driver

STREAMS_PER_POOL = 32
PRIORITIES = 4
"""How many priorities there are streams of: 0, the lowest, to -3."""

_lock = fork_safe(RLock())
_pools: WeakKeyDictionary[Driver, dict[tuple[int, int, int], tuple[list[int], int]]] = WeakKeyDictionary()


def clamp_priority(driver: Driver, device: int, priority: int) -> int:
    """The nearest priority that the pool has."""
    lowest, highest = priority_range(driver, device)
    return min(max(priority, highest), lowest)


def priority_range(driver: Driver, device: int) -> tuple[int, int]:
    """The lowest and the highest priority that the pool has on a device."""
    lowest, highest = driver.stream_priority_range(device)
    return lowest, max(highest, 1 - PRIORITIES)


def pooled_stream(driver: Driver, device: int, priority: int) -> int:
    """The next stream in turn of a priority, made if the pool is not full yet. Raises DriverError."""
    resets: dict[int, int] = getattr(driver, "resets", {})
    key = (device, priority, resets.get(device, 0))
    with _lock:
        pool = _pools.setdefault(driver, {})
        handles, turn = pool.get(key, ([], 0))
        if len(handles) < STREAMS_PER_POOL:
            handles.append(driver.stream_create(device, priority))
        pool[key] = handles, turn + 1
        return handles[turn % STREAMS_PER_POOL]
