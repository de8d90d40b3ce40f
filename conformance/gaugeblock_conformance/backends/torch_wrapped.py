"""PyTorch on a cpu by other ways into it: compiled, under a dispatch mode, and by its operators written in Python."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from gaugeblock_spec import operators

from ..backend import Unsupported
from .torch import TorchBackend
from .torch_style import FACTORIES, SPECIAL

_COMPILERS = ("eager", "aot_eager", "inductor")
# What operands are built of, which are to be the same for all ways.
_BUILDING = FACTORIES | {"as_strided", "clone", "item"}


class Compiled(TorchBackend):
    """Each operator compiled on its own by ``torch.compile`` with one of torch's compilers.

    Raises:
        ValueError: there is no such compiler.
    """

    def __init__(self, compiler: str = "eager") -> None:
        if compiler not in _COMPILERS:
            raise ValueError(f"torch-compile: the compiler must be one of {', '.join(_COMPILERS)}, not {compiler!r}")
        super().__init__("cpu")
        self.name, self.compiler = f"torch-compile-{compiler}", compiler
        self.capabilities = self.capabilities - {"isa"}

    def _resolve(self, operator: str) -> Callable[..., Any]:
        found = super()._resolve(operator)
        if not _is_operator(operator):
            return found
        compiled: Callable[..., Any] = self.module.compile(found, backend=self.compiler, dynamic=True)
        return compiled


class UnderMode(TorchBackend):
    """Each operator under a ``TorchDispatchMode`` that hands every call on."""

    def __init__(self) -> None:
        super().__init__("cpu")  # and its name, since what is known of torch holds under a mode too
        self._mode = _handing_on(importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode)

    def _resolve(self, operator: str) -> Callable[..., Any]:
        found = super()._resolve(operator)
        if not _is_operator(operator):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._mode():
                return found(*args, **kwargs)

        return call


class References(TorchBackend):
    """The operators of ``torch._refs``, which are written in Python of a few primitive ones."""

    def __init__(self) -> None:
        super().__init__("cpu")
        self.name = "torch-refs"
        self._references = importlib.import_module("torch._refs")

    def _resolve(self, operator: str) -> Callable[..., Any]:
        base = operator.rpartition(":")[2].split(".")[0]
        if base in _BUILDING or not _is_operator(operator):
            return super()._resolve(operator)
        found: Callable[..., Any] | None = getattr(self._references, base, None)
        if base in getattr(self._references, "__all__", ()) and callable(found):
            return found
        raise Unsupported(operator, f"torch._refs has no {base}")


@cache
def _names() -> frozenset[str]:
    return frozenset(name.split(".")[0].rstrip("_") for name in operators.load())


def _is_operator(operator: str) -> bool:
    """Return whether the name is that of an operator of the table, and not syntax or a call of the suite's own."""
    return operator not in SPECIAL and operator.rpartition(":")[2].split(".")[0].rstrip("_") in _names()


def _handing_on(base: Any) -> Any:
    class HandingOn(base):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function(*args, **(kwargs or {}))

    return HandingOn
