"""The literal examples of the chapters hold on the reference engine."""

from __future__ import annotations

import dataclasses
import warnings

import gaugeblock
import pytest
from gaugeblock_spec import examples, requirements

SHOWN = [requirement for requirement in requirements.load().values() if requirement.examples]


@pytest.mark.parametrize("requirement", SHOWN, ids=lambda requirement: requirement.id)
def test_example_holds_on_the_engine(requirement: requirements.Requirement) -> None:
    if requirement.area == "allocator":
        # A device without blocks.
        gaugeblock.cuda.use_driver("simulated", total_memory=2**30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = examples.run(requirement, gaugeblock)
    gaugeblock.cuda.use_driver(None)
    assert not report, report


def test_most_requirements_are_shown_by_example() -> None:
    assert len(SHOWN) >= 2 / 3 * len(requirements.load())


def test_wrong_example_is_reported() -> None:
    wrong = ">>> zeros(2).tolist()\n[1]\n"
    requirement = dataclasses.replace(SHOWN[0], examples=(wrong,))
    assert "Expected:\n    [1]" in examples.run(requirement, gaugeblock)
