"""gaugeblock.cuda: devices, streams, memory and random numbers of CUDA devices under torch.cuda's names.

A device is a GPU through CuPy, or simulated in host memory: ``use_driver("simulated")``, GAUGEBLOCK_CUDA_DRIVER.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .allocator.out_of_memory import OutOfMemoryError
from .devices import (
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    runtime,
    set_device,
    use_driver,
)
from .memory import (
    caching_allocator_alloc,
    caching_allocator_delete,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    synchronize,
)

stream: Any = import_module(".streams", __name__).stream
"""The context of a stream; set last, for the module of the same name has been here."""
_LATER = {
    "graphs": "CUDAGraph graph graph_pool_handle",
    "streams": "is_current_stream_capturing",
    "operators.deferred": "DeferredError",
    "memory": "MemPool use_mem_pool",
    "pinned_memory": """host_memory_stats host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats
        reset_peak_host_memory_stats""",
    "random": """default_generators get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed
        seed_all set_rng_state set_rng_state_all""",
}
"""Module -> the public names that it has; it is imported when one of them is first asked for."""
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names.split()}
__all__ = [
    "Event", "ExternalStream", "OutOfMemoryError", "Stream", "StreamContext", "caching_allocator_alloc",
    "caching_allocator_delete", "current_device", "current_stream", "default_stream", "device", "device_count",
    "device_of", "empty_cache", "get_allocator_backend", "get_device_capability", "get_device_name",
    "get_device_properties", "get_per_process_memory_fraction", "is_available", "max_memory_allocated",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_memory_stats", "reset_peak_memory_stats",
    "runtime", "set_device", "set_per_process_memory_fraction", "set_stream", "stream", "synchronize", "use_driver",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'gaugeblock.cuda' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{module}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
