"""The data inside the page: an index that is searched and filtered at once, and details that are opened one by one.

The index is JSON in the page; the details, which hold nearly all of the text, are JSON packed with gzip, which
browsers unpack (``DecompressionStream``) and in which no text can be mistaken for markup.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..record import Record, Row
from . import excerpts

CODES = {
    "passed": "p", "partial": "h", "failed": "f", "crashed": "c", "timeout": "t", "xpassed": "u", "xfailed": "k",
    "skipped": "s",
}  # fmt: skip
ABSENT = "-"


def index(
    rows: Sequence[list[Row | None]], labels: Sequence[str], short: Sequence[str], changes: Mapping[str, str] | None
) -> dict[str, Any]:
    """Labels of the runs, and of each requirement: id, level, sentence, one letter of CODES per run, and the change."""
    listed = []
    for cells in rows:
        row = newest(cells)
        codes = "".join(ABSENT if cell is None else CODES[cell["status"]] for cell in cells)
        entry = [row["id"], row["level"], row["sentence"], codes]
        listed.append(entry if changes is None else [*entry, changes[row["id"]]])
    return {"runs": list(labels), "short": list(short), "rows": listed, "changes": changes is not None}


def details(rows: Sequence[list[Row | None]], records: Sequence[Record]) -> dict[str, Any]:
    """What is shown of a requirement when it is opened, in the order of the index, and the source text of tests."""
    tests: dict[str, Any] = {}
    for record in records:
        tests.update(record.get("tests", {}))
    sections: dict[str, str] = {}
    return {"rows": [_detail(cells, sections) for cells in rows], "tests": tests, "sections": sections}


def aligned(records: Sequence[Record]) -> list[list[Row | None]]:
    """One entry per requirement: its row in each run, or None; in the order of the runs' own rows, by area."""
    found: dict[str, list[Row | None]] = {}
    areas: dict[str, None] = {}
    for run, record in enumerate(records):
        for row in record["requirements"]:
            areas.setdefault(row["area"])
            found.setdefault(row["id"], [None] * len(records))[run] = row
    places = {area: place for place, area in enumerate(areas)}
    return sorted(found.values(), key=lambda cells: places[newest(cells)["area"]])


def newest(cells: Sequence[Row | None]) -> Row:
    """The row of the last run that has one: its wording is shown."""
    return next(cell for cell in reversed(cells) if cell is not None)


def json_in_script(value: Any) -> str:
    """``value`` as JSON that ends no script element: every ``<`` is written as an escape."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def packed(value: Any) -> str:
    """``value`` as JSON, gzip and base64."""
    return base64.b64encode(gzip.compress(json.dumps(value, separators=(",", ":")).encode(), 6, mtime=0)).decode()


def _detail(cells: Sequence[Row | None], sections: dict[str, str]) -> dict[str, Any]:
    row = newest(cells)
    tests = dict.fromkeys(test for cell in cells if cell is not None for test in cell["tests"])
    detail = {
        "source": row["source"],
        "origin": row["origin"],
        "capabilities": row["capabilities"],
        "tests": list(tests),
        "cells": [None if cell is None else _cell(cell, row) for cell in cells],
    }
    excerpt = excerpts.of(row["id"], row["sentence"])
    if excerpt is not None:
        detail["chapter"] = {"title": excerpt.title, "section": excerpt.section, "example": excerpt.example}
        sections.setdefault(f"{row['area']}/{excerpt.section}", excerpt.prose)
    return detail


def _cell(row: Row, shown: Row) -> dict[str, Any]:
    """One run's answer, without fields that say nothing."""
    failures = [failure for failure in (row["failure"], *row["further_failures"]) if failure is not None]
    unsupported = [f"{name}: {why}" if why else name for name, why in row["unsupported"].items()]
    cell = {
        "reason": row["reason"],
        "upstream": row["upstream"] if _is_link(row["upstream"]) else None,
        "examples": row["examples"],
        "seconds": round(row["seconds"], 3),
        "support": row["support"],
        "failures": [{name: value for name, value in failure.items() if value} for failure in failures],
        "unsupported": unsupported,
        "subresults": _subresults(row["subresults"]),
        "figures": row.get("figures"),
        "pictures": [_picture(picture) for picture in row.get("pictures", [])],
        "sentence": row["sentence"] if row["sentence"] != shown["sentence"] else None,
        "level": row["level"] if row["level"] != shown["level"] else None,
    }
    return {name: value for name, value in cell.items() if value}


def _subresults(statuses: dict[str, str]) -> dict[str, Any]:
    """The number of operators of each status, and the names of those that did not simply hold."""
    names: dict[str, list[str]] = {}
    for operator, status in statuses.items():
        names.setdefault(status, []).append(operator)
    return {status: found if status != "passed" else len(found) for status, found in names.items()}


def _picture(picture: dict[str, str]) -> dict[str, str]:
    """An SVG as a data URI: as an image, it runs no script and fetches nothing."""
    data = base64.b64encode(picture["svg"].encode("utf-8", "backslashreplace")).decode()
    return {"title": picture["title"], "source": f"data:image/svg+xml;base64,{data}"}


def _is_link(text: str | None) -> bool:
    return text is not None and text.startswith(("https://", "http://"))
