"""Several small choices in one drawn integer.

A Hypothesis draw costs more than most calls of a backend, so a layout is one integer that is taken apart digit by
digit. Code 0 is the first choice of everything, which is what a failing example shrinks to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

CODES = st.integers(0, 2**40 - 1)


class Digits:
    """Takes choices off ``code``, the lowest digit first."""

    __slots__ = ("_code",)

    def __init__(self, code: int) -> None:
        self._code = code

    def below(self, count: int) -> int:
        """A number from 0 to ``count`` - 1."""
        self._code, digit = divmod(self._code, count)
        return digit

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def order(self, count: int) -> list[int]:
        """A permutation of 0 … ``count`` - 1; code 0 gives the identity."""
        rest = list(range(count))
        return [rest.pop(self.below(len(rest))) for _ in range(count)]
