"""Operators whose modules are loaded when they are first called, so that importing the engine stays quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .plan import Plannable, Planned, planned_by
from .registration import kernel, on_cpu


def register_deferred(package: str, modules: Mapping[str, str], *keys: str) -> None:
    """Register the operators of a package: `modules` gives the names of the operators in each of its modules.

    The function of an operator bears its name, with "_" for the dot before the overload. `keys` as for `kernel`.
    """
    for module, names in modules.items():
        for name in names.split():
            checked = None if keys else name
            kernel(name, *keys)(Deferred(f"{package}.{module}", name.replace(".", "_"), checked))


class Deferred(Plannable[..., Any]):
    """A function of a module that is loaded when it is first called; `operator` as for `on_cpu`."""

    def __init__(self, module: str, function: str, operator: str | None = None) -> None:
        self.__name__ = function
        self._operator = operator
        self._module = module
        self._loaded: Callable[..., Any] | None = None

    def _function(self) -> Callable[..., Any]:
        if self._loaded is None:
            self._loaded = on_cpu(self._operator, getattr(import_module(self._module), self.__name__))
        return self._loaded

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self._loaded or self._function())(*args, **kwargs)

    def planned(self, *args: Any, **kwargs: Any) -> Planned[Any]:
        """Return the result, and the call behind it if the function plans."""
        function = self._function()
        return planned_by(function, args, kwargs)

    def wrapped(self, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Plannable[..., Any]:
        """Return the kernel that plans and runs in a wrapper."""
        return Plannable(wrapper(self.planned))
