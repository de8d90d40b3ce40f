"""Requirements run in this process, without a worker, as the mutants are."""

from __future__ import annotations

from pathlib import Path

import pytest
from gaugeblock_conformance.budget import Budget
from gaugeblock_conformance.problem import UsageProblem
from gaugeblock_conformance.requirement import TestCase
from gaugeblock_conformance.runner.execute import run_requirement

TINY = Budget("tiny", examples=5, timeout=10.0)


def cases(*functions: object, needs: tuple[str, ...] = ()) -> list[TestCase]:
    return [TestCase(f"test_{n}", f, "module", 7, (), needs) for n, f in enumerate(functions)]  # type: ignore[arg-type]


def test_passes_and_fails(fakes: Path) -> None:
    from fake_backends import Healthy, Wrong
    from fake_suite import fake

    suite = fake()
    tests = suite.tests()["dtypes/negation"]
    requirement = suite.requirements["dtypes/negation"]
    assert run_requirement(Healthy(), requirement, TINY, 0, tests=tests)["status"] == "passed"
    row = run_requirement(Wrong(), requirement, TINY, 0, tests=tests)
    assert row["status"] == "failed"
    assert row["tests"] == ["fake_suite:1 test_negation_is_right"]
    assert row["calls"] == row["tensors"] == 1


def test_examples_follow_the_budget_and_the_trace_follows_the_calls(fakes: Path) -> None:
    from fake_backends import Healthy
    from fake_suite import fake

    suite = fake()
    traces: list[str] = []
    uses: list[str] = []

    class Traces:
        def __call__(self, text: str) -> None:
            traces.append(text)

        def log(self, text: str) -> None: ...

        def at_use(self, use: str) -> None:
            uses.append(use)

    begun: list[str] = []
    row = run_requirement(
        Healthy(),
        suite.requirements["dtypes/drawn-negation"],
        TINY,
        0,
        tests=suite.tests()["dtypes/drawn-negation"],
        trace=Traces(),
        on_test=lambda case: begun.append(case.name),
    )
    assert row["examples"] == 5
    assert begun == ["test_drawn_negation"]
    assert any(text.endswith("backend.call('neg', x)\n") for text in traces)
    assert uses[:4] == ["build from_numpy", "after from_numpy", "call neg", "after neg"]
    assert "read to_numpy" in uses


def test_several_tests_of_one_requirement(fakes: Path) -> None:
    from fake_backends import Healthy
    from fake_suite import fake, make_requirement

    def passes(s: object) -> None:
        fake().tests()["views/neg"][0].function(s)  # type: ignore[arg-type]

    def breaks(s: object) -> None:
        raise ValueError("a mistake\nof the test")

    def nothing(s: object) -> None:
        assert s is not None

    requirement = make_requirement("views/x")
    row = run_requirement(Healthy(), requirement, TINY, 0, tests=cases(breaks, passes, nothing))
    assert row["status"] == "failed"
    assert row["failure"] is not None
    assert row["failure"]["message"] == "test_0: ValueError: a mistake of the test"
    assert [failure["message"] for failure in row["further_failures"]] == ["test_2 tried no example at all"]
    row = run_requirement(
        Healthy(), requirement, TINY, 0, tests=[*cases(passes), *cases(passes, needs=("sort", "half"))]
    )
    assert (row["status"], row["reason"]) == ("partial", "1 of 2 tests skipped: missing capability sort, half")


def test_unknown_requirement(fakes: Path) -> None:
    from fake_backends import Healthy

    with pytest.raises(UsageProblem, match="unknown requirement 'views/nonesuch'"):
        run_requirement(Healthy(), "views/nonesuch", TINY, 0)
