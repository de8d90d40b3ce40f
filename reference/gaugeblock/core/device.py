"""Devices: a type and an optional index, interned so that equal devices are one object."""

from __future__ import annotations

from typing import Any

from .errors import check_int

DEVICE_TYPES = ("cpu", "meta", "cuda")


class Device:
    """A place where storage lives, such as ``device("cpu")`` or ``device("cuda", 0)``.

    `type` may be a Device, or a string with or without index. Raises RuntimeError for an unknown device string.
    """

    __slots__ = ("__weakref__", "index", "type")

    type: str
    index: int | None

    def __new__(cls, type: str | Device, index: int | None = None) -> Device:
        if isinstance(type, Device):
            return type
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

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Device:
        return self


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
    if name not in DEVICE_TYPES:
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


cpu = Device("cpu")
meta = Device("meta")


def as_device(value: Device | str | None) -> Device:
    """`value` as a storage device: None is the CPU, and an index on cpu or meta is dropped as tensors report it."""
    if value is None or value is cpu:
        return cpu
    device = Device(value)
    if device.index is not None and device.type != "cuda":
        return Device(device.type)
    return device
