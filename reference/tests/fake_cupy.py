"""A fake of CuPy that keeps its names, signatures and errors, and of libcuda, over a simulated driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import get_ident
from types import SimpleNamespace
from typing import Any

from gaugeblock.cuda.driver.cupy.cuda_library import FUNCTIONS, AccessDescription, AllocationProperties
from gaugeblock.cuda.driver.protocol import DriverError, DriverOutOfMemory
from gaugeblock.cuda.driver.simulated.simulated_driver import SimulatedDriver

STATUS = {"cudaErrorInvalidValue": 1, "cudaErrorMemoryAllocation": 2, "cudaErrorNotReady": 600}
RUNTIME = """check_status deviceSynchronize eventCreateWithFlags eventDestroy eventDisableTiming eventElapsedTime
    eventQuery eventRecord eventSynchronize free freeHost getDevice getDeviceCount getDeviceProperties hostAlloc
    hostAllocPortable malloc memGetInfo memcpyAsync memcpyDefault memcpyDeviceToHost memcpyHostToDevice memsetAsync
    setDevice streamCreateWithPriority streamDestroy streamNonBlocking streamQuery streamSynchronize
    streamWaitEvent streamBeginCapture streamEndCapture streamIsCapturing graphInstantiate graphDestroy
    graphExecDestroy graphLaunch""".split()
DRIVER = "launchKernel moduleGetFunction moduleLoadData moduleUnload".split()
"""The names of CuPy that the driver uses."""


class CUDARuntimeError(RuntimeError):
    """As CuPy's: the name of the error, a colon, what it means."""

    def __init__(self, code: str) -> None:
        super().__init__(f"{code}: what it means")
        self.status = STATUS.get(code, 999)


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """A call of CuPy: positional ints (bytes, str), and its own errors."""

    def call(*arguments: Any) -> Any:
        assert all(type(argument) in (int, bytes, str) for argument in arguments), arguments
        try:
            return function(*arguments)
        except DriverError as error:
            raise CUDARuntimeError(error.code) from None

    return call


class FakeCupy:
    """cupy.cuda.runtime and cupy.cuda.driver over a simulated driver."""

    def __init__(self, driver: SimulatedDriver) -> None:
        self.driver = driver
        self.current: dict[Any, int] = {}
        names = {name: getattr(self, name) for name in dir(self) if not name.startswith("_") and name != "current"}
        values = {name: value for name, value in names.items() if not callable(value) and name != "driver"}
        calls = {name: strict(value) for name, value in names.items() if callable(value)}
        self.runtime = SimpleNamespace(**values, **{name: call for name, call in calls.items() if name not in DRIVER})
        self.low = SimpleNamespace(**{name: calls[name] for name in DRIVER})

    memcpyHostToDevice, memcpyDeviceToHost, memcpyDefault = 1, 2, 4
    streamNonBlocking, eventDisableTiming, hostAllocPortable = 1, 2, 1

    def getDeviceCount(self) -> int:
        return self.driver.device_count()

    def getDevice(self) -> int:
        return self.current.get(get_ident(), 0)

    def setDevice(self, device: int) -> None:
        self.current[get_ident()] = device

    def check_status(self, status: int) -> None:
        if status:
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

    def streamCreateWithPriority(self, flags: int, priority: int) -> int:
        assert flags == 1
        return self.driver.stream_create(self.getDevice(), priority)

    def streamDestroy(self, stream: int) -> None:
        self.driver.stream_destroy(self.getDevice(), stream)

    def streamQuery(self, stream: int) -> int:
        try:
            return 0 if self.driver.stream_query(self.getDevice(), stream) else 600
        except DriverError:
            return 999

    def streamSynchronize(self, stream: int) -> None:
        self.driver.stream_synchronize(self.getDevice(), stream)

    def deviceSynchronize(self) -> None:
        self.driver.synchronize(self.getDevice())

    def streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        self.driver.stream_wait_event(self.getDevice(), stream, event)

    def streamBeginCapture(self, stream: int, mode: int) -> None:
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
        return 0 if self.driver.event_query(self.getDevice(), event) else 600

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
