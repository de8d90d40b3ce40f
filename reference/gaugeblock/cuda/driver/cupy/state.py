"""What every call of the CuPy driver stands on: the current device, what was given, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any

from ....core.errors import check_int
from ....core.fork_safety import fork_safe
from ..protocol import DeviceProperties, DriverError, DriverOutOfMemory
from .cuda_library import CudaLibrary

_OUT_OF_MEMORY = ("cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY")
MOST = (1 << 63) - 1
"""The largest number of bytes that CuPy and C take."""
KINDS = ("pointer", "stream", "event", "module", "function", "handle", "address", "graph")


def at_least(operator: str, argument: str, value: object, least: int = 0) -> int:
    """`value` as an int of at least `least`, such as a size. Raises TypeError, DriverError, DriverOutOfMemory."""
    number = check_int(operator, argument, value)
    if number < least:
        raise DriverError(f"{operator}(): argument '{argument}' must be at least {least}, got {number}")
    if number > MOST:
        raise DriverOutOfMemory(f"{operator}(): argument '{argument}' is {number}, more bytes than there are addresses")
    return number


def translated(operator: str, error: RuntimeError) -> DriverError:
    """CuPy's error as a DriverError that names the operator."""
    code = error.code if isinstance(error, DriverError) else _code(str(error))
    text = f"{operator}(): {error}"
    return DriverOutOfMemory(text) if code in _OUT_OF_MEMORY else DriverError(text, code)


def _code(text: str) -> str:
    """CUDA's name of the error in a message of CuPy's, which has some errors of its own without one."""
    name = re.match(r"(cudaError\w*|CUDA_ERROR_\w+):", text)
    if name is not None:
        return name[1]
    return "cudaErrorStreamCaptureInvalidated" if "invalidated the capture" in text else "cudaErrorUnknown"


class _Ready(local):
    def __init__(self) -> None:
        self.devices: set[int] = set()


class CupyState:
    """The GPUs that CuPy sees. Raises ImportError without CuPy; without a GPU there are 0 devices."""

    name = "cupy"

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            raise ImportError(
                f"the CuPy driver needs CuPy: install gaugeblock[cuda12] or gaugeblock[cuda13] ({error})"
            ) from error
        self._runtime: Any = cupy.cuda.runtime
        self._driver: Any = cupy.cuda.driver
        self._library: CudaLibrary | None = None
        self._lock = fork_safe(RLock())
        self._ready = _Ready()
        self._count: int | None = None
        self.no_devices = ""
        self._properties: dict[int, DeviceProperties] = {}
        self._pinned: set[int] = set()
        self._given: dict[str, dict[int, int]] = {kind: {} for kind in KINDS}
        self._gone: set[int] = set()
        self._sizes: dict[int, int] = {}
        self._functions: dict[int, dict[str, int]] = {}

    def device_count(self) -> int:
        """How many devices there are, 0 where CUDA cannot use any; `no_devices` then says why."""
        if self._count is None:
            try:
                self._count = int(self._runtime.getDeviceCount())
            except RuntimeError as error:
                self._count, self.no_devices = 0, str(error)
        return self._count

    @contextmanager
    def _on(self, operator: str, device: int) -> Iterator[None]:
        """Within, `device` is current and has a context on this thread; CuPy's errors become DriverErrors."""
        runtime = self._runtime
        if type(device) is not int or not 0 <= device < self.device_count():
            raise DriverError(
                f"{operator}(): argument 'device' must be the index of one of {self.device_count()} devices, got "
                f"{device!r}{self.no_devices and f' ({self.no_devices})'}",
                "cudaErrorInvalidDevice",
            )
        try:
            before = runtime.getDevice()
            if before != device or device not in self._ready.devices:
                runtime.setDevice(device)
            try:
                if device not in self._ready.devices:
                    runtime.memGetInfo()
                    self._ready.devices.add(device)
                yield
            finally:
                if before != device:
                    runtime.setDevice(before)
        except RuntimeError as error:
            raise translated(operator, error) from error

    def _cuda(self) -> CudaLibrary:
        if self._library is None:
            self._library = CudaLibrary()
        return self._library

    def _check(self, operator: str, kind: str, device: int, value: object) -> int:
        """`value` unless it is not what this driver gave on the device. DriverError."""
        given = check_int(operator, kind, value)
        if self._given[kind].get(given) != device:
            raise DriverError(
                f"{operator}(): argument '{kind}' must be one that was given on device {device} and not given back, "
                f"got {given:#x}",
                "cudaErrorInvalidValue" if kind in ("pointer", "address") else "cudaErrorInvalidResourceHandle",
            )
        return given

    def _give(self, kind: str, device: int, value: int) -> int:
        self._given[kind][value] = device
        return value

    def _take_back(self, operator: str, kind: str, device: int, value: object, call: Callable[[int], object]) -> None:
        """Let CUDA take something back, once; it stays ours when CUDA refuses."""
        with self._lock:
            given = self._check(operator, kind, device, value)
            del self._given[kind][given]
        try:
            with self._on(operator, device):
                call(given)
        except DriverError:
            self._given[kind][given] = device
            raise

    def properties(self, device: int) -> DeviceProperties:
        """What the device is."""
        found = self._properties.get(device)
        if found is None:
            with self._on("properties", device):
                told = self._runtime.getDeviceProperties(device)
            found = self._properties[device] = DeviceProperties(
                told["name"].decode() if isinstance(told["name"], bytes) else str(told["name"]),
                int(told["totalGlobalMem"]),
                (int(told["major"]), int(told["minor"])),
                int(told["multiProcessorCount"]),
                int(told["maxThreadsPerMultiProcessor"]),
                int(told["maxThreadsPerBlock"]),
                int(told["sharedMemPerBlock"]),
                int(told["warpSize"]),
            )
        return found
