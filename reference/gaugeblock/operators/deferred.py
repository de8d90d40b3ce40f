"""Operators whose modules are loaded when they are first called, so that importing the engine stays quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .registration import answering, kernel


def register_deferred(package: str, modules: Mapping[str, str], *keys: str) -> None:
    """Register the operators of a package: `modules` gives the names of the operators in each module.

    The function of an operator bears its name, with "_" for the dot before the overload. `keys` as for `kernel`.
    """
    for module, names in modules.items():
        for name in names.split():
            kernel(name, *keys)(Deferred(f".{package}.{module}", name.replace(".", "_")))


class Deferred:
    """A function of a module that is loaded when it is first called."""

    __slots__ = ("__name__", "_loaded", "_module")

    def __init__(self, module: str, function: str) -> None:
        self.__name__ = function
        self._module = module
        self._loaded: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._loaded
        if function is None:
            function = self._loaded = answering(getattr(import_module(self._module, __package__), self.__name__))
        return function(*args, **kwargs)
