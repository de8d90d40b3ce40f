"""Tensors of a backend under the names that snippets give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .case import TensorCase
from .purity import Root


class Handle:
    """A backend's tensor (``raw``) under the variable name that the snippet gives it."""

    __slots__ = ("case", "name", "raw", "root")

    def __init__(self, raw: Any, name: str, root: Root | None = None, case: TensorCase | None = None) -> None:
        self.raw = raw
        self.name = name
        self.root = root
        self.case = case

    def __repr__(self) -> str:
        return self.name

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("the backend gave one tensor where several results are wanted")


def raw_values(value: Any) -> Any:
    """The backend's own values for handles, in lists, tuples and dicts too."""
    kind = type(value)
    if kind is Handle:
        return value.raw
    if kind is tuple or kind is list:
        return kind([v.raw if type(v) is Handle else raw_values(v) for v in value])
    if kind is dict:
        return {k: raw_values(v) for k, v in value.items()}
    return value
