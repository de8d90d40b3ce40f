"""Memory of devices other than the CPU: allocators by device type, and bytes in and out.

A device's allocator has ``allocate(nbytes) -> address`` and ``free(address, nbytes)``. If this process cannot read at
these addresses it also has ``read(address, nbytes) -> bytes`` and ``write(address, data)``, and it may have
``move(destination, source, nbytes)``. Where there are several devices of a type it has ``at(device)``, which gives the
allocator of one.
"""

from __future__ import annotations

from typing import Any

from ..core.device import DEVICE_TYPES, Device
from .elements import read_bytes, write_bytes
from .host_allocator import Allocator

_ALLOCATORS: dict[str, Any] = {}
_HOST = ("cpu", "meta")


def register_allocator(device_type: str, allocator: Allocator | None) -> Allocator | None:
    """Let `allocator` give the memory of a device type (None: nobody does); returns the one used so far.

    Raises RuntimeError for an unknown type and for cpu and meta, TypeError for an object without allocate and free.
    """
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


def move_in_device(device: Device, destination: int, source: int, nbytes: int) -> None:
    """Copy bytes, which do not overlap, within a device's memory."""
    move = getattr(_reached(device), "move", None)
    if move is None:
        write_device(device, destination, read_device(device, source, nbytes))
    elif nbytes:
        move(destination, source, nbytes)


def _reached(device: Device) -> Any:
    return device_allocator(device) if device.type in _ALLOCATORS else None
