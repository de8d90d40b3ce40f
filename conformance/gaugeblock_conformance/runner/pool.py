"""Several workers at work: hands out requirements, watches time and memory, and turns a dead worker into a verdict."""

from __future__ import annotations

import selectors
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaugeblock_spec.requirements import Requirement

from ..problem import BackendProblem, UsageProblem
from .environment import resident_memory
from .process import WorkerProcess
from .rows import Row, Verdict, new_failure, new_row
from .schedule import Schedule

TICK = 0.05
LOAD_TIMEOUT = 120.0
SLOW = 10.0
# Lines of a fault handler's report that tell nothing about the cause.
_DULL = ("Extension modules", "Current thread", "  File", "<no Python frame>")


@dataclass(frozen=True)
class Limits:
    """Seconds for one requirement, and bytes of memory for one worker (0: no limit)."""

    timeout: float
    memory: int


class Pool:
    """``backend()`` waits for the first worker; ``decide(ids)`` yields one row per requirement as they are decided."""

    def __init__(self, requirements: Mapping[str, Requirement], jobs: int, limits: Limits, **setup: Any) -> None:
        self._requirements = requirements
        self._jobs = jobs
        self._limits = limits
        self._patience = max(LOAD_TIMEOUT, limits.timeout)
        self._setup = setup
        self._folder = Path(tempfile.mkdtemp(prefix="gaugeblock-"))
        self._selector = selectors.DefaultSelector()
        self._workers: list[WorkerProcess] = []
        self._started = 0
        self._schedule = Schedule(requirements)
        self._suspects: deque[str] = deque()
        self._first: dict[str, Row] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers:
            worker.stop()
        self._selector.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def backend(self, note: Callable[[str], None] = lambda text: None, wanted: int = 1) -> dict[str, Any]:
        """Facts about the backend: name, version, device, capabilities, packages. ``note`` is told if it takes long.

        Starts as many workers as ``wanted`` requirements can keep busy, and waits for the first that is ready.

        Raises:
            BackendProblem: it cannot be loaded, dies or hangs while it loads.
        """
        for _ in range(max(1, min(self._jobs, wanted))):
            self._start()
        told = False
        while True:
            if not told and time.monotonic() > self._workers[0].deadline - self._patience + SLOW:
                told = True
                note(f"still loading {self._setup['backend']} (for {self._patience:.0f} s at most)")
            self._selector.select(TICK)
            for worker in self._workers:
                for message in worker.read():
                    self._handle(worker, message)
                if worker.ready is not None:
                    return worker.ready
                self._check_loading(worker)

    def decide(self, ids: Sequence[str]) -> Iterator[Row]:
        """Run requirements ``ids``, in this order as far as several workers allow."""
        self._schedule = Schedule(self._requirements, ids)
        left = len(ids)
        for _ in range(min(self._jobs, left) - len(self._workers)):
            self._start()
        while left:
            self._hand_out()
            for _key, _ in self._selector.select(TICK):
                pass
            for worker in list(self._workers):
                for row in self._attend(worker):
                    left -= 1
                    yield row

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self._folder, self._started, **self._setup)
        worker.deadline = time.monotonic() + self._patience
        self._started += 1
        self._workers.append(worker)
        self._selector.register(worker.fd, selectors.EVENT_READ)
        return worker

    def _retire(self, worker: WorkerProcess) -> None:
        self._selector.unregister(worker.fd)
        self._workers.remove(worker)
        self._schedule.forget(worker)
        worker.kill()

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.ready is None or worker.busy is not None:
                continue
            if self._suspects:
                worker.run(self._suspects.popleft(), careful=True, timeout=self._limits.timeout)
            elif self._schedule:
                chosen = self._schedule.next(worker, worker.ready.get("families", {}))
                worker.run(chosen, careful=False, timeout=self._limits.timeout)

    def _attend(self, worker: WorkerProcess) -> Iterator[Row]:
        death = worker.died()
        for message in worker.read():
            row = self._handle(worker, message)
            if row is not None:
                if row["status"] == "crashed":
                    yield from self._broken(worker, row)
                    return
                yield self._settled(row)
        if worker.busy is None and worker.ready is None:
            self._check_loading(worker)
        elif worker.busy is not None:
            yield from self._check_running(worker, death)
        elif death is not None:
            self._replace(worker)

    def _handle(self, worker: WorkerProcess, message: dict[str, Any]) -> Row | None:
        if "problem" in message:
            kind = BackendProblem if message["status"] == BackendProblem.exit_status else UsageProblem
            raise kind(message["problem"])
        if "ready" in message:
            worker.ready = message["ready"]
            worker.deadline = float("inf")
        elif "test" in message:
            worker.test = message["test"]
        elif "row" in message:
            row: Row = message["row"]
            if row["status"] != "crashed":
                worker.busy = None
            return row
        return None

    def _check_loading(self, worker: WorkerProcess) -> None:
        name = self._setup["backend"]
        death = worker.died()
        if death is not None:
            printed = [line for line in (worker.printed() or "").splitlines() if not line.startswith(_DULL)]
            fatal = next((line for line in printed if line.startswith("Fatal Python error")), None)
            last = f": {fatal or printed[-1]}" if printed else ""
            raise BackendProblem(f"backend {name!r} cannot be loaded: its process ended with {death}{last}")
        if time.monotonic() > worker.deadline:
            raise BackendProblem(f"backend {name!r} cannot be loaded: not ready after {self._patience:.0f} s")

    def _check_running(self, worker: WorkerProcess, death: str | None) -> Iterator[Row]:
        if death is not None:
            yield from self._lost(worker, "crashed", f"the process ended with {death}")
        elif time.monotonic() > worker.deadline:
            yield from self._lost(worker, "timeout", f"not done after {self._limits.timeout:g} s")
        elif self._limits.memory and (held := resident_memory(worker.pid)) > self._limits.memory:
            text = f"the process held {held >> 20} MiB of memory; the limit is {self._limits.memory >> 20} MiB"
            yield from self._lost(worker, "crashed", text)

    def _lost(self, worker: WorkerProcess, verdict: Verdict, message: str) -> Iterator[Row]:
        assert worker.busy is not None
        row = new_row(self._requirements[worker.busy], verdict)
        where = f"{worker.test}: " if worker.test else ""
        row["failure"] = new_failure(verdict, f"{where}{message}", cause=message, test=worker.test)
        row["seconds"] = self._limits.timeout if verdict == "timeout" else 0.0
        yield from self._broken(worker, row)

    def _broken(self, worker: WorkerProcess, row: Row) -> Iterator[Row]:
        """A first break is looked into by a careful second run; the second run's break is the verdict."""
        failure, identifier = row["failure"], row["id"]
        assert failure is not None
        failure["snippet"] = failure["snippet"] or worker.traced()
        failure["output"] = worker.printed()
        if not worker.careful:
            self._first[identifier] = row
            self._suspects.append(identifier)
        self._replace(worker)
        if worker.careful:
            yield self._settled(row)

    def _settled(self, row: Row) -> Row:
        first = self._first.pop(row["id"], None)
        if first is None or row["status"] == "crashed" or first["failure"] is None or first["status"] == "timeout":
            return row
        first["failure"]["message"] += f"; a second run {row['status']}, so it does not happen every time"
        return first

    def _replace(self, worker: WorkerProcess) -> None:
        self._retire(worker)
        if self._schedule or self._suspects:
            self._start()
