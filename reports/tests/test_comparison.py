"""``gaugeblock compare``: kinds of changes, exit status, formats."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_reports.comparison.changes import compare
from gaugeblock_reports.comparison.command import command
from gaugeblock_reports.comparison.formats import FORMATS, verdict
from gaugeblock_reports.record import RecordError, printable
from sample_records import HOSTILE, hostile, row, run

KIND_OF = {
    ("passed", "passed"): "same",
    ("passed", "failed"): "broken",
    ("passed", "crashed"): "broken",
    ("passed", "xfailed"): "broken",
    ("passed", "skipped"): "lost",
    ("failed", "passed"): "mended",
    ("timeout", "xpassed"): "mended",
    ("xfailed", "failed"): "still",
    ("failed", "skipped"): "lost",
    ("skipped", "skipped"): "same",
    ("skipped", "passed"): "found",
    ("skipped", "failed"): "broken",
    (None, "passed"): "second",
    ("passed", None): "first",
}


def pair(level: str = "MUST") -> tuple[dict[str, Any], dict[str, Any]]:
    """Two runs with one requirement for each pair of KIND_OF."""
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for statuses in KIND_OF:
        for side, status in zip(sides, statuses, strict=True):
            if status is not None:
                identifier = "views/" + "-".join(str(status or "none").lower() for status in statuses)
                side.append(row(identifier, status, level, reason="why" if status == "skipped" else None))
    return run(*sides[0]), run(*sides[1], version="2.14.0")


def folder(path: Path, record: dict[str, Any]) -> Path:
    path.mkdir()
    (path / "record.json").write_text(json.dumps(record))
    return path


def parse(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(argv)


def test_kinds() -> None:
    found = {change.row["id"]: change.kind for change in compare(*pair()).changes}
    assert found == {
        "views/" + "-".join(str(status or "none").lower() for status in statuses): kind
        for statuses, kind in KIND_OF.items()
    }


def test_a_must_that_held_and_is_broken_counts() -> None:
    found = compare(*pair())
    assert [change.row["id"] for change in found.regressions] == [
        "views/passed-failed",
        "views/passed-crashed",
        "views/passed-xfailed",
    ]
    assert verdict(found) == "3 MUST that held are broken"
    assert not compare(*pair("SHOULD")).regressions


def test_conditions_that_differ_are_told() -> None:
    found = compare(run(row("views/a")), run(row("views/a"), budget="quick", unfinished=True))
    assert found.cautions == [
        "budget differs: standard and quick",
        "an unfinished run: what it had not decided counts as only in the other",
    ]


@pytest.mark.parametrize(("level", "status"), [("MUST", 1), ("SHOULD", 0)])
def test_exit_status(tmp_path: Path, level: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (folder(tmp_path / name, record) for name, record in zip("ab", pair(level), strict=True))
    assert command.run(parse(str(first), str(second))) == status
    assert "newly broken: 4" in capsys.readouterr().out
    assert command.run(parse(str(second), str(second))) == 0


def test_bad_input(tmp_path: Path) -> None:
    first = folder(tmp_path / "a", pair()[0])
    with pytest.raises(RecordError, match="unknown format 'pdf'; known: terminal, markdown, html, json"):
        command.run(parse(str(first), str(first), "--format", "pdf"))
    with pytest.raises(RecordError, match="No such file"):
        command.run(parse(str(first), str(tmp_path / "nowhere")))
    with pytest.raises(RecordError, match="cannot write there"):
        command.run(parse(str(first), str(first), "--out", "/dev/null/x"))


def test_json(tmp_path: Path) -> None:
    found = json.loads(FORMATS["json"](compare(*pair())))
    assert found["schema"] == "gaugeblock-comparison/1"
    assert len(found["regressions"]) == 3
    assert {change["change"] for change in found["changes"]} == set(KIND_OF.values()) - {"same"}
    counts = [count for counts in found["counts"] for count in counts.values() if isinstance(count, int)]
    assert sum(counts) == len(KIND_OF)


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_records(name: str) -> None:
    text = FORMATS[name](compare(printable(run(row("views/broken"))), printable(hostile())))
    text.encode("utf-8")
    assert "views/kept" in text
    assert "\x1b" not in text
    if name == "html":
        assert not any(words in text for words in HOSTILE[:2])
