"""Storage: bytes with an address, a device and a version, released exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.device import Device, cpu
from ..core.errors import check_nbytes
from .allocator import Allocator
from .devices import device_allocator, move_in_device
from .host_allocator import SMALL_LIMIT, host_allocator, small_class
from .pages import memmove, memset

new_object = object.__new__


class Storage:
    """A flat run of bytes; it knows no dtype and no shape.

    `pointer` is the address (0 when there are no bytes), `pool` the free list that the block goes back to (None
    when `allocator` or `deleter` has to be asked), `owner` an object kept alive as long as the storage, `version`
    the counter that in-place operators raise.
    """

    __slots__ = (
        "__weakref__",
        "allocator",
        "deleter",
        "device",
        "nbytes",
        "owner",
        "pointer",
        "pool",
        "resizable",
        "version",
    )

    pointer: int
    nbytes: int
    pool: list[int] | None
    allocator: Allocator | None
    device: Device
    owner: Any
    deleter: Callable[[int], object] | None
    resizable: bool
    version: int

    def __del__(self) -> None:
        pool = self.pool
        if pool is not None:
            pool.append(self.pointer)
        elif self.allocator is not None or self.deleter is not None:
            release(self)

    def __repr__(self) -> str:
        return f"<Storage of {self.nbytes} bytes on {self.device}>"


def release(storage: Storage) -> None:
    """Hand the block of a dying or resized storage back to where it came from."""
    pointer, storage.pointer = storage.pointer, 0
    allocator, deleter, pool = storage.allocator, storage.deleter, storage.pool
    storage.pool = storage.allocator = storage.deleter = None
    if allocator is not None:
        allocator.free(pointer, storage.nbytes)
    elif pool is not None:
        host_allocator.free(pointer, storage.nbytes)
    if deleter is not None:
        deleter(pointer)
    storage.owner = None


def _release_while_managed(self: Storage) -> None:
    if self.pool is not None or self.allocator is not None or self.deleter is not None:
        release(self)


_release_directly = Storage.__del__


class _Mode:
    __slots__ = ("allocator", "poison")

    allocator: Allocator
    poison: int | None


MODE = _Mode()
MODE.allocator = host_allocator
MODE.poison = None


def _apply_mode() -> None:
    if MODE.allocator is host_allocator and MODE.poison is None:
        Storage.__del__ = _release_directly  # type: ignore[method-assign]
        host_allocator.open_pools()
    else:
        Storage.__del__ = _release_while_managed  # type: ignore[method-assign]
        host_allocator.close_pools()


def set_allocator(allocator: Allocator | None) -> Allocator:
    """Use `allocator` for host storages from now on (None: the built-in one); returns the one used so far.

    Raises TypeError when `allocator` lacks allocate(nbytes) or free(address, nbytes).
    """
    if allocator is not None and not isinstance(allocator, Allocator):
        raise TypeError(f"set_allocator(): argument 'allocator' must have allocate and free, got {allocator!r}")
    previous = MODE.allocator
    MODE.allocator = allocator or host_allocator
    _apply_mode()
    return previous


def get_allocator() -> Allocator:
    """The allocator of host storages."""
    return MODE.allocator


def set_poison(pattern: int | None) -> int | None:
    """Fill fresh host memory with the byte `pattern` (None: leave it as it is); returns the pattern used so far."""
    previous = MODE.poison
    MODE.poison = pattern
    _apply_mode()
    return previous


def get_poison() -> int | None:
    """The byte that fresh host memory is filled with, or None."""
    return MODE.poison


def allocate_storage(nbytes: int, device: Device = cpu) -> Storage:
    """A fresh resizable storage of `nbytes` bytes on `device`; contents are undefined.

    Raises RuntimeError for a negative or impossible size.
    """
    storage = new_object(Storage)
    storage.pool = None
    storage.pointer = 0
    storage.allocator = None
    storage.deleter = None
    storage.owner = None
    storage.device = device
    storage.resizable = True
    storage.version = 0
    storage.nbytes = nbytes
    if nbytes < 0:
        raise RuntimeError(f"Storage(): argument 'nbytes' must not be negative, got {nbytes}")
    if device is cpu:
        if nbytes:
            _give_memory(storage, nbytes)
    elif device.type != "meta":
        give_device_memory(storage, nbytes)
    return storage


def _give_memory(storage: Storage, nbytes: int) -> None:
    check_nbytes("Storage", nbytes)
    if MODE.allocator is host_allocator and MODE.poison is None:
        storage.pointer = host_allocator.allocate(nbytes)
        if nbytes <= SMALL_LIMIT:
            storage.pool = host_allocator.pools[small_class(nbytes)]
            return
        storage.allocator = host_allocator
        return
    storage.pointer = MODE.allocator.allocate(nbytes)
    storage.allocator = MODE.allocator
    if MODE.poison is not None:
        memset(storage.pointer, MODE.poison, nbytes)


def give_device_memory(storage: Storage, nbytes: int) -> None:
    """A block for a storage that lies neither on the CPU nor on meta. RuntimeError when its device has no allocator."""
    allocator = device_allocator(storage.device)
    if nbytes > 0:
        storage.pointer = allocator.allocate(check_nbytes("Storage", nbytes))
        storage.allocator = allocator


def foreign_storage(
    pointer: int,
    nbytes: int,
    *,
    owner: Any = None,
    deleter: Callable[[int], object] | None = None,
    device: Device = cpu,
) -> Storage:
    """A storage over memory that it did not allocate: never resized, `owner` kept alive, ``deleter(pointer)`` once."""
    storage = new_object(Storage)
    storage.pool = None
    storage.pointer = pointer
    storage.allocator = None
    storage.deleter = deleter
    storage.owner = owner
    storage.device = device
    storage.resizable = False
    storage.version = 0
    storage.nbytes = nbytes
    return storage


def move_bytes(device: Device, destination: int, source: int, nbytes: int) -> None:
    """Copy bytes within the memory of one device."""
    if device is cpu:
        memmove(destination, source, nbytes)
    else:
        move_in_device(device, destination, source, nbytes)


resize_listeners: list[Callable[[Storage], object]] = []


def resize_storage(storage: Storage, nbytes: int, *, tell: bool = True) -> None:
    """Give `storage` a block of `nbytes` bytes, old bytes kept as far as they fit; tensors over it are told.

    Without `tell` the caller brings them up to date. Raises RuntimeError when the storage is not resizable or the
    size is impossible; nothing changes then.
    """
    if not storage.resizable:
        raise RuntimeError("Trying to resize storage that is not resizable")
    if nbytes < 0:
        raise RuntimeError(f"resize_(): argument 'nbytes' must not be negative, got {nbytes}")
    if storage.device.type != "meta":
        fresh = allocate_storage(nbytes, storage.device)
        if fresh.pointer and storage.pointer:
            move_bytes(storage.device, fresh.pointer, storage.pointer, min(nbytes, storage.nbytes))
        storage.pointer, fresh.pointer = fresh.pointer, storage.pointer
        storage.pool, fresh.pool = fresh.pool, storage.pool
        storage.allocator, fresh.allocator = fresh.allocator, storage.allocator
        storage.nbytes, fresh.nbytes = nbytes, storage.nbytes
    else:
        storage.nbytes = nbytes
    if tell:
        for listener in resize_listeners:
            listener(storage)
