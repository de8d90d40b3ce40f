"""Many small choices in one byte string.

A Hypothesis draw costs more than most calls of a backend, so that what a strategy draws is read off a byte string,
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


class Digits:
    """Takes choices off a byte string from ``place`` on; behind its end every choice is the first.

    ``taken`` holds the choices made, each in the smallest bytes that stand for it: a code that gives them again.
    """

    __slots__ = ("_code", "place", "taken")

    def __init__(self, code: bytes, place: int = 0) -> None:
        self._code = code
        self.place = place
        self.taken = bytearray()

    def below(self, count: int) -> int:
        """A number from 0 to ``count`` - 1; takes one byte, or as many as ``count`` needs, and none for 1."""
        place = self.place
        if count <= 256:
            if count == 1:
                return 0
            self.place = place + 1
            choice = self._code[place] % count if place < len(self._code) else 0
            self.taken.append(choice)
            return choice
        width = (count - 1).bit_length() + 7 >> 3
        self.place = place + width
        choice = int.from_bytes(self._code[place : place + width].ljust(width, b"\0"), "big") % count
        self.taken += choice.to_bytes(width, "big")
        return choice

    def mostly(self) -> bool:
        """False once in eight times, and for a zero."""
        place = self.place
        self.place = place + 1
        choice = place < len(self._code) and self._code[place] % 8 > 0
        self.taken.append(choice)
        return choice

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def order(self, count: int) -> list[int]:
        """A permutation of 0 … ``count`` - 1; zeros give the identity."""
        rest = list(range(count))
        return [rest.pop(self.below(len(rest))) for _ in range(count)]

    @property
    def beyond(self) -> bool:
        """Whether choices were taken from behind the end."""
        return self.place > len(self._code)


class Odometer(Digits):
    """Takes every combination of choices once, but nothing is left out of lists: what that gives are other lists.

    After each reading :meth:`turn` goes on to the next combination.
    """

    __slots__ = ("_choices", "_counts")

    def __init__(self) -> None:
        super().__init__(b"")
        self._choices: list[int] = []
        self._counts: list[int] = []

    def below(self, count: int) -> int:
        place = self.place
        self.place = place + 1
        if place == len(self._choices):
            self._choices.append(0)
            self._counts.append(count)
        return self._choices[place]

    def mostly(self) -> bool:
        return True

    def turn(self) -> bool:
        """Change the last choice that can be; False when there is none left."""
        self.place = 0
        while self._choices:
            choice, count = self._choices.pop() + 1, self._counts.pop()
            if choice < count:
                self._choices.append(choice)
                self._counts.append(count)
                return True
        return False


@dataclass(frozen=True)
class Part:
    """How something is read off digits, and how many different values that can give."""

    read: Callable[[Digits], Any]
    values: float = inf


made: WeakKeyDictionary[Callable[[bytes], Any], Part] = WeakKeyDictionary()


def coded(make: Callable[[Digits], T], tensors: int = 1) -> st.SearchStrategy[T]:
    """What ``make`` reads off a fresh code, long enough for ``tensors`` tensors."""

    def read(code: bytes) -> T:
        return make(Digits(code))

    made[read] = Part(make)
    return st.binary(min_size=_LENGTH * tensors, max_size=_LENGTH * tensors).map(read)
