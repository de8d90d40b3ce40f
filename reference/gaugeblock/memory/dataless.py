"""Storage of wrapper tensors: a size and a device, no bytes."""

from __future__ import annotations

from typing import NoReturn

from ..core.device import Device
from .storage import Storage, new_object


class DatalessStorage(Storage):
    """A storage that nothing can be read from; `pointer` raises RuntimeError."""

    __slots__ = ()

    @property
    def pointer(self) -> NoReturn:  # type: ignore[override]
        """Always raises RuntimeError."""
        raise RuntimeError("a wrapper tensor has no data of its own; ask the tensors that it wraps")


def dataless_storage(nbytes: int, device: Device) -> Storage:
    """The storage of a wrapper tensor that claims `nbytes` bytes on `device`; it is never resized."""
    storage = new_object(DatalessStorage)
    storage.pool = storage.allocator = storage.deleter = storage.owner = None
    storage.device = device
    storage.resizable = False
    storage.version = 0
    storage._nbytes = nbytes
    return storage
