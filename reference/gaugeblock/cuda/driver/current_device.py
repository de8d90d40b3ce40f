"""The current device of a thread, an index that counts from 0; every thread begins at device 0."""

from __future__ import annotations

from threading import local

from ...core.device import Device
from ...core.errors import check_int
from .installed_driver import get_driver


class _Current(local):
    index = 0


_current = _Current()


def current_device_index() -> int:
    """The index of this thread's current device."""
    return _current.index


def set_current_device_index(index: int) -> int:
    """Make `index` this thread's current device; returns the one before. RuntimeError when there is none such."""
    before = _current.index
    _current.index = check_device_index("set_device", index)
    return before


def check_device_index(operator: str, index: int) -> int:
    """`index` unless there is no such device: RuntimeError."""
    count = get_driver().device_count()
    if not 0 <= index < count:
        raise RuntimeError(
            f"{operator}(): argument 'device' must be the index of one of {count} CUDA devices, got {index} "
            "(invalid device ordinal)"
        )
    return index


def device_index(operator: str, device: object = None) -> int:
    """The index that `device` names: None is the current device, so is "cuda" without an index, and a negative int.

    Raises RuntimeError for a device of another type and for an index out of range, TypeError for anything else.
    """
    if device is None:
        return _current.index
    if isinstance(device, (str, Device)):
        known = Device(device)
        if known.type != "cuda":
            raise RuntimeError(f"{operator}(): argument 'device' must be a CUDA device, got {str(known)!r}")
        return _current.index if known.index is None else check_device_index(operator, known.index)
    index = check_int(operator, "device", device)
    return _current.index if index < 0 else check_device_index(operator, index)
