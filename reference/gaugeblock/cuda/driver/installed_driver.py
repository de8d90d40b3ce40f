"""Which driver the process uses: one at a time, installed by hand or found when the first call needs it.

The current device of a thread is an index that counts from 0; every thread begins at device 0.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock, local

from ...core.device import Device
from ...core.errors import check_int
from ...core.fork_safety import fork_safe
from .protocol import Driver

HELP = (
    "no CUDA driver is installed: install CuPy where there is a GPU, or take the simulated device with "
    'gaugeblock.cuda.use_driver("simulated") or GAUGEBLOCK_CUDA_DRIVER=simulated'
)

_lock = fork_safe(RLock())
_installed: Driver | None = None
_finder: Callable[[], Driver] | None = None


def install_driver(driver: Driver | None) -> Driver | None:
    """Let the process use `driver` from now on (None: none, until one is found); returns the one used so far."""
    global _installed
    with _lock:
        before, _installed = _installed, driver
    return before


def set_driver_finder(finder: Callable[[], Driver] | None) -> None:
    """Let `finder` make the driver when one is needed and none is installed; it raises RuntimeError when it cannot."""
    global _finder
    with _lock:
        _finder = finder


def installed_driver() -> Driver | None:
    """The driver in use, None when none is installed yet."""
    return _installed


def get_driver() -> Driver:
    """The driver in use, found now if need be. RuntimeError when there is none, saying how to get one."""
    driver = _installed
    return driver if driver is not None else _find()


def _find() -> Driver:
    with _lock:
        if _installed is None:
            if _finder is None:
                raise RuntimeError(HELP)
            install_driver(_finder())
        if _installed is None:
            raise RuntimeError(HELP)
        return _installed


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
