"""Requirements that are judged operator by operator: each operator has a verdict of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance.budget import Budget
from gaugeblock_conformance.problem import UsageProblem
from gaugeblock_conformance.runner.checking import Malformed, check_row
from gaugeblock_conformance.runner.rows import new_failure, new_row
from gaugeblock_conformance.runner.run import Record, exit_status
from gaugeblock_conformance.runner.selection import Selection
from gaugeblock_conformance.session import ConformanceError, Session

Run = Callable[..., Record]
BY_OPERATOR = {"suite": "fake_suite:by_operator"}
# The calls with which a worker begins to check the adapter, before one of neg.
PREFLIGHT = "no_operator_has_this_name\nno_operator_has_this_name.Tensor\n"


def rows(record: Record) -> dict[str, Any]:
    return {row["id"]: row for row in record["requirements"]}


def failures(row: Any) -> list[tuple[str | None, str]]:
    found = [failure for failure in (row["failure"], *row["further_failures"]) if failure is not None]
    return [(failure["operator"], failure["verdict"]) for failure in found]


def test_all_operators_are_judged(run_fake: Run) -> None:
    found = rows(run_fake("WrongTwice", **BY_OPERATOR))
    sweep, table = found["views/sweep"], found["views/table"]
    assert sweep["status"] == "failed"
    assert sweep["subresults"] == {"neg": "failed", "bitwise_not": "failed", "clone": "passed"}
    assert failures(sweep) == [("neg", "failed"), ("bitwise_not", "failed")]
    assert sweep["failure"]["message"] == "wrong value of neg's result at (1,)"
    assert sweep["further_failures"][0]["message"] == "wrong value of bitwise_not's result at (1,)"
    assert table["subresults"] == {"clone": "passed", "neg": "passed"}
    assert (table["status"], table["examples"]) == ("passed", 3)
    assert found["views/other"]["subresults"] == {}


def test_operators_that_are_not_offered_make_a_verdict_partial(run_fake: Run) -> None:
    row = rows(run_fake("Healthy", **BY_OPERATOR))["views/absent"]
    assert (row["status"], row["subresults"]) == ("partial", {"clone": "passed", "cosh": "skipped"})
    assert row["reason"] == "1 of 2 operators skipped: cosh"


@pytest.mark.parametrize(("backend", "verdict"), [("Segfaults", "crashed"), ("Hangs", "timeout")])
def test_an_operator_that_ends_the_process_leaves_the_others_judged(run_fake: Run, backend: str, verdict: str) -> None:
    row = rows(run_fake(backend, timeout=2.0, **BY_OPERATOR))["views/sweep"]
    assert row["subresults"] == {"neg": "passed", "bitwise_not": verdict, "clone": "passed"}
    assert failures(row) == [("bitwise_not", verdict)]
    assert (row["status"], row["examples"]) == (verdict, 2)
    assert row["failure"]["snippet"].rstrip().endswith("backend.call('bitwise_not', x)")


def test_a_break_that_needs_an_earlier_operator_is_the_operators_own(run_fake: Run) -> None:
    row = rows(run_fake("SegfaultsAfterNeg", **BY_OPERATOR))["views/sweep"]
    assert row["subresults"] == {"neg": "passed", "bitwise_not": "crashed", "clone": "passed"}
    assert failures(row) == [("bitwise_not", "crashed")]
    assert "a second run" not in row["failure"]["message"]


def test_each_operator_may_take_its_time(run_fake: Run) -> None:
    row = rows(run_fake("Slow", timeout=2.0, selection=Selection(requirements=("views/sweep",)), **BY_OPERATOR))
    sweep = row["views/sweep"]
    assert (sweep["status"], failures(sweep)) == ("passed", [])
    assert sweep["seconds"] > 2.0


def test_an_operator_that_ended_the_process_is_repeated_alone(
    run_fake: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = tmp_path / "counted"
    monkeypatch.setenv("COUNTED", str(counted))
    run_fake("SegfaultsAndCounts", selection=Selection(requirements=("views/sweep",)), **BY_OPERATOR)
    *_, run = counted.read_text().partition(PREFLIGHT)
    runs = [worker.split()[1:] for worker in run.split(PREFLIGHT)]
    started = ["add.Tensor"]
    assert runs == [[*started, "neg", "bitwise_not"], [*started, "bitwise_not"], [*started, "neg", "clone"]]


def test_operators_that_ended_the_process_are_told_when_the_time_is_over(run_fake: Run) -> None:
    row = rows(run_fake("Hangs", timeout=2.0, total=5.0, **BY_OPERATOR))["views/sweep"]
    assert failures(row) == [("bitwise_not", "timeout")]
    assert (row["status"], row["subresults"]["bitwise_not"]) == ("timeout", "timeout")


def test_only_the_operators_asked_for_are_judged(run_fake: Run) -> None:
    found = rows(run_fake("WrongTwice", selection=Selection(operators=("bitwise_not",)), **BY_OPERATOR))
    assert {name: row["subresults"] for name, row in found.items()} == {"views/sweep": {"bitwise_not": "failed"}}


def test_an_unknown_operator_is_refused(run_fake: Run) -> None:
    with pytest.raises(UsageProblem, match=r"unknown operator 'krn'.*kron"):
        run_fake("Healthy", selection=Selection(operators=("krn",)), **BY_OPERATOR)


ENTRY = """
[[expected]]
requirement = "views/sweep"
operator = "{operator}"
reason = "{operator} is known"
evidence = "seen"
"""


def test_an_expectation_of_one_operator_leaves_the_others(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(operator="neg"))
    record = run_fake("WrongTwice", expect=str(file), **BY_OPERATOR)
    row = rows(record)["views/sweep"]
    assert (row["status"], row["failure"]["operator"], row["failure"]["known"]) == ("failed", "bitwise_not", None)
    assert [failure["known"] for failure in row["further_failures"]] == ["neg is known"]
    assert row["subresults"] == {"neg": "xfailed", "bitwise_not": "failed", "clone": "passed"}
    assert exit_status(record) == 1

    file.write_text(ENTRY.format(operator="neg") + ENTRY.format(operator="bitwise_not"))
    record = run_fake("WrongTwice", expect=str(file), **BY_OPERATOR)
    row = rows(record)["views/sweep"]
    assert (row["status"], row["reason"]) == ("xfailed", "neg is known; bitwise_not is known")
    assert exit_status(record) == 0


def test_an_expectation_of_several_operators_leaves_the_others(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    entry = ENTRY.replace('operator = "{operator}"', "operators = {operator}").replace("{operator} is", "it is")
    file.write_text(entry.format(operator='["neg", "clone"]'))
    row = rows(run_fake("WrongTwice", expect=str(file), **BY_OPERATOR))["views/sweep"]
    assert row["subresults"] == {"neg": "xfailed", "bitwise_not": "failed", "clone": "passed"}
    file.write_text(entry.format(operator='["neg", "bitwise_not", "clone"]'))
    row = rows(run_fake("WrongTwice", expect=str(file), **BY_OPERATOR))["views/sweep"]
    assert (row["status"], row["reason"]) == ("xfailed", "it is known")
    row = rows(run_fake("Healthy", expect=str(file), **BY_OPERATOR))["views/sweep"]
    assert (row["status"], row["reason"]) == ("xpassed", "expected to fail: it is known")


def test_an_expectation_of_several_operators_waits_for_all_of_them(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    entry = ENTRY.replace('operator = "{operator}"', "operators = {operator}").replace("{operator} is", "it is")
    file.write_text(entry.format(operator='["neg", "clone"]'))
    chosen = Selection(operators=("clone",))
    row = rows(run_fake("Healthy", expect=str(file), selection=chosen, **BY_OPERATOR))["views/sweep"]
    assert row["status"] == "passed"


def test_an_operator_that_holds_against_expectation_is_told(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(operator="clone"))
    record = run_fake("Healthy", expect=str(file), **BY_OPERATOR)
    row = rows(record)["views/sweep"]
    assert (row["status"], row["subresults"]["clone"]) == ("xpassed", "xpassed")
    assert row["reason"] == "expected to fail of clone: clone is known"
    assert exit_status(record) == 1


def test_what_fails_sometimes_may_hold(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(operator="neg") + "sometimes = true\n")
    record = run_fake("Healthy", expect=str(file), **BY_OPERATOR)
    assert (rows(record)["views/sweep"]["status"], exit_status(record)) == ("passed", 0)
    assert rows(run_fake("Wrong", expect=str(file), **BY_OPERATOR))["views/sweep"]["status"] == "xfailed"


def test_an_expectation_names_a_known_operator(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(operator="krn"))
    with pytest.raises(UsageProblem, match=r"expected\.toml:2: unknown operator 'krn'"):
        run_fake("Healthy", expect=str(file), **BY_OPERATOR)


def test_a_test_run_by_itself_raises_the_first_failure(fakes: Path) -> None:
    from fake_backends import WrongTwice
    from fake_suite import by_operator

    test = by_operator().tests()["views/sweep"][0].function
    session = Session(WrongTwice(), Budget("tiny", examples=5, timeout=10.0))
    with pytest.raises(ConformanceError, match="wrong value of neg's result"):
        test(session)


def test_failures_and_subresults_must_agree(fakes: Path) -> None:
    from fake_suite import make_requirement

    requirement = make_requirement("views/sweep")
    row = new_row(requirement, "failed")
    row["failure"] = new_failure("failed", "wrong", operator="neg")
    row["subresults"] = {"neg": "failed", "clone": "passed"}
    assert check_row(row, {"views/sweep": requirement}) == row
    row["subresults"]["neg"] = "passed"
    with pytest.raises(Malformed, match="the failures and the subresults disagree on 'neg'"):
        check_row(row, {"views/sweep": requirement})
