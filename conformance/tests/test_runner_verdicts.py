"""Every way in which a backend can break is a verdict on that requirement, and the run goes on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from gaugeblock_conformance.runner import snippets
from gaugeblock_conformance.runner.process import without_folders
from gaugeblock_conformance.runner.rows import Failure
from gaugeblock_conformance.runner.run import Record, exit_status
from gaugeblock_reports import record as run_record
from gaugeblock_reports import terminal

Run = Callable[..., Record]


def row_of(record: Record, identifier: str) -> dict[str, object]:
    run_record.check(record)
    return next(row for row in record["requirements"] if row["id"] == identifier)


def others_passed(record: Record) -> bool:
    rows = {row["id"]: row["status"] for row in record["requirements"] if row["id"] != "views/bitwise-not"}
    return all(rows[f"views/{name}"] == "passed" for name in ("neg", "logical-not", "clone", "maximum"))


def test_healthy_backend(run_fake: Run) -> None:
    record = run_fake("Healthy")
    assert {row["id"]: row["status"] for row in record["requirements"]} == {
        "views/neg": "passed",
        "views/bitwise-not": "passed",
        "views/logical-not": "passed",
        "views/clone": "passed",
        "views/maximum": "passed",
        "dtypes/negation": "passed",
        "dtypes/drawn-negation": "passed",
        "dtypes/needs-sort": "skipped",
        "dtypes/unsupported": "skipped",
        "dtypes/untested": "skipped",
    }
    assert row_of(record, "dtypes/needs-sort")["reason"] == "missing capability sort"
    assert row_of(record, "dtypes/unsupported")["reason"] == "unsupported operator no_such_operator"
    assert row_of(record, "dtypes/drawn-negation")["examples"] == 60
    assert record["environment"]["name"] == "healthy"
    assert record["environment"]["packages"]["numpy"]
    assert exit_status(record) == 0


def test_tracebacks_of_a_dead_backend_name_no_folders_of_the_machine() -> None:
    text = (
        'Fatal Python error: Aborted\n  File "/home/me/env/lib/python3.12/site-packages/lib/ops.py", line 3 in f\n'
        '  File "/usr/lib/python3.12/contextlib.py", line 81 in inner\n'
        '  File "/home/me/gaugeblock/conformance/gaugeblock_conformance/session.py", line 9 in call\n'
        '  File "/home/me/my_adapter.py", line 1 in call\n  File "<string>", line 1 in <module>\n'
    )
    names = ("lib/ops.py", "contextlib.py", "gaugeblock_conformance/session.py", "my_adapter.py", "<string>")
    assert re.findall('File "(.*?)"', without_folders(text)) == list(names)
    assert without_folders("no such file: /home/me/x") == "no such file: /home/me/x"
    cut = 'ome/me/lib/gaugeblock_spec/a.py", line 1\nle "/home/me/gaugeblock_spec/b.py", line 2'
    assert without_folders(cut) == 'gaugeblock_spec/a.py", line 1\nle "gaugeblock_spec/b.py", line 2'


def test_snippets_too_long_to_read_are_kept_beside_the_record(
    run_fake: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snippets, "BYTES", 20)
    failure = cast(Failure, row_of(run_fake("Wrong", check_snippets=True), "dtypes/negation")["failure"])
    kept = tmp_path / "out" / "snippets" / "dtypes-negation-0-snippet.py"
    assert failure["snippet_checked"] is True
    text = kept.read_text()
    size = f"{len(text.splitlines())} lines, {len(text)} characters"
    assert failure["snippet"] == f"# {size}, in snippets/{kept.name} beside the record\n"
    assert "assert" in kept.read_text()


def test_failed(run_fake: Run) -> None:
    record = run_fake("Wrong", check_snippets=True)
    row = row_of(record, "dtypes/negation")
    failure = row["failure"]
    assert row["status"] == "failed"
    assert isinstance(failure, dict)
    assert (failure["expected"], failure["got"]) == ("-2", "2")
    assert failure["snippet"].count("\n") <= 10
    assert failure["snippet_checked"] is True
    assert failure["snippet_result"] == "AssertionError: 2"
    assert exit_status(record) == 1


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("Segfaults", "test_bitwise_not: the process ended with signal SIGSEGV"),
        ("Aborts", "test_bitwise_not: the process ended with signal SIGABRT"),
        ("Leaves", "test_bitwise_not: the process ended with exit status 0"),
        ("Exits", "the backend aborted the test with SystemExit: 3"),
        ("OutOfMemory", "bitwise_not raised MemoryError:"),
        ("Explodes", "MiB of memory; the limit is 600 MiB"),
    ],
)
def test_crashed(run_fake: Run, backend: str, message: str) -> None:
    record = run_fake(backend, memory=600 << 20, check_snippets=True)
    row = row_of(record, "views/bitwise-not")
    failure = row["failure"]
    assert row["status"] == "crashed"
    assert isinstance(failure, dict)
    assert message in failure["message"]
    assert failure["snippet"].endswith("backend.call('bitwise_not', x)\n")
    assert "about to break" in failure["output"]
    assert failure["snippet_checked"] is True, failure["snippet_result"]
    assert others_passed(record)
    assert exit_status(record) == 1


def test_hanging(run_fake: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snippets, "HANG", 1.0)
    record = run_fake("Hangs", timeout=1.0, jobs=2, check_snippets=True)
    row = row_of(record, "views/bitwise-not")
    failure = row["failure"]
    assert row["status"] == "timeout"
    assert isinstance(failure, dict)
    assert failure["message"] == "test_bitwise_not: not done after 1 s in bitwise_not"
    assert failure["snippet"].endswith("backend.call('bitwise_not', x)\n")
    assert failure["snippet_checked"] is True
    assert others_passed(record)


def test_a_crash_that_does_not_come_back_is_still_a_crash(
    run_fake: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUGEBLOCK_TEST_FLAG", str(tmp_path / "flag"))
    row = row_of(run_fake("CrashesOnce"), "views/bitwise-not")
    failure = row["failure"]
    assert row["status"] == "crashed"
    assert isinstance(failure, dict)
    assert failure["message"].endswith("; a second run passed, so it does not happen every time")


def test_printing_and_reading_backends_do_not_disturb(run_fake: Run) -> None:
    record = run_fake("Chatty")
    assert others_passed(record)
    assert exit_status(record) == 0


def test_native_and_fallback(run_fake: Run) -> None:
    record = run_fake("Fallback")
    assert row_of(record, "views/clone")["support"] == "fallback"
    assert row_of(record, "views/neg")["support"] == "native"
    assert row_of(record, "dtypes/needs-sort")["support"] is None
    assert "6 ran natively and 1 by fallback" in terminal.render([record])


def test_two_workers_decide_everything_once(run_fake: Run) -> None:
    record = run_fake("Segfaults", jobs=2)
    ids = [row["id"] for row in record["requirements"]]
    assert len(ids) == len(set(ids)) == 10
    assert ids[0] == "views/neg"


def test_snippets_may_be_long(run_fake: Run) -> None:
    failure = row_of(run_fake("Wrong"), "dtypes/negation")["failure"]
    assert isinstance(failure, dict)
    snippet = f"values = {[1] * 100_000}\nassert len(values) == 2, len(values)\n"
    padded = {**failure, "snippet": snippet, "got": "100000"}
    seen = snippets.check_snippet(cast("Failure", padded))
    assert seen == snippets.SnippetResult(True, "AssertionError: 100000")
