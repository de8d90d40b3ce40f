"""What happens to tensors when their storage gets another block.

A tensor caches the address of its first element. When a storage is resized, every tensor over it gets the new
address, unless the storage has become too small for it: then its class becomes UnbackedTensor, whose `pointer`
raises, so that no operator can reach freed memory. Growing the storage again turns it back. The usual path pays
nothing for this, for tensors are found through the garbage collector, and only when a storage that several share is
resized: a storage that nothing but one tensor refers to is known by its reference count.
"""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import NoReturn

from ..core.determinism import MODE as DETERMINISM
from ..core.dtype import DType, uint8
from ..memory.storage import Storage, resize_listeners, resize_storage
from .strides import extent
from .tensor import Tensor, empty_tensor
from .undefined import fill_grown


class UnbackedTensor(Tensor):
    """A tensor whose storage is too small for it; reading its elements raises RuntimeError."""

    __slots__ = ()

    @property
    def pointer(self) -> NoReturn:  # type: ignore[override]
        """Always raises RuntimeError."""
        geometry = self.geometry
        raise RuntimeError(
            f"setStorage: sizes {list(geometry.sizes)}, strides {list(geometry.strides)}, storage offset "
            f"{self.offset}, and itemsize {geometry.dtype.itemsize} are out of bounds for storage of size "
            f"{self.storage.nbytes}: the storage was resized under this tensor"
        )


UnbackedTensor.__name__ = UnbackedTensor.__qualname__ = "Tensor"


def fits(tensor: Tensor) -> bool:
    """Whether the storage holds every element of `tensor`."""
    geometry = tensor.geometry
    needed = extent(geometry.sizes, geometry.strides)
    return not needed or (tensor.offset + needed) * geometry.dtype.itemsize <= tensor.storage.nbytes


def refresh_pointer(tensor: Tensor) -> None:
    """Bring the cached address of `tensor` up to date with its storage."""
    if fits(tensor):
        tensor.__class__ = Tensor
        tensor.pointer = tensor.storage.pointer + tensor.offset * tensor.geometry.dtype.itemsize
    else:
        tensor.__class__ = UnbackedTensor


def refresh_tensors(storage: Storage) -> None:
    """Bring every tensor over `storage` up to date."""
    for referrer in gc.get_referrers(storage):
        if isinstance(referrer, Tensor):
            refresh_pointer(referrer)


resize_listeners.append(refresh_tensors)


def _references(tensor: Tensor) -> int:
    return getrefcount(tensor.storage)


_ALONE = _references(empty_tensor((1,), uint8))


def is_alone(tensor: Tensor) -> bool:
    """Whether nothing but `tensor` refers to its storage."""
    return _references(tensor) == _ALONE


def grow_storage(storage: Storage, nbytes: int, dtype: DType, *, tell: bool = True) -> None:
    """Make `storage` at least `nbytes` big and, with `tell`, bring the tensors over it up to date.

    In deterministic mode what is gained is filled as `dtype`. Raises RuntimeError when the storage may not grow.
    """
    before = storage.nbytes
    if nbytes > before:
        resize_storage(storage, nbytes, tell=tell)
        if DETERMINISM.enabled:
            fill_grown(storage, before, dtype)
