"""The report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from . import summary
from .matrix import MEANING, matrix, sentence
from .record import Record, printable
from .summary import CauseGroup


def render(records: Sequence[Record], colour: bool = False) -> str:
    """The text of all ``records``: several side by side first, then one after the other; ``colour`` means nothing."""
    records = [printable(record) for record in records]
    parts = [_together(records)] if len(records) > 1 else []
    return "\n".join("\n".join(part) + "\n" for part in [*parts, *map(_record, records)])


def _together(records: Sequence[Record]) -> Iterator[str]:
    found = matrix(records)
    yield "# Side by side"
    yield ""
    yield from (f"- {escaped(sentence(record))}" for record in records)
    yield ""
    yield f"| area | level | {' | '.join(map(escaped, found.labels))} |"
    yield f"| --- | --- |{' ---: |' * len(records)}"
    yield from (f"| {' | '.join(line)} |" for line in found.text())
    yield ""
    yield MEANING


def _record(record: Record) -> Iterator[str]:
    yield f"# {escaped(summary.heading(record))}"
    yield ""
    yield f"**{summary.verdict(record)}**"
    yield ""
    for line in summary.circumstances(record):
        yield f"- {escaped(line)}"
    yield f"- {escaped(summary.totals(record))}"
    support = summary.support(record)
    if support is not None:
        yield f"- {support}"
    yield ""
    yield from _table(record)
    groups = summary.failures(record)
    if groups:
        yield from ("", "## Broken")
        for number, group in enumerate(groups, 1):
            yield ""
            yield from _group(number, group)
    yield from _rows("Unexpectedly held", summary.with_status(record, "xpassed"))
    yield from _rows("Broken as expected", summary.with_status(record, "xfailed"))
    rules = summary.own_rules(record)
    if rules:
        yield from ("", "## Asked by its own rules", "")
        for rule in rules:
            names = "".join(f", `{name}`" for name in rule.requirements)
            yield f"- {escaped(rule.rule)}: {rule.used}{names}. {escaped(rule.told)}"
    skips = summary.skips(record)
    if skips:
        yield from ("", f"## Skipped: {len(summary.with_status(record, 'skipped'))}, for want of", "")
        for want, rows in skips:
            names = ", ".join(f"`{row['id']}`" for row in rows)
            yield f"- {len(rows)} × {escaped(want)}: {names}"
    absent = summary.unsupported(record)
    if absent:
        yield from ("", "## Operators not offered", "")
        yield ", ".join(f"`{name}`" for name in absent)


def _table(record: Record) -> Iterator[str]:
    statuses = summary.shown_statuses(record)
    yield "| area | level | " + " | ".join(statuses) + " | examples | seconds |"
    yield "| --- | --- |" + " ---: |" * (len(statuses) + 2)
    for line in summary.lines(record):
        cells = [line.area or "all", line.level or "", *(str(line.counts[status] or "") for status in statuses)]
        yield "| " + " | ".join([*cells, f"{line.examples:,}", f"{line.seconds:.1f}"]) + " |"


def _group(number: int, group: CauseGroup) -> Iterator[str]:
    failure, row = group.shown, group.row
    yield f"### {number}. {group.verdict}: {escaped(group.name_of(row))} ({row['level']})"
    yield ""
    yield f"> {escaped(row['sentence'])}"
    yield ">"
    yield f"> {escaped(', '.join(row['origin']))}; {escaped(row['source'])}"
    yield ""
    yield escaped(failure["message"])
    yield ""
    facts = [("expected", failure["expected"]), ("got", failure["got"]), *failure["example"].items()]
    for name, value in facts:
        if value is not None:
            yield f"- {escaped(name)}: {_code(value)}"
    if failure["snippet"]:
        yield ""
        if failure["snippet_checked"] is not None:
            manner = "" if failure["snippet_checked"] else " not the same way"
            yield f"Executed alone:{manner} {_code(failure['snippet_result'] or '')}"
            yield ""
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", failure["snippet"]))])
        yield from (f"{fence}python", failure["snippet"].rstrip(), fence)
    others = [f"`{group.name_of(other)}` ({other['level']})" for other in group.rows if other is not row]
    if others:
        yield from ("", f"The same cause breaks {', '.join(others)}.")


def _rows(title: str, rows: list[dict[str, str | None]]) -> Iterator[str]:
    if not rows:
        return
    yield from ("", f"## {title}", "")
    for row in rows:
        link = f" <{row['upstream']}>" if row["upstream"] else ""
        yield f"- `{summary.known_name(row)}` ({row['level']}): {escaped(row['reason'] or '')}{link}"


def escaped(text: str) -> str:
    """``text`` in one line, with nothing in it that Markdown or HTML would take for markup."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    text = " ".join(text.split())
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"
