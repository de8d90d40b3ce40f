"""Devices and the current one of each thread: torch.cuda's functions on them."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

from ...core.device import Device
from ..driver.installed_driver import check_device_index, current_device_index, device_index, set_current_device_index
from .drivers import runtime

AnyDevice = Device | str | int | None


def is_available() -> bool:
    """Return whether there is a driver with a device; never raises."""
    try:
        return runtime().count > 0
    except (ImportError, RuntimeError):
        return False


def device_count() -> int:
    """The number of devices, 0 without a driver."""
    return runtime().count if is_available() else 0


def current_device() -> int:
    """The index of this thread's current device. RuntimeError when there is none."""
    index = current_device_index()
    return index if index < runtime().count else 0


def placed(device: Device) -> Device:
    """A cuda device with its index. RuntimeError when it is not there."""
    found = runtime()
    return found.devices[current_device() if device.index is None else check_device_index("device", device.index)]


def set_device(device: AnyDevice) -> None:
    """Make a device this thread's current one; a negative index changes nothing."""
    set_current_device_index(device_index("set_device", device))


class device:
    """``with device(1):`` has another current device within; None and a negative index change nothing."""

    def __init__(self, device: AnyDevice) -> None:
        self.index = device_index("device", device)
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(set_current_device_index(self.index))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_current_device_index(self._before.pop())


class device_of(device):
    """``with device_of(x):`` has the device of a tensor as the current one; another tensor's changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else None)


class Properties(NamedTuple):
    """What get_device_properties tells, with torch's names."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    warp_size: int


def get_device_properties(device: AnyDevice = None) -> Properties:
    """Name, compute capability, memory and processors of a device."""
    found = runtime().driver.properties(device_index("get_device_properties", device))
    major, minor = found.compute_capability
    return Properties(
        found.name, major, minor, found.total_memory, found.multiprocessors, found.max_threads, found.warp_size
    )


def get_device_name(device: AnyDevice = None) -> str:
    """The name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: AnyDevice = None) -> tuple[int, int]:
    """The compute capability of a device."""
    found = get_device_properties(device)
    return found.major, found.minor
