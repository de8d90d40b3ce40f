"""The record of a run over the mutants: what caught each, and which requirements caught none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from gaugeblock_spec import requirements as spec

from ..problem import UsageProblem
from ..requirement import AREA_PACKAGES
from .mutant import CLASSES, Mutant
from .trial import CAUGHT

SCHEMA = "gaugeblock-mutants/2"
FILE = "record.json"
RecordOfMutants = dict[str, Any]
# How a MUST fared: caught a mutant of the run that breaks it; when they were tried on its tests alone caught one, or
# only one that breaks something else; or none.
FIRST, ALONE, OTHER, NONE = "first", "alone", "other", "none"


def must() -> list[str]:
    """The requirements of level MUST, in the order of the spec."""
    return [r.id for r in spec.load().values() if r.level == "MUST" and r.area in AREA_PACKAGES]


def build(
    environment: Mapping[str, Any], mutants: Mapping[str, Mutant], rows: Iterable[Mapping[str, Any]]
) -> RecordOfMutants:
    """The record of the journal's ``rows``, those of other mutants than ``mutants`` left out."""
    lines = list(rows)
    results = {row["name"]: dict(row) for row in lines if "name" in row and row["name"] in mutants}
    known = {name: mutant for name, mutant in mutants.items() if name in results}
    tried = [{**results[name], "class": m.kind, "breaks": list(m.breaks)} for name, m in known.items()]
    proofs = {row["requirement"]: row for row in lines if "requirement" in row}
    return {
        "schema": SCHEMA,
        "environment": {
            **environment,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(sum(row["seconds"] for row in tried), 1),
            "mutants": len(mutants),
            "complete": len(tried) == len(mutants),
        },
        "classes": classes(tried),
        "mutants": tried,
        "requirements": _requirements(tried, proofs),
    }


def classes(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each class how many mutants were tried and how many caught by what they break, and the median of the examples
    that it took."""
    found = []
    for kind in CLASSES:
        of_kind = [row for row in rows if row["class"] == kind]
        caught = [row for row in of_kind if row["status"] == CAUGHT]
        if of_kind:
            examples = median(row["examples"] for row in caught) if caught else None
            found.append({"class": kind, "mutants": len(of_kind), "caught": len(caught), "median_examples": examples})
    return found


def unproven(requirements: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Those of ``requirements`` that caught no mutant which breaks them and have not been tried alone."""
    lines = list(rows)
    done = {_target(row) for row in lines if row.get("status") == CAUGHT}
    done |= {row["requirement"] for row in lines if "requirement" in row}
    return [identifier for identifier in requirements if identifier not in done]


def merged(records: Sequence[RecordOfMutants], mutants: Mapping[str, Mutant]) -> RecordOfMutants:
    """One record of the shards of a run.

    Raises:
        UsageProblem: they are of different runs.
    """
    environments = [record["environment"] for record in records]
    for name in ("base", "version", "budget", "seed", "suite_version"):
        values = {environment.get(name) for environment in environments}
        if len(values) > 1:
            raise UsageProblem(f"records of different runs: {name} is {' and '.join(sorted(map(str, values)))}")
    rows = [row for record in records for row in rows_of(record)]
    return build(environments[0], mutants, sorted(rows, key=lambda row: bool(row.get("mutant"))))


def rows_of(record: RecordOfMutants) -> list[dict[str, Any]]:
    """The rows of the journal that a record was made of."""
    rows = [{key: value for key, value in row.items() if key not in ("class", "breaks")} for row in record["mutants"]]
    alone = [row for row in record["requirements"] if row["by"] != FIRST]
    return rows + [
        {"requirement": row["id"], "mutant": row["mutant"], "named": row["by"] == ALONE, "tried": row["tried"]}
        for row in alone
    ]


def read(path: Path) -> RecordOfMutants:
    """The record at ``path``. Raises UsageProblem if there is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path}: no record of mutants: {error}") from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise UsageProblem(f"{path}: no record of schema {SCHEMA}")
    return record


def schema() -> dict[str, Any]:
    """The JSON Schema of a record."""
    text = files(__package__).joinpath("record.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _requirements(
    tried: Sequence[Mapping[str, Any]], proofs: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    first: dict[str, str] = {}
    for row in tried:
        if row["status"] == CAUGHT:
            first.setdefault(_target(row), row["name"])
    found: list[dict[str, Any]] = []
    for identifier in must():
        if identifier in first:
            found.append({"id": identifier, "by": FIRST, "mutant": first[identifier], "tried": 0})
        elif identifier in proofs:
            proof = proofs[identifier]
            by = (ALONE if proof["named"] else OTHER) if proof["mutant"] else NONE
            found.append({"id": identifier, "by": by, "mutant": proof["mutant"], "tried": proof["tried"]})
    return found


def _target(row: Mapping[str, Any]) -> str:
    """The requirement by which a mutant was caught."""
    return str(row["target"]).partition("[")[0]
