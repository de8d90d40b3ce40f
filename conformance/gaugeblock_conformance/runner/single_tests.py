"""The tests of the suite one by one, as pytest runs them, in a worker process that may die."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gaugeblock_spec import requirements as spec
from gaugeblock_spec.requirements import LEVELS, Requirement

from .. import requirement as registry
from ..budget import Budget
from ..requirement import TestCase
from .environment import total_memory
from .pool import Limits, Pool
from .rows import Row
from .suite import Suite

ADDRESS = f"{__name__}:suite"


def name_of(case: TestCase) -> str:
    """What a test is called here: ``views/test_expand.test_row_to_four_rows``."""
    _, area, module = case.module.rsplit(".", 2)
    return f"{area}/{module}.{case.name}"


def standing_for(case: TestCase) -> Requirement:
    """A requirement that one test alone checks, of the highest level of those that it does check."""
    checked = [spec.load()[identifier] for identifier in case.ids]
    return replace(min(checked, key=lambda one: LEVELS.index(one.level)), id=name_of(case))


def suite() -> Suite:
    """Every test of the standard suite under its name."""
    registry.load_tests()
    cases = {name_of(case): case for cases in registry.tests().values() for case in cases}
    requirements = {name: standing_for(case) for name, case in cases.items()}
    return Suite(requirements, lambda: {name: [case] for name, case in cases.items()})


class SingleTests:
    """Runs tests in one worker process, which is replaced when it dies. ``facts`` are those of the backend.

    Raises:
        UsageProblem: the backend cannot be loaded.
    """

    def __init__(self, backend: str, budget: Budget, seed: int) -> None:
        self._requirements: dict[str, Requirement] = {}
        limits = Limits(budget.timeout, int((total_memory() or 0) * 0.8))
        self._pool = Pool(
            self._requirements, 1, limits, backend=backend, suite=ADDRESS, budget=budget.name, seed=seed
        )
        try:
            self.facts: dict[str, Any] = self._pool.backend()
        except BaseException:
            self.close()
            raise

    def row(self, case: TestCase) -> Row:
        """The verdict of one test."""
        name = name_of(case)
        self._requirements[name] = standing_for(case)
        (row,) = self._pool.decide([name])
        return row

    def close(self) -> None:
        """End the worker."""
        self._pool.__exit__()
