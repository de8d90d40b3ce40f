"""Replay of a trace: the same requests, in the same order, on the caching allocator under another configuration.

The device is a simulated one whose pointers are numbers, so that any size of device can be asked about. Where the trace
says that another stream still used a freed block, a stream of the device is busy with it until the trace's event
COMPLETED, and the block is recorded for that stream; synchronising waits for it, as on a GPU.
A request that fails is counted and left out, together with its free, and the replay goes on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from gaugeblock.cuda.allocator.allocator_config import AllocatorConfig
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError

from ..problem import ConfigProblem
from .fragmentation import Fragmentation, fragmentation_of
from .replay_device import ReplayDevice
from .shortage import Shortage, shortage_of
from .snapshot import Segment
from .snapshot_shape import checked
from .trace import ALLOC, ATTEMPT, DEFAULT_POOL, EMPTY_CACHE, FREE, RECORD_STREAM, Trace


@dataclass(frozen=True)
class Replay:
    """What a replay came to; sizes in bytes.

    `peak_event` is the event at which most was reserved, and `at_peak` the state after it. `attempts` counts requests
    that had failed when the trace was recorded, `attempts_fit` those among them that are served here; `out_of_memory`
    counts all failures, those attempts included, and `first` tells of the first one.
    """

    config: str
    device_memory: int | None
    events: int
    seconds: float
    peak_requested: int
    peak_allocated: int
    peak_active: int
    peak_reserved: int
    peak_event: int
    at_peak: Fragmentation
    device_mallocs: int
    device_frees: int
    retries: int
    out_of_memory: int
    attempts: int
    attempts_fit: int
    first: Shortage | None
    notes: list[str] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        """Return whether every request was served."""
        return self.out_of_memory == 0

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds if self.seconds else 0.0


def replay(trace: Trace, config: str = "", device_memory: int | None = None, mode: str = "fixed") -> Replay:
    """Replay a trace under a configuration (the text of PYTORCH_CUDA_ALLOC_CONF) on a device of so many bytes; None is
    a device without limit. `seconds` is the time of the replay itself.

    Raises:
        ConfigProblem: the configuration is not one; the message is the allocator's.
    """
    return replayed(trace, config, device_memory, mode)[0]


def replayed(
    trace: Trace, config: str = "", device_memory: int | None = None, mode: str = "fixed"
) -> tuple[Replay, list[tuple[int, int]], list[Segment]]:
    """As `replay`, with the memory reserved (pairs of an event and the bytes from it on) and the segments after the
    event at which most was reserved."""
    run = _Run(trace, config, device_memory, mode)
    started = time.perf_counter()
    run.to(len(trace))
    seconds = time.perf_counter() - started
    stats = run.allocator.memory_stats()
    again = run
    if run.peak_event < len(trace) - 1:
        again = _Run(trace, config, device_memory, mode)
        again.to(run.peak_event + 1)
    segments = again.segments()
    result = Replay(
        config=config,
        device_memory=device_memory,
        events=len(trace),
        seconds=seconds,
        peak_requested=stats["requested_bytes.all.peak"],
        peak_allocated=stats["allocated_bytes.all.peak"],
        peak_active=stats["active_bytes.all.peak"],
        peak_reserved=stats["reserved_bytes.all.peak"],
        peak_event=run.peak_event,
        at_peak=fragmentation_of(segments),
        device_mallocs=stats["num_device_alloc"],
        device_frees=stats["num_device_free"],
        retries=stats["num_alloc_retries"],
        out_of_memory=run.failures,
        attempts=run.attempts,
        attempts_fit=run.attempts_fit,
        first=run.first,
        notes=list(trace.notes),
    )
    return result, run.reserved, segments


def served(trace: Trace, config: str, device_memory: int, mode: str = "fixed") -> bool:
    """Return whether a device of so many bytes serves every request of a trace. Raises ConfigProblem."""
    run = _Run(trace, config, device_memory, mode)
    run.to(len(trace))
    return run.failures == 0


class _Run:
    """An allocator on its way through a trace.

    `lanes` has the streams that stand in for those which still use freed blocks, and until which event each is busy.
    """

    def __init__(self, trace: Trace, config: str, device_memory: int | None, mode: str) -> None:
        self.trace = trace
        self.driver = ReplayDevice(device_memory)
        driver: Any = self.driver
        chosen: Any = mode
        try:
            settings = AllocatorConfig.parse(config)
        except ValueError as error:
            raise ConfigProblem(str(error)) from error
        self.allocator = CachingAllocator(driver, 0, settings, mode=chosen)
        self.streams: dict[int, int] = {0: 0}
        self.pools: dict[tuple[int, int], Any] = {}
        self.lanes: list[tuple[int, int]] = []
        self.failures = self.attempts = self.attempts_fit = 0
        self.first: Shortage | None = None
        self.peak_event = -1
        self.peak = 0
        self.reserved: list[tuple[int, int]] = []

    def to(self, stop: int) -> None:
        """Replay the events before `stop`."""
        trace, driver, allocator = self.trace, self.driver, self.allocator
        malloc, free, streams, pools = allocator.malloc, allocator.free, self.streams, trace.pools
        completions = trace.completions() if RECORD_STREAM in trace.kinds else {}
        pointers = [0] * trace.block_count
        recorded: set[int] = set()
        columns = zip(range(stop), trace.kinds, trace.block, trace.size, trace.stream, strict=False)
        for at, kind, block, size, stream in columns:
            if kind == FREE:
                pointer = pointers[block]
                if pointer:
                    if block in recorded:
                        self._use(at, pointer, completions.get(block, len(trace) + 1))
                    free(pointer)
            elif kind == ALLOC:
                driver.at = at
                try:
                    if stream in streams and block not in pools:
                        pointers[block] = malloc(size, streams[stream])
                    else:
                        pointers[block] = self._malloc(size, stream, pools.get(block))
                except OutOfMemoryError as error:
                    self._failed(at, size, stream, pools.get(block), error)
                if driver.changed:
                    self._changed(at)
            elif kind == RECORD_STREAM:
                recorded.add(block)
            elif kind == EMPTY_CACHE:
                driver.at = at
                allocator.empty_cache()
                self._changed(at)
            elif kind == ATTEMPT:
                driver.at = at
                self._attempt(at, size, stream)

    def _use(self, at: int, pointer: int, until: int) -> None:
        """Let another stream use a block, which is about to be freed, until an event: one that is busy no longer than
        that already, since streams work in order."""
        self.driver.at = at
        place = next((place for place, (_, last) in enumerate(self.lanes) if last <= until), len(self.lanes))
        stream = self.lanes[place][0] if place < len(self.lanes) else self.driver.stream_create(0)
        self.lanes[place : place + 1] = [(stream, until)]
        self.driver.occupy(stream, until)
        self.allocator.record_stream(pointer, stream)

    def _malloc(self, size: int, stream: int, pool: tuple[int, int] | None) -> int:
        """A request on a stream that may be new, or in a private pool."""
        if stream not in self.streams:
            self.streams[stream] = self.driver.stream_create(0)
        on = self.streams[stream]
        if pool is None:
            return self.allocator.malloc(size, on)
        if pool not in self.pools:
            self.pools[pool] = self.allocator.create_pool()
        own = self.pools[pool]
        self.allocator.begin_allocate_to_pool(own, _every)
        try:
            return self.allocator.malloc(size, on)
        finally:
            self.allocator.end_allocate_to_pool(own)

    def _attempt(self, at: int, size: int, stream: int) -> None:
        """A request that failed when recorded; if it is served, its block goes back at once."""
        self.attempts += 1
        try:
            pointer = self._malloc(size, stream, None)
        except OutOfMemoryError as error:
            self._failed(at, size, stream, None, error)
        else:
            self.attempts_fit += 1
            self.allocator.free(pointer)
        self._changed(at)

    def _failed(self, at: int, size: int, stream: int, pool: tuple[int, int] | None, error: OutOfMemoryError) -> None:
        self.failures += 1
        if self.first is None:
            own = DEFAULT_POOL if pool is None else self.pools[pool]
            self.first = shortage_of(at, size, self.streams[stream], own, self.segments(), error.figures)

    def segments(self) -> list[Segment]:
        """Return what the allocator holds, by address."""
        return checked(self.allocator.memory_snapshot()).segments

    def _changed(self, at: int) -> None:
        self.driver.changed = False
        used = self.driver.used
        self.reserved.append((at, used))
        if used > self.peak:
            self.peak = used
            self.peak_event = at


def _every(_: int) -> bool:
    return True
