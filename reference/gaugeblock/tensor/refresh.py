"""What happens to tensors when their storage gets another block.

A tensor caches the address of its first element. When a storage is resized, every tensor over it gets the new
address, unless the storage has become too small for it: then its class becomes UnbackedTensor, whose `pointer`
raises, so that no operator can reach freed memory. Growing the storage again turns it back. The usual path pays
nothing for this: no list of tensors is kept, they are found through the garbage collector when a storage that several
share is resized. The reference count says how many there are, so that the search ends among the young objects when
all of them are young; a storage that nothing but one tensor refers to needs no search.
"""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any, NoReturn

from ..core.determinism import MODE as DETERMINISM
from ..core.dtype import DType, uint8
from ..memory.storage import Storage, resize_listeners, resize_storage
from ..memory.untyped import UntypedStorage
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


class Held:
    """References to a storage that running functions hold at least when its tensors are searched: after a resize of
    the storage itself, and after grow_storage; `counted` is the reference count at the latest search."""

    known = False
    resized = 0
    grown = 0
    counted = 0


def refresh_tensors(storage: Storage) -> None:
    """Bring every tensor over `storage` up to date."""
    counted = Held.counted = getrefcount(storage)
    _count_held()
    _refresh(storage, counted - Held.resized)


def _refresh(storage: Storage, wanted: int) -> None:
    """Bring the tensors over `storage` up to date; `wanted` is at least the number of objects that refer to it."""
    for referrer in _found(storage, wanted):
        if isinstance(referrer, Tensor):
            refresh_pointer(referrer)


def _found(storage: Storage, wanted: int) -> list[Any]:
    """What refers to `storage`: looked for among young objects, then all, then those too that are frozen."""
    found: list[Any] = []
    for generation in YOUNG:
        found += [one for one in gc.get_objects(generation) if _refers(one, storage)]
        if len(found) >= wanted:
            return found
    found = gc.get_referrers(storage)
    if gc.get_freeze_count() and sum(_refers(one, storage) for one in found) < wanted:
        gc.unfreeze()
        found = gc.get_referrers(storage)
    return found


YOUNG = (0, 1)
"""The collector's generations that are looked through before all objects are."""


def _refers(one: Any, storage: Storage) -> bool:
    kind = type(one)
    if kind is Tensor or kind is UntypedStorage or kind is UnbackedTensor or issubclass(kind, Tensor):
        return getattr(one, "storage", None) is storage
    return False


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
        resize_storage(storage, nbytes, tell=False)
        if tell:
            counted = Held.counted = getrefcount(storage)
            _count_held()
            _refresh(storage, counted - Held.grown)
        if DETERMINISM.enabled:
            fill_grown(storage, before, dtype)


def _count_held() -> None:
    """Find, once, the references beyond those of a tensor and a handle, by resizing in both ways."""
    if Held.known:
        return
    Held.known = True
    tensor = empty_tensor((1,), uint8)
    UntypedStorage.of(tensor.storage).resize_(2)
    Held.resized = Held.counted - 2
    grow_storage(tensor.storage, 3, uint8)
    Held.grown = Held.counted - 1


resize_listeners.append(refresh_tensors)
