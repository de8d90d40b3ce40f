"""Devices: a type and an optional index, interned so that equal devices are one object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import check_int

PRIVATE = "privateuseone"
DEVICE_TYPES = ["cpu", "meta", "cuda", "hip", "xla", "mps", "ipu", "xpu", "hpu", "ve", "lazy", "mtia", "maia", PRIVATE]
"""Known device types, most of them without memory here; a program may give the last one a name of its own, once."""


class Device:
    """A place where storage lives, such as ``device("cpu")`` or ``device("cuda", 0)``.

    `type` may be a Device, or a string with or without index. Raises RuntimeError for an unknown device string.
    """

    __slots__ = ("__weakref__", "index", "type")

    type: str
    index: int | None

    def __new__(cls, type: str | Device | int, index: int | None = None) -> Device:
        if isinstance(type, Device):
            return type
        if type.__class__ is int:
            return _accelerator(type, index)
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or device, got {type.__class__.__name__}")
        if index is not None and index.__class__ is not int:
            index = check_int("device", "index", index)
        key = (type, index)
        known = _INTERNED.get(key)
        return known if known is not None else _intern(key)

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.type, self.index)

    def __enter__(self) -> Device:
        """From now on new tensors that ask for no device are on this one."""
        entered: Device = PLACING.load(".default_device").enter(self)
        return entered

    def __exit__(self, *error: Any) -> None:
        PLACING.load(".default_device").leave()


def _accelerator(number: int, index: int | None) -> Device:
    """Raise RuntimeError for a device given by index alone: there is no current accelerator."""
    if index is not None:
        raise TypeError(f"device(): argument 'type' must be str or device where 'index' is given, got int {number}")
    if number < 0:
        raise RuntimeError(f"device(): argument 'index' must not be negative, got {number}")
    raise RuntimeError(f"device(): the index {number} without a type means the current accelerator, but there is none")


_INTERNED: dict[tuple[str, int | None], Device] = {}


def _intern(key: tuple[str, int | None]) -> Device:
    text, index = key
    name, colon, number = text.partition(":")
    if colon:
        if index is not None:
            raise RuntimeError(f"device(): 'type' must not include an index because 'index' was given: {text!r}")
        if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
            raise RuntimeError(f"device(): invalid device string {text!r}, the index must be a plain number")
        index = int(number)
    if name == PRIVATE:
        name = DEVICE_TYPES[-1]
    elif name not in DEVICE_TYPES:
        raise RuntimeError(f"device(): expected one of {', '.join(DEVICE_TYPES)} as device type, got {text!r}")
    if index is not None and index < 0:
        raise RuntimeError(f"device(): argument 'index' must not be negative, got {index}")
    known = _INTERNED.get((name, index))
    if known is None:
        known = object.__new__(Device)
        known.type = name
        known.index = index
        _INTERNED[(name, index)] = known
    return known


def rename_private_device(name: str) -> None:
    """Call the private device type `name` from now on. Raises RuntimeError when `name` is no identifier, belongs to
    another device, or the type has been renamed before."""
    if not isinstance(name, str) or not name.isidentifier():
        raise RuntimeError(f"rename_privateuse1_backend(): argument 'backend_name' must be an identifier, got {name!r}")
    current = DEVICE_TYPES[-1]
    if name == current:
        return
    if name in DEVICE_TYPES:
        raise RuntimeError(f"rename_privateuse1_backend(): {name!r} is a device of the engine")
    if current != PRIVATE:
        raise RuntimeError(f"rename_privateuse1_backend(): the device has been renamed already, to {current!r}")
    DEVICE_TYPES[-1] = name
    for known in [device for device in _INTERNED.values() if device.type == PRIVATE]:
        known.type = name
        _INTERNED[name, known.index] = known


cpu = Device("cpu")
meta_device = Device("meta")


class Placing:
    """Functions of packages above this one, imported when they are first called.

    `load(".name")` is a module of the package; `cuda` gives a cuda device its index.
    """

    __slots__ = ("cuda", "load")

    load: Callable[[str], Any]
    cuda: Callable[[Device], Device]


def _load_cuda(device: Device) -> Device:
    PLACING.cuda = PLACING.load(".cuda.engine").placed
    return PLACING.cuda(device)


PLACING = Placing()
PLACING.cuda = _load_cuda


def as_device(value: Device | str | None) -> Device:
    """`value` as a storage device: None is the CPU, an index on cpu or meta is dropped as tensors report it, and on
    cuda there always is one. RuntimeError for a cuda device that is not there."""
    if value is None or value is cpu:
        return cpu
    device = named_device(value)
    return PLACING.cuda(device) if device.type == "cuda" else device


def named_device(value: Device | str) -> Device:
    """as_device of a device that need not be there."""
    device = Device(value)
    return Device(device.type) if device.index is not None and device.type != "cuda" else device
