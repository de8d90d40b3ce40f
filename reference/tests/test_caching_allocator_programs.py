"""Random programs that do wrong things too: whatever is refused has changed nothing, and everything is given back."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from gaugeblock.cuda.allocator.block_store import PoolId
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError
from gaugeblock.cuda.allocator.private_pools import PoolCheckpoint
from gaugeblock_testing.cuda_simulator import SimulatedDriver

MIB = 1 << 20
SIZES = (1, 511, 513, 65536, MIB - 1, MIB, MIB + 1, 9 * MIB, 10 * MIB, 11 * MIB, 33 * MIB, 70 * MIB)
CONFIGS = (
    "", "expandable_segments:True", "max_split_size_mb:25,max_non_split_rounding_mb:30",
    "garbage_collection_threshold:0.5,per_process_memory_fraction:0.6", "roundup_power2_divisions:[1:4,16:8,>:2]",
    "expandable_segments:True,roundup_power2_divisions:4,max_split_size_mb:64", "large_segment_size_mb:64",
)  # fmt: skip
WRONG = (
    "a:1", "x", "max_split_size_mb:1", "garbage_collection_threshold:1.5", "expandable_segments:true", ":",
    "roundup_power2_divisions:[3:4]", "max_split_size_mb:99999999999999999999",
)  # fmt: skip
REFUSED = re.compile(r"other streams|given back|there is no pool")
"""What may be wrong with a checkpoint."""


class Program:
    """An allocator with what is alive in it; each step is a method."""

    def __init__(self, seed: int, total: int) -> None:
        self.chance = random.Random(seed)
        self.driver = SimulatedDriver(total_memory=total, backed=False)
        self.memory = CachingAllocator(self.driver, 0, self.chance.choice(CONFIGS))
        self.streams = [0, *(self.driver.stream_create(0) for _ in range(3))]
        self.live: set[int] = set()
        self.underway: list[PoolId] = []
        self.pools: list[PoolId] = []
        self.saved: PoolCheckpoint | None = None

    def malloc(self) -> None:
        pointer = self.memory.malloc(self.chance.choice(SIZES), self.chance.choice(self.streams))
        assert pointer and pointer not in self.live
        self.live.add(pointer)

    def free(self) -> None:
        if self.live:
            pointer = self.chance.choice(sorted(self.live))
            self.memory.free(pointer)
            self.live.discard(pointer)

    def use_elsewhere(self) -> None:
        if self.live:
            self.memory.record_stream(self.chance.choice(sorted(self.live)), self.chance.choice(self.streams))

    def work(self) -> None:
        self.driver.enqueue(0, self.chance.choice(self.streams), lambda: None, self.chance.choice((10, 10**6)))

    def replace_stream(self) -> None:
        self.driver.stream_destroy(0, self.streams.pop(self.chance.randrange(1, len(self.streams))))
        self.streams.append(self.driver.stream_create(0))

    def configure(self) -> None:
        self.memory.config = self.chance.choice(CONFIGS)  # type: ignore[assignment]

    def pool(self) -> None:
        if self.underway and self.chance.random() < 0.6:
            pool = self.underway.pop()
            self.memory.end_allocate_to_pool(pool)
            self.memory.release_pool(pool)
        elif len(self.underway) < 2:
            pool = self.memory.create_pool(no_split=self.chance.random() < 0.3)
            wanted = self.chance.choice(self.streams)
            self.memory.begin_allocate_to_pool(pool, lambda stream: stream == wanted)
            self.underway.append(pool)
            self.pools.append(pool)

    def checkpoint(self) -> None:
        if self.saved is None and self.pools:
            self.saved = self.memory.checkpoint_pool(self.chance.choice(self.pools))
        elif self.saved is not None:
            restored = self.memory.restore_pool(self.saved)
            self.live = self.live - set(restored.freed) | set(restored.allocated)
            self.saved = None

    def wrong(self) -> None:
        wrong: tuple[Callable[[], Any], ...] = (
            lambda: self.memory.free(12345), lambda: self.memory.record_stream(777, 0), lambda: self.memory.malloc(-1),
            lambda: setattr(self.memory, "config", self.chance.choice(WRONG)),
            lambda: self.memory.release_pool((0, 999)),
        )  # fmt: skip
        with pytest.raises((RuntimeError, ValueError)):
            self.chance.choice(wrong)()

    def end(self) -> None:
        for pool in self.underway:
            self.memory.end_allocate_to_pool(pool)
            self.memory.release_pool(pool)
        for pool in self.pools:
            self.memory.release_pool(pool)
        for pointer in self.live:
            self.memory.free(pointer)
        self.memory.empty_cache()
        self.memory.check_invariants()
        assert self.memory.memory_reserved() == 0 and self.driver.mem_info(0)[0] == self.driver.mem_info(0)[1]


STEPS = (
    *[Program.malloc] * 9, *[Program.free] * 8, *[Program.use_elsewhere] * 2, Program.work, Program.replace_stream,
    Program.configure, Program.pool, Program.checkpoint, *[Program.wrong] * 2,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_programs_with_mistakes(seed: int) -> None:
    program = Program(seed, total=(150 if seed % 2 else 900) * MIB)
    for count in range(600):
        step = program.chance.choice(STEPS)
        before = program.memory.memory_stats() if step in (Program.wrong, Program.checkpoint) else None
        refused = step is Program.wrong
        try:
            step(program)
        except OutOfMemoryError:
            continue
        except RuntimeError as error:
            if step is not Program.checkpoint or not REFUSED.search(str(error)):
                raise
            program.saved, refused = None, True
        assert not refused or program.memory.memory_stats() == before
        if count % 20 == 0:
            program.memory.check_invariants()
            program.memory.empty_cache() if count % 100 == 0 else program.memory.memory_snapshot()
    program.end()
