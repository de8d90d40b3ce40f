"""A seat: where a backend sits while it is timed. This one is in the process of the command."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
from gaugeblock_conformance.backend import Backend, MissingCapability, Unsupported
from gaugeblock_conformance.problem import one_line
from numpy.typing import NDArray

from ..grid import set_threads
from ..timing import calls_per_round
from . import adapter, peak
from .blas import set_blas_threads
from .task import Ready, Task

ROUND_SECONDS = 0.0005
"""Shorter than the slices of time that a busy system gives, so that most rounds are run through."""
CLOCKS: dict[str, Callable[[], float]] = {"wall": perf_counter, "cpu": process_time}
"""What goes by, or what the process works: the latter stands still while it waits and while other processes run."""


@dataclass(frozen=True)
class Outcome:
    """Whether a backend is ready for a task (status ``measured``), or why not, and what its call gave."""

    status: str
    reason: str = ""
    shape: tuple[int, ...] = ()
    sample: NDArray[Any] | None = None


class Seat(Protocol):
    """What the command does with a backend."""

    label: str
    process: str

    def describe(self) -> dict[str, Any]:
        """Name, version, device and capabilities."""

    def adapter(self) -> dict[str, Any]:
        """What its adapter's call costs."""

    def prepare(self, task: Task) -> Outcome: ...

    def calibrate(self) -> int:
        """How many calls make a round, after warming up."""

    def round(self, count: int) -> float:
        """Seconds for so many calls."""

    def peak(self, task: Task) -> dict[str, Any]:
        """The memory that a call takes, as a row of a record."""

    def release(self) -> None:
        """Drop what the task needed."""

    def close(self) -> None: ...


class LocalSeat:
    """A backend of this process."""

    process = "shared"

    def __init__(self, label: str, backend: Backend, threads: int, clock: str) -> None:
        self.label = label
        self.backend = backend
        self._threads = threads
        self._clock = CLOCKS[clock]
        self._ready: Ready | None = None
        set_threads(backend, threads)
        set_blas_threads(threads)

    def describe(self) -> dict[str, Any]:
        backend = self.backend
        module = getattr(backend, "module", None)
        told = getattr(module, "get_num_threads", None)
        return {
            "label": self.label, "name": str(backend.name), "version": str(backend.version),
            "device": str(backend.device), "process": self.process, "threads": int(told()) if told else None,
            "capabilities": sorted(backend.capabilities),
        }  # fmt: skip

    def adapter(self) -> dict[str, Any]:
        return adapter.cost(self.backend, self._clock)

    def prepare(self, task: Task) -> Outcome:
        self.release()
        set_threads(self.backend, self._threads)
        try:
            with np.errstate(all="ignore"):
                self._ready = task.prepare(self.backend)
                self._ready.timed.seconds(1, self._clock)
        except Exception as error:
            self.release()
            return refusal(error)
        return Outcome("measured", "", self._ready.shape, self._ready.sample)

    def calibrate(self) -> int:
        assert self._ready is not None
        return calls_per_round(self._ready.timed, self._clock, ROUND_SECONDS)

    def round(self, count: int) -> float:
        assert self._ready is not None
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self._ready.timed.seconds(count, self._clock)
        finally:
            if collecting:
                gc.enable()

    def peak(self, task: Task) -> dict[str, Any]:
        self.release()
        try:
            return peak.of(task, self.backend)
        except Exception as error:
            refused = refusal(error)
            return {"status": refused.status, "reason": refused.reason}

    def release(self) -> None:
        self._ready = None

    def close(self) -> None:
        self.release()


def refusal(error: Exception) -> Outcome:
    """What an exception says of a task."""
    if isinstance(error, Unsupported):
        return Outcome("unsupported", error.reason)
    if isinstance(error, MissingCapability | NotImplementedError):
        return Outcome("unsupported", one_line(error))
    if isinstance(error, MemoryError):
        return Outcome("skipped", one_line(error))
    return Outcome("error", one_line(error))
