"""The calls of :mod:`..backend_allocator` for the engine's caching allocator, each over a driver of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..backend import Unsupported
from ..backend_allocator import CALLS, Machine, Pointer
from .watched_driver import WatchedDriver

CAPABILITIES = frozenset(
    """alloc.reuse alloc.caching alloc.caching.config alloc.streams alloc.faults alloc.expandable alloc.pools
    alloc.history""".split()
)
MEMORY = 64 << 30
# Calls of the allocator's under their own names, without arguments.
_PLAIN = frozenset(
    """empty_cache memory_stats memory_snapshot memory_summary reset_peak_memory_stats
    reset_accumulated_memory_stats""".split()
)


@dataclass(eq=False)
class Stream:
    """A stream of an allocator's device."""

    number: int


class Allocating:
    """Answers the allocator's calls. ``module`` is the engine; ``device`` says where its tensors lie."""

    def __init__(self, module: Any, device: str) -> None:
        self.module = module
        self.device = device

    def resolve(self, operator: str) -> Callable[..., Any]:
        """The function behind a name of the table."""
        assert operator in CALLS
        if operator in _PLAIN:
            return lambda allocator: getattr(allocator, operator)()
        found: Callable[..., Any] = getattr(self, operator)
        return found

    def allocator(self, machine: Machine) -> Any:
        cuda = importlib.import_module(f"{self.module.__name__}.cuda.allocator.caching_allocator")
        return cuda.CachingAllocator(self._driver(machine.memory or MEMORY), 0, machine.config)

    def _driver(self, memory: int) -> WatchedDriver:
        folder = f"{self.module.__name__}.cuda"
        refused = importlib.import_module(f"{folder}.driver.protocol").DriverOutOfMemory
        if self.device.startswith("cuda"):
            own = importlib.import_module(f"{folder}.devices").runtime().driver
            if own.name == "cupy":
                return WatchedDriver(own, memory, refused)
        simulated = importlib.import_module("gaugeblock_testing.cuda_simulator").SimulatedDriver
        return WatchedDriver(simulated(devices=2, total_memory=memory, backed=False), memory, refused)

    def allocator_beside(self, allocator: Any) -> Any:
        if allocator.driver.device_count() < 2:
            raise Unsupported("allocator_beside", "there is one device")
        return type(allocator)(allocator.driver, 1)

    def malloc(self, allocator: Any, size: int, stream: Stream | None = None) -> Pointer:
        return Pointer(allocator.malloc(size, 0 if stream is None else stream.number))

    def free(self, allocator: Any, pointer: Pointer) -> None:
        allocator.free(int(pointer))

    def bytes_in_use(self, allocator: Any) -> int:
        return int(allocator.memory_stats()["allocated_bytes.all.current"])

    def bytes_held(self, allocator: Any) -> int:
        return int(allocator.memory_stats()["reserved_bytes.all.current"])

    def set_memory_fraction(self, allocator: Any, fraction: float) -> None:
        allocator.set_memory_fraction(fraction)

    def new_stream(self, allocator: Any) -> Stream:
        return Stream(allocator.driver.stream_create(allocator.device))

    def stream_number(self, stream: Stream) -> int:
        return stream.number

    def occupy(self, allocator: Any, stream: Stream) -> None:
        allocator.driver.hold(allocator.device, stream.number)

    def finish(self, allocator: Any, stream: Stream) -> None:
        allocator.driver.let_go(allocator.device, stream.number)

    def record_stream(self, allocator: Any, pointer: Pointer, stream: Stream) -> None:
        allocator.record_stream(int(pointer), stream.number)

    def fail_mallocs(self, allocator: Any, count: int) -> None:
        allocator.driver.refusals = count

    def device_log(self, allocator: Any) -> tuple[Any, ...]:
        driver = allocator.driver
        log, driver.log = tuple(driver.log), []
        return log

    def create_pool(self, allocator: Any) -> Any:
        return Pool(allocator.create_pool())

    def enter_pool(self, allocator: Any, pool: Pool) -> None:
        allocator.begin_allocate_to_pool(pool.id, lambda stream: True)

    def leave_pool(self, allocator: Any, pool: Pool) -> None:
        allocator.end_allocate_to_pool(pool.id)
        allocator.release_pool(pool.id)

    def release_pool(self, allocator: Any, pool: Pool) -> None:
        allocator.release_pool(pool.id)

    def record_history(self, allocator: Any, enabled: bool) -> None:
        allocator.record_memory_history("all" if enabled else None)

    def memory_history(self, allocator: Any) -> list[dict[str, Any]]:
        traces = allocator.snapshot()["device_traces"]
        return [entry for entry in traces[allocator.device] if entry["action"] != "snapshot"]

    def tensor_stats(self) -> dict[str, int]:
        return dict(self._memory().memory_stats())

    def empty_tensor_cache(self) -> None:
        self._memory().empty_cache()

    def _memory(self) -> Any:
        if not self.device.startswith("cuda"):
            raise Unsupported("tensor_stats", f"tensors on {self.device} do not lie in a caching allocator")
        return self.module.cuda


@dataclass(eq=False)
class Pool:
    """A private pool, by its id."""

    id: Any
