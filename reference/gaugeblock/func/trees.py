"""Tensors in tuples, lists and dicts."""

from __future__ import annotations

from typing import Any

from ..dispatch.keys import map_tensors


def tensors(tree: Any) -> list[Any]:
    """Return the tensors in the containers, in order."""
    found: list[Any] = []
    map_tensors(found.append, tree)
    return found


def filled(tree: Any, values: list[Any]) -> Any:
    """Return the containers with the tensors replaced by `values`, in order."""
    rest = iter(values)
    return map_tensors(lambda _: next(rest), tree)
