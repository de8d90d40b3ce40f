"""The caching allocator of a device: keeps the memory that it was given back, and hands it out again.

Its rules are PyTorch's. A block that is cached is found, split and merged without a call of the driver; that path is
written out in `malloc` and `free`, everything else goes through slower ones, which say the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from heapq import heappush
from typing import Any

from ...core.errors import check_int
from ..driver.protocol import Driver
from .allocator_config import SMALL_LIMIT, AllocatorConfig, round_size
from .allocator_core import EXBIBYTE, AllocatorCore, Mode, OutOfMemoryObserver, refuse_reentry
from .allocator_invariants import check_allocator
from .memory_history import ShownStacks
from .memory_snapshot import segments_of, snapshot_of
from .memory_summary import summary_of
from .pool_checkpoint import PoolCheckpoint, Restored, checkpoint_of, restore
from .pools import ALLOCATED, FREE, NO_POOL, Block, Filter, PoolId
from .segments import release_freeable
from .statistics import FREED, LIMIT, NO_SPLIT_CHANGE


class CachingAllocator(AllocatorCore):
    """Memory of one device for any threads. `config` is an AllocatorConfig or its text.

    `mode` "faithful" fails where PyTorch does although a fitting block became free while it waited for events (its
    issue 189504); "fixed" takes that block.
    """

    def __init__(
        self, driver: Driver, device: int = 0, config: AllocatorConfig | str = "", *, mode: Mode = "fixed"
    ) -> None:
        if mode not in ("fixed", "faithful"):
            raise ValueError(f"CachingAllocator(): argument 'mode' must be 'fixed' or 'faithful', got {mode!r}")
        super().__init__(driver, device, AllocatorConfig.of(config), mode)
        self._spares = self._store.spares
        self._small = self._store.small.streams
        self._large = self._store.large.streams
        self._apply_fraction()
        self._choose_path()

    def malloc(self, size: int, stream: int = 0) -> int:
        """The address of `size` bytes for work on `stream`, 0 for none. OutOfMemoryError when there are not so many."""
        if type(size) is not int or not 0 < size < EXBIBYTE:
            size = self._check_size(size)
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
                rounded = round_size(size, self._divisions) if self._divisions else size + 511 & -512
                small = rounded <= SMALL_LIMIT
                home = (self._small if small else self._large).get(stream)
                if home is not None:
                    shelf = home.shelves.get(rounded)
                    block = self._blocks.get(shelf[0]) if shelf else None
                    if block is None or block.state or block.size != rounded or block.home is not home:
                        block = home.find(rounded)
                    if (
                        block is not None
                        and block.size < self._oversize
                        and (block.expandable is None or self._fits_as_it_is(block))
                    ):
                        remainder = block.size - rounded
                        following = block.next
                        expandable = block.expandable
                        change = NO_SPLIT_CHANGE
                        if remainder > (0 if small else self._large_rest):
                            if expandable is None:
                                if following is None and block.previous is None:
                                    change += remainder + 1
                                else:
                                    change -= rounded
                            pointer = block.pointer + rounded
                            if self._spares:
                                rest = self._spares.pop()
                                rest.pointer = pointer
                                rest.size = remainder
                                rest.home = home
                                rest.state = FREE
                            else:
                                rest = Block(pointer, remainder, home)
                            rest.expandable = expandable
                            rest.previous = block
                            rest.next = following
                            if following is not None:
                                following.previous = rest
                            block.next = rest
                            block.size = rounded
                            self._blocks[pointer] = rest
                            shelf = home.shelves.get(remainder)
                            if shelf is None:
                                home.add(rest)
                            elif not shelf or shelf[0] != pointer:
                                heappush(shelf, pointer)
                        else:
                            rounded = block.size
                            if expandable is None and (following is not None or block.previous is not None):
                                change -= rounded + 1
                        block.state = ALLOCATED
                        block.requested = size
                        journal = self._journal
                        journal += rounded if small else rounded | 1, size, change
                        if len(journal) > LIMIT:
                            self._store.tidy()
                        return block.pointer
        finally:
            self._busy = False
            lock.release()
        return self._malloc_slowly(size, stream)

    def free(self, pointer: int) -> None:
        """Give back what malloc gave; nothing happens for 0. RuntimeError for any other address, and the second time.

        A block that other streams use becomes available once the work that they have by now is done.
        """
        lock = self._lock
        lock.acquire()
        if self._busy:
            try:
                self._free_later(pointer)
            finally:
                lock.release()
            return
        self._busy = True
        try:
            block = self._blocks.get(pointer)
            if self._quick_free and block is not None and block.state == ALLOCATED:
                blocks, size, requested, home = self._blocks, block.size, block.requested, block.home
                merges = 0
                following, before = block.next, block.previous
                if following is not None and following.state == FREE:
                    merges = 1
                    block.size += following.size
                    del blocks[following.pointer]
                    self._spares.append(following)
                    block.next = following = following.next
                    if following is not None:
                        following.previous = block
                if before is not None and before.state == FREE:
                    merges += 1
                    before.size += block.size
                    del blocks[pointer]
                    self._spares.append(block)
                    before.next = following
                    if following is not None:
                        following.previous = before
                    block = before
                    before = before.previous
                if block.expandable is not None:
                    change = NO_SPLIT_CHANGE
                elif following is not None or before is not None:
                    change = NO_SPLIT_CHANGE + 1 + size - merges
                else:
                    change = NO_SPLIT_CHANGE + size - block.size - merges
                block.state = FREE
                journal = self._journal
                journal += size | FREED | home.pool.tag, requested, change
                shelf = home.shelves.get(block.size)
                if shelf is None:
                    home.add(block)
                elif not shelf or shelf[0] != block.pointer:
                    heappush(shelf, block.pointer)
                if len(journal) > LIMIT:
                    self._store.tidy()
                return
        finally:
            self._busy = False
            lock.release()
        if pointer:
            self._free_slowly(pointer)

    def record_stream(self, pointer: int, stream: int) -> None:
        """Let a block, once given back, wait for the work that `stream` has by then; not for its own stream."""
        if not pointer:
            return
        stream = check_int("record_stream", "stream", stream)
        with self._exclusive:
            self._uses.record(self._allocated("record_stream", pointer), stream, bool(self._store.private.captures))

    def process_events(self) -> None:
        """Make the blocks available whose other streams are done; nothing happens during a capture."""
        with self._exclusive:
            if not self._store.private.captures:
                self._uses.process(self._complete)

    def empty_cache(self, pool: PoolId = NO_POOL) -> None:
        """Wait for the blocks that others use, and give back to the device every segment that is entirely free.

        With a released private pool, that of this pool alone. During a capture only released private pools give.
        """
        with self._exclusive:
            stack = self._store.history.stack("all")
            if pool != NO_POOL:
                owner = self._store.private.pools.get(pool)
                if owner is not None and owner.freeable:
                    self._synchronize(owner)
                    release_freeable(self._store, self.driver, stack, (owner,))
                return
            if not self._store.private.captures:
                self._synchronize()
            self._release_cached(stack)


    # What it tells.

    def memory_allocated(self) -> int:
        """Bytes of the blocks that are handed out."""
        with self._exclusive:
            return self._store.statistics.current("allocated_bytes")

    def memory_reserved(self) -> int:
        """Bytes of all segments."""
        return self._store.statistics.reserved

    def memory_stats(self) -> dict[str, int]:
        """Every figure under the name that torch.cuda.memory_stats gives it, such as "allocated_bytes.all.peak"."""
        with self._exclusive:
            return self._store.statistics.flat()

    def memory_stats_nested(self) -> dict[str, Any]:
        """The same by family, pool and kind."""
        with self._exclusive:
            return self._store.statistics.nested()

    def reset_peak_memory_stats(self) -> None:
        """Let every peak be the current value."""
        with self._exclusive:
            self._store.statistics.reset_peak()

    def reset_accumulated_memory_stats(self) -> None:
        """Let what was allocated and freed, and the counters of events, be 0."""
        with self._exclusive:
            self._store.statistics.reset_accumulated()

    def memory_summary(self, abbreviated: bool = False) -> str:
        """The statistics as a table."""
        return summary_of(self.memory_stats(), self.device, abbreviated)

    def memory_snapshot(self) -> list[dict[str, Any]]:
        """The segments and their blocks, in the shape of torch.cuda.memory_snapshot."""
        with self._exclusive:
            segments = segments_of(self._store)
            self._store.history.record("snapshot", 0, sum(segment["active_size"] for segment in segments), 0)
            return segments

    def snapshot(self) -> dict[str, Any]:
        """Segments, history and settings, in the shape that PyTorch's memory viewer reads."""
        with self._exclusive:
            found = snapshot_of(self._store)
            self._store.history.record("snapshot", 0, sum(segment["active_size"] for segment in found["segments"]), 0)
            return found

    def record_memory_history(
        self,
        enabled: str | None = "all",
        context: str | None = "all",
        stacks: str = "all",
        max_entries: int = sys.maxsize,
        clear_history: bool = False,
        skip_actions: Sequence[str] | None = None,
    ) -> None:
        """Record what happens from now on; None stops and forgets. `enabled` "state" keeps the stacks of live blocks,
        "all" an entry of each action as well; `context` says for what stacks are taken. ValueError for other words."""
        with self._exclusive:
            self._store.history.configure(enabled, context, stacks, max_entries, clear_history, skip_actions)

    def allocation_traceback(self, pointer: int) -> list[dict[str, Any]] | None:
        """The recorded stack of a live block's allocation, None if there is none."""
        with self._exclusive:
            block = self._blocks.get(pointer)
            stack = None if block is None else self._store.history.block_stacks.get(block)
            return None if stack is None else ShownStacks().frames(stack)

    def base_allocation(self, pointer: int) -> tuple[int, int]:
        """Address and size of the segment that a live block lies in."""
        with self._exclusive:
            block = self._allocated("base_allocation", pointer)
            if block.expandable is not None:
                raise RuntimeError(
                    "base_allocation(): blocks of expandable segments cannot be shared with other processes; "
                    "allocate them while expandable_segments is False"
                )
            head = block.head()
            size, last = head.size, head
            while last.next is not None:
                last = last.next
                size += last.size
            return head.pointer, size

    def check_invariants(self) -> None:
        """AssertionError that names what is broken, if anything is."""
        with self._exclusive:
            check_allocator(self._store, self._uses)

    # What is set.

    @property
    def config(self) -> AllocatorConfig:
        """The configuration; assign another, or its text, for what happens from now on."""
        return self._store.config

    @config.setter
    def config(self, config: AllocatorConfig | str) -> None:
        chosen = AllocatorConfig.of(config)
        with self._exclusive:
            before = self._store.config
            self._store.statistics.set_oversize(chosen.max_split_size)
            self._store.config = chosen
            if chosen.per_process_memory_fraction != before.per_process_memory_fraction:
                self._apply_fraction()

    @property
    def memory_fraction(self) -> float:
        """The share of the device's memory that may be reserved."""
        return self._fraction

    def set_memory_fraction(self, fraction: float) -> None:
        """Limit what may be reserved. TypeError for anything but a float, ValueError outside of [0, 1]."""
        if not isinstance(fraction, float):
            raise TypeError(f"set_memory_fraction(): argument 'fraction' must be float, not {type(fraction).__name__}")
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(f"set_memory_fraction(): argument 'fraction' must be from 0.0 to 1.0, got {fraction}")
        with self._exclusive:
            self._set_fraction(fraction)

    def _apply_fraction(self) -> None:
        self._set_fraction(self._store.config.per_process_memory_fraction)

    def _set_fraction(self, fraction: float) -> None:
        self._fraction = fraction
        total = self.driver.mem_info(self.device)[1] if fraction < 1.0 else 0
        self._store.allowed = int(fraction * total) if fraction < 1.0 else None

    def attach_out_of_memory_observer(self, observer: OutOfMemoryObserver) -> None:
        """Call `observer` with the device, the bytes tried, those allowed and those free before an error is raised."""
        self._observers.append(observer)

    def add_free_memory_callback(self, callback: Callable[[], bool]) -> None:
        """Call `callback` when no cached block fits; it frees what it can, and returns whether it freed anything."""
        self._callbacks.append(callback)

    # Private pools.

    def create_pool(self, *, use_on_oom: bool = False, no_split: bool = False) -> PoolId:
        """Make a pool of memory apart. With `use_on_oom` all requests may take its free blocks before they fail; with
        `no_split` its blocks are handed out whole."""
        with self._exclusive:
            return self._store.private.create(use_on_oom, no_split)

    def begin_allocate_to_pool(self, pool: PoolId, filter: Filter) -> None:
        """Let the allocations of streams that `filter` accepts go to a pool, as for the capture of a graph.

        Until end_allocate_to_pool, nobody waits for events or gives cached memory back to the device.
        """
        with self._exclusive:
            self._store.private.begin(pool, filter)

    def end_allocate_to_pool(self, pool: PoolId) -> None:
        """End begin_allocate_to_pool; release_pool takes back its use of the pool."""
        with self._exclusive:
            self._store.private.end(pool)

    def release_pool(self, pool: PoolId) -> None:
        """Take back one use of a pool; after the last, its free memory goes back to the device with the cache's."""
        with self._exclusive:
            self._store.private.release(pool)

    def checkpoint_pool(self, pool: PoolId) -> PoolCheckpoint:
        """Which blocks of a private pool are handed out now. RuntimeError while other streams use some of them."""
        with self._exclusive:
            return checkpoint_of(self._store, pool)

    def restore_pool(self, checkpoint: PoolCheckpoint) -> Restored:
        """Free and hand out blocks of a pool until they are those of a checkpoint; RuntimeError when they cannot be."""
        with self._exclusive:
            return restore(self._store, checkpoint)
