"""Storages moved to segments, and opened by hand from a descriptor or a name."""

from __future__ import annotations

import os

from ..core.device import cpu
from ..core.errors import check_int, type_error
from ..core.layout import strided
from ..memory.segment import SHARING, Segment, announce, new_segment, open_segment, segment_of
from ..memory.storage import Storage
from ..memory.untyped import UntypedStorage
from ..tensor.refresh import replace_block, replace_own_block
from ..tensor.tensor import Tensor
from .client import Hold, any_client, client_of
from .strategy import get_sharing_strategy


def share_memory_(self: Tensor) -> Tensor:
    """Move the storage to memory that other processes can map, and return self; all tensors over it move too.

    An array that the memory came from, or that was made of it, keeps the old memory. Does nothing if the storage is
    shared, or on a CUDA device. Raises NotImplementedError for a tensor that is not strided, RuntimeError for one
    without memory on the CPU. Source: torch.Tensor.share_memory_.
    """
    if self.layout is not strided:
        raise NotImplementedError(f"share_memory_(): a tensor of layout {self.layout} has no storage to share")
    if self.meta.device.type == "cuda" or segment_of(self.storage_impl) is not None:
        return self
    with SHARING:
        if segment_of(self.storage_impl) is None:
            fresh = _fresh(self.storage_impl)
            replace_own_block(self, fresh)
            announce(self.storage_impl)
    return self


def is_shared(self: Tensor) -> bool:
    """Return whether the storage lies in memory that other processes can map, or on a CUDA device.

    Raises NotImplementedError for a tensor that is not strided. Source: torch.Tensor.is_shared.
    """
    if self.layout is not strided:
        raise NotImplementedError(f"is_shared(): a tensor of layout {self.layout} has no storage")
    return self.meta.device.type == "cuda" or segment_of(self.storage_impl) is not None


def share_storage(storage: Storage) -> Segment:
    """Move a storage to a segment unless it is in one, and return that. Raises RuntimeError for other devices."""
    segment = segment_of(storage)
    if segment is None:
        with SHARING:
            if segment_of(storage) is None:
                replace_block(storage, _fresh(storage))
                announce(storage)
        segment = segment_of(storage)
        assert segment is not None
    return segment


def _fresh(storage: Storage) -> Storage:
    """Return a storage over a new segment of the same size, kept as the current strategy says."""
    if storage.device is not cpu:
        raise RuntimeError(f"share_memory_(): only available on CPU, got a storage on {storage.device}")
    fresh = new_segment(storage.nbytes)
    segment = segment_of(fresh)
    assert segment is not None
    if get_sharing_strategy() == "file_system" and segment.descriptor is not None:
        segment.hold = any_client().put(segment.descriptor)
    return fresh


def name_of(segment: Segment) -> Hold:
    """Return the name of a segment, which is given one if it has none."""
    if segment.hold is None:
        assert segment.descriptor is not None
        segment.hold = any_client().put(segment.descriptor)
    return segment.hold  # type: ignore[return-value]


def share_memory_of_storage(self: UntypedStorage) -> UntypedStorage:
    """Move the bytes to memory that other processes can map, and return self. Source: torch.UntypedStorage."""
    if self.device.type != "cuda":
        share_storage(self.storage_impl)
    return self


def is_shared_storage(self: UntypedStorage) -> bool:
    """Return whether the bytes lie in memory that other processes can map, or on a CUDA device."""
    return self.device.type == "cuda" or segment_of(self.storage_impl) is not None


def share_filename(self: UntypedStorage) -> tuple[bytes, bytes, int]:
    """Share the storage and return its handle: the manager's address, the name of the object, the size in bytes. The
    name is good as long as a process holds a storage over the object. Source: torch.UntypedStorage."""
    hold = name_of(_with_bytes(self))
    return hold.address, hold.name, self.nbytes()


def new_shared_filename(cls: type[UntypedStorage], manager: bytes, handle: bytes, size: int) -> UntypedStorage:
    """Return the storage with the handle that _share_filename_cpu_ gave, in the same process or another.

    In a process that has it mapped it is that storage. Raises RuntimeError for a name or a manager that is not there,
    and for another size. Source: torch.UntypedStorage.
    """
    for name, value in (("manager", manager), ("handle", handle)):
        if not isinstance(value, bytes):
            type_error("_new_shared_filename_cpu", name, value, "bytes")
    nbytes = check_int("_new_shared_filename_cpu", "size", size)
    descriptor, hold = client_of(manager).open(handle)
    return cls.of(open_segment(descriptor, nbytes, hold))


def share_descriptor(self: UntypedStorage) -> tuple[int, int]:
    """Share the storage and return a descriptor of the file and the size in bytes. The descriptor belongs to the
    storage. Raises RuntimeError if it is shared by name. Source: torch.UntypedStorage."""
    segment = _with_bytes(self)
    if segment.descriptor is None:
        raise RuntimeError("_share_fd_cpu_(): the storage is shared by name, with the strategy 'file_system'")
    return segment.descriptor, self.nbytes()


def new_shared_descriptor(cls: type[UntypedStorage], fd: int, size: int) -> UntypedStorage:
    """Return the storage over the file behind a descriptor that _share_fd_cpu_ gave, which stays open. Raises
    RuntimeError for another size. Source: torch.UntypedStorage."""
    descriptor = check_int("_new_shared_fd_cpu", "fd", fd)
    nbytes = check_int("_new_shared_fd_cpu", "size", size)
    try:
        own = os.dup(descriptor)
    except OSError as error:
        raise RuntimeError(f"_new_shared_fd_cpu(): argument 'fd' is {fd}: {error.strerror}") from None
    return cls.of(open_segment(own, nbytes))


def _with_bytes(self: UntypedStorage) -> Segment:
    if not self.nbytes():
        raise RuntimeError("a storage of 0 bytes has no handle")
    return share_storage(self.storage_impl)
