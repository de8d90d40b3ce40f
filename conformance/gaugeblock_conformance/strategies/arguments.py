"""All arguments of a property read off one code."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import strategies as st

from .code import Digits, Part
from .parts import part_of


class Arguments:
    """The arguments of a property by name, each a part of a code.

    ``values`` is how many different combinations there are at most.
    """

    def __init__(self, parts: dict[str, Part]) -> None:
        self._parts = parts
        self.values = prod(part.values for part in parts.values())

    @classmethod
    def of(cls, strategies: dict[str, st.SearchStrategy[Any]]) -> Arguments | None:
        """The arguments that ``strategies`` draw; None if Hypothesis must draw some of them itself."""
        parts = {name: part_of(strategy) for name, strategy in strategies.items()}
        found = {name: part for name, part in parts.items() if part is not None}
        return cls(found) if len(found) == len(parts) else None

    def read(self, digits: Digits) -> dict[str, Any]:
        return {name: part.read(digits) for name, part in self._parts.items()}

    def read_each(self, codes: dict[str, bytes]) -> dict[str, Any]:
        """Each argument read off a code of its own; one that is not there is the simplest."""
        return {name: part.read(Digits(codes.get(name, b""))) for name, part in self._parts.items()}

    def split(self, code: bytes) -> dict[str, bytes]:
        """The code of each argument in a code of all; arguments without a choice are left out."""
        digits, codes, start = Digits(code), {}, 0
        for name, part in self._parts.items():
            part.read(digits)
            if digits.place > start:
                codes[name] = code[start : digits.place]
            start = digits.place
        return codes
