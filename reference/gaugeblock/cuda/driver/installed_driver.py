"""Which driver the process uses: one at a time, installed by hand or found when the first call needs it."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

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
