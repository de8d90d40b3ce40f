"""The report as annotations of GitHub Actions: one for each cause of unexpected failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import summary
from .record import Record, Row, printable

MOST = 10
"""Number of annotations of one kind that GitHub shows for a step."""


def render(records: Sequence[Record], colour: bool = False) -> str:
    """The workflow commands of all ``records`` (``colour`` has no meaning here), MUST first.

    What breaks a MUST, or holds unexpectedly, is an error; anything else that broke a warning.
    """
    lines = [line for record in map(printable, records) for line in _annotations(record)]
    return "".join(f"{line}\n" for line in lines)


def _annotations(record: Record) -> Iterator[str]:
    heading = summary.heading(record)
    for group in summary.failures(record):
        failure, row = group.shown, group.row
        kind = "error" if any(one["level"] == "MUST" for one in group.rows) else "warning"
        parts = [failure["message"], row["sentence"]]
        parts += [f"{name}: {failure[name]}" for name in ("expected", "got") if failure[name] is not None]
        others = [group.name_of(one) for one in group.rows if one is not row]
        parts += [f"also: {', '.join(others[:MOST])}{' …' if len(others) > MOST else ''}"] if others else []
        yield _command(kind, *_place(record, row, failure), f"{heading}: {group.name_of(row)}", "\n".join(parts))
    for row in summary.with_status(record, "xpassed"):
        text = f"unexpectedly held, {row['reason']}; take it out of {record['environment']['expectations']}"
        yield _command("error", *_place(record, row, None), f"{heading}: {summary.known_name(row)}", text)
    verdict = summary.verdict(record)
    if verdict.startswith(("not conforming", "unfinished")):
        yield f"::notice title={_property(heading)}::{_data(verdict)}"


def _place(record: Record, row: Row, failure: summary.Failure | None) -> tuple[str, int]:
    """File and line of the test that failed, or of the requirement's first one."""
    named = failure and failure["test"]
    tests = sorted(row["tests"], key=lambda test: test.rpartition(" ")[2] != named)
    for test in tests:
        source = record.get("tests", {}).get(test)
        if source is not None:
            return source["file"], source["line"]
    return "", 0


def _command(kind: str, file: str, line: int, title: str, message: str) -> str:
    place = f"file={_property(file)},line={line}," if file else ""
    return f"::{kind} {place}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
