"""Operators whose modules are loaded when they are first called, so that importing the engine stays quick."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .registration import kernel


def register_deferred(package: str, modules: Mapping[str, str], *keys: str) -> None:
    """Register the operators of a package: `modules` gives the names of the operators in each module.

    The function of an operator bears its name, with "_" for the dot before the overload. `keys` as for `kernel`.
    """
    for module, names in modules.items():
        for name in names.split():
            kernel(name, *keys)(deferred(f".{package}.{module}", name.replace(".", "_")))


def deferred(module: str, function: str) -> Callable[..., Any]:
    """A function that loads `module` when it is first called."""

    @functools.cache
    def load() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(module, __package__), function)
        return found

    def run(*args: Any, **kwargs: Any) -> Any:
        return load()(*args, **kwargs)

    run.__name__ = run.__qualname__ = function
    return run
