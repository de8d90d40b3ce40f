"""The caching allocator of device memory: cached malloc and free, their growth with the blocks alive, a replay.

All on a simulated device, in one thread by its own clock; each figure is the median of its rounds, beside the fastest,
which a busy machine disturbs least.
"""

from __future__ import annotations

import gc
import importlib
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from math import log
from time import thread_time
from typing import Any

MIB = 1 << 20
DEVICE = 1 << 45
PAIR_LIMIT = 2.5e-6
"""Seconds for a cached malloc and its free with FEW blocks alive."""
FEW, MANY = 10_000, 1_000_000
GROWTH_LIMIT = log(MANY) / log(FEW)
EVENTS_LIMIT = 200_000
"""Events of a trace that must be replayed in a second, at least."""
ROUNDS, CALLS = 40, 1000
TRACE_ROUNDS, TRACE_EVENTS, TRACE_CHUNK = 15, 40_000, 1000


@dataclass(frozen=True)
class Paces:
    """Seconds per call in the middle round and in the fastest."""

    median: float
    best: float


@dataclass(frozen=True)
class AllocatorFigures:
    """Seconds of a malloc and the free of its block (`pair`), and of the free of any block and another malloc
    (`churn`), by the number of blocks alive; events of a trace per second."""

    pair: dict[int, Paces]
    churn: dict[int, Paces]
    events: Paces

    @property
    def growth(self) -> float:
        """How much longer a pair takes with MANY blocks than with FEW."""
        return self.pair[MANY].median / self.pair[FEW].median


def measure_allocator(module: Any) -> AllocatorFigures:
    """The figures of the engine `module`."""
    pairs, churns = {}, {}
    for live in (FEW, MANY):
        pairs[live], churns[live] = _paces(new_allocator(module), live)
    return AllocatorFigures(pairs, churns, _replay(module))


def new_allocator(module: Any, total: int = DEVICE) -> Any:
    """An allocator on a simulated device of so many bytes, without contents."""
    driver = importlib.import_module(f"{module.__name__}.cuda.simulated_driver").SimulatedDriver
    allocator = importlib.import_module(f"{module.__name__}.cuda.caching_allocator").CachingAllocator
    return allocator(driver(total_memory=total, backed=False))


def draw_size(chance: random.Random) -> int:
    """Four small requests to one between 1 MiB and 8."""
    return chance.randrange(1, 65_536) if chance.random() < 0.8 else chance.randrange(MIB, 8 * MIB)


def _paces(allocator: Any, live: int) -> tuple[Paces, Paces]:
    chance = random.Random(live)
    blocks = [allocator.malloc(draw_size(chance)) for _ in range(live)]

    def churn(sizes: list[int], places: list[int]) -> None:
        malloc, free = allocator.malloc, allocator.free
        for place, size in zip(places, sizes, strict=True):
            free(blocks[place])
            blocks[place] = malloc(size)

    def pair(sizes: list[int], places: list[int]) -> None:
        malloc, free = allocator.malloc, allocator.free
        for size in sizes:
            free(malloc(size))

    churn([draw_size(chance) for _ in range(5000)], [chance.randrange(live) for _ in range(5000)])
    gc.collect()
    gc.disable()
    times: dict[Callable[..., None], list[float]] = {pair: [], churn: []}
    try:
        for _ in range(ROUNDS):
            sizes = [draw_size(chance) for _ in range(CALLS)]
            places = [chance.randrange(live) for _ in range(CALLS)]
            for loop, taken in times.items():
                start = thread_time()
                loop(sizes, places)
                taken.append((thread_time() - start) / CALLS)
    finally:
        gc.enable()
    allocator.check_invariants()
    return (
        Paces(statistics.median(times[pair]), min(times[pair])),
        Paces(statistics.median(times[churn]), min(times[churn])),
    )


def trace_of(events: int) -> list[tuple[int, int]]:
    """Requests (block, size) and, with size 0, frees, as of a training loop: blocks of recurring sizes, most of them
    freed in the order opposite to their allocation."""
    chance = random.Random(events)
    sizes = [draw_size(chance) for _ in range(100)]
    trace: list[tuple[int, int]] = []
    alive: list[int] = []
    block = 0
    while len(trace) < events:
        for _ in range(chance.randrange(50, 300)):
            trace.append((block, chance.choice(sizes)))
            alive.append(block)
            block += 1
        while len(alive) > 200 and chance.random() < 0.995:
            place = -1 if chance.random() < 0.8 else chance.randrange(len(alive))
            trace.append((alive.pop(place), 0))
    return trace[:events]


def _replay(module: Any) -> Paces:
    trace = trace_of(TRACE_EVENTS)
    chunks = [trace[start : start + TRACE_CHUNK] for start in range(0, len(trace), TRACE_CHUNK)]
    taken: list[list[float]] = [[] for _ in chunks]
    for _ in range(TRACE_ROUNDS):
        allocator = new_allocator(module)
        malloc, free = allocator.malloc, allocator.free
        pointers = [0] * len(trace)
        for chunk, times in zip(chunks, taken, strict=True):
            start = thread_time()
            for block, size in chunk:
                if size:
                    pointers[block] = malloc(size)
                else:
                    free(pointers[block])
            times.append(thread_time() - start)
    return Paces(
        len(trace) / sum(statistics.median(times) for times in taken), len(trace) / sum(min(times) for times in taken)
    )
