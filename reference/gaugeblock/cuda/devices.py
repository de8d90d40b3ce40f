"""CUDA devices: the driver behind them, the current one of each thread, and what belongs to each: memory, generator.

`GAUGEBLOCK_CUDA_DRIVER` says ``cupy`` or ``simulated``; without it CuPy's is taken where CuPy and a device are there.
The process uses one driver at a time, installed by hand or found when the first call needs it. Devices are counted from
0; every thread begins at device 0, with its default stream.
"""

from __future__ import annotations

import ctypes
import os
from importlib import import_module
from importlib.util import find_spec
from threading import RLock, local
from typing import Any

from ..core.device import Device
from ..core.errors import check_int
from ..core.fork_safety import fork_safe
from ..operators.generator import Generator
from .allocator.allocator_config import VARIABLE as ALLOC_CONF
from .allocator.caching_allocator import CachingAllocator
from .driver.protocol import DeviceProperties, Driver

VARIABLE = "GAUGEBLOCK_CUDA_DRIVER"
DRIVERS = {
    "simulated": ("gaugeblock_testing.cuda_simulator.simulated_driver", "process_driver"),
    "cupy": ("gaugeblock.cuda.driver.cupy_driver", "CupyDriver"),
}
"""Name of a driver -> module and callable that makes it from options; imported when the driver is first asked for."""
NEEDED = (
    "it needs CuPy and an NVIDIA GPU (the extras cuda12 and cuda13), or the simulated "
    f"driver, which is asked for by {VARIABLE}=simulated in the environment or by "
    "gaugeblock.cuda.use_driver('simulated')"
)
ABSENT = f"device cuda is not available: {NEEDED}"
AnyDevice = Device | str | int | None

_lock = fork_safe(RLock())
_installed: Driver | None = None


def install_driver(driver: Driver | None) -> Driver | None:
    """Let the process use `driver` from now on (None: none, until one is found); returns the one used so far."""
    global _installed
    with _lock:
        before, _installed = _installed, driver
    return before


def get_driver() -> Driver:
    """The driver in use, found now if need be. RuntimeError when there is none, saying how to get one."""
    driver = _installed
    if driver is None:
        with _lock:
            driver = _installed
            if driver is None:
                driver = find_driver()
                install_driver(driver)
    return driver


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


class _Current(local):
    def __init__(self) -> None:
        self.index = 0
        self.streams: dict[int, Any] = {}
        """The current Stream of each device, if it is another than the default stream."""


CURRENT = _Current()


def current_device_index() -> int:
    """The index of this thread's current device."""
    return CURRENT.index


def set_current_device_index(index: int) -> int:
    """Make `index` this thread's current device; returns the one before. RuntimeError when there is none such."""
    before = CURRENT.index
    CURRENT.index = check_device_index("set_device", index)
    return before


def current_handle(device: int) -> int:
    """Return the driver's handle of this thread's current stream on the device with that index."""
    streams = CURRENT.streams
    if not streams:
        return 0
    stream = streams.get(device)
    return 0 if stream is None or stream.driver is not _installed else int(stream.cuda_stream)


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
        return CURRENT.index
    if isinstance(device, (str, Device)):
        known = Device(device)
        if known.type != "cuda":
            raise RuntimeError(f"{operator}(): argument 'device' must be a CUDA device, got {str(known)!r}")
        return CURRENT.index if known.index is None else check_device_index(operator, known.index)
    index = check_int(operator, "device", device)
    return CURRENT.index if index < 0 else check_device_index(operator, index)


class DeviceMemory:
    """The memory of one device as storages take it: blocks of its caching allocator, bytes in and out in stream order.
    Blocks belong to the stream that is the current one of the device when they are asked for."""

    def __init__(self, driver: Driver, index: int, config: str = "") -> None:
        self.driver = driver
        self.index = index
        self.allocator = CachingAllocator(driver, index, config)

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` fresh bytes. Raises OutOfMemoryError."""
        return self.allocator.malloc(nbytes, current_handle(self.index))

    def free(self, address: int, nbytes: int) -> None:
        """Give a block back; work that is on its stream may still use it."""
        self.allocator.free(address)

    def read(self, address: int, nbytes: int) -> bytes:
        """A copy of bytes, as they are when the current stream is done with what it has now."""
        buffer = ctypes.create_string_buffer(nbytes)
        stream = current_handle(self.index)
        self.driver.memcpy(self.index, ctypes.addressof(buffer), address, nbytes, "d2h", stream)
        self.driver.stream_synchronize(self.index, stream)
        return buffer.raw

    def write(self, address: int, data: bytes) -> None:
        """Store bytes, after what the current stream has now."""
        buffer = ctypes.create_string_buffer(data, len(data))
        stream = current_handle(self.index)
        self.driver.memcpy(self.index, address, ctypes.addressof(buffer), len(data), "h2d", stream)
        self.driver.stream_synchronize(self.index, stream)

    def move(self, destination: int, source: int, nbytes: int) -> None:
        """Copy bytes within the device, in the order of the current stream."""
        self.driver.memcpy(self.index, destination, source, nbytes, "d2d", current_handle(self.index))


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
            made = DeviceMemory(self.driver, index, os.environ.get(ALLOC_CONF, ""))
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


_runtime: Runtime | None = None


def runtime() -> Runtime:
    """Return what belongs to the driver in use. RuntimeError that says how to get one when there is none."""
    global _runtime
    driver = get_driver()
    found = _runtime
    if found is not None and found.driver is driver:
        return found
    with _lock:
        found = _runtime
        if found is None or found.driver is not driver:
            found = _runtime = Runtime(driver)
        return found


def runtime_in_use() -> Runtime | None:
    """Return what belongs to the driver in use, if anything has been asked of it yet."""
    found = _runtime
    return found if found is not None and found.driver is _installed else None


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

    def __exit__(self, *error: object) -> None:
        set_current_device_index(self._before.pop())


class device_of(device):
    """``with device_of(x):`` has the device of a tensor as the current one; another tensor's changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else None)


def get_device_properties(device: AnyDevice = None) -> DeviceProperties:
    """Name, compute capability, memory and processors of a device."""
    return runtime().driver.properties(device_index("get_device_properties", device))


def get_device_name(device: AnyDevice = None) -> str:
    """The name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: AnyDevice = None) -> tuple[int, int]:
    """The compute capability of a device."""
    found = get_device_properties(device)
    return found.major, found.minor
