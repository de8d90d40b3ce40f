"""What the caching allocator does beside its hot path: its lock, and the order of means on a miss."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from types import TracebackType
from typing import Final, Literal, NoReturn

from ...core.errors import check_int
from ...core.fork_safety import fork_safe
from ..driver.protocol import Driver, DriverError
from .allocator_config import SMALL_LIMIT, AllocatorConfig
from .block_store import BlockStore, Request
from .memory_history import Stack
from .out_of_memory import OutOfMemoryError, figures_of, message_of
from .pools import ALLOCATED, NO_POOL, SHARED, UNMAPPED, Block, PrivatePool
from .segments import (
    allocate_segment,
    beyond_limit,
    collect_garbage,
    release_freeable,
    release_oversize,
    release_pools,
)
from .statistics import COMPLETED, FREED, LIMIT, NO_SPLIT_CHANGE, REQUESTED
from .stream_uses import StreamUses

EXBIBYTE: Final = 1 << 60
Mode = Literal["fixed", "faithful"]
OutOfMemoryObserver = Callable[[int, int, int, int], object]
"""Called with the device, the bytes tried, the bytes allowed (or of the device) and those that it has free."""


class Exclusive:
    """The right to change an allocator: its lock, with what was put off done first.

    Finalizers may run inside of any call, in its thread, so a call that finds the allocator busy must not touch it.
    """

    __slots__ = ("_allocator",)

    def __init__(self, allocator: AllocatorCore) -> None:
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
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        allocator = self._allocator
        allocator._busy = False
        allocator._choose_path()
        allocator._lock.release()


def refuse_reentry(operator: str) -> NoReturn:
    """Refuse a call out of a finalizer that interrupted another one; `free` alone is put off instead."""
    raise RuntimeError(f"CachingAllocator: {operator} came from inside of another call, such as from a finalizer")


class AllocatorCore:
    """The state of a caching allocator and its slower paths."""

    def __init__(self, driver: Driver, device: int, config: AllocatorConfig, mode: Mode) -> None:
        self.driver = driver
        self.device = device
        self.mode = mode
        self._store = BlockStore(device, config)
        self._uses = StreamUses(driver, device)
        self._lock = fork_safe(RLock())
        self._exclusive = Exclusive(self)
        self._busy = False
        self._late: list[int] = []
        """Blocks to be freed by the next call."""
        self._fraction = 1.0
        self._observers: list[OutOfMemoryObserver] = []
        self._callbacks: list[Callable[[], bool]] = []
        self._blocks = self._store.blocks
        self._journal = self._store.statistics.journal
        self._chosen: AllocatorConfig | None = None
        self._quick = self._quick_free = self._polls = False
        """Whether nothing but cached blocks of everybody's pools need be looked at, by the four below; whether a free
        does no more than give back; whether events are to be looked at first."""
        self._divisions: tuple[int, ...] = ()
        self._oversize = EXBIBYTE
        self._expands = False
        self._large_rest = SMALL_LIMIT

    def _fits_as_it_is(self, block: Block) -> bool:
        """Return whether the best fit by size, of an expandable segment, is the best fit: those that can grow count as
        larger, and none serve while such segments are off."""
        return self._expands and (block.next is None or block.next.state != UNMAPPED)

    def _choose_path(self) -> None:
        store, config = self._store, self._store.config
        self._quick_free = not (self._late or store.history.active or store.collects_garbage or store.ages)
        self._quick = self._quick_free and not store.private.captures
        self._polls = self._uses.waiting
        if config is not self._chosen:
            self._chosen = config
            self._divisions = config.roundup_power2_divisions
            self._oversize = EXBIBYTE if config.max_split_size is None else config.max_split_size
            self._expands = config.expandable_segments
            self._large_rest = 0 if self._expands else SMALL_LIMIT

    def _serve(self, request: Request) -> Block | None:
        """A free block for a request, by all means in their order; None when there is no memory."""
        store, driver = self._store, self.driver
        block = store.find(request)
        if block is None and self._callbacks and self._ask_for_memory():
            block = store.find(request)
        if block is not None:
            return block
        if store.collects_garbage:
            collect_garbage(store, driver, request.stack)
        if store.config.throw_on_cudamalloc_oom and beyond_limit(store, request.segment_size):
            store.statistics.counters["num_oom_rejections"] += 1
            return None
        block = allocate_segment(store, driver, request, retry=False) or self._fall_back(request)
        if block is None and release_oversize(store, driver, request):
            block = allocate_segment(store, driver, request, retry=False)
        if block is None and not store.private.captures:
            self._synchronize()
            if self.mode == "fixed":
                block = store.find(request)
            if block is None:
                self._release_cached(request.stack)
                block = allocate_segment(store, driver, request, retry=True)
        if block is None:
            store.statistics.counters["num_ooms"] += 1
        return block

    def _fall_back(self, request: Request) -> Block | None:
        """A free block of a private pool that helps out when there is no memory."""
        if request.home.pool.owner is not None:
            return None
        for owner in self._store.private.pools.values():
            if owner.use_on_oom and not owner.freeable:
                pool = owner.small if request.home.pool.is_small else owner.large
                home = pool.of_stream(request.home.stream, self._blocks)
                block = self._store.find(request._replace(home=home))
                if block is not None:
                    return block
        return None

    def _ask_for_memory(self) -> bool:
        self._busy = False
        try:
            freed = [callback() for callback in self._callbacks]
            return any(freed)
        finally:
            self._busy = True

    def _synchronize(self, owner: PrivatePool | None = None) -> None:
        self._store.statistics.counters["num_sync_all_streams"] += 1
        self._uses.synchronize(self._complete, owner)

    def _release_cached(self, stack: Stack | None) -> None:
        store = self._store
        if not store.private.captures:
            release_pools(store, self.driver, (store.large, store.small), stack)
        release_freeable(store, self.driver, stack)

    def _complete(self, block: Block) -> None:
        self._store.take_back(block, None, COMPLETED)

    def _poll(self) -> None:
        """Look at the events that blocks wait for."""
        self._uses.process(self._complete)
        self._polls = self._uses.waiting

    def _malloc_slowly(self, size: int, stream: int) -> int:
        store = self._store
        stream = check_int("malloc", "stream", stream)
        with self._exclusive:
            stack = store.history.stack("state")
            if not store.private.captures:
                self._uses.process(self._complete)
            request = store.request(size, stream, stack)
            block = self._serve(request)
            if block is not None:
                store.hand_out(block, request)
                if len(self._journal) > LIMIT:
                    store.tidy()
                return block.pointer
            free, total = self.driver.mem_info(self.device)
            owner = request.home.pool.owner
            store.history.record("oom", free, request.size, stream, NO_POOL if owner is None else owner.id, stack)
            figures = figures_of(store, request, free, total)
        for observer in tuple(self._observers):
            observer(self.device, request.segment_size, total if store.allowed is None else store.allowed, free)
        raise OutOfMemoryError(message_of(figures), figures)

    def _free_slowly(self, pointer: int) -> None:
        pointer = check_int("free", "pointer", pointer)
        with self._exclusive:
            self._free_now(pointer)

    def _free_now(self, pointer: int) -> None:
        store = self._store
        block = self._allocated("free", pointer)
        stack = store.history.stack("all")
        shared = block.state == SHARED
        waits = shared and self._uses.give_back(block, bool(store.private.captures))
        if store.history.active:
            store.history.requested(block, stack)
        if shared:
            self._journal += block.size | REQUESTED | block.home.pool.tag, block.requested, NO_SPLIT_CHANGE
        if not waits:
            store.take_back(block, stack, COMPLETED if shared else FREED)
        if len(self._journal) > LIMIT:
            store.tidy()

    def _free_later(self, pointer: int) -> None:
        """A block is given back by a finalizer that runs inside of another call: the next call does it."""
        if pointer:
            self._allocated("free", pointer)
            self._late.append(pointer)
            self._quick = self._quick_free = False

    def _allocated(self, operator: str, pointer: int) -> Block:
        block = self._blocks.get(pointer)
        if block is None or block.state not in (ALLOCATED, SHARED) or pointer in self._late:
            raise RuntimeError(
                f"{operator}(): argument 'pointer' must be an address that malloc gave and nobody has freed; "
                f"invalid device pointer: {pointer:#x}"
            )
        return block

    def _check_size(self, size: int) -> int:
        size = check_int("malloc", "size", size)
        if size < 0:
            raise RuntimeError(f"malloc(): argument 'size' must not be negative, got {size}")
        if size >= EXBIBYTE:
            raise OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {size} bytes, more than 1 EiB: no device has so many. "
                "What to do: look for an overflow in a shape"
            )
        return size
