"""torch.cuda's functions on the caching allocators: figures, limits, snapshots, blocks without a tensor."""

from __future__ import annotations

from typing import Any

from .allocator.caching_allocator import CachingAllocator
from .devices.devices import AnyDevice
from .devices.drivers import runtime, runtime_in_use
from .devices.memory_recording import _dump_snapshot as _dump_snapshot
from .devices.memory_recording import _record_memory_history as _record_memory_history
from .devices.memory_recording import _snapshot as _snapshot
from .driver.installed_driver import device_index
from .streams import current_handle


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
    return _figure("memory_allocated", device, "allocated_bytes.all.current")


def max_memory_allocated(device: AnyDevice = None) -> int:
    """The largest memory_allocated since the beginning or the latest reset."""
    return _figure("max_memory_allocated", device, "allocated_bytes.all.peak")


def memory_reserved(device: AnyDevice = None) -> int:
    """Bytes that the allocator holds, used or not."""
    return _figure("memory_reserved", device, "reserved_bytes.all.current")


def max_memory_reserved(device: AnyDevice = None) -> int:
    """The largest memory_reserved since the beginning or the latest reset."""
    return _figure("max_memory_reserved", device, "reserved_bytes.all.peak")


def _figure(operator: str, device: AnyDevice, key: str) -> int:
    return int(_allocator(operator, device).memory_stats().get(key, 0))


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
    if not isinstance(fraction, float):
        raise TypeError(
            f"set_per_process_memory_fraction(): argument 'fraction' must be float, not {type(fraction).__name__}"
        )
    if not 0 <= fraction <= 1:
        raise ValueError(f"set_per_process_memory_fraction(): argument 'fraction' must be in [0, 1], got {fraction}")
    _allocator("set_per_process_memory_fraction", device).set_memory_fraction(fraction)


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
