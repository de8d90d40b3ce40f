"""One mutant against the suite: the tests of what it breaks, then, to tell what notices it instead, all others."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from ..backend import Backend
from ..budget import QUICK, Budget
from ..requirement import TestCase
from .mutant import Mutant, MutantBackend, MutantBroken
from .scout import Known, Scouted, concerns, key, usable, verdict
from .target import Target, rows_of

# Caught by a verdict on what it breaks, by one on something else alone, or by none.
CAUGHT, ELSEWHERE, MISSED, BROKEN = "caught", "elsewhere", "missed", "broken"
# The effort of a test that takes long.
_LONG = 2
# Told before a test is run: which, of which requirements, whether known to hold for the right backend, and which target
# a death or a silence in it would be a verdict on.
At = Callable[[str, tuple[str, ...], bool, str], None]


@dataclass(frozen=True)
class Result:
    """How a trial ended.

    ``test``, of ``requirements``, noticed the mutant by ``verdict`` at its ``examples``-th example, after ``tried``
    examples of other tests; ``target`` is what that is a verdict on, of what the mutant breaks; ``text`` says how.
    """

    name: str
    status: str
    verdict: str = ""
    target: str = ""
    requirements: tuple[str, ...] = ()
    test: str = ""
    examples: int = 0
    tried: int = 0
    seconds: float = 0.0
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "requirements": list(self.requirements)}


@dataclass(frozen=True)
class _Attempt:
    """One run of a test: ``targets`` are those that it is a verdict on. It judges the rows of ``only``, or those of the
    mutant's operators if ``narrow``, or all."""

    case: TestCase
    effort: Budget
    targets: tuple[Target, ...] = ()
    narrow: bool = False
    only: frozenset[str] = frozenset()

    def target_of(self, row: str) -> str:
        """Which target a failure at ``row`` of the operator table is a verdict on."""
        return next((str(t) for t in self.targets if not t.operator or row in t.rows), "")


def run_trial(
    right: Backend, mutant: Mutant, budget: Budget, seed: int, known: Known | None = None,
    trusted: Collection[str] = (), at: At = lambda test, requirements, blameless, target: None, *,
    elsewhere: bool = True,
) -> Result:  # fmt: skip
    """Try tests until one fails for the mutant and holds for the right backend (as ``known`` and ``trusted`` say, or as
    it is tried).

    Where no test of what the mutant breaks notices it the others are tried too, unless told not to look ``elsewhere``.
    A test at the quick budget that is known to call nothing the mutant answers is left out: it would say of the mutant
    what it says of the right backend.
    """
    known = known or {}
    started, tried = time.perf_counter(), 0
    backend = MutantBackend(right, mutant)
    for attempt in _attempts(mutant, right, budget, known, elsewhere):
        case, effort, targets = attempt.case, attempt.effort, attempt.targets
        test = f"{key(case)} ({effort.name})"
        holds = (test in trusted and not attempt.only) or (effort is QUICK and key(case) in known)
        at(test, case.ids, holds, str(targets[0]) if targets else "")
        try:
            found = verdict(backend, case, effort, seed, mutant, attempt.narrow, attempt.only)
        except MutantBroken as broken:
            return Result(mutant.name, BROKEN, "", "", case.ids, test, 0, tried, _since(started), str(broken))
        except Exception as crash:
            text = f"the test crashed: {type(crash).__name__}: {crash}"
            return Result(mutant.name, BROKEN, "", "", case.ids, test, 0, tried, _since(started), text)
        if found.error is not None:
            at(test, case.ids, False, "")
            if holds or verdict(right, case, effort, seed, mutant, attempt.narrow, attempt.only).error is None:
                target = attempt.target_of(found.operator)
                rest = (case.ids, test, found.examples, tried, _since(started), found.error.message)
                return Result(mutant.name, CAUGHT if target else ELSEWHERE, "failed", target, *rest)
        tried += found.examples
    return Result(mutant.name, MISSED, tried=tried, seconds=_since(started))


def tests_of(mutant: Mutant, tests: Collection[TestCase], effort: Budget, known: Known) -> Iterator[_Attempt]:
    """The tests of what the mutant breaks, the short ones first, each narrowed to the operators that it is asked of."""
    own = []
    for case in tests:
        scouted = known.get(key(case))
        targets = tuple(t for t in mutant.targets if t.requirement in case.ids and _says(scouted, t))
        if targets and (scouted is None or scouted.holds):
            own.append((case.effort, inf if scouted is None else scouted.seconds, case, targets))
    for _, _, case, targets in sorted(own, key=lambda one: one[:2]):
        only = rows_of(targets)
        if only:
            yield _Attempt(case, effort, targets, only=only)
            continue
        if key(case) in known and known[key(case)].sweeps:
            yield _Attempt(case, effort, targets, narrow=True)
        yield _Attempt(case, effort, targets)


def _says(scouted: Scouted | None, target: Target) -> bool:
    """Return whether the test may give a verdict on the target's operator."""
    if scouted is None or not target.operator or scouted.sweeps:
        return True
    return not scouted.judged.isdisjoint(target.rows)


def _attempts(
    mutant: Mutant, right: Backend, budget: Budget, known: Known, elsewhere: bool
) -> Iterator[_Attempt]:
    """The tests of what the mutant breaks at the quick budget and at a larger one; if ``elsewhere``, then those of the
    same areas and those of other areas: of each the quick ones first, and the long ones last."""
    larger = (budget,) if budget.examples > QUICK.examples else ()
    # A test that may end the process says something only where the right backend is known to survive it.
    usables = [(identifier, case) for identifier, case in usable(right) if not case.may_crash or key(case) in known]
    tests = [case for _, case in usables]
    done = set()
    for effort in (QUICK, *larger):
        for attempt in tests_of(mutant, tests, effort, known):
            yield attempt
            if not attempt.only and not attempt.narrow:
                done.add((key(attempt.case), effort.name))
    areas = {target.requirement.partition("/")[0] for target in mutant.targets}
    for own in (True, False) if elsewhere else ():
        cases = [case for identifier, case in usables if (identifier.partition("/")[0] in areas) is own]
        for attempt in _of_area(mutant, cases, larger, known):
            if (key(attempt.case), attempt.effort.name) not in done:
                yield attempt


def _of_area(mutant: Mutant, cases: list[TestCase], larger: tuple[Budget, ...], known: Known) -> Iterator[_Attempt]:
    short, _ = _ranked(mutant, [case for case in cases if case.effort < _LONG], known)
    drawn, other = _ranked(mutant, [case for case in cases if case.effort == 1], known)
    long, idle = _ranked(mutant, [case for case in cases if case.effort == _LONG], known)
    swept = [case for case in long if key(case) in known and known[key(case)].sweeps]
    yield from (_Attempt(case, QUICK) for case in short)
    for effort in (QUICK, *larger):
        yield from (_Attempt(case, effort, narrow=True) for case in swept)
    yield from (_Attempt(case, effort) for effort in larger for case in drawn)
    yield from (_Attempt(case, QUICK) for case in long)
    yield from (_Attempt(case, effort) for effort in larger for case in (*other, *long, *idle))


def _ranked(mutant: Mutant, cases: list[TestCase], known: Known) -> tuple[list[TestCase], list[TestCase]]:
    """Of the tests that the right backend holds, those that call what the mutant answers, and the others; the fastest
    first, behind them those of which nothing is known, literals before the others."""
    found: tuple[list[tuple[int, float, TestCase]], list[tuple[int, float, TestCase]]] = ([], [])
    for case in cases:
        scouted = known.get(key(case))
        if scouted is None or scouted.holds:
            idle = scouted is not None and not concerns(mutant, scouted)
            found[idle].append((case.effort, inf if scouted is None else scouted.seconds, case))
    calling, others = ([case for *_, case in sorted(part, key=lambda item: item[:2])] for part in found)
    return calling, others


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 2)
