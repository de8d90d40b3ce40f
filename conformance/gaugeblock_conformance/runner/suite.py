"""A suite: requirements and the tests that check them. Workers load it by address; another project can bring one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from gaugeblock_spec import requirements as spec
from gaugeblock_spec.requirements import Requirement

from .. import requirement as registry
from ..problem import UsageProblem, one_line
from ..requirement import TestCase

STANDARD = "gaugeblock_conformance.runner.suite:standard"
EMPTY = "gaugeblock_conformance.runner.suite:empty"


@dataclass(frozen=True)
class Suite:
    """``requirements`` in reading order; ``tests()`` imports the test modules when first called."""

    requirements: dict[str, Requirement]
    tests: Callable[[], dict[str, list[TestCase]]]


def standard() -> Suite:
    """The suite of this package over the requirements of ``gaugeblock_spec``."""

    def tests() -> dict[str, list[TestCase]]:
        registry.load_tests()
        return registry.tests()

    return Suite(spec.load(), tests)


def load(address: str) -> Suite:
    """The suite that ``package.module:function`` returns. Raises UsageProblem if it cannot be imported or made."""
    module, _, name = address.partition(":")
    try:
        return cast("Suite", getattr(importlib.import_module(module), name)())
    except Exception as error:
        raise UsageProblem(f"the suite {address} cannot be loaded: {one_line(error)}") from error


def empty() -> Suite:
    """No requirement and no test: a worker that only loads its backend."""
    return Suite({}, dict)
