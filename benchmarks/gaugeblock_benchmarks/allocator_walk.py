"""A long random walk of the caching allocator on a full device, with its invariants checked on the way."""

from __future__ import annotations

import importlib
import random
from dataclasses import dataclass
from typing import Any

EVENTS, CHECKED_EVERY = 1_000_000, 20_000
MIB = 1 << 20
TOTAL = 4096 * MIB
SIZES = (*range(100, 4000, 391), 50_000, 300_000, MIB, 2 * MIB, 7 * MIB, 30 * MIB)
CONFIGS = ("", "max_split_size_mb:24", "expandable_segments:True", "roundup_power2_divisions:4")


@dataclass(frozen=True)
class Walk:
    """How many events passed, how often memory ran out, and the invariant that broke ("" for none)."""

    events: int
    out_of_memory: int
    broken: str


def walk(module: Any, events: int = EVENTS) -> Walk:
    """Random calls under each configuration: malloc, free, record_stream, work, private pools, empty_cache."""
    failures = passed = 0
    for config in CONFIGS:
        way = _Way(module, config)
        for _ in range(events // len(CONFIGS)):
            way.step()
            passed += 1
            if passed % CHECKED_EVERY == 0:
                try:
                    way.allocator.check_invariants()
                except AssertionError as error:
                    return Walk(passed, failures + way.failures, f"{config or 'default'}: {error}")
        failures += way.failures
    return Walk(passed, failures, "")


class _Way:
    """An allocator and what is alive on it."""

    def __init__(self, module: Any, config: str) -> None:
        cuda = f"{module.__name__}.cuda"
        simulator = importlib.import_module("gaugeblock_testing.cuda_simulator")
        self.driver = simulator.SimulatedDriver(total_memory=TOTAL, backed=False)
        caching = importlib.import_module(f"{cuda}.allocator.caching_allocator")
        self.allocator = caching.CachingAllocator(self.driver, 0, config)
        self.error = importlib.import_module(f"{cuda}.allocator.out_of_memory").OutOfMemoryError
        self.chance = random.Random(config)
        self.streams = [0, self.driver.stream_create(0), self.driver.stream_create(0)]
        self.alive: list[int] = []
        self.pool: Any = None
        self.failures = 0

    def step(self) -> None:
        """One call."""
        kind, allocator = self.chance.random(), self.allocator
        if kind < 0.5 or not self.alive:
            try:
                self.alive.append(allocator.malloc(self.chance.choice(SIZES), self.chance.choice(self.streams)))
            except self.error:
                self.failures += 1
                if self.pool is not None:
                    self._turn_pool()
                for _ in range(len(self.alive) // 2):
                    self._free()
        elif kind < 0.95:
            self._free()
        elif kind < 0.97:
            allocator.record_stream(self.chance.choice(self.alive), self.chance.choice(self.streams))
        elif kind < 0.98:
            self.driver.enqueue(0, self.chance.choice(self.streams), _nothing, 100)
        elif kind < 0.999:
            self.driver.advance(100)
        elif kind < 0.9995:
            self._turn_pool()
        else:
            allocator.empty_cache()

    def _free(self) -> None:
        self.allocator.free(self.alive.pop(self.chance.randrange(len(self.alive))))

    def _turn_pool(self) -> None:
        """Allocate to a private pool from now on, or give it up; until then no cached memory is given back."""
        if self.pool is None:
            self.pool = self.allocator.create_pool()
            self.allocator.begin_allocate_to_pool(self.pool, _every)
            return
        self.allocator.end_allocate_to_pool(self.pool)
        self.allocator.release_pool(self.pool)
        self.allocator.release_pool(self.pool)
        self.pool = None


def _nothing() -> None:
    return


def _every(stream: int) -> bool:
    return True
