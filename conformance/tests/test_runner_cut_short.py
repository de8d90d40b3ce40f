"""Runs that end early: by their first failure, or by the clock. What is left out is skipped, and they say so."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import budget, command
from gaugeblock_conformance.problem import PARTIAL
from gaugeblock_conformance.runner import pool, snippets
from gaugeblock_conformance.runner.rows import new_failure, new_row
from gaugeblock_conformance.runner.run import Record, exit_status
from gaugeblock_conformance.runner.suite import standard
from gaugeblock_reports import record as run_record
from gaugeblock_reports import terminal

Run = Callable[..., Record]


def reasons(record: Record) -> set[str]:
    return {row["reason"] for row in record["requirements"] if (row["reason"] or "").startswith("left out")}


def test_the_first_failure_ends_the_run(run_fake: Run) -> None:
    record = run_fake("Wrong", fail_fast=True)
    run_record.check(record)
    by_id = {row["id"]: row for row in record["requirements"]}
    assert by_id["dtypes/negation"]["status"] == "failed"
    assert reasons(record) == {"left out: the run ended with the first failure, dtypes/negation"}
    assert record["environment"]["unfinished"] is True
    assert exit_status(record) == 1
    assert "unfinished; so far not conforming: 1 MUST broken" in terminal.render([record])

    whole = run_fake("Wrong", fail_fast=True, resume=True)
    assert reasons(whole) == set()
    assert "unfinished" not in whole["environment"]
    assert {row["id"] for row in whole["requirements"]} == by_id.keys()


def test_a_run_without_failures_is_not_cut_short(run_fake: Run, tmp_path: Path) -> None:
    assert exit_status(run_fake("Healthy", fail_fast=True, total=600.0)) == 0
    file = tmp_path / "expected.toml"
    file.write_text('[[expected]]\nrequirement = "dtypes/negation"\nreason = "known"\nevidence = "seen"\n')
    record = run_fake("Wrong", fail_fast=True, expect=str(file))
    assert reasons(record) == set()


def test_the_clock_ends_the_run(run_fake: Run) -> None:
    started = time.monotonic()
    record = run_fake("Hangs", total=6.0, timeout=600.0)
    assert time.monotonic() - started < 60
    run_record.check(record)
    assert exit_status(record) == PARTIAL
    assert record["environment"]["unfinished"] is True
    assert reasons(record) == {"left out: the time of the run, 6 s, was over"}
    assert "views/bitwise-not" in {row["id"] for row in record["requirements"] if row["status"] == "skipped"}


def test_a_crash_without_a_second_run_is_told(run_fake: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps to the end once the first crash is seen."""
    broken, jumps = pool.Pool._broken, [0.0]

    def seen(self: pool.Pool, worker: Any, row: Any) -> Any:
        jumps[0] = 1e6
        return broken(self, worker, row)

    monkeypatch.setattr(pool.Pool, "_broken", seen)
    monkeypatch.setattr(pool, "time", types.SimpleNamespace(monotonic=lambda: time.monotonic() + jumps[0]))
    record = run_fake("Aborts", total=600.0)
    row = next(row for row in record["requirements"] if row["id"] == "views/bitwise-not")
    assert row["status"] == "crashed"
    assert row["failure"]["message"].endswith("signal SIGABRT; there was no time for a second run")
    assert exit_status(record) == 1


def test_snippets_are_not_begun_after_the_end() -> None:
    row = new_row(next(iter(standard().requirements.values())), "failed")
    row["failure"] = new_failure("failed", "wrong", snippet="assert False")
    snippets.check_rows([row], 1, until=time.monotonic() - 1)
    assert row["failure"]["snippet_checked"] is None
    snippets.check_rows([row], 1)
    assert row["failure"]["snippet_checked"] is True


def test_a_failure_that_was_shown_needs_no_second_run(tmp_path: Path) -> None:
    """A library that differs from run to run may pass the second time."""
    mark = f"mark = Path({str(tmp_path / 'ran')!r})"
    once = f"from pathlib import Path\n{mark}\nfirst = not mark.exists()\nmark.touch()\nassert not first"
    rows = [new_row(requirement, "failed") for requirement in list(standard().requirements.values())[:3]]
    for row, message in zip(rows, ("wrong", "wrong", "another failure"), strict=True):
        row["failure"] = new_failure("failed", message, snippet=once)
    snippets.check_rows(rows, 1)
    assert [row["failure"]["snippet_checked"] for row in rows] == [True, True, False]


def test_quick_has_a_limit_of_its_own() -> None:
    assert budget.QUICK.total == 300
    assert budget.STANDARD.total == budget.THOROUGH.total == float("inf")


def test_command_line(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gaugeblock_conformance.commands.validate.SUITE", "fake_suite:fake")
    monkeypatch.chdir(tmp_path)
    argv = ["validate", "fake_backends:Wrong", "--budget", "quick", "--jobs", "1", "--no-snippet-check"]
    assert command.main([*argv, "--fail-fast", "--total", "none"]) == 1
    assert "the others left out: the run ended with the first failure, dtypes/negation" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main([*argv, "--total", "0"])
    assert "'0' is not a number of seconds above 0 or none" in capsys.readouterr().err
