"""A broken requirement, told so that it stands alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DIFFERS = "differs from run to run"
"""The words that a failure has instead of a value that changes from run to run."""


@dataclass(frozen=True)
class NoReproducer:
    """Why no few lines of the backend's own API can show a failure; given where an expression would be."""

    why: str

    def told(self, calls: str) -> str:
        """Comments that give the reason and the ``calls`` that led to the failure."""
        lines = [f"no stand-alone reproducer: {self.why}"]
        if calls.strip():
            lines += ["the calls before:", *calls.rstrip().splitlines()]
        return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def executable(snippet: str | None) -> bool:
    """Return whether a snippet has more than comments."""
    return any(line.strip() and not line.startswith("#") for line in (snippet or "").splitlines())


class ConformanceError(AssertionError):
    """The backend broke a requirement.

    ``message`` says what was wrong in one line; ``expected`` and ``got`` are texts; ``example`` the drawn inputs;
    ``snippet`` a few lines in the backend's own API that fail the same way, or comments that say why none can;
    ``cause`` the key under which failures of one cause are grouped. ``again``, if it is set, runs the failing example
    in another session.
    """

    again: Callable[[Any], None] | None = None
    by_value = False
    """A failure in which an element, or a number computed from the elements, was wrong."""

    def __init__(
        self, message: str, expected: str, got: str, example: dict[str, str], snippet: str, cause: str
    ) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.got = got
        self.example = example
        self.snippet = snippet
        self.cause = cause

    def __reduce__(self) -> tuple[type[ConformanceError], tuple[object, ...]]:
        """Made of its parts again when it crosses a process boundary."""
        return type(self), (self.message, self.expected, self.got, self.example, self.snippet, self.cause)

    def note(self, text: str) -> ConformanceError:
        """The same failure with a remark behind its message."""
        return ConformanceError(
            f"{self.message} ({text})", self.expected, self.got, self.example, self.snippet, self.cause
        )

    def __str__(self) -> str:
        drawn = "".join(f"\n  {name} = {value}" for name, value in self.example.items())
        return f"{self.message}\nexpected: {self.expected}\ngot: {self.got}{drawn}\n\n{self.snippet}"
