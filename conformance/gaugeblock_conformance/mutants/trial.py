"""One mutant against the suite: its area first, then the others, until the first failed verdict."""

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
from .scout import Known, concerns, key, usable, verdict

CAUGHT, MISSED, BROKEN = "caught", "missed", "broken"
# The effort of a test that takes long.
_LONG = 2
# Told before a test is run: which, of which requirements, whether on the mutant and known to hold for the right one.
At = Callable[[str, tuple[str, ...], bool], None]


@dataclass(frozen=True)
class Result:
    """How a trial ended.

    ``test``, of ``requirements``, caught the mutant by ``verdict`` at its ``examples``-th example, after ``tried``
    examples of other tests; ``text`` says how.
    """

    name: str
    status: str
    verdict: str = ""
    requirements: tuple[str, ...] = ()
    test: str = ""
    examples: int = 0
    tried: int = 0
    seconds: float = 0.0
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "requirements": list(self.requirements)}


def run_trial(
    right: Backend, mutant: Mutant, budget: Budget, seed: int, known: Known | None = None,
    trusted: Collection[str] = (), at: At = lambda test, requirements, blameless: None,
) -> Result:  # fmt: skip
    """Try tests until one fails for the mutant and holds for the right backend (as ``known`` and ``trusted`` say, or as
    it is tried).

    A test at the quick budget that is known to call nothing the mutant answers is left out: it would say of the mutant
    what it says of the right backend.
    """
    known = known or {}
    started, tried = time.perf_counter(), 0
    backend = MutantBackend(right, mutant)
    for case, effort, narrow in _attempts(mutant, right, budget, known):
        test = f"{key(case)} ({effort.name})"
        holds = test in trusted or (effort is QUICK and key(case) in known)
        at(test, case.ids, holds)
        try:
            found = verdict(backend, case, effort, seed, mutant, narrow)
        except MutantBroken as broken:
            return Result(mutant.name, BROKEN, "", case.ids, test, 0, tried, _since(started), str(broken))
        except Exception as crash:
            text = f"the test crashed: {type(crash).__name__}: {crash}"
            return Result(mutant.name, BROKEN, "", case.ids, test, 0, tried, _since(started), text)
        if found.error is not None:
            at(test, case.ids, False)
            if holds or verdict(right, case, effort, seed, mutant, narrow).error is None:
                how = ("failed", case.ids, test, found.examples, tried, _since(started), found.error.message)
                return Result(mutant.name, CAUGHT, *how)
        tried += found.examples
    return Result(mutant.name, MISSED, tried=tried, seconds=_since(started))


def _attempts(
    mutant: Mutant, right: Backend, budget: Budget, known: Known
) -> Iterator[tuple[TestCase, Budget, bool]]:
    """Tests of the mutant's area, then the others, with a budget, and whether to go over the operators of the mutant
    alone; of each area the quick ones first, and the long ones last."""
    larger = (budget,) if budget.examples > QUICK.examples else ()
    # A test that may end the process says something only where the right backend is known to survive it.
    tests = [(identifier, case) for identifier, case in usable(right) if not case.may_crash or key(case) in known]
    for own in (True, False):
        cases = [case for identifier, case in tests if identifier.startswith(f"{mutant.area}/") is own]
        short, _ = _ranked(mutant, [case for case in cases if case.effort < _LONG], known)
        drawn, other = _ranked(mutant, [case for case in cases if case.effort == 1], known)
        long, idle = _ranked(mutant, [case for case in cases if case.effort == _LONG], known)
        swept = [case for case in long if key(case) in known and known[key(case)].sweeps]
        yield from ((case, QUICK, False) for case in short)
        for effort in (QUICK, *larger):
            yield from ((case, effort, True) for case in swept)
        yield from ((case, effort, False) for effort in larger for case in drawn)
        yield from ((case, QUICK, False) for case in long)
        yield from ((case, effort, False) for effort in larger for case in (*other, *long, *idle))


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
