"""The journal of a run that was killed, read as a record of what it had decided."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from gaugeblock_spec.requirements import AREAS

from .record import EARLIER as EARLIER_RUN
from .record import RUN, Record, RecordError, Row

SCHEMA = "gaugeblock-journal/3"
EARLIER = ("gaugeblock-journal/2", "gaugeblock-journal/1")
"""Earlier schemas: rows have no subresults, and in the first of all lines have no digests."""
NAME = "journal.jsonl"


def record_of(path: Path, text: str) -> Record:
    """The rows that a journal holds, with ``unfinished`` set and what it does not tell left empty.

    Statuses are as the tests gave them: the file of expected failures is applied only at the end of a run. A last line
    that was cut off is left out.

    Raises:
        RecordError: it is no journal, or a line of it is damaged.
    """
    lines = [_parsed(path, number, line) for number, line in enumerate(text.split("\n")[:-1], 1)]
    head = lines[0] if lines else {}
    if head.get("schema") not in (SCHEMA, *EARLIER):
        allowed = ", ".join(map(repr, (SCHEMA, *EARLIER)))
        raise RecordError(f"journal {path}: schema is {head.get('schema')!r}; allowed: {allowed}")
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines, 1):
        if head["schema"] != EARLIER[-1] and line.pop("digest", None) != _digest(line):
            raise RecordError(f"journal {path}:{number}: damaged: its digest does not match")
        if number == 1:
            continue
        row = line.get("row")
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise RecordError(f"journal {path}:{number}: not a row of a requirement")
        if row["id"] in rows:
            raise RecordError(f"journal {path}:{number}: {row['id']} is decided twice")
        rows[row["id"]] = row
    try:
        environment = _environment(head["configuration"], head["started"], list(rows.values()))
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"journal {path}: its first line lacks {error}") from error
    schema = RUN if head["schema"] == SCHEMA else EARLIER_RUN
    return {"schema": schema, "environment": environment, "requirements": sorted(rows.values(), key=_place)}


def _digest(line: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(line).encode(), digest_size=8).hexdigest()


def _place(row: Row) -> tuple[int, str]:
    area = row.get("area")
    return AREAS.index(area) if area in AREAS else len(AREAS), row["id"]


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except RecursionError as error:
        raise RecordError(f"journal {path}:{number}: nested too deeply") from error
    except ValueError as error:
        problem = getattr(error, "msg", "a number is too long")
        raise RecordError(f"journal {path}:{number}: not JSON: {problem}") from error
    if not isinstance(found, dict):
        raise RecordError(f"journal {path}:{number}: not an object")
    return found


def _environment(setup: dict[str, Any], started: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    backend = setup["backend"]
    tensors = sum(row["tensors"] for row in rows)
    return {
        "backend": backend,
        "name": backend.partition(":")[0],
        "version": setup["backend version"],
        "device": setup["device"],
        "capabilities": [],
        "packages": {},
        "platform": "platform not told",
        "python": "not told",
        "cpu": "CPU not told",
        "cores": 1,
        "seed": setup["seed"],
        "budget": setup["budget"],
        "jobs": 1,
        "timeout": 0,
        "memory_limit": 0,
        "selection": setup["selection"],
        "expectations": None,
        "spec_version": setup["spec version"],
        "suite_version": setup["suite version"],
        "started": started,
        "finished": started,
        "resumed": False,
        "unfinished": True,
        "seconds": sum(row["seconds"] for row in rows),
        "examples": sum(row["examples"] - row.get("repeated", 0) for row in rows),
        "examples_per_second": 0,
        "calls": sum(row["calls"] for row in rows),
        "tensors": tensors,
        "noncontiguous_share": sum(row["noncontiguous"] for row in rows) / tensors if tensors else 0,
    }
