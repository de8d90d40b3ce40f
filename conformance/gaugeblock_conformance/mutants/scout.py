"""What each test does to the right backend: whether it holds, which operators it calls, how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec import requirements as spec

from .. import expectations
from .. import requirement as registry
from ..backend import Backend, MissingCapability, Unsupported
from ..budget import QUICK, Budget
from ..requirement import TestCase
from ..session import ConformanceError, OperatorSession, OtherOperators, Session
from .mutant import OBSERVERS, Mutant


@dataclass(frozen=True)
class Scouted:
    """One test at the quick budget on the right backend; ``sweeps`` says that it goes over operators one by one, and
    ``judged`` on which rows of the operator table it gives a verdict each."""

    holds: bool
    operators: frozenset[str]
    seconds: float
    sweeps: bool
    judged: frozenset[str] = frozenset()


# Test -> what is known of it.
Known = Mapping[str, Scouted]


def key(case: TestCase) -> str:
    """``area.module.test``."""
    return ".".join((*case.module.split(".")[-2:], case.name))


def usable(right: Backend, areas: tuple[str, ...] = ()) -> list[tuple[str, TestCase]]:
    """Each test with the first requirement that it checks: those whose capabilities the right backend has, and that it
    is not expected to fail; of all areas, or of these."""
    registry.load_tests()
    file = expectations.shipped(right.name, right.version)
    broken = {name for name, _ in expectations.read(file, spec.load(), right.device).expected} if file else set()
    tests, seen = registry.tests(), set()
    found: list[tuple[str, TestCase]] = []
    for identifier in spec.load():
        for case in tests.get(identifier, []):
            if id(case) in seen or identifier in broken:
                continue
            seen.add(id(case))
            if all(name in right.capabilities for name in case.needs):
                found.append((identifier, case))
    return [(i, case) for i, case in found if not areas or i.partition("/")[0] in areas]


def scout(
    right: Backend, area: str, seed: int, at: Callable[[str], None], without: frozenset[str] | None = None,
    *, risky: bool = False,
) -> Iterator[tuple[str, Scouted]]:  # fmt: skip
    """Yield every usable test of ``area`` as it is run: all, those that need more than the capabilities ``without``, or
    if ``risky`` those that may end the process. ``at`` is told of each before."""
    backend = _Listening(right)
    for _, case in usable(right, (area,)):
        if (without is not None and without.issuperset(case.needs)) or (risky and not case.may_crash):
            continue
        at(key(case))
        backend.heard = set()
        started = time.perf_counter()
        found = verdict(backend, case, QUICK, seed)
        seconds = time.perf_counter() - started
        yield key(case), Scouted(
            found.error is None, frozenset(backend.heard), seconds, found.sweeps, found.judged
        )


@dataclass(frozen=True)
class Verdict:
    """The failure of one test, if it failed, how many examples it tried, the failing one included, whether it goes over
    operators one by one, at which of them it stopped, and on which it gave a verdict each."""

    error: ConformanceError | None
    examples: int
    sweeps: bool
    operator: str
    judged: frozenset[str]


def verdict(
    backend: Any, case: TestCase, budget: Budget, seed: int, mutant: Mutant | None = None, narrow: bool = False,
    only: frozenset[str] = frozenset(),
) -> Verdict:  # fmt: skip
    """Run one test; where it goes over many operators, those that the mutant breaks come first, or alone if ``narrow``.

    With ``only``, rows of the operator table, nothing but these rows is judged, and a test that does not judge
    operators one by one says nothing.
    """
    session = OperatorSession(backend, budget, seed) if only else Session(backend, budget, seed)
    session.shrink = False
    session.foremost = () if mutant is None else mutant.operators
    session.narrow = narrow
    session.only, session.avoided = only, _beside(only)
    at: list[str] = []
    session.at_operator = at.append
    failure: ConformanceError | None = None
    try:
        case.function(session)
    except (MissingCapability, Unsupported, OtherOperators):
        pass
    except ConformanceError as error:
        failure = error
    examples = session.outcome.examples + (failure is not None)
    return Verdict(failure, examples, session.sweeps, at[-1] if at else "", frozenset(session.outcome.judged))


@cache
def _beside(only: frozenset[str]) -> frozenset[str]:
    """The other rows of the same base names."""
    table = operators.load()
    names = {table[name].base_name for name in only}
    return frozenset(name for name, row in table.items() if row.base_name in names) - only


def concerns(mutant: Mutant, scouted: Scouted) -> bool:
    """Return whether the test calls anything that the mutant answers."""
    names = set(mutant.operators)
    if "*" in names or names & OBSERVERS:
        return True
    for operator in scouted.operators:
        space = f"{operator.partition('::')[0]}::" if "::" in operator else operator
        if operator in names or operator.partition(".")[0] in names or space in names:
            return True
    return False


class _Listening:
    """``right``, with the names of the operators called in ``heard``."""

    def __init__(self, right: Backend) -> None:
        self._right = right
        self.heard: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._right, name)

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        self.heard.add(operator)
        return self._right.call(operator, *args, **kwargs)
