"""Pinned host memory that is kept and given out again: blocks of powers of two that wait for the streams using them.

Its figures have the names of torch.cuda.host_memory_stats. Tensors of the CPU may lie in it.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from threading import RLock
from time import perf_counter_ns
from typing import Any

from ..core.device import cpu
from ..core.errors import check_int
from ..core.fork_safety import fork_safe
from ..memory.storage import Storage, allocate_storage
from ..operators.copy import copy_values
from ..tensor.tensor import Tensor, make_tensor
from ..tensor.tensor_meta import TensorMeta, extent, without_autograd
from .allocator.allocator_config import VARIABLE, AllocatorConfig
from .allocator.statistics import Stat, flattened
from .devices import DeviceMemory, get_driver
from .driver.protocol import Driver, DriverError


class Duration:
    """The time that calls took, in microseconds."""

    __slots__ = ("count", "max", "min", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = self.max = self.min = 0.0

    def add(self, nanoseconds: int) -> None:
        """Count a call."""
        microseconds = nanoseconds / 1000
        self.max = max(self.max, microseconds)
        self.min = microseconds if not self.count else min(self.min, microseconds)
        self.total += microseconds
        self.count += 1

    def as_dict(self) -> dict[str, float]:
        """Total, longest, shortest, number and mean."""
        mean = self.total / self.count if self.count else 0.0
        return {"total": self.total, "max": self.max, "min": self.min, "count": self.count, "avg": mean}


class PinnedStatistics:
    """`allocations` and `allocated_bytes` are blocks held from the driver, `active_*` those not free for others."""

    def __init__(self) -> None:
        names = ("allocations", "allocated_bytes", "active_requests", "active_bytes")
        self.figures = {name: Stat() for name in names}
        self.times = {name: Duration() for name in ("host_alloc_time", "host_free_time")}

    def held(self, count: int, size: int, nanoseconds: int) -> None:
        """The driver gave a block, or has one back for a `count` of -1."""
        self.figures["allocations"].add(count)
        self.figures["allocated_bytes"].add(count * size)
        self.times["host_alloc_time" if count > 0 else "host_free_time"].add(nanoseconds)

    def active(self, count: int, size: int) -> None:
        """A block is in use, or free for others for a `count` of -1."""
        self.figures["active_requests"].add(count)
        self.figures["active_bytes"].add(count * size)

    def nested(self) -> dict[str, Any]:
        """Every figure by name and kind."""
        held = self.figures["allocations"]
        figures: list[tuple[str, Any]] = [*self.figures.items(), *self.times.items()]
        found: dict[str, Any] = {name: one.as_dict() for name, one in figures}
        return found | {"num_host_alloc": held.allocated, "num_host_free": held.freed}

    def reset_peak(self) -> None:
        """Let every peak be the current value, and the longest and shortest time be 0."""
        for figure in self.figures.values():
            figure.peak = figure.current
        for duration in self.times.values():
            duration.max = duration.min = 0.0

    def reset_accumulated(self) -> None:
        """Let what was allocated and freed, and the times, begin at 0."""
        for figure in self.figures.values():
            figure.allocated = figure.freed = 0
        self.times = {name: Duration() for name in self.times}


class _Block:
    """A pinned block; `users` are the (device, stream) that use it, `waiting` how many events it waits for."""

    __slots__ = ("address", "live", "size", "users", "waiting")

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size
        self.live = True
        self.users: set[tuple[int, int]] = set()
        self.waiting = 0


class PinnedMemory:
    """The caching allocator of a driver's pinned memory; all calls may come from any thread.

    A request is rounded up to a power of two, unless it is above `round_limit` bytes, and served by a free block of
    exactly that size. Freed blocks above `cache_limit` bytes go back to the driver, as all do that
    are free in empty_cache. Blocks are never split.
    """

    def __init__(self, driver: Driver, *, round_limit: int | None = None, cache_limit: int | None = None) -> None:
        self.driver = driver
        self.round_limit = round_limit
        self.cache_limit = cache_limit
        self.figures = PinnedStatistics()
        self._lock = fork_safe(RLock())
        self._blocks: dict[int, _Block] = {}
        self._free: dict[int, list[_Block]] = {}
        self._queues: dict[tuple[int, int], deque[tuple[int, _Block]]] = {}
        self._events: dict[int, list[int]] = {}
        self._resets: dict[int, int] = {}
        self._untold: list[_Block] = []

    def block_size(self, nbytes: int) -> int:
        """The bytes of the block that serves a request."""
        for limit in (self.round_limit, self.cache_limit):
            if limit is not None and nbytes > limit:
                return nbytes
        return 1 << (nbytes - 1).bit_length()

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` pinned bytes, 0 for none. Raises DriverOutOfMemory."""
        wanted = check_int("PinnedMemory.allocate", "nbytes", nbytes)
        if wanted < 0:
            raise DriverError(f"PinnedMemory.allocate(): argument 'nbytes' must not be negative, got {wanted}")
        if not wanted:
            return 0
        with self._lock:
            self.process_events()
            size = self.block_size(wanted)
            free = self._free.get(size)
            if free:
                block = free.pop()
                block.live = True
            else:
                block = self._grow(size)
            self.figures.active(1, size)
            return block.address

    def _grow(self, size: int) -> _Block:
        start = perf_counter_ns()
        block = _Block(self.driver.host_malloc(size), size)
        self._blocks[block.address] = block
        self.figures.held(1, size, perf_counter_ns() - start)
        return block

    def free(self, address: int, nbytes: int = 0) -> None:
        """Take back a block; it is given out again once the streams that used it are done. Nothing happens for 0.

        Raises DriverError for what is no block in use. What goes wrong on a device does not matter: the block waits
        until it can be told that the device is done with it.
        """
        with self._lock:
            if not address and type(address) is int:
                return
            block = self._in_use("free", address)
            block.live = False
            if block.users:
                self._untold.append(block)
                self._forget_resets()
                self._tell()
            else:
                self._keep(block)

    def _tell(self) -> None:
        """Record an event behind the present work of each stream that used a block, or wait for its device instead."""
        blocks, self._untold = self._untold, []
        for block in blocks:
            while block.users:
                device, stream = user = max(block.users)
                try:
                    event = self._record(device, stream)
                    if event is None:
                        self.driver.synchronize(device)
                except DriverError:
                    self._untold.append(block)
                    break
                block.users.remove(user)
                if event is not None:
                    block.waiting += 1
                    self._queues.setdefault(user, deque()).append((event, block))
            else:
                if not block.waiting:
                    self._keep(block)

    def _record(self, device: int, stream: int) -> int | None:
        """An event behind what the stream has now, None when there is none to be had."""
        idle = self._events.setdefault(device, [])
        event = None
        try:
            event = idle.pop() if idle else self.driver.event_create(device)
            self.driver.event_record(device, event, stream)
        except DriverError:
            if event is not None:
                idle.append(event)
            return None
        return event

    def _keep(self, block: _Block) -> None:
        self.figures.active(-1, block.size)
        if self.cache_limit is not None and block.size > self.cache_limit:
            self._release(block)
        else:
            self._free.setdefault(block.size, []).append(block)

    def _release(self, block: _Block) -> None:
        start = perf_counter_ns()
        self.driver.host_free(block.address)
        del self._blocks[block.address]
        self.figures.held(-1, block.size, perf_counter_ns() - start)

    def _in_use(self, method: str, address: object) -> _Block:
        given = check_int(f"PinnedMemory.{method}", "address", address)
        block = self._blocks.get(given)
        if block is None or not block.live:
            raise DriverError(
                f"PinnedMemory.{method}(): argument 'address' must be the start of a pinned block in use, "
                f"got {given:#x}"
            )
        return block

    def record_stream(self, address: int, device: int, stream: int) -> None:
        """Let a block wait, once it is freed, for what the stream has by then. DriverError for no block in use."""
        with self._lock:
            self._in_use("record_stream", address).users.add((device, stream))

    def owns(self, address: int) -> bool:
        """Return whether a block in use starts there."""
        block = self._blocks.get(address)
        return block is not None and block.live

    def process_events(self) -> None:
        """Take back the blocks that no stream uses any more; of each stream, in the order they were freed."""
        with self._lock:
            self._forget_resets()
            self._tell()
            for user in list(self._queues):
                device, queue = user[0], self._queues[user]
                while queue and self.driver.event_query(device, queue[0][0]):
                    self._completed(device, queue)

    def _forget_resets(self) -> None:
        """Nothing waits for a device that was reset since: its events are gone, and so is its work."""
        resets: dict[int, int] = getattr(self.driver, "resets", {})
        for device, events in self._events.items():
            if resets.get(device, 0) == self._resets.get(device, 0):
                continue
            self._resets[device] = resets[device]
            for user, queue in self._queues.items():
                while user[0] == device and queue:
                    self._completed(device, queue)
            events.clear()

    def _completed(self, device: int, queue: deque[tuple[int, _Block]]) -> None:
        event, block = queue.popleft()
        self._events[device].append(event)
        block.waiting -= 1
        if not block.waiting and not block.users:
            self._keep(block)

    def empty_cache(self) -> None:
        """Give every free block back to the driver, and the events that nothing waits for."""
        with self._lock:
            self.process_events()
            for blocks in self._free.values():
                while blocks:
                    self._release(blocks[-1])
                    blocks.pop()
            self._free.clear()
            for device, events in self._events.items():
                while events:
                    with suppress(DriverError):
                        self.driver.event_destroy(device, events[-1])
                    events.pop()

    def check_invariants(self) -> None:
        """AssertionError where blocks and figures do not fit together."""
        with self._lock:
            waiting = [block for queue in self._queues.values() for _, block in queue]
            free = [block for blocks in self._free.values() for block in blocks]
            live = [block for block in self._blocks.values() if block.live]
            everywhere = (*waiting, *self._untold, *free, *live)
            assert len({id(block) for block in everywhere}) == len(self._blocks), "a block is nowhere"
            for block in waiting:
                assert block.waiting == waiting.count(block) and not block.live, "a block waits for other events"
            assert all(not block.live and not block.waiting for block in free), "a free block is in use"
            assert all(block.size == size for size, blocks in self._free.items() for block in blocks), "a wrong list"
            figures = flattened(self.figures.nested())
            blocks = list(self._blocks.values())
            active = [block for block in blocks if block.live or block.waiting or block.users]
            for name, members in (("allocations", blocks), ("active_requests", active)):
                assert figures[f"{name}.current"] == len(members), name
            for name, members in (("allocated_bytes", blocks), ("active_bytes", active)):
                assert figures[f"{name}.current"] == sum(block.size for block in members), name


_latest: list[PinnedMemory] = []
_making = fork_safe(RLock())


def pinned_memory() -> PinnedMemory:
    """The pinned memory of the driver in use, with the limits of the allocator's setting in the environment.
    RuntimeError when there is no driver, ValueError for a setting that cannot be read."""
    driver = get_driver()
    with _making:
        if not _latest or _latest[0].driver is not driver:
            config = AllocatorConfig.of(os.environ.get(VARIABLE, ""))
            limits = (config.pinned_max_round_threshold, config.pinned_max_cached_size)
            _latest[:] = [PinnedMemory(driver, round_limit=limits[0], cache_limit=limits[1])]
        return _latest[0]


def host_memory_stats() -> dict[str, float]:
    """The figures of pinned memory under torch's names, such as "active_bytes.peak"; times in microseconds."""
    return flattened(pinned_memory().figures.nested())


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """host_memory_stats as dictionaries in a dictionary."""
    return pinned_memory().figures.nested()


def reset_peak_host_memory_stats() -> None:
    """Let the peaks begin at what there is now."""
    pinned_memory().figures.reset_peak()


def reset_accumulated_host_memory_stats() -> None:
    """Let what has been allocated and freed begin at 0, and the times."""
    pinned_memory().figures.reset_accumulated()


def pinned_storage(nbytes: int) -> Storage:
    """A fresh host storage of pinned memory. RuntimeError without a driver."""
    memory = pinned_memory()
    storage = allocate_storage(0)
    if nbytes:
        storage._pointer = memory.allocate(nbytes)
        storage.allocator = memory
        storage._nbytes = nbytes
    return storage


def is_pinned_storage(storage: Storage) -> bool:
    """Return whether the bytes of a storage are pinned."""
    return isinstance(storage.allocator, PinnedMemory)


def used_on_stream(storage: Storage, device: int, stream: int) -> None:
    """Let the block of a pinned storage wait, once it is free, for what the stream has by then."""
    if isinstance(storage.allocator, PinnedMemory):
        storage.allocator.record_stream(storage.pointer, device, stream)


def pinned_empty(meta: TensorMeta) -> Tensor:
    """A fresh tensor of a CPU meta in pinned memory, contents undefined. RuntimeError without a driver."""
    elements = extent(meta.sizes, meta.strides) if meta.numel else 0
    return make_tensor(meta, pinned_storage(elements * meta.dtype.itemsize), 0, None)


def pinned_copy(self: Tensor) -> Tensor:
    """`self` if it is pinned, else a copy in pinned memory with the same strides. RuntimeError unless on the CPU."""
    meta = without_autograd(self.meta)
    if meta.device is not cpu:
        raise RuntimeError(f"pin_memory(): cannot pin a tensor on {meta.device}, only CPU tensors can be pinned")
    if is_pinned_storage(self.storage_impl):
        return self
    made = pinned_empty(meta)
    copy_values(made, self)
    return made


def record_stream(self: Tensor, stream: object) -> None:
    """Let the block of a tensor's storage, once it is free, wait for what `stream` has by then. Raises RuntimeError for
    a tensor that is not on a CUDA device, TypeError for what is no stream."""
    from .streams import Stream

    if not isinstance(stream, Stream):
        raise TypeError(f"record_stream(): argument 's' must be Stream, not {type(stream).__name__}")
    memory = self.storage_impl.allocator
    if isinstance(memory, DeviceMemory):
        memory.allocator.record_stream(self.storage_impl.pointer, stream.cuda_stream)
    elif self.meta.device.type != "cuda":
        raise RuntimeError(f"record_stream(): argument 'self' must be on a CUDA device, got {self.meta.device}")
