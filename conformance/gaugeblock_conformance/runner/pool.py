"""Several workers at work: hands out requirements, watches time and memory, and turns a dead worker into a verdict."""

from __future__ import annotations

import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.requirements import Requirement

from ..problem import BackendProblem, UsageProblem, shown, visible
from .checking import Malformed, check_ready, check_row
from .environment import resident_memory
from .last_use import ended, in_use, is_building
from .liveness import GONE
from .preflight import PROBE
from .process import WorkerProcess
from .rows import TEXT, Failure, Row, Verdict, new_failure, new_row, trimmed
from .schedule import Schedule

TICK = 0.05
LOAD_TIMEOUT = 120.0
SLOW = 10.0
DEATHS = 30
"""Number of operators that may end the process in one requirement before the others are given up."""
ATTEMPTS = 3
"""Number of times that a backend that has been loaded once may fail to load again."""
NAME = 300
"""Largest number of characters of a test's name or of a process's last line."""
# Lines of a fault handler's report that tell nothing about the cause.
_DULL = ("Extension modules", "Current thread", "  File", "<no Python frame>")


@dataclass(frozen=True)
class Limits:
    """Seconds for one requirement, or one operator of it, and bytes of memory for one worker (0: no limit)."""

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
        self._selector = selectors.DefaultSelector()
        self._workers: list[WorkerProcess] = []
        self._schedule = Schedule(requirements)
        self._suspects: deque[str] = deque()
        self._first: dict[str, Row] = {}
        self._deaths: dict[str, list[Failure]] = {}
        self._avoided: dict[str, list[str]] = {}
        self._alone: dict[str, str] = {}
        self._fatal: dict[str, str] = {}
        self._loaded = False
        self._refusals = 0
        self._refused = ""

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers:
            worker.stop()
        self._selector.close()

    def backend(self, note: Callable[[str], None] = lambda text: None, wanted: int = 1) -> dict[str, Any]:
        """Facts about the backend: name, version, device, capabilities, packages. ``note`` is told if it takes long.

        Starts as many workers as ``wanted`` requirements can keep busy, and waits for the first that is ready.

        Raises:
            BackendProblem: it cannot be loaded, dies or hangs while it loads.
        """
        for _ in range(max(1, min(self._jobs, wanted))):
            self._start()
        noted = False
        while True:
            if not noted and time.monotonic() > self._workers[0].deadline - self._patience + SLOW:
                noted = True
                note(f"still loading {self._setup['backend']} (for {self._patience:.0f} s at most)")
            self._selector.select(TICK)
            for worker in list(self._workers):
                self._listen_while_loading(worker)
                if worker.ready is not None:
                    self._loaded = True
                    return worker.ready

    def decide(self, ids: Sequence[str], until: float = float("inf")) -> Iterator[Row]:
        """Run requirements ``ids``, in this order as far as several workers allow.

        At the time ``until`` of the monotonic clock it stops; what is running then is not decided.
        """
        self._schedule = Schedule(self._requirements, ids)
        left = len(ids)
        for _ in range(min(self._jobs, left) - len(self._workers)):
            self._start()
        while left and time.monotonic() < until:
            self._hand_out()
            self._selector.select(TICK)
            for worker in list(self._workers):
                for row in self._attend(worker):
                    left -= 1
                    yield row
            if not self._workers:
                for row in self._given_up():
                    left -= 1
                    yield row
        if left:
            yield from self._once()

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(**self._setup, fatal=self._fatal)
        worker.deadline = time.monotonic() + self._patience
        self._workers.append(worker)
        for descriptor in worker.fds:
            self._selector.register(descriptor, selectors.EVENT_READ)
        return worker

    def _retire(self, worker: WorkerProcess) -> None:
        for descriptor in worker.fds:
            self._forget(descriptor)
        self._workers.remove(worker)
        self._schedule.forget(worker)
        worker.kill()

    def _forget(self, descriptor: int) -> None:
        """Stop polling a descriptor that has no more data."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.ready is None or worker.busy is not None:
                continue
            if self._suspects:
                chosen = self._suspects.popleft()
                avoided, alone = self._avoided.get(chosen, []), self._alone.get(chosen)
                only = [] if alone is None else [alone]
                careful = chosen in self._first
                worker.run(chosen, careful=careful, timeout=self._limits.timeout, avoid=avoided, only=only)
            elif self._schedule:
                chosen = self._schedule.next(worker, worker.ready.get("families", {}))
                worker.run(chosen, careful=False, timeout=self._limits.timeout)

    def _attend(self, worker: WorkerProcess) -> Iterator[Row]:
        if worker.ready is None:
            try:
                self._listen_while_loading(worker)
            except UsageProblem as problem:
                self._refuse(worker, str(problem))
            return
        death = worker.died()
        for message in worker.read():
            try:
                row = self._handle(worker, message)
            except Malformed as malformed:
                worker.garbled = f"invalid message from the worker: {malformed}"
                break
            if row is not None:
                if row["status"] == "crashed":
                    yield from self._broken(worker, row)
                    return
                alone = self._alone.pop(row["id"], None)
                if alone is None:
                    yield self._settled(row)
                else:
                    self._suspects.append(row["id"])
        if worker.hung_up:
            self._forget(worker.fd)
        if worker.busy is not None:
            yield from self._check_running(worker, worker.garbled or death)
        elif death is not None or worker.garbled is not None:
            self._replace(worker)

    def _handle(self, worker: WorkerProcess, message: dict[str, Any]) -> Row | None:
        """Return the row of a message, or None if it has none. Raises Malformed for an unrequested message."""
        if worker.busy is None:
            raise Malformed(f"{shown(next(iter(message), None))} without a request")
        if "test" in message:
            worker.test = visible(str(message["test"]), NAME)
            return None
        row = check_row(message.get("row"), self._requirements)
        if row["id"] != worker.busy:
            raise Malformed(f"a row of {row['id']} in reply to a request for {worker.busy}")
        if row["status"] != "crashed":
            worker.busy = None
        return row

    def _listen_while_loading(self, worker: WorkerProcess) -> None:
        """Read a worker's facts about its backend. Raises UsageProblem if the backend cannot be loaded.

        One that ended while a capability was tried is replaced by one that does without the capability.
        """
        death = worker.died()
        for message in worker.read():
            if "problem" in message:
                kind = BackendProblem if message["status"] == BackendProblem.exit_status else UsageProblem
                raise kind(visible(str(message["problem"]), TEXT))
            if "checking" in message:
                worker.checking = visible(str(message["checking"]), NAME)
                continue
            try:
                worker.ready = check_ready(message.get("ready"))
            except Malformed as malformed:
                raise self._unloadable(worker, str(malformed)) from None
            worker.deadline = float("inf")
            return
        if worker.garbled is not None:
            raise self._unloadable(worker, worker.garbled)
        if death is not None and (worker.checking or "").startswith(PROBE):
            self._fatal[(worker.checking or "").removeprefix(PROBE)] = death
            self._retire(worker)
            self._start()
            return
        if death is not None:
            printed = [line for line in (worker.printed() or "").splitlines() if not line.startswith(_DULL)]
            fatal = next((line for line in printed if line.startswith("Fatal Python error")), None)
            last = f": {visible(fatal or printed[-1], NAME)}" if printed else ""
            raise self._unloadable(worker, f"{death}{last}")
        if time.monotonic() > worker.deadline:
            raise self._unloadable(worker, f"not ready after {self._patience:.0f} s")
        if worker.checking is not None and (hoard := self._hoard(worker)) is not None:
            raise self._unloadable(worker, hoard)

    def _hoard(self, worker: WorkerProcess) -> str | None:
        """Return how much memory a worker holds if that is beyond the limit."""
        limit = self._limits.memory
        if not limit or (held := resident_memory(worker.pid or 0)) <= limit:
            return None
        return f"the process held {held >> 20} MiB of memory; the limit is {limit >> 20} MiB"

    def _unloadable(self, worker: WorkerProcess, why: str) -> BackendProblem:
        """Return the problem of a backend that does not load, or whose adapter is not through its checks."""
        what = " cannot be loaded" if worker.checking is None else f": its adapter fails the check {worker.checking!r}"
        return BackendProblem(f"backend {self._setup['backend']!r}{what}: {why}")

    def _refuse(self, worker: WorkerProcess, reason: str) -> None:
        """Replace a worker whose backend did not load again, or retire it after ``ATTEMPTS`` failures."""
        self._refusals += 1
        self._refused = reason
        if self._refusals < ATTEMPTS:
            self._replace(worker)
        else:
            self._retire(worker)

    def _given_up(self) -> Iterator[Row]:
        """Yield a crashed row for each remaining requirement when the backend no longer loads."""
        for identifier in [*self._suspects, *self._schedule.rest()]:
            row = new_row(self._requirements[identifier], "crashed")
            row["failure"] = new_failure("crashed", f"the backend could not be loaded again: {self._refused}")
            yield self._first.pop(identifier, row)
        self._suspects.clear()

    def _once(self) -> Iterator[Row]:
        """Yield the breaks that there was no time to look into."""
        for identifier in [*self._first, *(name for name in self._deaths if name not in self._first)]:
            deaths = self._deaths.pop(identifier, [])
            first = self._first.pop(identifier, None)
            if first is not None and first["failure"] is not None:
                first["failure"]["message"] += "; there was no time for a second run"
                deaths = [*deaths, first["failure"]]
            row = first or new_row(self._requirements[identifier])
            yield _headed(row, deaths, self._avoided.pop(identifier, []))

    def _check_running(self, worker: WorkerProcess, end: str | None) -> Iterator[Row]:
        if end is not None:
            yield from self._lost(worker, "crashed", end)
        elif worker.overdue():
            yield from self._lost(worker, "timeout", f"not done after {self._limits.timeout:g} s")
        elif (hoard := self._hoard(worker)) is not None:
            yield from self._lost(worker, "crashed", hoard)

    def _lost(self, worker: WorkerProcess, verdict: Verdict, message: str) -> Iterator[Row]:
        assert worker.busy is not None
        row = new_row(self._requirements[worker.busy], verdict)
        where = f"{worker.test}: " if worker.test else ""
        told, cause = in_use(message, worker.use())
        snippet = ended(worker.traced(), worker.use())
        row["failure"] = new_failure(verdict, f"{where}{told}", cause=cause, test=worker.test, snippet=snippet)
        row["seconds"] = self._limits.timeout if verdict == "timeout" else 0.0
        yield from self._broken(worker, row)

    def _broken(self, worker: WorkerProcess, row: Row) -> Iterator[Row]:
        """A first break is looked into by a careful second run; the second run's break is the verdict.

        If it happened while an operator was judged, the second run judges that operator alone; if it does not break, a
        third one judges all. The break is the verdict on that operator, and the others
        are judged next. A break in building operands is told once, and says nothing of the operator.
        """
        failure, identifier = row["failure"], row["id"]
        assert failure is not None
        failure["snippet"] = failure["snippet"] or worker.traced()
        failure["adapter_snippet"] = failure["adapter_snippet"] or worker.logged()
        failure["output"] = worker.printed()
        operator = worker.operator()
        if operator is not None and operator in operators.load():
            building = is_building(worker.use())
            failure["operator"] = None if building else operator
            row["subresults"] = {operator: "skipped" if building else failure["verdict"]}
        row = trimmed(row)
        deaths, avoided = self._deaths.get(identifier, []), self._avoided.get(identifier, [])
        self._alone.pop(identifier, None)
        if not worker.careful:
            self._first[identifier] = row
            self._suspects.append(identifier)
            if row["subresults"]:
                self._alone[identifier] = str(operator)
        elif row["subresults"] and len(avoided) < DEATHS and operator not in avoided:
            self._avoided[identifier] = [*avoided, str(operator)]
            if failure["operator"] is not None or failure["cause"] not in {one["cause"] for one in deaths}:
                self._deaths[identifier] = [*deaths, failure]
            self._first.pop(identifier, None)
            self._suspects.append(identifier)
        self._replace(worker)
        if worker.careful and identifier not in self._suspects:
            yield self._settled(row)

    def _settled(self, row: Row) -> Row:
        """Return the verdict of a run with those of the runs before it that ended the process."""
        deaths, avoided = self._deaths.pop(row["id"], []), self._avoided.pop(row["id"], [])
        first = self._first.pop(row["id"], None)
        again = row["status"] in ("crashed", "timeout")
        if first is not None and first["failure"] is not None and not again and not _is_excused(first):
            first["failure"]["message"] += f"; a second run {row['status']}, so it does not happen every time"
            deaths = [*deaths, first["failure"]]
        return _headed(row, deaths, avoided) if deaths else row

    def _replace(self, worker: WorkerProcess) -> None:
        self._retire(worker)
        if self._schedule or self._suspects:
            self._start()


def _is_excused(first: Row) -> bool:
    """Return whether a break that a second run does not show may be due to a busy machine, or to a requirement before
    it that lost the device."""
    return first["status"] == "timeout" or (first["failure"] is not None and GONE in first["failure"]["message"])


def _headed(row: Row, deaths: Sequence[Failure], avoided: Sequence[str]) -> Row:
    """``row`` with the failures of runs that ended the process before its own, in which operators were ``avoided``."""
    rest = [one for one in (row["failure"], *row["further_failures"]) if one is not None and one not in deaths]
    row["failure"], row["further_failures"] = deaths[0], [*deaths[1:], *rest]
    row["status"], row["reason"] = deaths[0]["verdict"], None
    row["subresults"].update(dict.fromkeys(avoided, "skipped"))
    row["subresults"].update({one["operator"]: one["verdict"] for one in deaths if one["operator"] is not None})
    return row
