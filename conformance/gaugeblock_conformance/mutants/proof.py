"""The other way round: for a requirement, a mutant that its tests catch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from .. import requirement as registry
from ..backend import Backend
from ..budget import QUICK
from ..requirement import TestCase
from .mutant import Mutant, MutantBackend, MutantBroken
from .scout import Known, concerns, key, verdict
from .table import table
from .target import rows_of

# Seconds of the processor for one requirement, after which no further mutant is tried.
LONG = 20.0


@dataclass(frozen=True)
class Proof:
    """``mutant`` was caught by a test of ``requirement``, which it says it breaks if ``named``; empty where none of
    ``tried`` was."""

    requirement: str
    mutant: str
    named: bool
    tried: int


def prove(right: Backend, requirement: str, seed: int, known: Known) -> Proof:
    """Run the tests of ``requirement`` on the mutants that break it, and then on others whose operators they call,
    until one is caught.

    Tests that are not ``known`` to hold for the right backend are left out, and so are mutants that end the process.
    """
    started, tried = time.process_time(), 0
    tests = [case for case in registry.tests().get(requirement, []) if key(case) in known and known[key(case)].holds]
    tests.sort(key=lambda case: known[key(case)].seconds)
    own = [mutant for mutant in table().values() if not mutant.base and not mutant.deadly]
    named = [mutant for mutant in own if any(target.requirement == requirement for target in mutant.targets)]
    others = _nearest_first([mutant for mutant in own if mutant not in named], requirement.partition("/")[0])
    for mutants in (named, others):
        for case, mutant in product(tests, mutants):
            if mutants is others and not concerns(mutant, known[key(case)]):
                continue
            if time.process_time() - started > LONG:
                return Proof(requirement, "", False, tried)
            tried += 1
            if _catches(right, requirement, case, mutant, seed, known):
                return Proof(requirement, mutant.name, mutants is named, tried)
    return Proof(requirement, "", False, tried)


def _catches(right: Backend, requirement: str, case: TestCase, mutant: Mutant, seed: int, known: Known) -> bool:
    """Return whether the test fails for the mutant, where it names an operator for what is asked of that."""
    only = rows_of(target for target in mutant.targets if target.requirement == requirement)
    try:
        narrow = known[key(case)].sweeps and not only
        return verdict(MutantBackend(right, mutant), case, QUICK, seed, mutant, narrow, only).error is not None
    except (Exception, MutantBroken):
        return False


def _nearest_first(mutants: Sequence[Mutant], area: str) -> list[Mutant]:
    """Those of the area first, and those that break little before those that break much."""
    return sorted(mutants, key=lambda m: (area not in m.areas, len(m.operators) if "*" not in m.operators else 1000))
