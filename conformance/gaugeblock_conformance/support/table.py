"""The table operator x dtype or layout x backend, made by running every cell in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gaugeblock_spec import operators

from .. import discovery
from ..problem import UsageProblem, unknown
from ..runner.environment import cores
from ..runner.pool import Limits, Pool
from ..runner.rows import Row
from .suite import ADDRESS, cell_of, identifier, suite

NATIVE, FALLBACK, SUPPORTED, UNSUPPORTED, WRONG, CRASHED, UNTRIED = (
    "native", "fallback", "supported", "unsupported", "wrong", "crashed", "untried"
)  # fmt: skip
VERDICTS = {
    NATIVE: "by the backend's own kernel",
    FALLBACK: "by a fallback, as the backend says",
    SUPPORTED: "right; the backend does not say by what",
    UNSUPPORTED: "refused, or not offered",
    WRONG: "another result than the spec's, or some of its calls refused",
    CRASHED: "the process died or hung",
    UNTRIED: "no call of it can be judged",
}
TIMEOUT = 30.0


@dataclass(frozen=True)
class Verdict:
    """``text`` says how a cell that is not right is not."""

    kind: str
    text: str = ""


@dataclass(frozen=True)
class Column:
    """One backend: its facts, and verdicts by operator and dtype."""

    backend: str
    name: str
    version: str
    device: str
    verdicts: dict[tuple[str, str], Verdict]


def chosen(names: Sequence[str], families: Sequence[str]) -> list[tuple[str, str]]:
    """Cells of the operators called ``names`` (with or without overload) in ``families``; all where none is named.

    Raises:
        UsageProblem: an operator or a family that the table does not have, or no operator that is in both.
    """
    rows = operators.load()
    known = list(dict.fromkeys(row.family for row in rows.values()))
    for family in families:
        if family not in known:
            raise unknown("family", family, known)
    wanted: set[str] = set()
    for name in names:
        found = {full for full, row in rows.items() if name in (full, row.base_name)}
        if not found:
            raise unknown("operator", name, rows)
        wanted |= found
    found_cells = [
        (operator, dtype)
        for operator, dtype in cell_of().values()
        if (not names or operator in wanted) and (not families or rows[operator].family in families)
    ]
    if not found_cells:
        raise UsageProblem("no operator is in both --op and --family")
    return found_cells


def column(
    backend: str, cells: Sequence[tuple[str, str]], jobs: int | None = None, seed: int = 0, memory: int = 0,
    told: Callable[[int, int], None] = lambda done, total: None, note: Callable[[str], None] = lambda text: None,
) -> Column:  # fmt: skip
    """Run ``cells`` against one backend.

    Raises:
        UsageProblem: a backend that is unknown or cannot be loaded.
    """
    name = discovery.resolve(backend)
    setup = {"backend": name.text, "suite": ADDRESS, "budget": "quick", "seed": seed}
    verdicts: dict[tuple[str, str], Verdict] = {}
    ids = [identifier(*cell) for cell in cells]
    with Pool(suite().requirements, jobs or cores(), Limits(TIMEOUT, memory), **setup) as pool:
        facts = pool.backend(note, len(ids))
        for row in pool.decide(ids):
            verdicts[cell_of()[row["id"]]] = verdict(row)
            told(len(verdicts), len(ids))
    return Column(name.text, facts["name"], facts["version"], facts["device"], {c: verdicts[c] for c in cells})


def verdict(row: Row) -> Verdict:
    """The verdict of one cell's row."""
    failure = row["failure"]
    text = failure["message"] if failure is not None else row["reason"] or ""
    if row["status"] in ("crashed", "timeout"):
        return Verdict(CRASHED, text)
    if row["status"] == "failed":
        return Verdict(WRONG, text)
    if row["status"] == "skipped":
        kind = UNSUPPORTED if row["figures"].get("calls") else UNTRIED
        return Verdict(kind, text.removeprefix("unsupported operator "))
    return Verdict(row["support"] or SUPPORTED)


def as_json(columns: Sequence[Column]) -> dict[str, Any]:
    """The table as one document of schema ``gaugeblock-support/1``."""
    rows = operators.load()
    cells = columns[0].verdicts
    return {
        "schema": "gaugeblock-support/1",
        "backends": [
            {"backend": c.backend, "name": c.name, "version": c.version, "device": c.device} for c in columns
        ],
        "cells": [
            {
                "operator": operator,
                "family": rows[operator].family,
                "dtype": dtype,
                "verdicts": [c.verdicts[operator, dtype].kind for c in columns],
                "texts": [c.verdicts[operator, dtype].text for c in columns],
            }
            for operator, dtype in cells
        ],
    }
