"""The other way round: for a requirement, a mutant that its tests catch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from .. import requirement as registry
from ..backend import Backend
from ..budget import QUICK
from .mutant import Mutant, MutantBackend, MutantBroken
from .scout import Known, concerns, key, verdict
from .table import table

# Seconds of the processor for one requirement, after which no further mutant is tried.
LONG = 20.0


@dataclass(frozen=True)
class Proof:
    """``mutant`` was caught by a test of ``requirement``; empty where none of ``tried`` was."""

    requirement: str
    mutant: str
    tried: int


def prove(right: Backend, requirement: str, seed: int, known: Known) -> Proof:
    """Run the tests of ``requirement`` on the mutants whose operators they call, until one is caught.

    Tests that are not ``known`` to hold for the right backend are left out.
    """
    started, tried = time.process_time(), 0
    tests = [case for case in registry.tests().get(requirement, []) if key(case) in known and known[key(case)].holds]
    for case in sorted(tests, key=lambda case: known[key(case)].seconds):
        area = requirement.partition("/")[0]
        for mutant in _candidates([m for m in table().values() if not m.base and concerns(m, known[key(case)])], area):
            if time.process_time() - started > LONG:
                return Proof(requirement, "", tried)
            tried += 1
            try:
                found = verdict(MutantBackend(right, mutant), case, QUICK, seed, mutant, known[key(case)].sweeps)
            except (Exception, MutantBroken):
                continue
            if found.error is not None:
                return Proof(requirement, mutant.name, tried)
    return Proof(requirement, "", tried)


def _candidates(mutants: Sequence[Mutant], area: str) -> list[Mutant]:
    """Those of the area first, and those that break little before those that break much."""
    return sorted(mutants, key=lambda m: (m.area != area, len(m.operators) if "*" not in m.operators else 1000))
