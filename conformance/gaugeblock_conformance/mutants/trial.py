"""One mutant against the suite: its area first, then the others, until the first failed verdict."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from gaugeblock_spec import requirements as spec

from .. import expectations
from .. import requirement as registry
from ..backend import Backend, MissingCapability, Unsupported
from ..budget import QUICK, Budget
from ..requirement import TestCase
from ..session import ConformanceError, Session
from .mutant import Mutant, MutantBackend, MutantBroken

CAUGHT, MISSED, BROKEN = "caught", "missed", "broken"


@dataclass(frozen=True)
class Result:
    """How a trial ended: ``requirement`` and ``test`` caught the mutant after ``examples``; ``text`` says how."""

    name: str
    status: str
    requirement: str = ""
    test: str = ""
    examples: int = 0
    seconds: float = 0.0
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ordered(area: str) -> list[tuple[str, TestCase]]:
    """All tests with the requirement they are run for: ``area`` before the others; in each the literal tests before
    the drawn ones and these before the slow ones, else in the order of the spec."""
    if not registry.tests():
        registry.load_tests()
    tests, seen = registry.tests(), set()
    found: list[tuple[str, TestCase]] = []
    for identifier in spec.load():
        for case in tests.get(identifier, []):
            if id(case) not in seen and not case.may_crash:
                seen.add(id(case))
                found.append((identifier, case))
    return sorted(found, key=lambda item: (not item[0].startswith(f"{area}/"), item[1].effort))


def run_trial(right: Backend, mutant: Mutant, budget: Budget, seed: int, trusted: Collection[str] = ()) -> Result:
    """Try tests until one fails for the mutant and holds for the right backend (``trusted`` ones are known to).

    Drawn tests of an area are all tried at the quick budget before they are at a larger ``budget``.
    """
    started, examples = time.perf_counter(), 0
    backend = MutantBackend(right, mutant)
    for identifier, case, effort in _attempts(mutant.area, right, budget):
        error: ConformanceError | None
        test = f"{case.module.rpartition('.')[2]}.{case.name} ({effort.name})"
        try:
            error, tried = _verdict(backend, case, effort, seed)
        except MutantBroken as broken:
            return Result(mutant.name, BROKEN, identifier, test, examples, _since(started), str(broken))
        except Exception as crash:
            text = f"the test crashed: {type(crash).__name__}: {crash}"
            return Result(mutant.name, BROKEN, identifier, test, examples, _since(started), text)
        examples += tried
        if error is not None and (test in trusted or _verdict(right, case, effort, seed)[0] is None):
            return Result(mutant.name, CAUGHT, identifier, test, examples, _since(started), error.message)
    return Result(mutant.name, MISSED, examples=examples, seconds=_since(started))


def _attempts(area: str, right: Backend, budget: Budget) -> Iterator[tuple[str, TestCase, Budget]]:
    file = expectations.shipped(right.name, right.version)
    broken = expectations.read(file, spec.load(), right.device).expected if file is not None else {}
    possible = [
        (i, case)
        for i, case in ordered(area)
        if i not in broken and all(name in right.capabilities for name in case.needs)
    ]
    for own in (True, False):
        tests = [(i, case) for i, case in possible if i.startswith(f"{area}/") is own]
        if budget.examples > QUICK.examples:
            yield from ((i, case, QUICK) for i, case in tests)
            tests = [(i, case) for i, case in tests if case.effort]
        yield from ((i, case, budget) for i, case in tests)


def _verdict(backend: Any, case: TestCase, budget: Budget, seed: int) -> tuple[ConformanceError | None, int]:
    """The failure of one test, if it fails, and how many examples it tried."""
    session = Session(backend, budget, seed)
    session.shrink = False
    try:
        case.function(session)
    except (MissingCapability, Unsupported):
        return None, session.outcome.examples
    except ConformanceError as error:
        return error, session.outcome.examples + 1
    return None, session.outcome.examples


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 2)
