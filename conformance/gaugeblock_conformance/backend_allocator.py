"""What the suite asks of a caching allocator, as data: the calls of the capabilities alloc.reuse, alloc.caching, ...

Nothing here names a backend's API. A backend with the capabilities answers the operator names of :data:`CALLS` in its
``call``. Allocators, streams and pools are the backend's own objects: the suite hands them back and never looks into
them. A pointer is a :class:`Pointer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .backend_autograd import Part

Stats = Mapping[str, int]
"""Figures by name: ``"allocated_bytes.all.current"``, ``"num_ooms"`` ..."""

Snapshot = Sequence[Mapping[str, Any]]
"""Segments by address, each with its blocks."""


class Pointer(int):
    """An address that an allocator gave; 0 is the null pointer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Pointer({int(self)})"


@dataclass(frozen=True, repr=False)
class Machine(Part):
    """What a new allocator works on, and how it is configured.

    ``memory`` is the size of the device in bytes (needs ``alloc.faults``), ``config`` a configuration in PyTorch's
    syntax (needs ``alloc.caching.config``). None and the empty text leave the choice to the backend.
    """

    memory: int | None = None
    config: str = ""


PARTS = ("Machine", "Pointer")

CALLS: dict[str, str] = {
    # alloc.reuse
    "allocator": "(Machine) -> an allocator that holds no memory and whose figures are all zero",
    "malloc": "(allocator, size, stream=None) -> Pointer; without stream on the default one",
    "free": "(allocator, Pointer)",
    "empty_cache": "(allocator)",
    "bytes_in_use": "(allocator) -> int: bytes of live allocations, rounded as the allocator does",
    "bytes_held": "(allocator) -> int: bytes taken from the device and not given back",
    # alloc.caching
    "memory_stats": "(allocator) -> dict: the figures",
    "memory_snapshot": "(allocator) -> list of dicts: the segments with their blocks, in PyTorch's names",
    "memory_summary": "(allocator) -> str",
    "reset_peak_memory_stats": "(allocator)",
    "reset_accumulated_memory_stats": "(allocator)",
    # alloc.caching.config
    "set_memory_fraction": "(allocator, fraction)",
    # alloc.streams
    "new_stream": "(allocator) -> stream",
    "stream_number": "(stream) -> int: as snapshots have it",
    "occupy": "(allocator, stream) queues work that ends when it is waited for, or by 'finish', and not before",
    "finish": "(allocator, stream) ends the work that is queued on the stream now",
    "record_stream": "(allocator, Pointer, stream)",
    # alloc.faults
    "fail_mallocs": "(allocator, count): the device refuses the next so many requests for memory",
    "device_log": "(allocator) -> tuple of ('malloc', bytes), ('refused', bytes), ('free',) and ('wait',): what the "
    "allocator asked of the device, in order; the log is empty afterwards",
    # alloc.pools
    "create_pool": "(allocator) -> pool",
    "enter_pool": "(allocator, pool): requests are served from the pool from now on",
    "leave_pool": "(allocator, pool)",
    "release_pool": "(allocator, pool): nobody will enter it again",
    # alloc.history
    "record_history": "(allocator, enabled)",
    "memory_history": "(allocator) -> list of dicts: the entries, in PyTorch's names",
    # alloc.tensors: the allocator that the backend's tensors lie in
    "tensor_stats": "() -> dict: its figures",
    "empty_tensor_cache": "() empties its cache",
    # device.multi
    "allocator_beside": "(allocator) -> the allocator of another device of the same machine",
}
"""Operator name -> its arguments and answer. They may be made from several threads at once."""

STATEFUL = frozenset(
    """malloc free empty_cache reset_peak_memory_stats reset_accumulated_memory_stats
    set_memory_fraction occupy finish record_stream fail_mallocs enter_pool leave_pool release_pool record_history
    memory_history device_log empty_tensor_cache""".split()
)
"""Calls that change what no variable of the suite holds."""

COUNTS = ("allocation", "segment", "active", "inactive_split")
BYTES = ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes")
FAMILIES = (*COUNTS, *BYTES)
SINGLE_FAMILIES = ("oversize_allocations", "oversize_segments")
POOLS = ("all", "small_pool", "large_pool")
FIGURES = ("current", "peak", "allocated", "freed")
PLAIN_COUNTS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free")

NAMES: tuple[str, ...] = (
    *(f"{family}.{pool}.{figure}" for family in FAMILIES for pool in POOLS for figure in FIGURES),
    *(f"{family}.{figure}" for family in SINGLE_FAMILIES for figure in FIGURES),
    *PLAIN_COUNTS,
)
"""All figures, in the order of the chapter."""
