"""A fake of CuPy that keeps its names, signatures and errors, and of libcuda, over a simulated driver."""

from __future__ import annotations

import ctypes
import operator
import re
from collections.abc import Callable
from threading import get_ident
from types import SimpleNamespace
from typing import Any, NamedTuple

from gaugeblock.cuda.driver.cuda_library import FUNCTIONS, AccessDescription, AllocationProperties
from gaugeblock.cuda.driver.protocol import DriverError, DriverOutOfMemory
from gaugeblock_testing.cuda_simulator import SimulatedDriver

STATUS = {"cudaErrorInvalidValue": 1, "cudaErrorMemoryAllocation": 2, "cudaErrorNotReady": 600}
LOW_NAMES = {
    "cudaErrorInvalidPtx": "CUDA_ERROR_INVALID_PTX", "cudaErrorInvalidConfiguration": "CUDA_ERROR_INVALID_VALUE",
    "cudaErrorInvalidValue": "CUDA_ERROR_INVALID_VALUE", "cudaErrorSymbolNotFound": "CUDA_ERROR_NOT_FOUND",
}  # fmt: skip
"""The runtime's names of errors, and the driver library's."""
CONSTANTS = {
    "memcpyHostToDevice": 1, "memcpyDeviceToHost": 2, "memcpyDefault": 4, "eventDisableTiming": 2,
    "hostAllocPortable": 1,
}  # fmt: skip
RUNTIME = """
    check_status(int status)
    deviceSynchronize()
    eventCreateWithFlags(unsigned int flags) -> intptr_t
    eventDestroy(intptr_t event)
    eventElapsedTime(intptr_t start, intptr_t end) -> float
    eventQuery(intptr_t event)
    eventRecord(intptr_t event, intptr_t stream)
    eventSynchronize(intptr_t event)
    free(intptr_t ptr)
    freeHost(intptr_t ptr)
    getDevice() -> int
    getDeviceCount() -> int
    getDeviceProperties(int device)
    graphDestroy(intptr_t graph)
    graphExecDestroy(intptr_t graphExec)
    graphInstantiate(intptr_t graph) -> intptr_t
    graphLaunch(intptr_t graphExec, intptr_t stream)
    hostAlloc(size_t size, unsigned int flags) -> intptr_t
    malloc(size_t size) -> intptr_t
    memGetInfo()
    memcpyAsync(intptr_t dst, intptr_t src, size_t size, int kind, intptr_t stream)
    memsetAsync(intptr_t ptr, int value, size_t size, intptr_t stream)
    setDevice(int device)
    streamBeginCapture(intptr_t stream, int mode=streamCaptureModeRelaxed)
    streamDestroy(intptr_t stream)
    streamEndCapture(intptr_t stream) -> intptr_t
    streamIsCapturing(intptr_t stream) -> bool
    streamQuery(intptr_t stream)
    streamSynchronize(intptr_t stream)
    streamWaitEvent(intptr_t stream, intptr_t event, unsigned int flags=0)
"""
LOW = """
    launchKernel(intptr_t f, unsigned int grid_dim_x, unsigned int grid_dim_y, unsigned int grid_dim_z, \
unsigned int block_dim_x, unsigned int block_dim_y, unsigned int block_dim_z, unsigned int shared_mem_bytes, \
intptr_t stream, intptr_t kernel_params, intptr_t extra)
    moduleGetFunction(intptr_t module, str funcname) -> intptr_t
    moduleLoadData(bytes image) -> intptr_t
    moduleUnload(intptr_t module)
"""
"""What the driver calls, as CuPy itself describes it, in the versions from 13.6 to 14.2."""
INTS = {
    "int": (-(1 << 31), 1 << 31), "unsigned int": (0, 1 << 32), "size_t": (0, 1 << 64),
    "intptr_t": (-(1 << 63), 1 << 63),
}  # fmt: skip
RESULTS = {"intptr_t": int, "int": int, "float": float, "bool": bool, "": object}


class Signature(NamedTuple):
    """The C types of a call's parameters, how many may be left out, and the type of what it gives."""

    types: tuple[str, ...]
    optional: int
    result: str


def signatures(text: str) -> dict[str, Signature]:
    """The calls of lines such as ``malloc(size_t size) -> intptr_t``."""
    found = {}
    for name, inner, result in re.findall(r"(\w+)\((.*?)\)(?: -> (\w+))?$", text, re.MULTILINE):
        parameters = [part.strip() for part in inner.split(",") if part.strip()]
        types = tuple(part.rpartition(" ")[0].replace("unicode", "str") for part in parameters)
        found[name] = Signature(types, sum("=" in part for part in parameters), result)
    return found


class CUDADriverError(RuntimeError):
    """As CuPy's for the driver library: its name of the error, a colon, what it means."""

    def __init__(self, code: str) -> None:
        super().__init__(f"{LOW_NAMES[code]}: what it means")


class CUDARuntimeError(RuntimeError):
    """As CuPy's: the name of the error, a colon, what it means."""

    def __init__(self, code: str) -> None:
        super().__init__(f"{code}: what it means")
        self.status = STATUS.get(code, 999)


def strict(function: Callable[..., Any], signature: Signature, failure: type[RuntimeError]) -> Callable[..., Any]:
    """A call of CuPy: positional arguments that C takes, and its own errors."""

    def call(*arguments: Any) -> Any:
        needed = len(signature.types) - signature.optional
        if not needed <= len(arguments) <= len(signature.types):
            raise TypeError(f"{function.__name__}() takes {len(signature.types)} arguments ({len(arguments)} given)")
        for argument, kind in zip(arguments, signature.types, strict=False):
            _check(function.__name__, argument, kind)
        try:
            result = function(*arguments)
        except DriverError as error:
            raise failure(error.code) from None
        assert isinstance(result, RESULTS[signature.result]), (function.__name__, result)
        return result

    return call


def _check(name: str, argument: Any, kind: str) -> None:
    """Raise what Cython raises for what C does not take."""
    if kind in INTS:
        least, end = INTS[kind]
        if not least <= operator.index(argument) < end:
            raise OverflowError(f"{name}: {argument} is no {kind}")
    elif type(argument).__name__ != kind:
        raise TypeError(f"{name}: expected {kind}, got {type(argument).__name__}")


class FakeCupy:
    """cupy.cuda.runtime and cupy.cuda.driver over a simulated driver."""

    def __init__(self, driver: SimulatedDriver) -> None:
        self.driver = driver
        self.current: dict[Any, int] = {}
        self.last_error = 0
        self.runtime = SimpleNamespace(**CONSTANTS, **self._calls(RUNTIME, CUDARuntimeError))
        self.low = SimpleNamespace(**self._calls(LOW, CUDADriverError))

    def _calls(self, text: str, failure: type[RuntimeError]) -> dict[str, Callable[..., Any]]:
        return {name: strict(getattr(self, name), found, failure) for name, found in signatures(text).items()}

    def getDeviceCount(self) -> int:
        return self.driver.device_count()

    def getDevice(self) -> int:
        return self.current.get(get_ident(), 0)

    def setDevice(self, device: int) -> None:
        self.current[get_ident()] = device

    def check_status(self, status: int) -> None:
        if status:
            self.last_error = 0
            raise CUDARuntimeError(
                next((name for name, number in STATUS.items() if number == status), "cudaErrorUnknown")
            )

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        return {
            "name": b"Fake H100", "totalGlobalMem": self.driver.properties(device).total_memory, "major": 9, "minor": 0,
            "multiProcessorCount": 132,
            "maxThreadsPerMultiProcessor": 2048, "maxThreadsPerBlock": 1024, "sharedMemPerBlock": 49152, "warpSize": 32,
        }  # fmt: skip

    def malloc(self, size: int) -> int:
        return self.driver.malloc(self.getDevice(), size)

    def free(self, pointer: int) -> None:
        self.driver.free(self.getDevice(), pointer)

    def memGetInfo(self) -> tuple[int, int]:
        return self.driver.mem_info(self.getDevice())

    def hostAlloc(self, size: int, flags: int) -> int:
        assert flags == 1
        return self.driver.host_malloc(size)

    def freeHost(self, pointer: int) -> None:
        self.driver.host_free(pointer)

    def memcpyAsync(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        names = {1: "h2d", 2: "d2h", 4: "d2d"}
        self.driver.memcpy(self.getDevice(), to, source, size, names[kind], stream)  # type: ignore[arg-type]

    def memsetAsync(self, to: int, value: int, size: int, stream: int) -> None:
        self.driver.memset(self.getDevice(), to, value, size, stream)

    def streamDestroy(self, stream: int) -> None:
        self.driver.stream_destroy(self.getDevice(), stream)

    def streamQuery(self, stream: int) -> int:
        try:
            self.last_error = 0 if self.driver.stream_query(self.getDevice(), stream) else 600
            return self.last_error
        except DriverError:
            return 999

    def streamSynchronize(self, stream: int) -> None:
        self.driver.stream_synchronize(self.getDevice(), stream)

    def deviceSynchronize(self) -> None:
        self.driver.synchronize(self.getDevice())

    def streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        self.driver.stream_wait_event(self.getDevice(), stream, event)

    def streamBeginCapture(self, stream: int, mode: int = 2) -> None:
        assert mode == 2
        self.driver.capture_begin(self.getDevice(), stream)

    def streamEndCapture(self, stream: int) -> int:
        return self.driver.capture_end(self.getDevice(), stream)

    def streamIsCapturing(self, stream: int) -> bool:
        return self.driver.capture_of(self.getDevice(), stream) != 0

    def graphInstantiate(self, graph: int) -> int:
        return graph

    def graphDestroy(self, graph: int) -> None:
        """What was instantiated stays."""

    def graphExecDestroy(self, graph: int) -> None:
        self.driver.graph_destroy(self.getDevice(), graph)

    def graphLaunch(self, graph: int, stream: int) -> None:
        self.driver.graph_launch(self.getDevice(), graph, stream)

    def eventCreateWithFlags(self, flags: int) -> int:
        return self.driver.event_create(self.getDevice(), timing=not flags & 2)

    def eventDestroy(self, event: int) -> None:
        self.driver.event_destroy(self.getDevice(), event)

    def eventRecord(self, event: int, stream: int) -> None:
        self.driver.event_record(self.getDevice(), event, stream)

    def eventQuery(self, event: int) -> int:
        self.last_error = 0 if self.driver.event_query(self.getDevice(), event) else 600
        return self.last_error

    def eventSynchronize(self, event: int) -> None:
        self.driver.event_synchronize(self.getDevice(), event)

    def eventElapsedTime(self, start: int, end: int) -> float:
        return self.driver.event_elapsed(self.getDevice(), start, end)

    def moduleLoadData(self, image: bytes) -> int:
        assert image.endswith(b"\0")
        return self.driver.module_load(self.getDevice(), image)

    def moduleUnload(self, module: int) -> None:
        self.driver.module_unload(self.getDevice(), module)

    def moduleGetFunction(self, module: int, name: str) -> int:
        return self.driver.module_function(self.getDevice(), module, name)

    def launchKernel(self, function: int, *rest: int) -> None:
        grid, block, (shared, stream, parameters, extra) = rest[:3], rest[3:6], rest[6:]
        assert extra == 0
        addresses = (ctypes.c_void_p * 2).from_address(parameters)
        arguments = (ctypes.c_uint64.from_address(addresses[0]), ctypes.c_uint32.from_address(addresses[1]))
        copied = (ctypes.c_uint64(arguments[0].value), ctypes.c_uint32(arguments[1].value))
        self.driver.launch(self.getDevice(), function, grid, block, shared, stream, copied)  # type: ignore[arg-type]


class FakeLibrary:
    """libcuda's calls over a simulated driver, with pointers as C has them."""

    def __init__(self, fake: FakeCupy) -> None:
        for name in FUNCTIONS:
            setattr(self, name, self._function(getattr(self, "_" + name), fake))

    @staticmethod
    def _function(body: Callable[..., None], fake: FakeCupy) -> Any:
        def call(*arguments: Any) -> int:
            values = [getattr(argument, "_obj", argument) for argument in arguments]
            try:
                body(fake.driver, fake.getDevice(), *values)
            except DriverOutOfMemory:
                return 2
            except DriverError:
                return 1
            return 0

        return call

    def _cuGetErrorName(self, driver: SimulatedDriver, device: int, status: int, text: Any) -> None:
        text.value = b"CUDA_ERROR_INVALID_VALUE"

    def _cuCtxGetStreamPriorityRange(self, driver: SimulatedDriver, device: int, lowest: Any, highest: Any) -> None:
        lowest.value, highest.value = driver.stream_priority_range(device)

    def _cuStreamCreateWithPriority(
        self, driver: SimulatedDriver, device: int, found: Any, flags: int, priority: int
    ) -> None:
        assert flags == 1
        found.value = driver.stream_create(device, priority)

    def _cuMemGetAllocationGranularity(
        self, driver: SimulatedDriver, device: int, found: Any, asked: AllocationProperties, option: int
    ) -> None:
        found.value = driver.granularity(asked.location.id)

    def _cuMemAddressReserve(
        self, driver: SimulatedDriver, device: int, found: Any, size: int, alignment: int, at: int, flags: int
    ) -> None:
        found.value = driver.address_reserve(device, size)

    def _cuMemAddressFree(self, driver: SimulatedDriver, device: int, address: int, size: int) -> None:
        driver.address_free(device, address, size)

    def _cuMemCreate(
        self, driver: SimulatedDriver, device: int, found: Any, size: int, asked: AllocationProperties, flags: int
    ) -> None:
        assert (asked.type, asked.handle_types, asked.location.type) == (1, 0, 1)
        found.value = driver.memory_create(asked.location.id, size)

    def _cuMemRelease(self, driver: SimulatedDriver, device: int, handle: int) -> None:
        driver.memory_release(device, handle)

    def _cuMemMap(
        self, driver: SimulatedDriver, device: int, address: int, size: int, offset: int, handle: int, flags: int
    ) -> None:
        driver.memory_map(device, address, size, handle)

    def _cuMemSetAccess(
        self, driver: SimulatedDriver, device: int, address: int, size: int, asked: AccessDescription, count: int
    ) -> None:
        assert (asked.location.type, asked.location.id, asked.flags, count) == (1, device, 3, 1)
        if driver.faults.event_call():
            raise DriverError("no access")

    def _cuMemUnmap(self, driver: SimulatedDriver, device: int, address: int, size: int) -> None:
        driver.memory_unmap(device, address, size)
