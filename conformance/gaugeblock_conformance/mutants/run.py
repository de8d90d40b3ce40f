"""Runs trials in child processes, a few at a time, so that a mutant that kills its process is only one row."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from .. import budget as budgets
from .. import discovery
from ..operators.coverage import swept
from ..problem import UsageProblem
from .mutant import Mutant
from .proof import Proof, prove
from .scout import Scouted, scout, usable
from .table import named
from .trial import CAUGHT, ELSEWHERE, Result, run_trial

CRASHED, TIMEOUT = "crashed", "timeout"


class HarnessProblem(UsageProblem):
    """The right backend did not survive a test of its own: nothing can be said of mutants."""

    exit_status = 1


@dataclass(frozen=True)
class Trials:
    """What every trial of a run has in common.

    ``patience`` is in seconds for one test. Tests of other things than what a mutant breaks are only run if
    ``elsewhere``; then areas with at least ``scouted_from`` mutants are scouted first. Of others the tests that may
    end the process are.
    """

    base: str
    budget: str = "standard"
    seed: int = 0
    patience: float = 240.0
    scouted_from: int = 8
    elsewhere: bool = True


@dataclass(frozen=True)
class _Task:
    """``kind`` is ``scout``, ``trial`` or ``prove``; ``name`` an area, a mutant or a requirement; ``base`` the right
    backend. Of an area only the tests that may end the process are scouted if ``risky``."""

    kind: str
    name: str
    base: str
    risky: bool = False


@dataclass
class _Running:
    """A child: ``test``, of ``requirements``, is what it is at, and ``blameless`` whether the test holds for the right
    backend, so that what happens now is the mutant's doing, and a verdict on ``target``."""

    process: Any
    receiver: Connection
    task: _Task
    started: float
    since: float
    test: str = ""
    requirements: tuple[str, ...] = ()
    blameless: bool = False
    target: str = ""


@dataclass
class Children:
    """Child processes and what is known so far of the tests: of each right backend, and which caught a mutant of it."""

    trials: Trials
    jobs: int
    note: Callable[[str], None] = lambda text: None
    known: dict[str, dict[str, Scouted]] = field(default_factory=dict)
    trusted: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        budgets.named(self.trials.budget)
        right = discovery.load(discovery.resolve(self.trials.base))
        tests = usable(right)
        # A test that may end the process is tried only where scouting has shown that the right backend survives it.
        self._risky = {identifier.partition("/")[0] for identifier, case in tests if case.may_crash}
        # A forked child starts with the suite imported, its tables read, and all that out of the collector's sight;
        # elsewhere it imports and reads it again.
        swept()
        gc.collect()
        gc.freeze()
        start = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        self._context: Any = multiprocessing.get_context(start)
        self._scouted: set[_Task] = set()

    def run(self, mutants: Sequence[Mutant]) -> Iterator[Result]:
        """The result of each mutant, as they come."""
        counts = Counter(area for mutant in mutants if not mutant.base for area in mutant.areas)
        # What all tests do is of use to those who look for one that notices a mutant.
        many = [area for area, n in counts.items() if n >= self.trials.scouted_from and self.trials.elsewhere]
        self.scout(many)
        self.scout([area for area in counts if area in self._risky and area not in many], risky=True)
        for base in dict.fromkeys(mutant.base for mutant in mutants if mutant.base):
            areas = (area for mutant in mutants if mutant.base == base for area in mutant.areas)
            self.scout(list(dict.fromkeys(areas)), base)
        tasks = [_Task("trial", mutant.name, mutant.base or self.trials.base) for mutant in mutants]
        for task, result in self._all(tasks):
            if result.verdict == "failed":
                self.trusted.setdefault(task.base, set()).add(result.test)
            yield result

    def prove(self, requirements: Sequence[str]) -> Iterator[Proof]:
        """Of each requirement a mutant that its tests catch, if there is one: one that breaks it before others."""
        self.scout(list(dict.fromkeys(identifier.partition("/")[0] for identifier in requirements)))
        for _, proof in self._all([_Task("prove", identifier, self.trials.base) for identifier in requirements]):
            yield proof

    def scout(self, areas: Sequence[str], base: str = "", *, risky: bool = False) -> None:
        """Learn of all tests of ``areas``, or of those that may end the process, what they do to the right backend."""
        tasks = [_Task("scout", area, base or self.trials.base, risky) for area in areas]
        for task, found in self._all([task for task in tasks if task not in self._scouted]):
            self._scouted.add(task)
            self.known.setdefault(task.base, {}).update(found)
            self.note(f"{len(found)} tests of area {task.name} hold for {task.base}")

    def _all(self, tasks: Sequence[_Task]) -> Iterator[tuple[_Task, Any]]:
        waiting, running = deque(tasks), list[_Running]()
        try:
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    running.append(self._launch(waiting.popleft()))
                wait([child.receiver for child in running], timeout=1.0)
                for child in list(running):
                    answer = self._attend(child)
                    if answer is not None:
                        running.remove(child)
                        yield child.task, answer
        finally:
            for child in running:
                child.process.kill()

    def _launch(self, task: _Task) -> _Running:
        receiver, sender = self._context.Pipe(duplex=False)
        trusted = frozenset(self.trusted.get(task.base, ()))
        arguments = (sender, task, self.trials, self.known.get(task.base, {}), trusted)
        process = self._context.Process(target=_child, args=arguments, daemon=True)
        process.start()
        sender.close()
        now = time.perf_counter()
        return _Running(process, receiver, task, now, now)

    def _attend(self, child: _Running) -> Any:
        """What the child answered, or what its silence or its end mean; None while it works."""
        while child.receiver.poll():
            try:
                answer = child.receiver.recv()
            except EOFError:
                child.process.join()
                code = child.process.exitcode
                how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
                return self._lost(child, CRASHED, f"the process ended by {how}")
            if not isinstance(answer, _At):
                child.process.join()
                return answer
            child.test, child.requirements = answer.test, answer.requirements
            child.blameless, child.target = answer.blameless, answer.target
            child.since = time.perf_counter()
        if time.perf_counter() - child.since > self.trials.patience:
            child.process.kill()
            return self._lost(child, TIMEOUT, f"no verdict in {self.trials.patience:g} s")
        return None

    def _lost(self, child: _Running, how: str, text: str) -> Any:
        if child.task.kind == "scout":
            raise HarnessProblem(f"{child.task.base} itself: {child.test}: {text}")
        if child.task.kind == "prove":
            return Proof(child.task.name, "", False, 0)
        seconds = round(time.perf_counter() - child.started, 2)
        if not child.blameless:
            return Result(child.task.name, how, "", "", child.requirements, child.test, 0, 0, seconds, text)
        status = CAUGHT if child.target else ELSEWHERE
        told = (how, child.target, child.requirements, child.test, 1, 0, seconds, text)
        return Result(child.task.name, status, *told)


@dataclass(frozen=True)
class _At:
    test: str
    requirements: tuple[str, ...]
    blameless: bool
    target: str


def run_all(mutants: Sequence[Mutant], trials: Trials, jobs: int) -> Iterator[Result]:
    """The result of each mutant, as they come.

    Raises:
        UsageProblem: an unknown budget or base, or a base that cannot be loaded.
        HarnessProblem: the right backend ends or hangs in a test.
    """
    return Children(trials, jobs).run(mutants)


def _child(
    sender: Connection, task: _Task, trials: Trials, known: dict[str, Scouted], trusted: frozenset[str]
) -> None:
    warnings.simplefilter("ignore")
    right = discovery.load(discovery.resolve(task.base))

    def at(test: str, requirements: tuple[str, ...] = (), blameless: bool = False, target: str = "") -> None:
        sender.send(_At(test, requirements, blameless, target))

    answer: Any
    if task.kind == "scout" and task.base != trials.base:
        common = discovery.load(discovery.resolve(trials.base)).capabilities
        answer = dict(scout(right, task.name, trials.seed, at, common))
    elif task.kind == "scout":
        answer = dict(scout(right, task.name, trials.seed, at, risky=task.risky))
    elif task.kind == "prove":
        answer = prove(right, task.name, trials.seed, known)
    else:
        budget = budgets.named(trials.budget)
        mutant, elsewhere = named(task.name), trials.elsewhere
        answer = run_trial(right, mutant, budget, trials.seed, known, trusted, at, elsewhere=elsewhere)
    sender.send(answer)
