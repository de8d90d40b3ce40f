"""The driver over CuPy: the calls of CUDA's runtime and driver under CuPy's names, on NVIDIA GPUs.

CUDA crashes on handles that are gone, so they are refused here: the driver knows what it has given. Streams may be
another library's; of those only the ones that were destroyed here are refused.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from threading import RLock, local
from typing import Any

from ...core.errors import check_int
from ...core.fork_safety import fork_safe
from .cuda_library import CudaLibrary
from .protocol import COPY_KINDS, DEFAULT_STREAM, CopyKind, DeviceProperties, DriverError, DriverOutOfMemory

PROPERTIES = """totalGlobalMem major minor multiProcessorCount maxThreadsPerMultiProcessor maxThreadsPerBlock
    sharedMemPerBlock warpSize""".split()  # CUDA's names of the numbers in DeviceProperties, in order

_NOT_READY = 600
_OUT_OF_MEMORY = ("cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY")
MOST = (1 << 63) - 1
"""The largest number of bytes that CuPy and C take."""
_RELAXED = 2
"""The capture mode in which other calls, such as those for memory, go on as ever."""
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


def _forwarded(
    operator: str, function: str, *kinds: str, result: Callable[[CupyDriver, Any], Any] | None = None
) -> Callable[..., Any]:
    """Return the method that passes a device's handles, of these kinds, on to a function of CUDA's runtime."""

    def method(self: CupyDriver, device: int, *values: int) -> Any:
        checked = [
            self._stream(operator, value) if kind == "stream" else self._check(operator, kind, device, value)
            for kind, value in zip(kinds, values, strict=True)
        ]
        with self._on(operator, device):
            found = getattr(self._runtime, function)(*checked)
            return found if result is None else result(self, found)

    return method


def _given_back(operator: str, function: str, kind: str) -> Callable[..., None]:
    """Return the method that gives a handle back by a function of CUDA's runtime."""

    def method(self: CupyDriver, device: int, value: int) -> None:
        self._take_back(operator, kind, device, value, getattr(self._runtime, function))

    return method


class CupyDriver:
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
        self._captures: dict[tuple[int, int], int] = {}
        self._capture_ids = count(1)

    def device_count(self) -> int:
        """Return the number of devices, 0 where CUDA cannot use any; `no_devices` then says why."""
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
        """Return the properties of the device."""
        found = self._properties.get(device)
        if found is None:
            with self._on("properties", device):
                told = self._runtime.getDeviceProperties(device)
            name = told["name"].decode() if isinstance(told["name"], bytes) else str(told["name"])
            found = self._properties[device] = DeviceProperties(name, *[int(told[key]) for key in PROPERTIES])
        return found

    def _stream(self, operator: str, stream: object) -> int:
        handle = check_int(operator, "stream", stream)
        if handle in self._gone:
            raise DriverError(
                f"{operator}(): argument 'stream' must be a living stream, got {handle:#x}, which is destroyed",
                "cudaErrorInvalidResourceHandle",
            )
        return handle

    def stream_create(self, device: int, priority: int = 0) -> int:
        """A new stream that does not wait for the default stream."""
        level = check_int("stream_create", "priority", priority)
        with self._on("stream_create", device):
            handle = self._cuda().create_stream(level)
        self._gone.discard(handle)
        return self._give("stream", device, handle)

    def stream_priority_range(self, device: int) -> tuple[int, int]:
        """The lowest and the highest priority."""
        with self._on("stream_priority_range", device):
            return self._cuda().priority_range()

    def stream_destroy(self, device: int, stream: int) -> None:
        """Forget a stream; its work still runs."""
        if stream == DEFAULT_STREAM:
            raise DriverError(
                "stream_destroy(): argument 'stream' must not be the default stream, got 0",
                "cudaErrorInvalidResourceHandle",
            )
        self._take_back("stream_destroy", "stream", device, stream, self._runtime.streamDestroy)
        self._gone.add(stream)

    def _is_done(self, status: int) -> bool:
        """Return whether a query says so. CUDA also remembers "not ready" as the thread's last error, which others that
        look at it would take for a failure of their own: CuPy's check of a status forgets it."""
        if status == _NOT_READY:
            with suppress(RuntimeError):
                self._runtime.check_status(status)
        elif status:
            self._runtime.check_status(status)
        return not status

    def stream_wait_event(self, device: int, stream: int, event: int) -> None:
        """Let later work of the stream wait for the event, which may be of any device."""
        handle = self._stream("stream_wait_event", stream)
        owner = self._given["event"].get(event, device)
        awaited = self._check("stream_wait_event", "event", owner, event)
        with self._on("stream_wait_event", device):
            self._runtime.streamWaitEvent(handle, awaited)

    def event_create(self, device: int, timing: bool = False) -> int:
        """A new event."""
        flags = 0 if timing else self._runtime.eventDisableTiming
        with self._on("event_create", device):
            return self._give("event", device, int(self._runtime.eventCreateWithFlags(flags)))

    stream_query = _forwarded("stream_query", "streamQuery", "stream", result=_is_done)
    stream_synchronize = _forwarded("stream_synchronize", "streamSynchronize", "stream")
    synchronize = _forwarded("synchronize", "deviceSynchronize")
    event_destroy = _given_back("event_destroy", "eventDestroy", "event")
    event_record = _forwarded("event_record", "eventRecord", "event", "stream")
    event_query = _forwarded("event_query", "eventQuery", "event", result=_is_done)
    event_synchronize = _forwarded("event_synchronize", "eventSynchronize", "event")
    event_elapsed = _forwarded("event_elapsed", "eventElapsedTime", "event", "event")
    graph_launch = _forwarded("graph_launch", "graphLaunch", "graph", "stream")
    graph_destroy = _given_back("graph_destroy", "graphExecDestroy", "graph")

    def malloc(self, device: int, size: int) -> int:
        """A new block of device memory."""
        wanted = at_least("malloc", "size", size)
        with self._on("malloc", device):
            return self._give("pointer", device, int(self._runtime.malloc(wanted))) if wanted else 0

    def free(self, device: int, pointer: int) -> None:
        """Take back a block; CUDA waits for the device."""
        if pointer or type(pointer) is not int:
            self._take_back("free", "pointer", device, pointer, self._runtime.free)

    def mem_info(self, device: int) -> tuple[int, int]:
        """Free and total bytes."""
        with self._on("mem_info", device):
            free, total = self._runtime.memGetInfo()
        return int(free), int(total)

    def host_malloc(self, size: int) -> int:
        """A new block of pinned host memory, for all devices."""
        wanted = at_least("host_malloc", "size", size)
        if not wanted:
            return 0
        try:
            address = int(self._runtime.hostAlloc(wanted, self._runtime.hostAllocPortable))
        except RuntimeError as error:
            raise translated("host_malloc", error) from error
        self._pinned.add(address)
        return address

    def host_free(self, pointer: int) -> None:
        """Take back a pinned block."""
        address = check_int("host_free", "pointer", pointer)
        if not address:
            return
        with self._lock:
            if address not in self._pinned:
                raise DriverError(
                    f"host_free(): argument 'pointer' must be what host_malloc gave and host_free has not taken, got "
                    f"{address:#x}"
                )
            self._pinned.discard(address)
        try:
            self._runtime.freeHost(address)
        except RuntimeError as error:
            self._pinned.add(address)
            raise translated("host_free", error) from error

    def memcpy(self, device: int, to: int, source: int, size: int, kind: CopyKind, stream: int) -> None:
        """Copy bytes in the stream's order; between devices too, with kind "d2d"."""
        if kind not in COPY_KINDS:
            raise DriverError(
                f"memcpy(): argument 'kind' must be one of {', '.join(COPY_KINDS)}, got {kind!r}",
                "cudaErrorInvalidMemcpyDirection",
            )
        wanted = at_least("memcpy", "size", size)
        handle = self._stream("memcpy", stream)
        runtime = self._runtime
        direction = {"h2d": runtime.memcpyHostToDevice, "d2h": runtime.memcpyDeviceToHost, "d2d": runtime.memcpyDefault}
        with self._on("memcpy", device):
            if wanted:
                runtime.memcpyAsync(to, source, wanted, direction[kind], handle)

    def memset(self, device: int, to: int, value: int, size: int, stream: int) -> None:
        """Set bytes in the stream's order."""
        wanted = at_least("memset", "size", size)
        if not 0 <= value <= 255:
            raise DriverError(f"memset(): argument 'value' must be in [0, 255], got {value}")
        handle = self._stream("memset", stream)
        with self._on("memset", device):
            if wanted:
                self._runtime.memsetAsync(to, value, wanted, handle)

    def granularity(self, device: int) -> int:
        """Return the bytes that sizes and addresses of virtual memory are multiples of."""
        with self._on("granularity", device):
            return self._cuda().granularity(device)

    def address_reserve(self, device: int, size: int) -> int:
        """A range of addresses without memory."""
        wanted = at_least("address_reserve", "size", size, 1)
        with self._on("address_reserve", device):
            address = self._cuda().reserve(wanted)
        self._sizes[address] = wanted
        return self._give("address", device, address)

    def address_free(self, device: int, address: int, size: int) -> None:
        """Take back a whole range."""
        start = self._check("address_free", "address", device, address)
        if self._sizes[start] != size:
            raise DriverError(
                f"address_free(): argument 'size' must be the whole {self._sizes[start]} bytes at {start:#x}, got "
                f"{size}"
            )
        self._take_back("address_free", "address", device, start, lambda given: self._cuda().unreserve(given, size))

    def memory_create(self, device: int, size: int) -> int:
        """A handle of memory without address."""
        wanted = at_least("memory_create", "size", size, 1)
        with self._on("memory_create", device):
            return self._give("handle", device, self._cuda().create(device, wanted))

    def memory_release(self, device: int, handle: int) -> None:
        """Forget a handle."""
        self._take_back("memory_release", "handle", device, handle, lambda given: self._cuda().release(given))

    def memory_map(self, device: int, address: int, size: int, handle: int) -> None:
        """Put a handle's memory at an address."""
        mapped = self._check("memory_map", "handle", device, handle)
        wanted = at_least("memory_map", "size", size, 1)
        with self._on("memory_map", device):
            self._cuda().map(device, address, wanted, mapped)

    def memory_unmap(self, device: int, address: int, size: int) -> None:
        """Take away whole mappings."""
        wanted = at_least("memory_unmap", "size", size, 1)
        with self._on("memory_unmap", device):
            self._cuda().unmap(address, wanted)

    # CUDA tells whether a stream's work is captured, not for which graph: that is known while there is one.

    def capture_begin(self, device: int, stream: int) -> int:
        """Capture the work of a stream from now on instead of doing it; the capture's number."""
        handle = self._stream("capture_begin", stream)
        with self._on("capture_begin", device):
            self._runtime.streamBeginCapture(handle, _RELAXED)
        made = self._captures[device, handle] = next(self._capture_ids)
        return made

    def capture_of(self, device: int, stream: int) -> int:
        """The number of the capture that a stream's work goes to, 0 for none."""
        if not self._captures:
            return 0
        own = self._captures.get((device, stream))
        if own is not None:
            return own
        numbers = [number for (index, _), number in self._captures.items() if index == device]
        if len(numbers) != 1 or not stream:
            return 0
        with self._on("capture_of", device):
            return numbers[0] if self._runtime.streamIsCapturing(stream) else 0

    def capture_end(self, device: int, stream: int) -> int:
        """End the capture that began on a stream: a graph's handle."""
        if self._captures.pop((device, stream), None) is None:
            raise DriverError(
                f"capture_end(): argument 'stream' must be the one that a capture began on, got {stream!r}",
                "cudaErrorIllegalState",
            )
        runtime: Any = self._runtime
        with self._on("capture_end", device):
            captured = int(runtime.streamEndCapture(stream))
            try:
                made = int(runtime.graphInstantiate(captured))
            finally:
                runtime.graphDestroy(captured)
        return self._give("graph", device, made)

    def module_load(self, device: int, image: bytes) -> int:
        """Load PTX or a cubin."""
        with self._on("module_load", device):
            loaded = int(self._driver.moduleLoadData(bytes(image) + b"\0"))
        self._functions[loaded] = {}
        return self._give("module", device, loaded)

    def module_unload(self, device: int, module: int) -> None:
        """Forget a module and its functions."""
        self._take_back("module_unload", "module", device, module, self._driver.moduleUnload)
        for function in self._functions.pop(module).values():
            self._given["function"].pop(function, None)

    def module_function(self, device: int, module: int, name: str) -> int:
        """The kernel of that name in a module."""
        functions = self._functions[self._check("module_function", "module", device, module)]
        if name not in functions:
            with self._on("module_function", device):
                functions[name] = int(self._driver.moduleGetFunction(module, name))
            self._give("function", device, functions[name])
        return functions[name]

    def launch(
        self, device: int, function: int, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
        stream: int, arguments: Sequence[Any],
    ) -> None:  # fmt: skip
        """Put a kernel on a stream; CUDA copies the arguments before this returns."""
        if self._given["function"].get(function) != device:
            self._check("launch", "function", device, function)
        handle = self._stream("launch", stream)
        addresses = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        parameters = ctypes.addressof(addresses)
        if device in self._ready.devices and self._runtime.getDevice() == device:
            try:
                self._driver.launchKernel(function, *grid, *block, shared_bytes, handle, parameters, 0)
            except RuntimeError as error:
                raise translated("launch", error) from error
        else:
            with self._on("launch", device):
                self._driver.launchKernel(function, *grid, *block, shared_bytes, handle, parameters, 0)
