"""Which driver stands behind device="cuda", and what belongs to it: the memory and the generator of each device.

`GAUGEBLOCK_CUDA_DRIVER` says ``cupy`` or ``simulated``; without it CuPy's is taken where CuPy and a device are there.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from typing import TYPE_CHECKING, Any

from ...core.device import Device
from ...core.fork_safety import fork_safe
from ...operators.generator import Generator
from ..driver.installed_driver import (
    current_device_index,
    get_driver,
    install_driver,
    installed_driver,
    set_current_device_index,
    set_driver_finder,
)

if TYPE_CHECKING:
    from ..driver.protocol import Driver
    from .device_memory import DeviceMemory

VARIABLE = "GAUGEBLOCK_CUDA_DRIVER"
DRIVERS = {
    "simulated": ("gaugeblock_testing.cuda_simulator.simulated_driver", "process_driver"),
    "cupy": ("gaugeblock.cuda.driver.cupy.cupy_driver", "CupyDriver"),
}
"""Name of a driver -> module and callable that makes it from options; imported when the driver is first asked for."""
CONFIG_VARIABLE = "GAUGEBLOCK_CUDA_ALLOC_CONF"
NEEDED = (
    "it needs CuPy and an NVIDIA GPU (the extras cuda12 and cuda13), or the simulated "
    f"driver, which is asked for by {VARIABLE}=simulated in the environment or by "
    "gaugeblock.cuda.use_driver('simulated')"
)
ABSENT = f"device cuda is not available: {NEEDED}"


class Runtime:
    """A driver with the memory and the generator of each of its devices; `bare_blocks` are blocks without a tensor,
    by address, with the index of their device, `functions` loaded kernels by device and name."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.count = driver.device_count()
        self.devices = [Device("cuda", index) for index in range(self.count)]
        self.bare_blocks: dict[int, int] = {}
        self.functions: dict[tuple[int, str], int] = {}
        self._memories: dict[int, DeviceMemory] = {}
        self._generators: dict[int, Generator] = {}

    def memory(self, index: int) -> DeviceMemory:
        """The memory of a device, its allocator made when it is first asked for."""
        found = self._memories.get(index)
        if found is None:
            from .device_memory import DeviceMemory

            made = DeviceMemory(self.driver, index, os.environ.get(CONFIG_VARIABLE, ""))
            found = self._memories.setdefault(index, made)
        return found

    def made_memories(self) -> list[DeviceMemory]:
        """The memories that have been asked for."""
        return list(self._memories.values())

    def generator(self, index: int) -> Generator:
        """The default generator of a device."""
        found = self._generators.get(index)
        if found is None:
            found = self._generators.setdefault(index, Generator(self.devices[index]))
        return found


def use_driver(driver: Driver | str | None, **options: Any) -> Driver | None:
    """Stand `driver` behind device="cuda" from now on and return it: "simulated", "cupy", an object with the driver
    protocol, or None for what the environment says. `options` go to the simulated driver (devices, total_memory, ...).

    Tensors that exist give their memory back to their own driver, but cannot be used with another one. Raises
    ValueError for another name, TypeError for options that the driver does not have, RuntimeError for no device.
    """
    if options and not isinstance(driver, str):
        raise TypeError(f"use_driver(): only a driver's name takes options, got {', '.join(options)}")
    made = _named(driver, options) if isinstance(driver, str) else driver
    install_driver(made)
    if made is not None and current_device_index() >= made.device_count():
        set_current_device_index(0)
    return made


def _named(name: str, options: dict[str, Any]) -> Driver:
    if name not in DRIVERS:
        raise ValueError(f"use_driver(): argument 'driver' must be 'simulated' or 'cupy', got {name!r}")
    module, maker = DRIVERS[name]
    try:
        made: Any = getattr(import_module(module), maker)(**options)
    except ImportError as error:
        raise ImportError(f"device cuda is not available: {error}; {NEEDED}") from error
    if not made.device_count():
        why = made.no_devices or "there is none"
        raise RuntimeError(f"device cuda is not available: CuPy finds no CUDA device ({why}); {NEEDED}")
    found: Driver = made
    return found


def find_driver() -> Driver:
    """The driver that the environment asks for, else CuPy's where it has a device. RuntimeError when there is none."""
    wanted = os.environ.get(VARIABLE)
    if wanted:
        if wanted not in DRIVERS:
            raise RuntimeError(f"device cuda is not available: {VARIABLE} must be simulated or cupy, got {wanted!r}")
        return _named(wanted, {})
    if find_spec("cupy") is not None:
        return _named("cupy", {})
    raise RuntimeError(ABSENT)


class _Latest:
    __slots__ = ("runtime",)

    runtime: Runtime | None


_LATEST = _Latest()
_LATEST.runtime = None
_LOCK = fork_safe(RLock())


def runtime() -> Runtime:
    """What belongs to the driver in use. RuntimeError that says how to get one when there is none."""
    driver = get_driver()
    found = _LATEST.runtime
    if found is not None and found.driver is driver:
        return found
    with _LOCK:
        found = _LATEST.runtime
        if found is None or found.driver is not driver:
            found = _LATEST.runtime = Runtime(driver)
        return found


def runtime_in_use() -> Runtime | None:
    """What belongs to the driver in use, if anything has been asked of it yet."""
    found = _LATEST.runtime
    return found if found is not None and found.driver is installed_driver() else None


set_driver_finder(find_driver)
