"""What a backend may be able to do: the names used by requirements, backends and tests."""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml

from .error import SpecError

FILE = "capabilities.yaml"


@cache
def load() -> dict[str, str]:
    """Capability name -> one-line meaning, in the order of the table. Raises SpecError for a malformed table."""
    text = (resources.files(__package__) / FILE).read_text(encoding="utf-8")
    table = yaml.safe_load(text)
    if not isinstance(table, dict):
        raise SpecError(FILE, 1, f"top level is {type(table).__name__}", "one mapping of name to meaning")
    lines = text.splitlines()
    for name, meaning in table.items():
        line = next((n for n, row in enumerate(lines, 1) if row.startswith(f"{name}:")), 1)
        if not isinstance(meaning, str) or not meaning.strip():
            raise SpecError(FILE, line, f"capability {name!r} has no meaning", "a one-line string")
    return {str(name): str(meaning) for name, meaning in table.items()}
