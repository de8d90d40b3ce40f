"""Seats for the backends of a command line: in this process when they can live together, else each in its own."""

from __future__ import annotations

from collections.abc import Sequence

from gaugeblock_conformance.discovery import BackendName, load
from gaugeblock_conformance.problem import BackendProblem

from .process_seat import ProcessSeat
from .seat import LocalSeat, Seat


def labels(names: Sequence[BackendName]) -> list[str]:
    """What backends are called in a record: as on the command line, with a number where one is named twice."""
    found: list[str] = []
    for name in names:
        times = sum(1 for label in found if label.partition("#")[0] == name.text)
        found.append(name.text if not times else f"{name.text}#{times + 1}")
    return found


def open_seats(names: Sequence[BackendName], threads: int, clock: str, isolate: bool) -> list[Seat]:
    """Seats in order. Raises BackendProblem for a backend that loads nowhere.

    A backend that says ``own_process = True``, or that does not load beside those before it, gets a process of its own.
    """
    seats: list[Seat] = []
    try:
        for name, label in zip(names, labels(names), strict=True):
            seats.append(_open(name, label, threads, clock, isolate))
    except BaseException:
        for seat in seats:
            seat.close()
        raise
    return seats


def _open(name: BackendName, label: str, threads: int, clock: str, isolate: bool) -> Seat:
    if isolate:
        return ProcessSeat(name, label, threads, clock)
    try:
        backend = load(name)
    except BackendProblem:
        return ProcessSeat(name, label, threads, clock)
    if getattr(backend, "own_process", False):
        return ProcessSeat(name, label, threads, clock)
    return LocalSeat(label, backend, threads, clock)
