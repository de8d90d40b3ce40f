"""The journal of a run: JSON lines, each written as soon as it is decided, so that a killed run loses nothing."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from gaugeblock_spec.atomic_file import output_file

from .problem import UsageProblem, shown, visible
from .text_file import read_bytes

SCHEMA = "gaugeblock-journal/3"
NAME = "journal.jsonl"
LIMIT = 1 << 30
"""Largest size in bytes of a journal."""
ANEW = "run without --resume to start over"


class Journal:
    """Appends rows to ``folder/journal.jsonl``; its first line states the configuration that all rows belong to.

    Each line has a digest of its other fields, so that a damaged line is detected.
    """

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
    def resume(
        cls, folder: Path, configuration: dict[str, Any], check: Callable[[Any], object] = lambda row: None
    ) -> Journal:
        """Continue the journal in ``folder``; ``check`` raises ValueError for a row that cannot be one of this run.

        An incomplete last line, left by a killed run, is dropped.

        Raises:
            UsageProblem: there is no journal, it is damaged (the message names the line), or its configuration differs
                (the message says how).
        """
        path = folder / NAME
        try:
            data = read_bytes(path, LIMIT)
        except FileNotFoundError as error:
            raise UsageProblem(f"nothing to resume: no journal at {path}; run without --resume") from error
        except OSError as error:
            raise UsageProblem(f"nothing to resume: {path}: {error.strerror}; run without --resume") from error
        whole = data[: data.rfind(b"\n") + 1]
        lines = _lines(path, whole)
        try:
            head = next(lines)
        except StopIteration:
            raise UsageProblem(f"{path} has no complete line, so nothing can be resumed; {ANEW}") from None
        before, started = head.get("configuration"), head.get("started")
        if head.get("schema") != SCHEMA or not isinstance(before, dict) or not isinstance(started, str):
            raise UsageProblem(f"{path}:1: not a journal of schema {SCHEMA}; {ANEW}")
        differing = _differences(before, configuration)
        if differing:
            raise UsageProblem(f"cannot resume {path}: {'; '.join(differing)}; {ANEW}")
        rows = []
        for number, line in enumerate(lines, 2):
            if line.keys() != {"row"}:
                raise UsageProblem(f"{path}:{number}: damaged: a line has one field, 'row'; {ANEW}")
            try:
                check(line["row"])
            except ValueError as error:
                raise UsageProblem(f"{path}:{number}: {error}; {ANEW}") from error
            rows.append(line["row"])
        try:
            os.truncate(path, len(whole))
            file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise unwritable(folder, error) from error
        return cls(file, rows, started)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one decided row; on return it is in the operating system's hands."""
        self.rows.append(row)
        self._write({"row": row})

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps({**line, "digest": digest(line)}) + "\n")
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
    try:
        with output_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise unwritable(path.parent, error) from error


def digest(line: Mapping[str, Any]) -> str:
    """Return the digest of a line's other fields."""
    return hashlib.blake2b(json.dumps(line).encode(), digest_size=8).hexdigest()


def _lines(path: Path, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield each line of a journal without its digest. Raises UsageProblem for the first damaged line."""
    for number, text in enumerate(data.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
        except RecursionError:
            raise UsageProblem(f"{path}:{number}: damaged: nested too deeply; {ANEW}") from None
        except ValueError as error:
            raise UsageProblem(f"{path}:{number}: damaged: {getattr(error, 'msg', 'not JSON')}; {ANEW}") from error
        if not isinstance(line, dict):
            raise UsageProblem(f"{path}:{number}: damaged: not an object; {ANEW}")
        if number == 1 and line.get("schema") != SCHEMA:
            raise UsageProblem(f"{path}:1: not a journal of schema {SCHEMA}; {ANEW}")
        stated = line.pop("digest", None)
        if stated != digest(line):
            raise UsageProblem(f"{path}:{number}: damaged: its digest is not {shown(stated, 40)}; {ANEW}")
        yield line


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [f"it was run with {name} {_shown(before.get(name))}, this is {_shown(now.get(name))}" for name in names]


def _shown(value: Any) -> str:
    return visible(value if isinstance(value, str) else json.dumps(value), 200)
