"""Run records and their kin, and the journals of killed runs: JSON Schemas, and loading with clear errors."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, cast

import jsonschema
from gaugeblock_spec.requirements import AREAS

from . import schema_check

Record = dict[str, Any]
Row = dict[str, Any]

RUN = "gaugeblock-run/2"
EARLIER = "gaugeblock-run/1"
"""The earlier schema, without subresults, which is still read."""
BENCH = "gaugeblock-bench/1"
BUNDLE = "gaugeblock-report/1"
SCHEMAS = {RUN: "run_record.schema.json", BENCH: "bench_record.schema.json"}
FILE = "record.json"
JOURNAL = "gaugeblock-journal/3"
EARLIER_JOURNALS = ("gaugeblock-journal/2", "gaugeblock-journal/1")
"""Earlier schemas of journals: rows have no subresults, and in the first of all lines have no digests."""
JOURNAL_FILE = "journal.jsonl"
LIMIT = 1 << 30
"""Largest size in bytes of a record."""

# Control characters, the marks that reorder text (a name could hide its extension), lone surrogates, and what XML bars.
_UNPRINTABLE = re.compile(
    "[^\t\n\u0020-\u007e\u00a0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe"
    "\uff00-\ufffd\U00010000-\U0010ffff]"
)


class RecordError(ValueError):
    """A file that is no record; the text names the file, the field and what is allowed."""

    exit_status = 2


@cache
def schema(name: str = RUN) -> dict[str, Any]:
    """The JSON Schema of a run record, or of the record of that name."""
    text = (resources.files(__package__) / SCHEMAS[name]).read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def load(path: Path) -> Record:
    """The run record in ``path``: a file, the folder that ``validate`` wrote to, or the journal of a killed run.

    Raises:
        RecordError: it cannot be read, breaks the schema, or is not one run record.
    """
    runs = [record for record in load_all(path) if record["schema"] == RUN]
    if len(runs) != 1:
        raise RecordError(f"{path} holds {len(runs)} run records; wanted: one")
    return runs[0]


def load_all(path: Path) -> list[Record]:
    """Every record in ``path``, of runs and of benchmarks: a report in JSON may hold several.

    Raises:
        RecordError: it cannot be read, or breaks its schema.
    """
    path = _inside(path)
    try:
        text = _bounded(path).decode()
    except OSError as error:
        raise RecordError(f"run record {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"run record {path}: not UTF-8 text") from error
    if path.suffix == ".jsonl":
        found = _of_journal(path, text)
    else:
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            raise RecordError(f"run record {path}:{error.lineno}: not JSON: {error.msg}") from error
        except ValueError as error:
            raise RecordError(f"run record {path}: not JSON: a number is too long") from error
        except RecursionError as error:
            raise RecordError(f"run record {path}: nested too deeply") from error
    if isinstance(found, dict) and found.get("schema") == BUNDLE:
        records = found.get("records")
        if not isinstance(records, list) or not records:
            raise RecordError(f"run record {path}: $.records: a list of records is needed")
        for number, record in enumerate(records):
            check(record, f"run record {path}: $.records[{number}]")
        return records
    check(found, f"run record {path}")
    return [found]


def check(record: Any, source: str = "run record") -> None:
    """Raises RecordError naming the first field of ``record`` that breaks the schema that it states.

    A run record of the earlier schema becomes one of the present schema.
    """
    if isinstance(record, dict) and record.get("schema") == EARLIER:
        _upgrade(record)
    found = record.get("schema") if isinstance(record, dict) else None
    if not isinstance(found, str) or found not in SCHEMAS:
        raise RecordError(f"{source}: schema is {found!r}; allowed: {', '.join(map(repr, SCHEMAS))}")
    if not _quick(found)(record):
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema(found)).iter_errors(record))
        if error is not None:
            raise RecordError(f"{source}: {error.json_path}: {' '.join(error.message.split())[:300]}")
    if found == RUN:
        twice = [name for name, count in Counter(row["id"] for row in record["requirements"]).items() if count > 1]
        if twice:
            raise RecordError(f"{source}: $.requirements: {twice[0]} occurs twice")


def _upgrade(record: dict[str, Any]) -> None:
    record["schema"] = RUN
    rows = record.get("requirements")
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        row.setdefault("subresults", {})
        if row.get("status") == "passed" and row.get("reason"):
            row["status"] = "partial"
        further = row.get("further_failures")
        for failure in [row.get("failure"), *(further if isinstance(further, list) else ())]:
            if isinstance(failure, dict):
                failure.setdefault("operator", None)
                failure.setdefault("known", None)


def printable(value: Any) -> Any:
    """A copy of a record in which no text holds what a terminal would obey, readers are fooled by, or XML and UTF-8
    cannot hold."""
    if value.__class__ in _PLAIN:
        return value
    if isinstance(value, str):
        return _printable_text(value)
    if isinstance(value, dict):
        return {
            _printable_key(key): item if item.__class__ in _PLAIN else printable(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [printable(item) for item in value]
    return value


def _printable_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return _UNPRINTABLE.sub(lambda match: ascii(match.group())[1:-1], text)


# A record has few keys, each of them thousands of times.
_printable_key = lru_cache(maxsize=1024)(_printable_text)
_PLAIN = frozenset({int, float, bool, type(None)})


def level_rank(level: str) -> int:
    """Sorting key of a level: MUST first."""
    return ("MUST", "SHOULD", "MAY").index(level)


@cache
def _quick(name: str) -> schema_check.Check:
    return schema_check.compiled(schema(name))


def _bounded(path: Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: the file cannot be opened or read.
        RecordError: it is not a regular file, or it is longer than ``LIMIT``.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RecordError(f"run record {path}: not a regular file")
        data = stream.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise RecordError(f"run record {path}: more than {LIMIT >> 20} MiB, which is too long")
    return data


def _inside(path: Path) -> Path:
    """The record in a folder, or else its journal."""
    if not path.is_dir():
        return path
    journal = path / JOURNAL_FILE
    return journal if journal.is_file() and not (path / FILE).exists() else path / FILE


def _of_journal(path: Path, text: str) -> Record:
    """The rows that a journal holds, with ``unfinished`` set and what it does not tell left empty.

    Statuses are as the tests gave them: the file of expected failures is applied only at the end of a run. A last line
    that was cut off is left out.

    Raises:
        RecordError: it is no journal, or a line of it is damaged.
    """
    lines = [_parsed(path, number, line) for number, line in enumerate(text.split("\n")[:-1], 1)]
    head = lines[0] if lines else {}
    if head.get("schema") not in (JOURNAL, *EARLIER_JOURNALS):
        allowed = ", ".join(map(repr, (JOURNAL, *EARLIER_JOURNALS)))
        raise RecordError(f"journal {path}: schema is {head.get('schema')!r}; allowed: {allowed}")
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines, 1):
        if head["schema"] != EARLIER_JOURNALS[-1] and line.pop("digest", None) != _digest(line):
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
    schema = RUN if head["schema"] == JOURNAL else EARLIER
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
