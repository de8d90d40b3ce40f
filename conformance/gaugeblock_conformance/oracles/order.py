"""Sorting: NaN is larger than every number, equal elements keep their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def sorted_indices(values: Sequence[Any], descending: bool = False) -> list[int]:
    """Where the elements of the stably sorted sequence come from."""
    return sorted(range(len(values)), key=lambda k: _key(values[k]), reverse=descending)


def _key(value: Any) -> tuple[bool, Any]:
    return (True, 0) if value != value else (False, value)
