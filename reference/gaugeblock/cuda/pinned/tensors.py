"""Tensors in pinned host memory, from the caching allocator of pinned blocks."""

from __future__ import annotations

from ...core.device import cpu
from ...memory.storage import Storage, allocate_storage
from ...operators.copy import copy_values
from ...tensor.tensor import Tensor, make_tensor
from ...tensor.tensor_meta import TensorMeta, extent, unwatched
from .pinned_memory import PinnedMemory, pinned_memory


def pinned_storage(nbytes: int) -> Storage:
    """A fresh host storage of pinned memory. RuntimeError without a driver."""
    memory = pinned_memory()
    storage = allocate_storage(0)
    if nbytes:
        storage._pointer = memory.allocate(nbytes)
        storage.allocator = memory
        storage._nbytes = nbytes
    return storage


def is_pinned_storage(storage: Storage) -> bool:
    """Return whether the bytes of a storage are pinned."""
    return isinstance(storage.allocator, PinnedMemory)


def used_on_stream(storage: Storage, device: int, stream: int) -> None:
    """Let the block of a pinned storage wait, once it is free, for what the stream has by then."""
    if isinstance(storage.allocator, PinnedMemory):
        storage.allocator.record_stream(storage.pointer, device, stream)


def pinned_empty(meta: TensorMeta) -> Tensor:
    """A fresh tensor of a CPU meta in pinned memory, contents undefined. RuntimeError without a driver."""
    elements = extent(meta.sizes, meta.strides) if meta.numel else 0
    return make_tensor(meta, pinned_storage(elements * meta.dtype.itemsize), 0, None)


def pinned_copy(self: Tensor) -> Tensor:
    """`self` if it is pinned, else a copy in pinned memory with the same strides. RuntimeError unless on the CPU."""
    meta = unwatched(self.meta)
    if meta.device is not cpu:
        raise RuntimeError(f"pin_memory(): cannot pin a tensor on {meta.device}, only CPU tensors can be pinned")
    if is_pinned_storage(self.storage_impl):
        return self
    made = pinned_empty(meta)
    copy_values(made, self)
    return made


def record_stream(self: Tensor, stream: object) -> None:
    """Let the block of a tensor's storage, once it is free, wait for what `stream` has by then.

    Raises RuntimeError for a tensor that is not on a CUDA device, TypeError for what is no stream.
    """
    from ..devices.device_memory import DeviceMemory
    from ..streams import Stream

    if not isinstance(stream, Stream):
        raise TypeError(f"record_stream(): argument 's' must be Stream, not {type(stream).__name__}")
    memory = self.storage_impl.allocator
    if isinstance(memory, DeviceMemory):
        memory.allocator.record_stream(self.storage_impl.pointer, stream.cuda_stream)
    elif self.meta.device.type != "cuda":
        raise RuntimeError(f"record_stream(): argument 'self' must be on a CUDA device, got {self.meta.device}")
