"""Many small choices in one drawn byte string.

A Hypothesis draw costs more than most calls of a backend, so a whole tensor is one byte string that is taken apart
digit by digit. Zeros are the first choice of everything, and Hypothesis shrinks byte by byte towards them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from hypothesis import strategies as st

T = TypeVar("T")

_LENGTH = 24
# A wider range of integers is left to Hypothesis, which prefers its bounds and small numbers.
_WIDEST = 4096


class Digits:
    """Takes choices off a byte string from the front; behind its end every choice is the first."""

    __slots__ = ("_code", "_place")

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._place = 0

    def below(self, count: int) -> int:
        """A number from 0 to ``count`` - 1; takes one byte, or as many as ``count`` needs."""
        place = self._place
        if count <= 256:
            self._place = place + 1
            return self._code[place] % count if place < len(self._code) else 0
        width = (count - 1).bit_length() + 7 >> 3
        self._place = place + width
        return int.from_bytes(self._code[place : place + width], "big") % count

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def order(self, count: int) -> list[int]:
        """A permutation of 0 … ``count`` - 1; zeros give the identity."""
        rest = list(range(count))
        return [rest.pop(self.below(len(rest))) for _ in range(count)]


@dataclass(frozen=True)
class Part:
    """A piece of a code: its length in bytes, how it is read, and how many different values it can give."""

    length: int
    read: Callable[[Digits], Any]
    values: float = inf


_parts: WeakKeyDictionary[st.SearchStrategy[Any], Part] = WeakKeyDictionary()


def codes(tensors: int = 1) -> st.SearchStrategy[bytes]:
    """Byte strings that hold the choices of ``tensors`` tensors."""
    return st.binary(min_size=_LENGTH * tensors, max_size=_LENGTH * tensors)


def coded(make: Callable[[Digits], T], tensors: int = 1) -> st.SearchStrategy[T]:
    """What ``make`` reads off a fresh code, long enough for ``tensors`` tensors."""
    strategy = codes(tensors).map(lambda code: make(Digits(code)))
    _parts[strategy] = Part(_LENGTH * tensors, make)
    return strategy


def part_of(strategy: st.SearchStrategy[Any]) -> Part | None:
    """The strategy as a piece of a code, if it is one of :func:`coded` or a small choice of Hypothesis's own.

    The bounds and elements of Hypothesis's strategies are no public API: where they are not found, there is no part.
    """
    known = _parts.get(strategy)
    if known is not None:
        return known
    inner = getattr(strategy, "wrapped_strategy", strategy)
    if getattr(inner, "_transformations", ()):
        return None
    kind = type(inner).__name__
    if kind == "BooleansStrategy":
        return Part(1, lambda digits: digits.below(2) == 1, 2)
    elements = getattr(inner, "elements", None)
    if kind in ("SampledFromStrategy", "JustStrategy") and isinstance(elements, tuple):
        return Part(2, lambda digits: digits.pick(elements), len(elements))
    low, high = getattr(inner, "start", None), getattr(inner, "end", None)
    if kind == "IntegersStrategy" and low is not None and high is not None and high - low < _WIDEST:
        return _integers(low, high)
    return None


def _integers(low: int, high: int) -> Part:
    """Numbers from ``low`` to ``high``, in the order in which Hypothesis prefers them: from 0 or the nearest bound."""
    count = high - low + 1
    target = min(max(low, 0), high)

    def read(digits: Digits) -> int:
        number = target + digits.below(count)
        return number if number <= high else high - number + target

    return Part(2, read, count)


CODES = codes()
