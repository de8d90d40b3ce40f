"""The functions that derivative expressions may call, by topic; derivatives.md of the spec says what each computes.

The public functions of each module are helpers. They are loaded together when the first expression needs one, and are
made of public functions of the engine, so that what they compute can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaugeblock import Tensor as Tensor
else:
    from ...tensor.tensor import Tensor as Tensor


@cache
def helpers() -> Mapping[str, Callable[..., Any]]:
    """Every helper by its name. RuntimeError for a name in two modules."""
    found: dict[str, Callable[..., Any]] = {}
    for module in iter_modules(__path__):
        loaded = import_module(f".{module.name}", __name__)
        functions = {name: one for name, one in vars(loaded).items() if isfunction(one) and name[0] != "_"}
        table = {name: one for name, one in functions.items() if one.__module__ == loaded.__name__}
        if doubled := found.keys() & table.keys():
            raise RuntimeError(f"{module.name}: derivative helpers of that name exist: {', '.join(sorted(doubled))}")
        found |= table
    return MappingProxyType(found)
