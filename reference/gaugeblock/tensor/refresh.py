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
from typing import Any

from ..core.determinism import MODE as DETERMINISM
from ..core.dtype import DType, uint8
from ..memory.storage import (
    Resizing,
    Storage,
    check_resizable,
    exchange_block,
    resize_listeners,
    resize_storage,
)
from ..memory.untyped import UntypedStorage
from .changing import Changing, UnbackedTensor, alone, place
from .tensor import Tensor, empty_tensor
from .undefined import fill_grown


def refresh_pointer(tensor: Tensor) -> None:
    """Bring the cached address of `tensor` up to date with its storage."""
    place(tensor, tensor._meta, tensor._storage_impl, tensor._offset)


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
    """Return what refers to `storage`: looked for among young objects, then all, then those too that are frozen."""
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
        return getattr(one, "storage_impl", None) is storage
    return False


def _references(tensor: Tensor) -> int:
    return getrefcount(tensor._storage_impl)


_ALONE = _references(empty_tensor((1,), uint8))
"""References to a storage that nothing but one tensor refers to."""


def grow_storage(storage: Storage, nbytes: int, dtype: DType, *, tell: bool = True) -> None:
    """Make `storage` at least `nbytes` big and, with `tell`, bring the tensors over it up to date. In deterministic
    mode what is gained is filled as `dtype`. Raises RuntimeError when the storage may not grow."""
    before = storage.nbytes
    if nbytes > before:
        told = resize_storage(storage, nbytes, tell=False)
        if tell and not told:
            counted = Held.counted = getrefcount(storage)
            _count_held()
            _refresh(storage, counted - Held.grown)
        if DETERMINISM.enabled:
            fill_grown(storage, before, dtype)


def grow_own_storage(tensor: Tensor, nbytes: int, dtype: DType | None = None) -> None:
    """Grow the storage of `tensor` to at least `nbytes` bytes, and update the other tensors over it.

    In deterministic mode the new bytes are filled as `dtype`, if one is given. Raises RuntimeError when the storage is
    not resizable.
    """
    before = tensor.storage_impl.nbytes
    if nbytes <= before:
        return
    if alone():
        tell = _references(tensor) > _ALONE
        resize_storage(tensor.storage_impl, nbytes, tell=tell)
    else:
        with Changing() as changing:
            changing.begin([tensor])
            search = _references(tensor) > _ALONE + 1
            check_resizable(tensor._storage_impl, nbytes)
            _exchange(changing, tensor._storage_impl, nbytes, search=search)
    if dtype is not None and DETERMINISM.enabled:
        fill_grown(tensor.storage_impl, before, dtype)


def replace_block(storage: Storage, given: Storage) -> None:
    """Give `storage`, resizable or not, the block of `given` of the same size with its own bytes, and bring the tensors
    over it up to date."""
    if _resize_among_threads(storage, storage.nbytes, given):
        return
    exchange_block(storage, storage.nbytes, given)
    try:
        _refresh(storage, getrefcount(storage))
    except KeyboardInterrupt:
        _refresh(storage, getrefcount(storage))  # the block has been replaced
        raise


def replace_own_block(tensor: Tensor, given: Storage) -> None:
    """Do the same with the storage of `tensor`, which needs no search if no other object refers to it."""
    storage = tensor.storage_impl
    if not alone():
        with Changing() as changing:
            changing.begin([tensor])
            search = _references(tensor) > _ALONE + 2
            _exchange(changing, storage, storage.nbytes, search=search, given=given)
    elif _references(tensor) <= _ALONE + 1:
        exchange_block(storage, storage.nbytes, given)
        refresh_pointer(tensor)
    else:
        replace_block(storage, given)


def _resize_among_threads(storage: Storage, nbytes: int, given: Storage | None = None) -> bool:
    """Resize `storage`, or give it the block of `given`, while calls in other threads still use the old block; return
    False when there are none."""
    if alone():
        return False
    with Changing() as changing:
        _exchange(changing, storage, nbytes, search=True, given=given)
    return True


def _exchange(
    changing: Changing, storage: Storage, nbytes: int, *, search: bool, given: Storage | None = None
) -> None:  # fmt: skip
    unfinished: list[Tensor] = []
    while search:
        if gc.get_freeze_count():
            gc.unfreeze()
        found = [one for one in gc.get_referrers(storage) if isinstance(one, Tensor) and one._storage_impl is storage]
        unfinished = [one for one in found if not hasattr(one, "_pointer")]
        search = changing.begin([one for one in found if hasattr(one, "_pointer")])
    before = exchange_block(storage, nbytes, given)
    for tensor in unfinished:  # views that running calls are making from the old tensors
        tensor._storage_impl = before
    for tensor in changing.tensors():
        refresh_pointer(tensor)
    changing.keep_block(storage, before)


def _count_held() -> None:
    """Find, once, the references beyond those of a tensor and a handle, by resizing in both ways."""
    if Held.known:
        return
    Held.known = True
    tensor = empty_tensor((1,), uint8)
    UntypedStorage.of(tensor.storage_impl).resize_(2)
    Held.resized = Held.counted - 2
    grow_storage(tensor.storage_impl, 3, uint8)
    Held.grown = Held.counted - 1


resize_listeners.append(refresh_tensors)
Resizing.among_threads = _resize_among_threads
