"""The caching allocator of a device: keeps the memory that it was given back, and allocates it again.

Its rules are PyTorch's. A block that is cached is found, split and merged without a call of the driver; on a miss, all
means are tried in their order.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Concatenate, Literal, NoReturn, ParamSpec, TypeVar

from ...core.errors import check_int
from ...core.fork_safety import fork_safe
from ..driver.protocol import Driver, DriverError
from . import private_pools, segments
from .allocator_config import EXBIBYTE, SMALL_LIMIT, AllocatorConfig, round_size
from .allocator_invariants import check_allocator
from .block_store import ALLOCATED, NO_POOL, SHARED, UNMAPPED, Block, BlockStore, PoolId, PrivatePool, Request
from .memory_snapshot import MemoryHistory, ShownStacks, segments_of, snapshot_of
from .out_of_memory import OutOfMemoryError, check_size, figures_of, message_of
from .statistics import COMPLETED, FREED, NO_SPLIT_CHANGE, REQUESTED, Statistics, summary_of
from .stream_uses import StreamUses

Mode = Literal["fixed", "faithful"]
OutOfMemoryObserver = Callable[[int, int, int, int], object]
"""Called with the device, the bytes tried, the bytes allowed (or of the device) and those that it has free."""


class Exclusive:
    """The right to change an allocator: its lock, with what was put off done first. Finalizers may run inside of any
    call, in its thread, so a call that finds the allocator busy must not touch it."""

    __slots__ = ("_allocator",)

    def __init__(self, allocator: CachingAllocator) -> None:
        self._allocator = allocator

    def __enter__(self) -> None:
        allocator = self._allocator
        allocator._lock.acquire()
        if allocator._busy:
            allocator._lock.release()
            refuse_reentry("a call")
        allocator._busy = True
        try:
            while allocator._late:
                pointer = allocator._late.pop()
                try:
                    allocator._free_now(pointer)
                except DriverError:
                    allocator._late.append(pointer)
                    raise
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        allocator = self._allocator
        allocator._busy = False
        allocator._choose_path()
        allocator._lock.release()


def refuse_reentry(operator: str) -> NoReturn:
    """Refuse a call out of a finalizer that interrupted another one; `free` alone is put off instead."""
    raise RuntimeError(f"CachingAllocator: {operator} came from inside of another call, such as from a finalizer")


P = ParamSpec("P")
R = TypeVar("R")


def _locked(function: Callable[Concatenate[BlockStore, P], R]) -> Callable[Concatenate[CachingAllocator, P], R]:
    """Return the method that calls a function of the blocks with the right to change them."""

    @functools.wraps(function)
    def method(self: CachingAllocator, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._exclusive:
            return function(self._store, *args, **kwargs)

    return method


def _counted(function: Callable[[Statistics], R]) -> Callable[[CachingAllocator], R]:
    """Return the method that asks the statistics, or resets them, with the right to change the blocks."""
    return _locked(functools.wraps(function)(lambda store: function(store.statistics)))


class CachingAllocator:
    """Memory of one device for any threads. `config` is an AllocatorConfig or its text.

    `mode` "faithful" fails where PyTorch does although a fitting block became free while it waited for events (its
    issue 189504); "fixed" takes that block.
    """

    def __init__(
        self, driver: Driver, device: int = 0, config: AllocatorConfig | str = "", *, mode: Mode = "fixed"
    ) -> None:
        if mode not in ("fixed", "faithful"):
            raise ValueError(f"CachingAllocator(): argument 'mode' must be 'fixed' or 'faithful', got {mode!r}")
        self.driver = driver
        self.device = device
        self.mode = mode
        self._store = store = BlockStore(device, AllocatorConfig.of(config))
        self._uses: StreamUses | None = None
        """Which streams use which blocks of others, once any does."""
        self._lock = fork_safe(RLock())
        self._exclusive = Exclusive(self)
        self._busy = False
        self._late: list[int] = []
        """Blocks to be freed by the next call."""
        self._observers: list[OutOfMemoryObserver] = []
        self._blocks = store.blocks
        self._small = store.small.streams
        self._large = store.large.streams
        self._quick = self._quick_free = self._polls = False
        """Whether a cached block of everybody's pools will do; whether a free does no more than give back; whether
        events are to be looked at first."""
        self._set_fraction(store.config.per_process_memory_fraction)
        self._choose_path()

    def malloc(self, size: int, stream: int = 0) -> int:
        """The address of `size` bytes for work on `stream`, 0 for none. OutOfMemoryError when there are not so many."""
        if type(size) is not int or not 0 < size < EXBIBYTE:
            size = check_size(size)
            if not size:
                return 0
        lock = self._lock
        lock.acquire()
        if self._busy:
            lock.release()
            refuse_reentry("malloc")
        self._busy = True
        try:
            if self._quick:
                if self._polls:
                    self._poll()
                store = self._store
                rounded = round_size(size, store.divisions) if store.divisions else size + 511 & -512
                home = (self._small if rounded <= SMALL_LIMIT else self._large).get(stream)
                if home is not None:
                    addresses = home.lists.get(rounded)
                    block = self._blocks.get(addresses[0]) if addresses else None
                    if block is None or block.state or block.size != rounded or block.home is not home:
                        block = home.find(rounded)
                    if (
                        block is not None
                        and block.size < store.oversize
                        and (block.expandable is None or self._fits_as_it_is(block))
                    ):
                        return store.alloc_found_block(block, rounded, size)
        finally:
            self._busy = False
            lock.release()
        return self._malloc_slowly(size, stream)

    def free(self, pointer: int) -> None:
        """Give back what malloc gave; nothing happens for 0. RuntimeError for any other address, and the second time. A
        block that other streams use becomes available once the work that they have by now is done."""
        lock = self._lock
        lock.acquire()
        if self._busy:
            try:
                if pointer:  # from a finalizer that runs inside of another call: the next call frees it
                    self._allocated("free", pointer)
                    self._late.append(pointer)
                    self._quick = self._quick_free = False
            finally:
                lock.release()
            return
        self._busy = True
        try:
            if self._quick_free:
                block = self._blocks.get(pointer)
                if block is not None and block.state == ALLOCATED:
                    self._store.free_block(block, FREED)
                    return
        finally:
            self._busy = False
            lock.release()
        if pointer:
            pointer = check_int("free", "pointer", pointer)
            with self._exclusive:
                self._free_now(pointer)

    def record_stream(self, pointer: int, stream: int) -> None:
        """Let a block, once given back, wait for the work that `stream` has by then; not for its own stream."""
        if not pointer:
            return
        stream = check_int("record_stream", "stream", stream)
        with self._exclusive:
            block = self._allocated("record_stream", pointer)
            if self._uses is None:
                self._uses = StreamUses(self.driver, self.device)
            self._uses.record(block, stream, bool(self._store.captures))

    def process_events(self) -> None:
        """Make the blocks available whose other streams are done; nothing happens during a capture."""
        with self._exclusive:
            if not self._store.captures:
                self._poll()

    def empty_cache(self, pool: PoolId = NO_POOL) -> None:
        """Wait for the blocks that others use, and give back to the device every segment that is entirely free. With a
        released private pool, that of this pool alone. During a capture only released private pools give."""
        with self._exclusive:
            stack = self._store.stack("all")
            if pool != NO_POOL:
                owner = self._store.private.get(pool)
                if owner is not None and owner.freeable:
                    self._synchronize(owner)
                    segments.release_freeable(self._store, self.driver, stack, (owner,))
                return
            if not self._store.captures:
                self._synchronize()
            segments.release_cached(self._store, self.driver, stack)

    def _fits_as_it_is(self, block: Block) -> bool:
        """Return whether the best fit by size, of an expandable segment, is the best fit: those that can grow count as
        larger, and none serve while such segments are off."""
        return self._store.config.expandable_segments and (block.next is None or block.next.state != UNMAPPED)

    def _choose_path(self) -> None:
        store = self._store
        self._quick_free = not self._late and store.history is None
        self._quick = self._quick_free and not store.captures and not store.collects_garbage
        self._polls = self._uses is not None and self._uses.waiting

    def _serve(self, request: Request) -> Block | None:
        """A free block for a request, by all means in their order; None when there is no memory."""
        store, driver = self._store, self.driver
        block = store.find(request)
        if block is not None:
            return block
        if store.collects_garbage:
            segments.collect_garbage(store, driver, request.stack)
        if store.config.throw_on_cudamalloc_oom and segments.beyond_limit(store, request.segment_size):
            store.statistics.counters["num_oom_rejections"] += 1
            return None
        block = segments.allocate_segment(store, driver, request, retry=False) or private_pools.help_out(store, request)
        if block is None and segments.release_oversize(store, driver, request):
            block = segments.allocate_segment(store, driver, request, retry=False)
        if block is None and not store.captures:
            self._synchronize()
            if self.mode == "fixed":
                block = store.find(request)
            if block is None:
                segments.release_cached(store, driver, request.stack)
                block = segments.allocate_segment(store, driver, request, retry=True)
        if block is None:
            store.statistics.counters["num_ooms"] += 1
        return block

    def _synchronize(self, owner: PrivatePool | None = None) -> None:
        self._store.statistics.counters["num_sync_all_streams"] += 1
        if self._uses is not None:
            self._uses.process(self._complete, wait=True, owner=owner)

    def _complete(self, block: Block) -> None:
        self._store.free_block(block, COMPLETED)

    def _poll(self) -> None:
        """Look at the events that blocks wait for."""
        if self._uses is not None:
            self._uses.process(self._complete)
            self._polls = self._uses.waiting

    def _malloc_slowly(self, size: int, stream: int) -> int:
        store = self._store
        stream = check_int("malloc", "stream", stream)
        with self._exclusive:
            stack = store.stack("state")
            if not store.captures:
                self._poll()
            request = store.request(size, stream, stack)
            block = self._serve(request)
            if block is not None:
                return store.alloc_found_block(block, request.size, size, stack)
            free, total = self.driver.mem_info(self.device)
            owner = request.home.pool.owner
            if store.history is not None:
                pool = NO_POOL if owner is None else owner.id
                store.history.record("oom", free, request.size, stream, pool, stack)
            figures = figures_of(store, request, free, total)
        for observer in tuple(self._observers):
            observer(self.device, request.segment_size, total if store.allowed is None else store.allowed, free)
        raise OutOfMemoryError(message_of(figures), figures)

    def _free_now(self, pointer: int) -> None:
        store = self._store
        block = self._allocated("free", pointer)
        stack = store.stack("all")
        waits, what = False, FREED
        if self._uses is not None and block.state == SHARED:
            waits, what = self._uses.give_back(block, bool(store.captures)), COMPLETED
            store.journal += block.size | REQUESTED | block.home.pool.tag, block.requested, NO_SPLIT_CHANGE
        if store.history is not None:
            store.history.requested(block, stack)
        if not waits:
            store.free_block(block, what, stack)

    def _allocated(self, operator: str, pointer: int) -> Block:
        block = self._blocks.get(pointer)
        if block is None or block.state not in (ALLOCATED, SHARED) or pointer in self._late:
            raise RuntimeError(
                f"{operator}(): argument 'pointer' must be an address that malloc gave and nobody has freed; "
                f"invalid device pointer: {pointer:#x}"
            )
        return block

    def memory_allocated(self) -> int:
        """Bytes of the blocks that are allocated."""
        with self._exclusive:
            return self._store.statistics.current("allocated_bytes")

    def memory_reserved(self) -> int:
        """Bytes of all segments."""
        return self._store.statistics.reserved

    def memory_summary(self, abbreviated: bool = False) -> str:
        """The statistics as a table."""
        return summary_of(self.memory_stats(), self.device, abbreviated)

    def memory_snapshot(self) -> list[dict[str, Any]]:
        """The segments and their blocks, in the shape of torch.cuda.memory_snapshot."""
        with self._exclusive:
            found = segments_of(self._store)
            self._record_snapshot(found)
            return found

    def snapshot(self) -> dict[str, Any]:
        """Segments, history and settings, in the shape that PyTorch's memory viewer reads."""
        with self._exclusive:
            found = snapshot_of(self._store)
            self._record_snapshot(found["segments"])
            return found

    def _record_snapshot(self, segments: list[dict[str, Any]]) -> None:
        history = self._store.history
        if history is not None:
            history.record("snapshot", 0, sum(segment["active_size"] for segment in segments), 0)

    def record_memory_history(
        self, enabled: str | None = "all", context: str | None = "all", stacks: str = "all",
        max_entries: int = sys.maxsize, clear_history: bool = False, skip_actions: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Record what happens from now on; None stops and forgets. `enabled` "state" keeps the stacks of live blocks,
        "all" an entry of each action as well; `context` says for what stacks are taken. ValueError for other words."""
        with self._exclusive:
            history = self._store.history or MemoryHistory(self.device)
            history.configure(enabled, context, stacks, max_entries, clear_history, skip_actions)
            self._store.history = None if enabled is None else history

    def allocation_traceback(self, pointer: int) -> list[dict[str, Any]] | None:
        """The recorded stack of a live block's allocation, None if there is none."""
        with self._exclusive:
            history, block = self._store.history, self._blocks.get(pointer)
            stack = None if history is None or block is None else history.block_stacks.get(block)
            return None if stack is None else ShownStacks().frames(stack)

    def check_invariants(self) -> None:
        """AssertionError that names what is broken, if anything is."""
        with self._exclusive:
            check_allocator(self._store, self._uses or StreamUses(self.driver, self.device))

    @property
    def config(self) -> AllocatorConfig:
        """The configuration; assign another, or its text, for what happens from now on."""
        return self._store.config

    @config.setter
    def config(self, config: AllocatorConfig | str) -> None:
        chosen = AllocatorConfig.of(config)
        with self._exclusive:
            before = self._store.config
            self._store.configure(chosen)
            if chosen.per_process_memory_fraction != before.per_process_memory_fraction:
                self._set_fraction(chosen.per_process_memory_fraction)

    @property
    def memory_fraction(self) -> float:
        """The share of the device's memory that may be reserved."""
        return self._fraction

    def set_memory_fraction(self, fraction: float, operator: str = "set_memory_fraction") -> None:
        """Limit what may be reserved. TypeError for anything but a float, ValueError outside of [0, 1]."""
        if not isinstance(fraction, float):
            raise TypeError(f"{operator}(): argument 'fraction' must be float, not {type(fraction).__name__}")
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(f"{operator}(): argument 'fraction' must be in [0, 1], got {fraction}")
        with self._exclusive:
            self._set_fraction(fraction)

    def _set_fraction(self, fraction: float) -> None:
        self._fraction = fraction
        total = self.driver.mem_info(self.device)[1] if fraction < 1.0 else 0
        self._store.allowed = int(fraction * total) if fraction < 1.0 else None

    def attach_out_of_memory_observer(self, observer: OutOfMemoryObserver) -> None:
        """Call `observer` with the device, the bytes tried, those allowed and those free before an error is raised."""
        self._observers.append(observer)

    memory_stats = _counted(Statistics.flat)
    memory_stats_nested = _counted(Statistics.nested)
    reset_peak_memory_stats = _counted(Statistics.reset_peak)
    reset_accumulated_memory_stats = _counted(Statistics.reset_accumulated)
    create_pool = _locked(private_pools.create_pool)
    begin_allocate_to_pool = _locked(private_pools.begin_allocate_to_pool)
    end_allocate_to_pool = _locked(private_pools.end_allocate_to_pool)
    release_pool = _locked(private_pools.release_pool)
    checkpoint_pool = _locked(private_pools.checkpoint_of)
    restore_pool = _locked(private_pools.restore)
