"""Timing a subject against a peer: interleaved rounds, medians, and an interval for their ratio."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from .subject import Clock, Loop, steps_loop

ROUND_SECONDS = 0.002
FEWEST_ROUNDS, MOST_ROUNDS = 5, 61
CELL_SECONDS = 0.3


@dataclass(frozen=True)
class Timed:
    """A loop and the operands that it goes through."""

    loop: Loop
    turns: Sequence[tuple[Any, ...]]

    def seconds(self, count: int, clock: Clock = perf_counter) -> float:
        return self.loop(self.turns, count, clock)


def timed_steps(steps: Sequence[Callable[[], object]]) -> Timed:
    """Steps that are gone through in turn."""
    return Timed(steps_loop(), [(step,) for step in steps])


@dataclass(frozen=True)
class Measurement:
    """Median seconds per call of the subject and of the peer, and the median of their ratios with a 95 % interval.

    `best` is the ratio of the fastest rounds, which a busy machine disturbs least.
    """

    subject: float
    peer: float
    ratio: float
    low: float
    high: float
    best: float
    rounds: int

    def within(self, limit: float) -> bool:
        """Return whether the ratio is inside the limit, or cannot be told from it."""
        return self.ratio <= limit or self.low <= limit


def measure(
    subject: Timed, peer: Timed, budget: float = CELL_SECONDS, *, threads: int = 1, clock: Clock | None = None
) -> Measurement:
    """Time both round by round in turn, so that a disturbance meets both, for about `budget` seconds.

    Operators that stay in one thread are timed by that thread's own clock, which stands still while others run,
    unless another one is given.
    """
    both = (subject, peer)
    clock = clock or (thread_time if threads == 1 else perf_counter)
    counts = [calls_per_round(timed) for timed in both]
    times: list[list[float]] = [[], []]
    collecting = gc.isenabled()
    gc.disable()
    try:
        spent, number = 0.0, 0
        while number < FEWEST_ROUNDS or (spent < budget and number < MOST_ROUNDS):
            for which in (0, 1) if number % 2 else (1, 0):
                seconds = both[which].seconds(counts[which], clock)
                spent += seconds
                times[which].append(seconds / counts[which])
            number += 1
    finally:
        if collecting:
            gc.enable()
    ratios = [ours / theirs for ours, theirs in zip(*times, strict=True)]
    low, high = interval(ratios)
    ours, theirs = (statistics.median(part) for part in times)
    best = min(times[0]) / min(times[1])
    return Measurement(ours, theirs, statistics.median(ratios), low, high, best, number)


def calls_per_round(timed: Timed, clock: Clock = perf_counter, wanted: float = ROUND_SECONDS) -> int:
    """How many calls take about `wanted` seconds (and warm the code up on the way).

    The lesser of two times counts, for a first call may compile what all later ones use.
    """
    timed.seconds(len(timed.turns), clock)
    count = 1
    while True:
        seconds = min(timed.seconds(count, clock), timed.seconds(count, clock))
        if seconds >= wanted / 2:
            return max(1, round(count * wanted / seconds))
        count = max(count * 2, int(count * wanted / max(seconds, 1e-9)))


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """95 % bootstrap interval of the median of ``ratios``."""
    draws = np.random.default_rng(0).choice(np.asarray(ratios), size=(400, len(ratios)))
    low, high = np.percentile(np.median(draws, axis=1), (2.5, 97.5))
    return float(low), float(high)
