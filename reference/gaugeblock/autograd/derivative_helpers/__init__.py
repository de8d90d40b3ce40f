"""The functions that derivative expressions may call, by topic; derivatives.md of the spec says what each computes.

Each module has a table `HELPERS`. They are loaded together when the first expression needs one, and are made of public
functions, so that what they compute can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any


@cache
def helpers() -> Mapping[str, Callable[..., Any]]:
    """Every helper by its name. RuntimeError for a name in two tables."""
    found: dict[str, Callable[..., Any]] = {}
    for module in iter_modules(__path__):
        table = import_module(f".{module.name}", __name__).HELPERS
        if doubled := found.keys() & table.keys():
            raise RuntimeError(f"{module.name}: derivative helpers of that name exist: {', '.join(sorted(doubled))}")
        found |= table
    return MappingProxyType(found)
