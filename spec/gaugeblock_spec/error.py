"""The one error of the spec's loaders."""

from __future__ import annotations

from collections.abc import Iterable


class SpecError(ValueError):
    """A file of the spec breaks its own format: names file, line, what was found and what is allowed."""

    def __init__(self, file: str, line: int, found: str, allowed: str | Iterable[str]) -> None:
        text = allowed if isinstance(allowed, str) else ", ".join(allowed)
        super().__init__(f"{file}:{line}: {found}; allowed: {text}")
        self.file = file
        self.line = line
