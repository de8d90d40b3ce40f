"""torch.cuda's functions on the caching allocators: figures, limits, snapshots, blocks without a tensor, pools."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any

from gaugeblock_spec.atomic_file import output_file

from .allocator.block_store import PoolId
from .allocator.caching_allocator import CachingAllocator
from .devices import AnyDevice, current_handle, device_index, runtime, runtime_in_use


def _allocator(operator: str, device: AnyDevice) -> CachingAllocator:
    return runtime().memory(device_index(operator, device)).allocator


def memory_stats(device: AnyDevice = None) -> dict[str, Any]:
    """All statistics of a device's allocator, by keys such as "allocated_bytes.all.current"."""
    return _allocator("memory_stats", device).memory_stats()


def memory_stats_as_nested_dict(device: AnyDevice = None) -> dict[str, Any]:
    """memory_stats as dictionaries in dictionaries."""
    return _allocator("memory_stats_as_nested_dict", device).memory_stats_nested()


def memory_allocated(device: AnyDevice = None) -> int:
    """Bytes of live tensors' blocks."""
    return _figure("memory_allocated", device, "allocated_bytes", "current")


def max_memory_allocated(device: AnyDevice = None) -> int:
    """The largest memory_allocated since the beginning or the latest reset."""
    return _figure("max_memory_allocated", device, "allocated_bytes", "peak")


def memory_reserved(device: AnyDevice = None) -> int:
    """Bytes that the allocator holds, used or not."""
    return _figure("memory_reserved", device, "reserved_bytes", "current")


def max_memory_reserved(device: AnyDevice = None) -> int:
    """The largest memory_reserved since the beginning or the latest reset."""
    return _figure("max_memory_reserved", device, "reserved_bytes", "peak")


def _figure(operator: str, device: AnyDevice, family: str, kind: str) -> int:
    return int(_allocator(operator, device).memory_stats_nested()[family]["all"][kind])


def reset_peak_memory_stats(device: AnyDevice = None) -> None:
    """Let the peaks begin at what there is now."""
    _allocator("reset_peak_memory_stats", device).reset_peak_memory_stats()


def reset_accumulated_memory_stats(device: AnyDevice = None) -> None:
    """Let what has been allocated and freed begin at 0, and the counters of events."""
    _allocator("reset_accumulated_memory_stats", device).reset_accumulated_memory_stats()


def empty_cache() -> None:
    """Give all segments that are entirely free back to their devices; nothing happens before a device is used."""
    found = runtime_in_use()
    for memory in [] if found is None else found.made_memories():
        memory.allocator.empty_cache()


def set_per_process_memory_fraction(fraction: float, device: AnyDevice = None) -> None:
    """Let the allocator hold at most this part of a device's memory. TypeError unless a float, ValueError outside
    [0, 1]."""
    operator = "set_per_process_memory_fraction"
    _allocator(operator, device).set_memory_fraction(fraction, operator)


def get_per_process_memory_fraction(device: AnyDevice = None) -> float:
    """The part of a device's memory that the allocator may hold."""
    return float(_allocator("get_per_process_memory_fraction", device).memory_fraction)


def mem_get_info(device: AnyDevice = None) -> tuple[int, int]:
    """Free and total bytes of a device, as its driver tells."""
    return runtime().driver.mem_info(device_index("mem_get_info", device))


def memory_snapshot(device: AnyDevice = None) -> list[dict[str, Any]]:
    """The segments of all devices and their blocks, by address; those of one device where it is given."""
    if device is not None:
        return _allocator("memory_snapshot", device).memory_snapshot()
    return [segment for memory in runtime().made_memories() for segment in memory.allocator.memory_snapshot()]


def memory_summary(device: AnyDevice = None, abbreviated: bool = False) -> str:
    """The statistics as a table."""
    return _allocator("memory_summary", device).memory_summary(abbreviated)


def caching_allocator_alloc(size: int, device: AnyDevice = None, stream: Any = None) -> int:
    """The address of a block without a tensor, for caching_allocator_delete. Raises OutOfMemoryError."""
    index = device_index("caching_allocator_alloc", device)
    handle = current_handle(index) if stream is None else stream if isinstance(stream, int) else stream.cuda_stream
    found = runtime()
    pointer = found.memory(index).allocator.malloc(size, handle)
    if pointer:
        found.bare_blocks[pointer] = index
    return pointer


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give a block of caching_allocator_alloc back. RuntimeError for what is none."""
    found = runtime()
    index = found.bare_blocks.pop(mem_ptr, None)
    if index is not None:
        found.memory(index).allocator.free(mem_ptr)
    elif mem_ptr:
        raise RuntimeError(f"caching_allocator_delete(): invalid device pointer: {mem_ptr:#x}")


def get_allocator_backend() -> str:
    """Always "native"."""
    return "native"


def _record_memory_history(
    enabled: str | None = "all", context: str | None = "all", stacks: str = "all", max_entries: int = sys.maxsize,
    device: AnyDevice = None, clear_history: bool = False, skip_actions: Sequence[str] | None = None,
) -> None:  # fmt: skip
    """Record allocations on every device from now on; None stops and forgets.

    `enabled` "state" keeps the stacks of live blocks, "all" an entry of each action as well; `context` says for what
    stacks are taken. `device` must be one that is there, and makes no difference, as in PyTorch. ValueError for other
    words.
    """
    device_index("_record_memory_history", device)
    for allocator in _allocators():
        allocator.record_memory_history(enabled, context, stacks, max_entries, clear_history, skip_actions)


def _snapshot(device: AnyDevice = None) -> dict[str, Any]:
    """Segments of all devices, what was recorded of each, and the settings of `device`, in PyTorch's shape."""
    index = device_index("_snapshot", device)
    found = [allocator.snapshot() for allocator in _allocators()]
    return {
        "segments": [segment for one in found for segment in one["segments"]],
        "device_traces": [one["device_traces"][place] for place, one in enumerate(found)],
        "allocator_settings": found[index]["allocator_settings"],
        "external_annotations": [],
    }


def _dump_snapshot(filename: str | Path = "dump_snapshot.pickle") -> None:
    """Write `_snapshot()` as a pickle, which PyTorch's memory viewer and `gaugeblock allocator` read."""
    content = pickle.dumps(_snapshot())
    with output_file(filename) as file:
        file.write(content)


def _allocators() -> list[CachingAllocator]:
    there = runtime()
    return [there.memory(index).allocator for index in range(there.count)]


class MemPool:
    """A pool for each device that it is used on. Its memory goes back to the device once pool and tensors are gone.

    With `use_on_oom` everybody's requests may take its free blocks before they fail; with `no_split` its blocks are
    never split. TypeError for an `allocator`, which is not supported.
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
