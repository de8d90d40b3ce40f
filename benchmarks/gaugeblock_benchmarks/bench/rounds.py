"""Rounds in turn: every backend runs the same task for a few milliseconds, then the next, so that what disturbs the
machine meets all of them.

pytest-benchmark is not the timer here: it times one function from the first round to the last before the next test
begins, in one process, so that a disturbance meets one backend alone, and ratios would carry it. Under pytest, for one
backend at a time, :mod:`gaugeblock_benchmarks.test_cases` hands the same cases to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from gaugeblock_conformance.problem import one_line

from ..machine.controls import Yardstick, rounded
from .seat import Outcome, Seat

FEWEST, MOST = 5, 41
"""Rounds of a pass."""
SETTLING = 0.01
"""Seconds for which the threads of a library may spin after its calls: those of PyTorch do for 4 to 6 ms."""


def take_turns(
    seats: Sequence[Seat], seconds: float, yardstick: Yardstick | None = None, moved_bytes: int = 0,
    settling: float = 0.0,
) -> tuple[list[list[float] | Outcome], list[float]]:  # fmt: skip
    """Seconds per call of each round, for about `seconds` of each seat, with an Outcome for one that failed on the way;
    and those of the yardstick that belongs beside what moves so many bytes.

    Each round begins with calls that are not timed, for `settling` seconds, until the threads of the others sleep; they
    count for the `seconds`.
    """
    beside: list[float] = []
    found: list[list[float] | Outcome] = [[] for _ in seats]
    counts = [1] * len(seats)

    def attempt(which: int, number: int | None) -> float:
        try:
            if number is None:
                counts[which] = seats[which].calibrate()
                return 0.0
            start = perf_counter()
            while perf_counter() - start < settling:
                seats[which].round(counts[which])
            spent = seats[which].round(counts[which])
        except Exception as error:
            found[which] = Outcome("error", one_line(error))
            return 0.0
        taken = found[which]
        assert isinstance(taken, list)
        taken.append(rounded(spent / counts[which]))
        return perf_counter() - start

    for which in range(len(seats)):
        attempt(which, None)
    spent, number = 0.0, 0
    while number < FEWEST or (spent < seconds * len(seats) and number < MOST):
        living = [which for which, taken in enumerate(found) if isinstance(taken, list)]
        if not living:
            break
        first = number % len(living)
        for which in (*living[first:], *living[:first]):
            spent += attempt(which, number)
        if yardstick is not None:
            beside.append(yardstick.seconds(moved_bytes))
        number += 1
    return found, beside
