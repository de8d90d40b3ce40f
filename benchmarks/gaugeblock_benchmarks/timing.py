"""Timing two modules against each other: interleaved rounds, medians, and an interval for their ratio."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from .cases import Case

ROUNDS = 61
ROUND_SECONDS = 0.004


@dataclass(frozen=True)
class Measurement:
    """Median seconds per call of the subject and of the peer, and their ratio with a 95 % interval."""

    case: Case
    subject: float
    peer: float
    ratio: float
    low: float
    high: float

    @property
    def within(self) -> bool:
        """Whether the ratio is inside the limit, or cannot be told from it."""
        return self.ratio <= self.case.limit or self.low <= self.case.limit


def measure(case: Case, subject: ModuleType, peer: ModuleType, rounds: int = ROUNDS) -> Measurement:
    """Time ``case`` on both modules, round by round in turn, so that a disturbance meets both."""
    timers = [timeit.Timer(case.statement, case.setup, globals={"xp": module}) for module in (subject, peer)]
    counts = [_calls_per_round(timer) for timer in timers]
    times: list[list[float]] = [[], []]
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            times[which].append(timers[which].timeit(counts[which]) / counts[which])
    ratios = [ours / theirs for ours, theirs in zip(*times, strict=True)]
    low, high = _interval(ratios)
    return Measurement(
        case, statistics.median(times[0]), statistics.median(times[1]), statistics.median(ratios), low, high
    )


def _calls_per_round(timer: timeit.Timer) -> int:
    """How many calls take about ``ROUND_SECONDS`` (and warm the code up on the way)."""
    count = 1
    while True:
        seconds = timer.timeit(count)
        if seconds >= ROUND_SECONDS:
            return max(1, round(count * ROUND_SECONDS / seconds))
        count = max(count * 2, int(count * ROUND_SECONDS / max(seconds, 1e-9)))


def _interval(ratios: Sequence[float]) -> tuple[float, float]:
    """95 % bootstrap interval of the median of ``ratios``."""
    draws = np.random.default_rng(0).choice(np.asarray(ratios), size=(1000, len(ratios)))
    low, high = np.percentile(np.median(draws, axis=1), (2.5, 97.5))
    return float(low), float(high)


def import_seconds(module: str, repeats: int = 9) -> float:
    """Median wall time that ``import module`` takes in a fresh interpreter, beyond the interpreter's own start."""
    import subprocess
    import sys

    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    times = []
    for _ in range(repeats):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times.append(float(done.stdout))
    return statistics.median(times)
