"""Storage: bytes with an address, a device and a version, released exactly once; foreign memory, and none at all.

The allocator of a device other than the CPU has ``allocate(nbytes) -> address`` and ``free(address, nbytes)``. If this
process cannot read at these addresses it also has ``read(address, nbytes) -> bytes`` and ``write(address, data)``, and
it may have ``move(destination, source, nbytes)``. Where there are several devices of a type it has ``at(device)``,
which gives the allocator of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.device import DEVICE_TYPES, Device, cpu
from ..core.errors import INT64_MAX
from ..core.sealed import seal
from .elements import read_bytes, write_bytes
from .host_allocator import SMALL_LIMIT, Allocator, host_allocator, is_mapped, memmove, memset, small_class

new_object = object.__new__


class Storage:
    """A flat run of bytes; it knows no dtype and no shape.

    `pointer` is the address (0 when there are no bytes), `pool` the free list that the block goes back to (None
    when `allocator` or `deleter` has to be asked), `owner` an object kept alive as long as the storage or the Lent that
    exports share, `version` the counter that in-place operators raise. `resizable` is None once arrays lie over it.
    `quantizer` is there for quantized tensors only.
    """

    __slots__ = (
        "__weakref__", "_nbytes", "_pointer", "allocator", "deleter", "device", "owner", "pool", "quantizer",
        "resizable", "version",
    )  # fmt: skip

    pointer: int
    _pointer: int
    nbytes: int
    _nbytes: int
    pool: list[int] | None
    allocator: Allocator | None
    device: Device
    owner: Any
    deleter: Callable[[int], object] | None
    resizable: bool | None
    version: int

    def __del__(self) -> None:
        pool = self.pool
        if pool is not None:
            pool.append(self.pointer)
        elif self.allocator is not None or self.deleter is not None:
            release(self)

    def alike(self) -> Storage:
        """Return a fresh storage of the same size on the same device, for tensors of the same kind."""
        return allocate_storage(self.nbytes, self.device)

    def __repr__(self) -> str:
        return f"<Storage of {self.nbytes} bytes on {self.device}>"


seal(Storage, ("pointer", "nbytes"))


def release(storage: Storage) -> None:
    """Hand the block of a dying or resized storage back to where it came from."""
    pointer, storage._pointer = storage.pointer, 0
    allocator, deleter, pool = storage.allocator, storage.deleter, storage.pool
    storage.pool = storage.allocator = storage.deleter = None
    if allocator is not None:
        allocator.free(pointer, storage.nbytes)
    elif pool is not None and pointer:
        host_allocator.free(pointer, storage.nbytes)
    if deleter is not None:
        deleter(pointer)
    storage.owner = None


def _release_while_managed(self: Storage) -> None:
    if self.pool is not None or self.allocator is not None or self.deleter is not None:
        release(self)


class Finalisers:
    """`Storage.__del__` with the built-in allocator (`direct`) and with others; the kernels install machine code."""

    direct: Callable[[Storage], None] = Storage.__del__
    managed: Callable[[Storage], None] = _release_while_managed


class _Mode:
    __slots__ = ("allocator", "poison")

    def __init__(self) -> None:
        self.allocator: Allocator = host_allocator
        self.poison: int | None = None


MODE = _Mode()


def apply_mode() -> None:
    """Install the finaliser of storages that the allocator and the poison need."""
    if MODE.allocator is host_allocator and MODE.poison is None:
        Storage.__del__ = Finalisers.direct  # type: ignore[method-assign]
        host_allocator.open_pools()
    else:
        Storage.__del__ = Finalisers.managed  # type: ignore[method-assign]
        host_allocator.close_pools()


def set_allocator(allocator: Allocator | None) -> Allocator:
    """Use `allocator` for host storages from now on (None: the built-in one); returns the one used so far. Raises
    TypeError when `allocator` lacks allocate(nbytes) or free(address, nbytes)."""
    if allocator is not None and not isinstance(allocator, Allocator):
        raise TypeError(f"set_allocator(): argument 'allocator' must have allocate and free, got {allocator!r}")
    previous = MODE.allocator
    MODE.allocator = allocator or host_allocator
    apply_mode()
    return previous


def get_allocator() -> Allocator:
    """The allocator of host storages."""
    return MODE.allocator


def set_poison(pattern: int | None) -> int | None:
    """Fill fresh host memory with the byte `pattern` (None: leave it as it is); returns the pattern used so far."""
    previous = MODE.poison
    MODE.poison = pattern
    apply_mode()
    return previous


def get_poison() -> int | None:
    """The byte that fresh host memory is filled with, or None."""
    return MODE.poison


def _without_memory(cls: type[Storage], nbytes: int, device: Device, *, resizable: bool) -> Storage:
    storage = new_object(cls)
    storage._pointer = storage.version = 0
    storage.pool = storage.allocator = storage.deleter = storage.owner = None
    storage.device = device
    storage.resizable = resizable
    storage._nbytes = nbytes
    return storage


def allocate_storage(nbytes: int, device: Device = cpu, kind: type[Storage] = Storage) -> Storage:
    """A fresh resizable storage of `nbytes` bytes on `device`; contents are undefined. Raises RuntimeError for a
    negative or impossible size, and for a device without an allocator."""
    storage = _without_memory(kind, nbytes, device, resizable=True)
    if nbytes < 0:
        raise RuntimeError(f"Storage(): argument 'nbytes' must not be negative, got {nbytes}")
    if device is cpu:
        if nbytes:
            _give_memory(storage, nbytes)
    elif device.type != "meta":
        allocator = device_allocator(device)
        if nbytes:
            storage._pointer = allocator.allocate(check_nbytes("Storage", nbytes))
            storage.allocator = allocator
    return storage


ADDRESS_MULTIPLE = 16
"""Alignment of the blocks of any allocator, the same as malloc's."""


def check_address(address: Any, nbytes: int) -> int:
    """Return the address that a user's allocator returned for `nbytes` bytes. Raises TypeError unless it is an int,
    RuntimeError unless it is a multiple of 16 and the pages at both ends exist."""
    if type(address) is not int:
        raise TypeError(f"allocate(): the allocator in use must return an int address, got {type(address).__name__}")
    if address <= 0 or address % ADDRESS_MULTIPLE or not is_mapped(address, nbytes):
        raise RuntimeError(
            f"allocate(): the allocator in use returned {address:#x} for {nbytes} bytes: it must be the address of "
            f"memory of this process, a multiple of {ADDRESS_MULTIPLE}"
        )
    return address


def check_nbytes(operator: str, nbytes: int) -> int:
    """Return `nbytes`; raise RuntimeError when it exceeds what 64 bits can address."""
    if nbytes > INT64_MAX:
        raise RuntimeError(f"{operator}(): Storage size calculation overflowed: {nbytes} bytes exceed 64 bits")
    return nbytes


def _give_memory(storage: Storage, nbytes: int) -> None:
    check_nbytes("Storage", nbytes)
    if MODE.allocator is host_allocator and MODE.poison is None:
        storage._pointer = host_allocator.allocate(nbytes)
        if nbytes <= SMALL_LIMIT:
            storage.pool = host_allocator.pools[small_class(nbytes)]
            return
        storage.allocator = host_allocator
        return
    storage._pointer = check_address(MODE.allocator.allocate(nbytes), nbytes)
    storage.allocator = MODE.allocator
    if MODE.poison is not None:
        memset(storage.pointer, MODE.poison, nbytes)


def foreign_storage(
    pointer: int, nbytes: int, *, owner: Any = None, deleter: Callable[[int], object] | None = None,
    device: Device = cpu,
) -> Storage:  # fmt: skip
    """A storage over memory that it did not allocate: never resized, `owner` kept alive, ``deleter(pointer)`` once."""
    storage = _without_memory(Storage, nbytes, device, resizable=False)
    storage._pointer = pointer
    storage.deleter = deleter
    storage.owner = owner
    return storage


class Lent:
    """Keeps a block that was exported from a resizable storage, once a resize has put another in its place."""

    __slots__ = ("block",)

    def __init__(self) -> None:
        self.block: Storage | None = None


def lend(storage: Storage) -> object:
    """Return what an export must keep alive beside `storage`, so that its block outlives a resize."""
    fresh = Lent()
    # No function is called here, so that threads that export at once share one.
    if storage.owner is None:
        storage.owner = fresh
    return storage.owner


resize_listeners: list[Callable[[Storage], object]] = []


class Resizing:
    """Hook that resizes a storage while other threads may be reading it; it returns False when there are none."""

    among_threads: Callable[[Storage, int], bool]


def check_resizable(storage: Storage, nbytes: int) -> None:
    """Raise RuntimeError when the storage is not resizable or the size is negative."""
    if not storage.resizable:
        raise RuntimeError("Trying to resize storage that is not resizable")
    if nbytes < 0:
        raise RuntimeError(f"resize_(): argument 'nbytes' must not be negative, got {nbytes}")


def resize_storage(storage: Storage, nbytes: int, *, tell: bool = True) -> bool:
    """Give `storage` a block of `nbytes` bytes, keep the old bytes that fit, and notify its tensors.

    Without `tell` the caller updates them, unless the result is True. Raises RuntimeError when the storage is
    not resizable or the size is impossible; nothing changes then.
    """
    check_resizable(storage, nbytes)
    if Resizing.among_threads(storage, nbytes):
        return True
    exchange_block(storage, nbytes)
    if tell:
        try:
            _tell(storage)
        except KeyboardInterrupt:
            _tell(storage)  # the block has been replaced
            raise
    return tell


def _tell(storage: Storage) -> None:
    for listener in resize_listeners:
        listener(storage)


def exchange_block(storage: Storage, nbytes: int, given: Storage | None = None) -> Storage:
    """Give a resizable storage a block of `nbytes` bytes, or that of `given`, copy what fits, and return the holder of
    the old block."""
    before = storage_like(storage)
    if storage.device.type == "meta":
        before._nbytes, storage._nbytes = storage.nbytes, nbytes
        return before
    fresh = allocate_storage(nbytes, storage.device) if given is None else given
    if fresh.pointer and storage.pointer:
        move_bytes(storage.device, fresh.pointer, storage.pointer, min(nbytes, storage.nbytes))
    # No function is called here, so no other thread or signal handler can run in between.
    before._pointer, storage._pointer, fresh._pointer = storage.pointer, fresh.pointer, 0
    before.pool, storage.pool, fresh.pool = storage.pool, fresh.pool, None
    before.allocator, storage.allocator, fresh.allocator = storage.allocator, fresh.allocator, None
    before._nbytes, storage._nbytes, fresh._nbytes = storage.nbytes, nbytes, 0
    if given is None:
        if storage.owner is not None:
            storage.owner.block, storage.owner = before, None
    else:
        _hand_over(storage, before)
        storage.resizable = False
    return before


def _hand_over(storage: Storage, before: Storage) -> None:
    """Let `before`, which has the old block of `storage`, keep what that needs, as long as exports or arrays lie over
    it."""
    owner, lies_under_arrays = storage.owner, storage.resizable is None
    before.deleter, storage.deleter = storage.deleter, None
    if isinstance(owner, Lent):
        owner.block = before
    else:
        before.owner = owner
    storage.owner = before if lies_under_arrays else None


def storage_like(storage: Storage) -> Storage:
    """Return an empty resizable storage on the same device with the same version."""
    made = allocate_storage(0, storage.device)
    made.version = storage.version
    return made


ADDRESS_LIMIT = 1 << 62
"""More than any machine addresses, less than what overflows."""


def blob_storage(
    pointer: int, nbytes: int, *, deleter: Callable[[int], object] | None = None, owner: Any = None
) -> Storage:
    """`nbytes` bytes at address `pointer` as a storage that is never resized; ``deleter(pointer)`` runs once, last.
    Raises RuntimeError for a negative size, for a null pointer with bytes and for what can be no address."""
    if nbytes < 0:
        raise RuntimeError(f"from_blob(): argument 'nbytes' must not be negative, got {nbytes}")
    if not pointer and nbytes:
        raise RuntimeError(f"from_blob(): argument 'pointer' must not be null for {nbytes} bytes")
    check_nbytes("from_blob", nbytes)
    if not 0 <= pointer <= ADDRESS_LIMIT - nbytes:
        raise RuntimeError(f"from_blob(): argument 'pointer' must be an address with {nbytes} bytes, got {pointer}")
    return foreign_storage(pointer, nbytes, owner=owner, deleter=deleter)


class DatalessStorage(Storage):
    """A storage that nothing can be read from; `pointer` raises RuntimeError."""

    __slots__ = ()

    @property
    def pointer(self) -> NoReturn:  # type: ignore[override]
        """Always raises RuntimeError."""
        raise RuntimeError("a wrapper tensor has no data of its own; ask the tensors that it wraps")


def dataless_storage(nbytes: int, device: Device) -> Storage:
    """The storage of a wrapper tensor that claims `nbytes` bytes on `device`; it is never resized."""
    return _without_memory(DatalessStorage, nbytes, device, resizable=False)


_ALLOCATORS: dict[str, Any] = {}
_HOST = ("cpu", "meta")


def register_allocator(device_type: str, allocator: Allocator | None) -> Allocator | None:
    """Let `allocator` give the memory of a device type (None: nobody does); returns the one used so far. Raises
    RuntimeError for an unknown type and for cpu and meta, TypeError for an object without allocate and free."""
    if device_type not in DEVICE_TYPES or device_type in _HOST:
        known = ", ".join(name for name in DEVICE_TYPES if name not in _HOST)
        raise RuntimeError(f"register_allocator(): argument 'device_type' must be one of {known}, got {device_type!r}")
    if allocator is not None and not isinstance(allocator, Allocator):
        raise TypeError(f"register_allocator(): argument 'allocator' must have allocate and free, got {allocator!r}")
    before: Allocator | None = _ALLOCATORS.pop(device_type, None)
    if allocator is not None:
        _ALLOCATORS[device_type] = allocator
    return before


def device_allocator(device: Device) -> Any:
    """The allocator of a device. RuntimeError when it has none: the device is known, but not there."""
    allocator = _ALLOCATORS.get(device.type)
    if allocator is None:
        raise RuntimeError(
            f"device {device} is not available: there is no memory on it, because no allocator is registered for "
            f"{device.type!r}"
        )
    at = getattr(allocator, "at", None)
    return allocator if at is None else at(device)


def registered_allocator(device_type: str) -> Any:
    """Return what was registered for a device type, or None."""
    return _ALLOCATORS.get(device_type)


def read_device(device: Device, address: int, nbytes: int) -> bytes:
    """A copy of bytes of a device's memory."""
    if not nbytes:
        return b""
    data: bytes = getattr(_reached(device), "read", read_bytes)(address, nbytes)
    return data


def write_device(device: Device, address: int, data: bytes) -> None:
    """Store bytes in a device's memory."""
    if data:
        getattr(_reached(device), "write", write_bytes)(address, data)


def move_bytes(device: Device, destination: int, source: int, nbytes: int) -> None:
    """Copy bytes, which do not overlap, within the memory of one device."""
    move = memmove if device is cpu else getattr(_reached(device), "move", None)
    if move is None:
        write_device(device, destination, read_device(device, source, nbytes))
    elif nbytes:
        move(destination, source, nbytes)


def _reached(device: Device) -> Any:
    return device_allocator(device) if device.type in _ALLOCATORS else None
