"""Whether the value that an assertion of a snippet shows is the one that a failure told."""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from ..failure import DIFFERS

_TENSORS = ("a tensor", "tensors")
"""What a failure tells where it got tensors: the snippet shows them by the backend's own text."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")
_MODULE = re.compile(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])")
_NEAR = 1e-3
"""Floats may be shown rounded, as NumPy shows halves."""
_SHORT = 200


def agrees(shown: str, got: str | None, message: str) -> bool:
    """Return whether ``shown``, the text of an AssertionError, tells what the failure ``got``, or what its message
    quotes.

    An assertion without text states a relation that either holds or does not, and says all by failing.
    """
    if not shown or got in _TENSORS or (got or "").startswith(DIFFERS):
        return True
    if got is None:
        return shown in message
    if got == "no exception":
        return shown.startswith("no ")
    got = got.splitlines()[0].strip() if got.strip() else ""
    return _same(_value(shown), _value(got)) or _alike(shown, got)


def _value(text: str) -> Any:
    """What a text is the literal of, or itself; a number may be followed by its unit."""
    plain = text.removesuffix(" bytes")
    try:
        return ast.literal_eval(plain)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _unwritten(plain, text)


def _unwritten(plain: str, text: str) -> Any:
    """Return the number that ``plain`` spells although it is no literal, such as ``(nan+1j)``; else ``text``."""
    if plain in ("nan", "inf", "-inf"):
        return float(plain)
    try:
        return complex(plain) if plain.rstrip(")").endswith("j") else text
    except ValueError:
        return text


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    numbers = (bool, int, float, complex)
    if isinstance(first, numbers) and isinstance(second, numbers):
        if isinstance(first, bool) or isinstance(second, bool):
            return type(first) is type(second) and first == second
        if isinstance(first, int) and isinstance(second, int):
            return first == second
        if first != first or second != second:
            return first != first and second != second
        return first == second or _near(first, second)
    return type(first) is type(second) and bool(first == second)


def _near(first: complex, second: complex) -> bool:
    bound = max(abs(first), abs(second))
    return math.isfinite(bound) and abs(first - second) <= _NEAR * bound


def _alike(shown: str, got: str) -> bool:
    """Return whether two texts are equal but for quotes, modules, addresses, and how much of them is there."""
    left, right = (_MODULE.sub("", _ADDRESS.sub("0x", text)).strip("'\"") for text in (shown, got))
    return left == right or (len(left) > _SHORT and left[:_SHORT] == right[:_SHORT])
