"""The catalogue rows from which the chapters were written: id, level and capabilities of each."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .error import SpecError

FILE = "origin_rows.csv"
FIELDS = ["id", "level", "capabilities"]


@dataclass(frozen=True)
class OriginRow:
    """One row of the catalogue; `capabilities` are those that its requirements together must ask for."""

    id: str
    level: str
    capabilities: tuple[str, ...]


@cache
def load() -> dict[str, OriginRow]:
    """Row id -> row, in catalogue order. Raises SpecError for a wrong header, a short row or a repeated id."""
    rows: dict[str, OriginRow] = {}
    text = (resources.files(__package__) / FILE).read_text(encoding="utf-8")
    for line, fields in enumerate(csv.reader(text.splitlines()), 1):
        if line == 1:
            if fields != FIELDS:
                raise SpecError(FILE, line, f"header {fields}", FIELDS)
            continue
        if len(fields) != len(FIELDS):
            raise SpecError(FILE, line, f"{len(fields)} fields", f"{len(FIELDS)} fields: {', '.join(FIELDS)}")
        name, level, capabilities = fields
        if name in rows:
            raise SpecError(FILE, line, f"row {name} repeated", "each id once")
        rows[name] = OriginRow(name, level, tuple(capabilities.split()))
    return rows
