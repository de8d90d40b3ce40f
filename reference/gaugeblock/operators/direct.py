"""Implementations that a binding may call without overload resolution: they take the public arguments themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor.view_table import METADATA, VIEWS
from .conversion import METHODS
from .fill import fill_, zero_

DIRECT: dict[str, Callable[..., Any]] = {**METHODS, "fill_": fill_, "zero_": zero_}
"""Public name -> the one function behind all its overloads."""


def _one_function_per_name() -> None:
    behind: dict[str, set[Callable[..., Any]]] = {}
    for table in (VIEWS, METADATA):
        for name, function in table.items():
            behind.setdefault(name.partition(".")[0], set()).add(function)
    for name, functions in behind.items():
        if len(functions) == 1:
            DIRECT.setdefault(name, functions.pop())


_one_function_per_name()
