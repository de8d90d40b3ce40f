"""The argument `reduction` of losses: "none", "mean" or "sum", and the older pair of flags."""

from __future__ import annotations

from typing import Any

from ..core.warn import warn
from .lookup import operator

NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def chosen(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The word for what is asked for; warns about the older flags."""
    if size_average is None and reduce is None:
        return reduction
    mean, whole = size_average is not False, reduce is not False
    found = ("mean" if mean else "sum") if whole else "none"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number that operators take. Raises ValueError for another word."""
    word = chosen(reduction, size_average, reduce)
    found = NUMBERS.get(word)
    if found is None:
        raise ValueError(f"{word} is not a valid value for reduction: expected one of {', '.join(NUMBERS)}")
    return found


def reduced(loss: Any, reduction: str) -> Any:
    """The loss as it is, its mean or its sum. Raises ValueError for another word."""
    kind = number(reduction)
    return loss if kind == 0 else operator("mean" if kind == 1 else "sum")(loss)
