"""Writes a file of expected failures from a run, for a person to put the reasons in."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaugeblock_spec.atomic_file import output_file

from ..problem import UsageProblem, visible
from ..runner.rows import BROKEN
from . import manifest
from .expectation import Expectation

UNSAID = "not looked into yet"
"""The reason of a new entry, until somebody writes one."""
LONGEST = 1000
OPTION = "--write-expect"

Key = tuple[str, str | None]


@dataclass(frozen=True)
class Written:
    """How many entries were added, and which of those that were there need a person."""

    added: int
    remarks: tuple[str, ...]


def check_path(path: Path) -> None:
    """Raise UsageProblem unless a file at ``path`` can be made or replaced."""
    if not path.parent.is_dir():
        raise UsageProblem(f"{OPTION} {path}: no folder {path.parent}")
    if path.exists() and not path.is_file():
        raise UsageProblem(f"{OPTION} {path}: not a regular file")


def write(path: Path, record: Mapping[str, Any], known: Collection[str]) -> Written:
    """Add what failed in a run to the file at ``path``, which is made if it is not there; its entries stay as they are.

    Raises:
        UsageProblem: the file is no file of expected failures, or cannot be written.
    """
    environment = record["environment"]
    before = manifest.rows(path, known) if path.exists() else []
    text = path.read_text(encoding="utf-8") if path.exists() else _head(environment)
    device = environment["device"]
    here = {_key(one): one for one in before if not one.devices or device in one.devices}
    elsewhere = {_key(one) for one in before} - here.keys()
    entries, remarks = [], []
    for row in record["requirements"]:
        for key, failure in _failures(row):
            entry = here.get(key) or here.get((row["id"], None))
            if entry is None:
                entries.append(_entry(key, _reason(row, failure), failure, environment, key in elsewhere))
                here[key] = Expectation(key[0], UNSAID, UNSAID)
            elif not entry.covers(failure["message"], failure.get("operator")):
                remarks.append(f"{_name(key)} fails in another way than {entry.match!r}: {failure['message']}")
        if row["status"] == "xpassed" and row["id"] in {name for name, _ in here}:
            remarks.append(f"{row['id']} holds now: take it out")
    _replace(path, "\n".join([text.rstrip("\n"), *entries]) + "\n")
    return Written(len(entries), tuple(visible(remark, LONGEST) for remark in remarks))


def _key(one: Expectation) -> Key:
    return one.requirement, one.operator


def _name(key: Key) -> str:
    return key[0] if key[1] is None else f"{key[0]}[{key[1]}]"


def _failures(row: Mapping[str, Any]) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """The failures of a broken requirement, expected or not: the first of all, or the first of each operator."""
    if row["status"] not in (*BROKEN, "xfailed"):
        return
    found: dict[str | None, Mapping[str, Any]] = {}
    for failure in (row["failure"], *row["further_failures"]):
        if failure is not None:
            found.setdefault(failure.get("operator"), failure)
    if None in found:
        found = {None: found[None]}
    for operator, failure in found.items():
        yield (row["id"], operator), failure


def _reason(row: Mapping[str, Any], failure: Mapping[str, Any]) -> str:
    """What another file, by which the run was judged, says of the failure."""
    known = failure.get("known") or (row["reason"] if row["status"] == "xfailed" else None)
    return known or UNSAID


def _head(environment: Mapping[str, Any]) -> str:
    return (
        f"# What {visible(environment['name'], LONGEST)} is known to break: say in each entry why.\n"
        "# What the fields mean: README.md of gaugeblock_conformance/expectations.\n"
    )


def _entry(key: Key, reason: str, failure: Mapping[str, Any], environment: Mapping[str, Any], only_here: bool) -> str:
    tried = f"{environment['name']} {environment['version']} on {environment['device']}"
    how = f"budget {environment['budget']}, seed {environment['seed']}, suite {environment['suite_version']}"
    fields: dict[str, Any] = {
        "requirement": key[0],
        **({} if key[1] is None else {"operator": key[1]}),
        "reason": reason,
        "evidence": f"{tried}, {how}: {failure['message']}",
        **({"devices": [environment["device"]]} if only_here else {}),
    }
    return "\n".join(["", "[[expected]]", *(f"{name} = {_toml(value)}" for name, value in fields.items())])


def _toml(value: Any) -> str:
    """A string, or a list of strings; what cannot be printed is escaped."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(visible(value, LONGEST), ensure_ascii=False)


def _replace(path: Path, text: str) -> None:
    try:
        with output_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise UsageProblem(f"{OPTION} {path}: cannot write there: {error.strerror}") from error
