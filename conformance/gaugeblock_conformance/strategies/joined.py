"""All arguments of a property drawn as one byte string, as far as their strategies allow."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import strategies as st

from .code import Digits, Part, part_of

CODE = "joined_code"


class Joined:
    """What Hypothesis is to draw (``strategies``) and how to read a property's arguments off it.

    A property over few enough combinations is left to Hypothesis as it is, which then tries each of them once.
    """

    def __init__(self, strategies: dict[str, st.SearchStrategy[Any]], examples: int) -> None:
        found = {name: part_of(strategy) for name, strategy in strategies.items()}
        parts = {name: part for name, part in found.items() if part is not None}
        if len(parts) < 2 or prod(part.values for part in parts.values()) < 4 * examples:
            parts = {}
        self._parts: dict[str, Part] = parts
        self._order = tuple(strategies)
        self.strategies = {name: strategy for name, strategy in strategies.items() if name not in parts}
        length = sum(part.length for part in parts.values())
        if parts:
            self.strategies[CODE] = st.binary(min_size=length, max_size=length)

    def arguments(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """The property's arguments, in its own order."""
        if not self._parts:
            return drawn
        code, start, read = drawn[CODE], 0, {}
        for name, part in self._parts.items():
            read[name] = part.read(Digits(code[start : start + part.length]))
            start += part.length
        return {name: read[name] if name in read else drawn[name] for name in self._order}
