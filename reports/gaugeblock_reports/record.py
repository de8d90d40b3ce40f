"""Run records: their JSON Schema, and loading with clear errors."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, cast

import jsonschema

Record = dict[str, Any]
Row = dict[str, Any]

_UNPRINTABLE = re.compile("[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

SCHEMA = "gaugeblock-run/1"
FILE = "record.json"


class RecordError(ValueError):
    """A file that is no run record; the text names the file, the field and what is allowed."""

    exit_status = 2


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a run record."""
    text = (resources.files(__package__) / "run_record.schema.json").read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def load(path: Path) -> Record:
    """The run record in ``path``, a file or the folder that ``validate`` wrote to.

    Raises:
        RecordError: it cannot be read, or breaks the schema.
    """
    if path.is_dir():
        path = path / FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"run record {path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise RecordError(f"run record {path}:{error.lineno}: not JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"run record {path}: not UTF-8 text") from error
    check(record, f"run record {path}")
    return cast("Record", record)


def check(record: Any, source: str = "run record") -> None:
    """Raises RecordError naming the first field of ``record`` that breaks the schema."""
    found = record.get("schema") if isinstance(record, dict) else None
    if found != SCHEMA:
        raise RecordError(f"{source}: schema is {found!r}; allowed: {SCHEMA!r}")
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema()).iter_errors(record))
    if error is not None:
        raise RecordError(f"{source}: {error.json_path}: {' '.join(error.message.split())[:300]}")


def printable(value: Any) -> Any:
    """A copy of a record in which no text holds what a terminal would obey or XML and UTF-8 cannot hold."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub(lambda match: ascii(match.group())[1:-1], value)
    if isinstance(value, dict):
        return {printable(key): printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [printable(item) for item in value]
    return value


def level_rank(level: str) -> int:
    """Sorting key of a level: MUST first."""
    return ("MUST", "SHOULD", "MAY").index(level)
