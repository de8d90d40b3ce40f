"""The grid: every case on two backends, for each number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gaugeblock_conformance.backend import Backend

from .cases import Case
from .operands import turns
from .subject import loop_of
from .timing import Measurement, Timed, measure


@dataclass(frozen=True)
class Cell:
    """What one case gave with a number of threads: a measurement, or why there is none."""

    case: Case
    threads: int
    measurement: Measurement | None
    absent: str = ""


def set_threads(backend: Backend, threads: int) -> None:
    """Tell a torch-style module how many threads an operator may use; others keep their own setting."""
    module = getattr(backend, "module", None)
    if module is not None and hasattr(module, "set_num_threads"):
        module.set_num_threads(threads)


def run_grid(
    cases: Sequence[Case],
    backends: tuple[Backend, Backend],
    threads: Sequence[int],
    seconds_per_cell: float,
    progress: Callable[[Cell], None] = lambda cell: None,
) -> Iterator[Cell]:
    """All cells, case by case; `backends` are the subject and its peer."""
    for case in cases:
        prepared: list[Timed] = []
        reason = ""
        for backend in backends:
            try:
                timed = Timed(loop_of(case, backend), turns(case, backend))
                timed.seconds(1)
            except (AttributeError, NotImplementedError) as error:
                reason = f"{backend.name}: {error}"
                break
            prepared.append(timed)
        for count in threads:
            cell = Cell(case, count, None, reason)
            if not reason:
                for backend in backends:
                    set_threads(backend, count)
                cell = Cell(case, count, measure(prepared[0], prepared[1], seconds_per_cell, threads=count))
            progress(cell)
            yield cell
