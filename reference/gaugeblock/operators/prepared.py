"""What a kernel tells the binding that called it: how the next call on the same geometries runs without any checks.

A kernel that has worked out everything that follows from geometries and plain arguments notes a *runner* for its
result; the binding keeps it under the geometries and arguments of the call. A runner is one of

- ``(builtin, result geometry, tail)``: make the result, call ``builtin(result address, self's address, *tail)``;
- a function that takes the call's tensors (a list of tensors as one) and numbers, and gives the result;
- such a function in `Ordered`, with the tensors and numbers of the call in the order in which it takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Runner = Any


class Ordered(NamedTuple):
    """A runner that is good for a call if these were its tensors and numbers, in this order."""

    operands: tuple[Any, ...]
    run: Callable[..., Any]


T = TypeVar("T")


class Latest:
    """What was noted last: (operator, id of the result, runner), in one piece, for threads may note at the same time.

    Nothing is noted, and kept alive, unless it is wanted.
    """

    __slots__ = ("note", "wanted")

    note: tuple[str, int, Runner] | None
    wanted: bool


LATEST = Latest()
LATEST.note = None
LATEST.wanted = False


def noted(operator: str, result: T, runner: Runner) -> T:
    """`result`, which `operator` (name without overload) is about to return, its runner noted."""
    if LATEST.wanted:
        LATEST.note = (operator, id(result), runner)
    return result


def renoted(operator: str, result: T) -> T:
    """`result`, whose runner serves `operator` as well."""
    note = LATEST.note
    if note is not None and note[1] == id(result):
        LATEST.note = (operator, note[1], note[2])
    return result


def forget() -> None:
    """Take back what was noted: the result is changed before it is returned."""
    LATEST.note = None


def with_runner(operator: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Runner | None]:
    """The result of a call, and the runner that `operator` noted for it, None when there is none."""
    LATEST.note = None
    LATEST.wanted = True
    try:
        result = function(*args, **kwargs)
        note = LATEST.note
        return result, note[2] if note is not None and note[:2] == (operator, id(result)) else None
    finally:
        LATEST.wanted = False
        LATEST.note = None
