"""Tables over the cells of a grid: geometric means overall and by operator, layout and size; the slow cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from tabulate import tabulate

from .explanations import explain
from .grid import Cell

SLOW = 1.5
GOAL = 0.8


def geometric_mean(values: Iterable[float]) -> float:
    """Of positive numbers; NaN for none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def ratio(cell: Cell) -> float:
    """Subject's time over the peer's."""
    assert cell.measurement is not None
    return cell.measurement.ratio


_GROUPS: tuple[tuple[str, Callable[[Cell], object]], ...] = (
    ("operator", lambda cell: cell.case.operator.name),
    ("layout", lambda cell: cell.case.layout),
    ("size", lambda cell: f"{cell.case.size:,}"),
)


def means(cells: Sequence[Cell]) -> str:
    """Geometric means of the ratios, one column per number of threads."""
    threads = sorted({cell.threads for cell in cells})
    measured = [cell for cell in cells if cell.measurement is not None]
    rows: list[list[object]] = [["all", *_means(measured, threads)]]
    for title, key in _GROUPS:
        for value in dict.fromkeys(map(key, measured)):
            rows.append([f"{title} {value}", *_means([c for c in measured if key(c) == value], threads)])
    return tabulate(rows, headers=["geometric mean of ratios", *(_threads(n) for n in threads)], floatfmt=".2f")


def _means(cells: Sequence[Cell], threads: Sequence[int]) -> list[float]:
    return [geometric_mean(ratio(cell) for cell in cells if cell.threads == count) for count in threads]


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def slow_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Cells whose ratio lies above SLOW, worst first."""
    return sorted((c for c in cells if c.measurement is not None and ratio(c) > SLOW), key=ratio, reverse=True)


def table(cells: Sequence[Cell]) -> str:
    """One line per cell."""
    rows = []
    for cell in cells:
        found = cell.measurement
        head = (cell.case.name, _threads(cell.threads))
        if found is None:
            rows.append((*head, "", "", "", "", "", cell.absent))
        else:
            spread = f"{found.low:.2f}-{found.high:.2f}"
            times = (duration(found.subject), duration(found.peer))
            reason = explain(cell.case) if found.ratio > SLOW else ""
            rows.append((*head, *times, f"{found.ratio:.2f}", f"{found.best:.2f}", spread, reason))
    headers = ("case", "threads", "subject", "peer", "ratio", "best", "95 %", "reason")
    return tabulate(rows, headers=headers, disable_numparse=True)


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 1e-5:
        return f"{seconds * 1e9:.0f} ns"
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-2 else f"{seconds * 1e3:.1f} ms"
