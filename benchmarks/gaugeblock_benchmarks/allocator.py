"""The caching allocator of device memory: cached malloc and free, their growth with the blocks alive, a replay.

All on a simulated device, in one thread by its own clock; each figure is the median of its rounds, beside the fastest,
which a busy machine disturbs least.
"""

from __future__ import annotations

import gc
import importlib
import random
import statistics
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
    (`churn`), by the number of blocks alive; how much longer a pair takes with MANY than with FEW, the median of the
    rounds' ratios; events of a trace per second."""

    pair: dict[int, Paces]
    churn: dict[int, Paces]
    growth: float
    events: Paces


def measure_allocator(module: Any) -> AllocatorFigures:
    """The figures of the engine `module`: few blocks by themselves, then few and many in turn for the growth."""
    few = _Crowd(new_allocator(module), FEW)
    _take_turns(few)
    pair, churn = {FEW: _paces(few.pair)}, {FEW: _paces(few.churn)}
    few.pair.clear()
    many = _Crowd(new_allocator(module), MANY)
    _take_turns(few, many)
    pair[MANY], churn[MANY] = _paces(many.pair), _paces(many.churn)
    ratios = [long / short for long, short in zip(many.pair, few.pair, strict=True)]
    return AllocatorFigures(pair, churn, statistics.median(ratios), _replay(module))


def _take_turns(*crowds: _Crowd) -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for crowd in crowds:
                crowd.round()
    finally:
        gc.enable()
    for crowd in crowds:
        crowd.allocator.check_invariants()


def new_allocator(module: Any, total: int = DEVICE) -> Any:
    """An allocator on a simulated device of so many bytes, without contents."""
    driver = importlib.import_module("gaugeblock_testing.cuda_simulator").SimulatedDriver
    allocator = importlib.import_module(f"{module.__name__}.cuda.allocator.caching_allocator").CachingAllocator
    return allocator(driver(total_memory=total, backed=False))


def draw_size(chance: random.Random) -> int:
    """Four small requests to one between 1 MiB and 8."""
    return chance.randrange(1, 65_536) if chance.random() < 0.8 else chance.randrange(MIB, 8 * MIB)


class _Crowd:
    """An allocator with `live` blocks of drawn sizes, and the seconds per call of each round."""

    def __init__(self, allocator: Any, live: int) -> None:
        self.allocator = allocator
        self.live = live
        self.pair: list[float] = []
        self.churn: list[float] = []
        self._chance = random.Random(live)
        self._blocks = [allocator.malloc(draw_size(self._chance)) for _ in range(live)]
        self._churn(*self._draw(5000))

    def round(self) -> None:
        """One measurement of each kind."""
        sizes, places = self._draw(CALLS)
        malloc, free = self.allocator.malloc, self.allocator.free
        for size in self._draw(CALLS)[0]:
            free(malloc(size))
        start = thread_time()
        for size in sizes:
            free(malloc(size))
        self.pair.append((thread_time() - start) / CALLS)
        start = thread_time()
        self._churn(sizes, places)
        self.churn.append((thread_time() - start) / CALLS)

    def _draw(self, count: int) -> tuple[list[int], list[int]]:
        sizes = [draw_size(self._chance) for _ in range(count)]
        return sizes, [self._chance.randrange(self.live) for _ in range(count)]

    def _churn(self, sizes: list[int], places: list[int]) -> None:
        malloc, free, blocks = self.allocator.malloc, self.allocator.free, self._blocks
        for place, size in zip(places, sizes, strict=True):
            free(blocks[place])
            blocks[place] = malloc(size)


def _paces(seconds: list[float]) -> Paces:
    return Paces(statistics.median(seconds), min(seconds))


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
