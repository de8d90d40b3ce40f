"""The journal of a run: JSON lines, each written as soon as it is decided, so that a killed run loses nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from .problem import UsageProblem

SCHEMA = "gaugeblock-journal/1"
NAME = "journal.jsonl"


class Journal:
    """Appends rows to ``folder/journal.jsonl``; its first line states the configuration that all rows belong to."""

    def __init__(self, file: TextIO, rows: list[Any], started: str) -> None:
        self._file = file
        self.rows = rows
        self.started = started

    @classmethod
    def create(cls, folder: Path, configuration: dict[str, Any], started: str) -> Journal:
        """Start a journal; one of an earlier run moves to ``journal.previous.jsonl``.

        Raises:
            UsageProblem: the folder cannot be made or written.
        """
        path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.exists():
                path.replace(folder / "journal.previous.jsonl")
            file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise unwritable(folder, error) from error
        journal = cls(file, [], started)
        journal._write({"schema": SCHEMA, "configuration": configuration, "started": started})
        return journal

    @classmethod
    def resume(cls, folder: Path, configuration: dict[str, Any]) -> Journal:
        """Continue the journal in ``folder``.

        Raises:
            UsageProblem: there is none, it is damaged, or it belongs to another configuration (names what differs).
        """
        path = folder / NAME
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise UsageProblem(f"nothing to resume: no journal at {path}; run without --resume") from error
        except OSError as error:
            raise unwritable(folder, error) from error
        whole = data[: data.rfind(b"\n") + 1]
        lines = list(_parse(path, whole.decode("utf-8", errors="replace").splitlines()))
        if not lines or lines[0].get("schema") != SCHEMA:
            raise UsageProblem(f"{path} is no journal of schema {SCHEMA}; run without --resume")
        differing = _differences(lines[0]["configuration"], configuration)
        if differing:
            raise UsageProblem(f"cannot resume {path}: {'; '.join(differing)}; run without --resume to start anew")
        try:
            os.truncate(path, len(whole))
            file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise unwritable(folder, error) from error
        return cls(file, [line["row"] for line in lines[1:] if "row" in line], lines[0]["started"])

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one decided row; on return it is in the operating system's hands."""
        self.rows.append(row)
        self._write({"row": row})

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()


def unwritable(folder: Path, error: OSError) -> UsageProblem:
    """The problem of an output folder that cannot be used."""
    return UsageProblem(f"--out {folder}: cannot write there: {error.strerror or error}")


def write_atomically(path: Path, text: str) -> None:
    """Replace ``path`` by ``text`` in one step. Raises UsageProblem if its folder cannot be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path.parent, error) from error


def _parse(path: Path, lines: Iterable[str]) -> Iterable[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageProblem(f"{path}:{number}: damaged: {error.msg}; run without --resume") from error


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [f"it was run with {name} {_shown(before.get(name))}, this is {_shown(now.get(name))}" for name in names]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
