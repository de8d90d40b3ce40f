"""A comparison as text, Markdown, HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from tabulate import tabulate

from ..html.page import page
from ..markdown import escaped
from .changes import KINDS, Change, Comparison

SCHEMA = "gaugeblock-comparison/1"
LISTED = tuple(kind for kind in KINDS if kind != "same")
# Of kinds that are long and dull, only so many are named in a text.
MOST = {"first": 20, "second": 20, "found": 20}


def terminal(found: Comparison) -> str:
    """Sentence, cautions, counts, and each change with its reason."""
    lines = [found.sentence, *(f"note: {caution}" for caution in found.cautions), ""]
    headers, rows = _table(found)
    align = ["left", "left", *["right"] * (len(headers) - 2)]
    lines += [tabulate([headers, *rows], tablefmt="plain", colalign=align, disable_numparse=True), ""]
    for kind, changes in _groups(found):
        lines.append(f"{KINDS[kind]}: {len(changes)}")
        for change in changes[: MOST.get(kind)]:
            lines.append(f"    {change.row['id']} ({change.level}){_statuses(change)}")
            why = _why(change)
            if why:
                lines.append(f"        {why}")
        if len(changes) > MOST.get(kind, len(changes)):
            lines.append(f"    and {len(changes) - MOST[kind]} more")
        lines.append("")
    lines.append(verdict(found))
    return "\n".join(lines) + "\n"


def markdown(found: Comparison) -> str:
    """The same as Markdown."""
    lines = [f"# {escaped(found.sentence)}", "", f"**{escaped(verdict(found))}**", ""]
    lines += [*(f"- {escaped(caution)}" for caution in found.cautions), ""] if found.cautions else []
    headers, rows = _table(found)
    lines += [f"| {' | '.join(headers)} |", f"| --- | --- |{' ---: |' * (len(headers) - 2)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    for kind, changes in _groups(found):
        lines += ["", f"## {KINDS[kind].capitalize()}: {len(changes)}", ""]
        for change in changes[: MOST.get(kind)]:
            why = _why(change)
            told = f": {escaped(why)}" if why else ""
            lines.append(f"- `{change.row['id']}` ({change.level}){_statuses(change)}{told}")
        if len(changes) > MOST.get(kind, len(changes)):
            lines.append(f"- and {len(changes) - MOST[kind]} more")
    return "\n".join(lines) + "\n"


def html(found: Comparison) -> str:
    """The page of both runs, with a filter by what became of each requirement."""
    heading = f"From {found.labels[0]} to {found.labels[1]}"
    told = [found.sentence.partition(": ")[2], verdict(found), *found.cautions]
    leads = "\n".join(f"<li><span>{escape(line[0].upper() + line[1:])}.</span></li>" for line in told)
    changes = {change.row["id"]: change.kind for change in found.changes}
    return page(found.runs, " → ".join(found.labels), heading, leads, changes=changes)


def document(found: Comparison) -> str:
    """Counts and changes as JSON; what did not change is only counted."""
    counts = [
        {"area": area, "level": level, **{kind: count[kind] for kind in KINDS}}
        for (area, level), count in found.counts.items()
    ]
    changes = [
        {
            "id": change.row["id"],
            "level": change.level,
            "change": change.kind,
            "before": change.before and change.before["status"],
            "after": change.after and change.after["status"],
            "why": _why(change) or None,
        }
        for _, group in _groups(found)
        for change in group
    ]
    whole: dict[str, Any] = {
        "schema": SCHEMA,
        "runs": [run["environment"] for run in found.runs],
        "cautions": found.cautions,
        "regressions": [change.row["id"] for change in found.regressions],
        "counts": counts,
        "changes": changes,
    }
    return json.dumps(whole, indent=1) + "\n"


FORMATS: dict[str, Callable[[Comparison], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "html": html,
    "json": document,
}


def verdict(found: Comparison) -> str:
    """What the exit status says."""
    count = len(found.regressions)
    return f"{count} MUST that held {'is' if count == 1 else 'are'} broken" if count else "every MUST that held holds"


def _groups(found: Comparison) -> Iterator[tuple[str, list[Change]]]:
    for kind in LISTED:
        changes = found.of_kind(kind)
        if changes:
            yield kind, sorted(changes, key=lambda change: not change.must)


def _table(found: Comparison) -> tuple[list[str], list[list[str]]]:
    shown = [kind for kind in KINDS if found.of_kind(kind)]
    rows = [
        [area, level, *(str(count[kind] or "·") for kind in shown)] for (area, level), count in found.counts.items()
    ]
    total = ["all", "", *(str(len(found.of_kind(kind))) for kind in shown)]
    return ["area", "level", *(KINDS[kind] for kind in shown)], [*rows, total]


def _statuses(change: Change) -> str:
    if change.before is None or change.after is None:
        return f" {change.row['status']}"
    return f" {change.before['status']} → {change.after['status']}"


def _why(change: Change) -> str:
    """The later run's reason or message, in one line; of what is mended, the earlier one's."""
    row = change.before if change.kind == "mended" else change.row
    if row is None:
        return ""
    failure = row["failure"]
    told = [row["reason"] or (failure["message"] if failure else "")]
    told += [f"{KINDS[kind]}: {', '.join(change.of_kind(kind))}" for kind in KINDS if change.of_kind(kind)]
    return " ".join("; ".join(filter(None, told)).split())
