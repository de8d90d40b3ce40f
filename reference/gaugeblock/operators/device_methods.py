"""Tensor methods that have to do with CUDA devices: cuda, pin_memory, is_pinned, record_stream."""

from __future__ import annotations

from typing import Any

from ..core.device import PLACING, Device, as_device
from ..core.memory_format import MemoryFormat, preserve_format
from ..memory.host_allocator import host_allocator
from ..tensor.tensor import Tensor
from .conversion import to_dispatched


def to_cuda(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """`self` on a CUDA device, the current one unless `device` says which; self itself when it is there.

    Raises RuntimeError for a device of another type or one that is not there.
    """
    named = Device("cuda", device) if isinstance(device, int) else Device(device or "cuda")
    if named.type != "cuda":
        raise RuntimeError(f"cuda(): argument 'device' must be a cuda device, got {str(named)!r}")
    return to_dispatched(self, as_device(named), non_blocking=non_blocking, memory_format=memory_format)


def pin_memory(self: Tensor, device: Device | str | None = None) -> Tensor:
    """`self` if it is in pinned host memory, else a copy that is. RuntimeError unless it is on the CPU, or without a
    driver of CUDA devices."""
    made: Tensor = PLACING.load(".cuda.pinned_memory").pinned_copy(self)
    return made


def is_pinned(self: Tensor, device: Device | str | None = None) -> bool:
    """Return whether the tensor is in pinned host memory."""
    allocator = self.storage_impl.allocator
    if allocator is None or allocator is host_allocator:
        return False
    return bool(PLACING.load(".cuda.pinned_memory").is_pinned_storage(self.storage_impl))


def record_stream(self: Tensor, s: Any) -> None:
    """Let the memory, once it is free, wait for the work that stream `s` has by then. RuntimeError, TypeError."""
    PLACING.load(".cuda.pinned_memory").record_stream(self, s)


METHODS: dict[str, Any] = {
    "cuda": to_cuda, "pin_memory": pin_memory, "is_pinned": is_pinned, "record_stream": record_stream,
}  # fmt: skip
