"""Reads an expectation file and judges rows by it.

[[expected]]
requirement = "views/expand-has-stride-zero"
reason = "one sentence: what the backend does instead"
evidence = "what was run and seen"
upstream = "https://..."        # optional
devices = ["cpu"]               # optional: only on these devices
match = "regular expression"    # optional: the failure's message must contain it
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ..problem import UsageProblem, unknown
from ..runner.rows import BROKEN, Row

FIELDS: dict[str, type] = {
    "requirement": str,
    "reason": str,
    "evidence": str,
    "upstream": str,
    "devices": list,
    "match": str,
}
REQUIRED = ("requirement", "reason", "evidence")


@dataclass(frozen=True)
class Expectation:
    """One requirement that is expected to break."""

    requirement: str
    reason: str
    evidence: str
    upstream: str | None = None
    devices: tuple[str, ...] = ()
    match: str | None = None

    def covers(self, message: str) -> bool:
        """Whether a failure with this message is the one expected."""
        return self.match is None or re.search(self.match, message) is not None


@dataclass(frozen=True)
class Manifest:
    """The expectations of one file that apply to a device, by requirement id."""

    source: str
    expected: dict[str, Expectation]

    def judge(self, row: Row) -> Row:
        """The row with its status seen in the light of the expectations (the given row is not changed)."""
        expectation = self.expected.get(row["id"])
        if expectation is None:
            return row
        judged = row.copy()
        if row["status"] == "passed":
            judged["status"] = "xpassed"
            judged["reason"] = f"expected to fail: {expectation.reason}"
        elif row["status"] in BROKEN:
            message = row["failure"]["message"] if row["failure"] else ""
            if not expectation.covers(message):
                judged["reason"] = f"expected to fail in another way ({expectation.match!r}): {expectation.reason}"
                return judged
            judged["status"] = "xfailed"
            judged["reason"] = expectation.reason
            judged["upstream"] = expectation.upstream
        return judged


NOTHING = Manifest("no file", {})


def read(path: Path | Traversable, known: Collection[str], device: str) -> Manifest:
    """The manifest in a TOML file, for one device.

    Raises:
        UsageProblem: names the file and the line: no TOML, an unknown field, a missing or mistyped one, an id that
            ``known`` does not have (any more), or the same id twice for one device.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        detail = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageProblem(f"expectation file {path}: {detail}") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"expectation file {path}: {error}") from error
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "[[expected]]"]
    entries = document.pop("expected", [])
    if document:
        raise UsageProblem(f"expectation file {path}: unknown key {next(iter(document))!r}; allowed: [[expected]]")
    if not isinstance(entries, list):
        raise UsageProblem(f"expectation file {path}: 'expected' must be tables headed [[expected]]")
    expected: dict[str, Expectation] = {}
    for index, entry in enumerate(entries):
        where = f"expectation file {path}:{lines[index]}" if index < len(lines) else f"expectation file {path}"
        expectation = _expectation(entry, where, known)
        if expectation.devices and device not in expectation.devices:
            continue
        if expectation.requirement in expected:
            raise UsageProblem(f"{where}: {expectation.requirement!r} is expected twice")
        expected[expectation.requirement] = expectation
    return Manifest(str(path), expected)


def shipped(name: str, version: str) -> Traversable | None:
    """The expectation file of this package for a backend's version: the longest matching ``NAME-VERSION.toml``."""
    parts = version.split("+")[0].split(".")
    folder = resources.files(__package__)
    for count in range(len(parts), 0, -1):
        candidate = folder / f"{name}-{'.'.join(parts[:count])}.toml"
        if candidate.is_file():
            return candidate
    return None


def _expectation(entry: Any, where: str, known: Collection[str]) -> Expectation:
    if not isinstance(entry, dict):
        raise UsageProblem(f"{where}: an expectation must be a table headed [[expected]]")
    for name, value in entry.items():
        if name not in FIELDS:
            raise UsageProblem(f"{where}: unknown field {name!r}; allowed: {', '.join(FIELDS)}")
        if not isinstance(value, FIELDS[name]) or not value:
            raise UsageProblem(f"{where}: field {name!r} must be a non-empty {FIELDS[name].__name__}, not {value!r}")
    for name in REQUIRED:
        if name not in entry:
            raise UsageProblem(f"{where}: field {name!r} is missing; required: {', '.join(REQUIRED)}")
    if entry["requirement"] not in known:
        raise UsageProblem(f"{where}: {unknown('requirement', entry['requirement'], known)}")
    devices = entry.get("devices", [])
    if not all(isinstance(device, str) for device in devices):
        raise UsageProblem(f"{where}: field 'devices' must be a list of strings, not {devices!r}")
    try:
        re.compile(entry.get("match", ""))
    except re.error as error:
        raise UsageProblem(f"{where}: field 'match' is no regular expression: {error}") from error
    return Expectation(**{**entry, "devices": tuple(devices)})
