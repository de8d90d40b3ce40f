"""Tensors in tuples, lists and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor.tensor import Tensor


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the containers with `function` applied to every tensor."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: mapped(function, value) for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [mapped(function, part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return tree


def tensors(tree: Any) -> list[Any]:
    """Return the tensors in the containers, in order."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def filled(tree: Any, values: list[Any]) -> Any:
    """Return the containers with the tensors replaced by `values`, in order."""
    rest = iter(values)
    return mapped(lambda _: next(rest), tree)
