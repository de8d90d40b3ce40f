"""Annotations of GitHub Actions: one line each, with everything escaped that the runner would read."""

from __future__ import annotations

import re
from typing import Any

import sample_records
from gaugeblock_reports import github
from sample_records import environment, row

TEST = "suite.views.test_a:12 test_it"
COMMAND = re.compile(r"::(error|warning|notice) (?:file=([^:,]*),line=(\d+),)?title=([^:,]*)::(.*)")


def broken(**facts: Any) -> dict[str, Any]:
    return sample_records.failure("failed", facts.pop("cause", "one"), **{"message": "wrong value", **facts})


def annotations(*rows: Any, expectations: str | None = None) -> list[tuple[str, ...]]:
    record = {
        "schema": "gaugeblock-run/1",
        "environment": environment(expectations=expectations),
        "requirements": list(rows),
        "tests": {TEST: {"file": "suite/views/test_a.py", "line": 12, "code": "..."}},
    }
    lines = github.render([record]).splitlines()
    found = [COMMAND.fullmatch(line) for line in lines]
    assert all(found), lines
    return [match.groups("") for match in found if match]


def test_a_failure_is_an_error_at_its_test() -> None:
    failed = row("views/a", "failed", failure=broken(test="test_it", expected="1", got="2"), tests=[TEST])
    error, notice = annotations(failed)
    assert error[:3] == ("error", "suite/views/test_a.py", "12")
    assert error[3].endswith("%3A views/a")
    assert error[4].startswith("wrong value%0A") and error[4].endswith("%0Aexpected: 1%0Agot: 2")
    assert notice[0] == "notice" and notice[4] == "not conforming: 1 MUST broken"


def test_failures_of_one_cause_are_one_annotation() -> None:
    first, second, _ = annotations(
        row("views/a", "failed", failure=broken()), row("views/b", "failed", failure=broken()),
        row("views/c", "failed", "MAY", failure=broken(cause="two")),
    )  # fmt: skip
    assert (first[0], second[0]) == ("error", "warning")
    assert first[4].endswith("%0Aalso: views/b")


def test_what_the_runner_would_read_is_escaped() -> None:
    awkward = "50%, a:b\r\n::error::forged\x1b[0m\u2028"
    error, _ = annotations(row("views/a", "failed", failure=broken(message=awkward)))
    assert error[4].startswith("50%25, a:b\\r%0A::error::forged\\x1b[0m\\u2028%0A")


def test_unexpected_holds_and_expected_failures() -> None:
    held = row("views/a", "xpassed", reason="expected to fail: known")
    expected = row("views/b", "xfailed", failure=broken(), reason="known")
    error, notice = annotations(held, expected, expectations="mine.toml")
    assert error[4] == "unexpectedly held, expected to fail: known; take it out of mine.toml"
    assert notice[4] == "not conforming: 1 unexpectedly held"
    assert annotations(expected, row("views/c")) == []
