"""Ids that requirements had once: they are never used again, and each says what asks the same now."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from . import operators, requirements
from .error import SpecError

FILE = "retired.yaml"
FIELDS = {"id": str, "when": datetime.date, "replaced_by": str, "operators": list}


@dataclass(frozen=True)
class Retired:
    """One id that is no requirement any more; ``replaced_by`` asks the same of ``operators``."""

    id: str
    when: datetime.date
    replaced_by: str
    operators: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """A sentence for those who name it."""
        text = f"requirement {self.id} was retired on {self.when}; {self.replaced_by} asks the same"
        return f"{text} of {', '.join(self.operators)}" if self.operators else text


@cache
def load() -> dict[str, Retired]:
    """Retired ids, in the file's order. Raises SpecError as :func:`parse` does."""
    text = (resources.files(__package__) / FILE).read_text(encoding="utf-8")
    return parse(text, requirements.load(), operators.load())


def parse(text: str, known: Collection[str], table: Collection[str]) -> dict[str, Retired]:
    """The entries of a file. Raises SpecError for an entry with a wrong field, an id that is a requirement or stands
    twice, a replacement that is no requirement, or an operator that the table does not have."""
    entries: dict[str, Retired] = {}
    content, places = yaml.safe_load(text), yaml.compose(text)
    if not isinstance(content, list) or places is None:
        raise SpecError(FILE, 1, f"a {type(content).__name__}", "a list of entries")
    for place, entry in zip(places.value, content, strict=True):
        line = place.start_mark.line + 1
        _check(entry, line)
        if entry["id"] in known:
            raise SpecError(FILE, line, f"{entry['id']!r} is a requirement", "an id that no chapter uses")
        if entry["id"] in entries:
            raise SpecError(FILE, line, f"{entry['id']!r} repeated", "each id once")
        if entry["replaced_by"] not in known:
            raise SpecError(FILE, line, f"replaced_by {entry['replaced_by']!r}", "a requirement of the chapters")
        for name in entry.get("operators", ()):
            if name not in table:
                raise SpecError(FILE, line, f"operator {name!r}", "an operator of the table")
        entries[entry["id"]] = Retired(**{**entry, "operators": tuple(entry.get("operators", ()))})
    return entries


def _check(entry: Any, line: int) -> None:
    if not isinstance(entry, dict):
        raise SpecError(FILE, line, f"a {type(entry).__name__}", f"an entry with {', '.join(FIELDS)}")
    for name, value in entry.items():
        kind = FIELDS.get(name)
        if kind is None:
            raise SpecError(FILE, line, f"field {name!r}", FIELDS)
        if not isinstance(value, kind):
            raise SpecError(FILE, line, f"field {name!r} {value!r}", f"a {kind.__name__}")
    for name in ("id", "when", "replaced_by"):
        if name not in entry:
            raise SpecError(FILE, line, f"no field {name!r}", "id, when and replaced_by in each entry")
