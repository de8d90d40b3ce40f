"""A seat in a process of its own, for backends that cannot live beside others, or that may bring a process down."""

from __future__ import annotations

import contextlib
import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

from gaugeblock_conformance.discovery import BackendName, load
from gaugeblock_conformance.problem import BackendProblem, one_line

from .adapter import UNKNOWN
from .seat import LocalSeat, Outcome
from .task import Task

START_SECONDS = 300.0
PATIENCE_SECONDS = 120.0
"""How long one answer may take."""


class SeatLost(Exception):
    """The process of a backend ended or did not answer."""


class ProcessSeat:
    """A :class:`LocalSeat` at the other end of a pipe. A process that ends or hangs is started anew for the next task,
    and the task that it died of is marked."""

    process = "own"

    def __init__(self, name: BackendName, label: str, threads: int, clock: str) -> None:
        self.label = label
        self._start = (name, label, threads, clock)
        self._process: Any = None
        self._pipe: Connection
        self._open()

    def _open(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, *self._start), daemon=True)
        self._process.start()
        other.close()
        try:
            problem = self._receive(START_SECONDS)
        except SeatLost as error:
            raise BackendProblem(f"backend {self._start[0].text!r} cannot be loaded: {error}") from error
        if problem:
            raise BackendProblem(problem)

    def _receive(self, patience: float) -> Any:
        try:
            if not self._pipe.poll(patience):
                self.close()
                raise SeatLost(f"no answer in {patience:.0f} s")
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(10)
            code = self._process.exitcode
            self.close()
            raise SeatLost(f"its process ended with status {code}") from error

    def _ask(self, method: str, *arguments: Any) -> Any:
        if self._process is None:
            self._open()
        with contextlib.suppress(OSError):
            self._pipe.send((method, arguments))
        answer, error = self._receive(PATIENCE_SECONDS)
        if error is not None:
            raise RuntimeError(error)
        return answer

    def describe(self) -> dict[str, Any]:
        try:
            return {**self._ask("describe"), "process": self.process}
        except SeatLost as error:
            raise BackendProblem(f"backend {self._start[0].text!r}: {error}") from error

    def adapter(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._ask("adapter")
        except SeatLost:
            return UNKNOWN
        return found

    def prepare(self, task: Task) -> Outcome:
        try:
            found: Outcome = self._ask("prepare", task)
        except SeatLost as error:
            return Outcome("crashed", str(error))
        return found

    def calibrate(self) -> int:
        return int(self._ask("calibrate"))

    def round(self, count: int) -> float:
        return float(self._ask("round", count))

    def peak(self, task: Task) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._ask("peak", task)
        except SeatLost as error:
            return {"status": "crashed", "reason": str(error)}
        return found

    def release(self) -> None:
        if self._process is not None:
            try:
                self._ask("release")
            except SeatLost:
                return

    def close(self) -> None:
        if self._process is None:
            return
        self._pipe.close()
        self._process.join(1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = None


def _serve(pipe: Connection, name: BackendName, label: str, threads: int, clock: str) -> None:
    """Load the backend, say so, and answer until the pipe closes."""
    try:
        seat = LocalSeat(label, load(name), threads, clock)
    except BackendProblem as error:
        pipe.send(str(error))
        return
    pipe.send("")
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer, error_text = getattr(seat, method)(*arguments), None
        except Exception as error:
            answer, error_text = None, one_line(error)
        pipe.send((answer, error_text))
