"""PyTorch on a cpu by other ways into it: compiled, under a dispatch mode, and by its operators written in Python."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from gaugeblock_spec import operators

from ..backend import Unsupported
from ..dialect import TorchDialect, at_path, found_paths, is_method
from ..trace import Call
from .torch import WATCHING, TorchBackend
from .torch_style import FACTORIES, SPECIAL, WRITERS

_COMPILERS = ("eager", "aot_eager", "inductor")
# What operands are built of, which is to be the same for all ways.
_BUILDING = frozenset("as_strided clone item tensor empty empty_strided".split())
# Of what torch has, what its references have not: they call primitive operators that have no derivatives, what is
# dispatched is these, and they promise nothing of threads.
_NOT_OF_REFERENCES = ("autograd", "requires_grad", "dispatch", "wrapper", "inference", "isa", "codegen", "threads")
_REFERENCES = "_refs"
# Overloads that a reference of the same name has not.
_OTHER_OVERLOADS = frozenset("view.dtype where fill.Tensor fill_.Tensor randn.generator".split())
_RECOMPILES = 1_000_000
# The mode as snippets define it.
_MODE = """from torch.utils._python_dispatch import TorchDispatchMode
class HandingOn(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
"""


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
        self.dialect = _Written(lambda operator: self._written(operator))
        settings = importlib.import_module("torch._dynamo").config
        # Beyond these limits torch.compile calls the operator as it is, and nothing would be judged.
        settings.recompile_limit = settings.accumulated_recompile_limit = _RECOMPILES

    def _resolve(self, operator: str) -> Callable[..., Any]:
        if not _is_compiled(operator):
            return super()._resolve(operator)
        path = _public_path(self.module, operator)
        target = _forwarding(self.module, path)
        compiled: Callable[..., Any] = self.module.compile(target, backend=self.compiler, dynamic=True)
        return compiled

    def _written(self, operator: str) -> str | None:
        if not _is_compiled(operator):
            return None
        target = _forwarding_text(_public_path(self.module, operator))
        return f"torch.compile({target}, backend={self.compiler!r}, dynamic=True)"


class UnderMode(TorchBackend):
    """Each operator under a ``TorchDispatchMode`` that hands every call on."""

    def __init__(self) -> None:
        super().__init__("cpu")  # and its name, since what is known of torch holds under a mode too
        self._mode = _handing_on(importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode)
        self.dialect = _UnderMode()

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
        self.capabilities = frozenset(
            name for name in self.capabilities if not name.startswith(_NOT_OF_REFERENCES)
        )
        self.dialect = _Written(lambda operator: self._written(operator))
        for module in ("", ".nn.functional", ".linalg", ".special", ".fft"):
            importlib.import_module(f"torch.{_REFERENCES}{module}")

    def _resolve(self, operator: str) -> Callable[..., Any]:
        base = _base(operator)
        if base in _BUILDING or not _is_operator(operator):
            return super()._resolve(operator)
        path = self._path(operator)
        if path is None:
            raise Unsupported(operator, f"torch._refs has no {operator}")
        found: Callable[..., Any] = at_path(self.module, path)
        return found

    def _path(self, operator: str) -> str | None:
        """Return where in torch the reference of an operator is; None if it has none.

        A loss that takes its reduction by name is the function of ``torch.nn.functional``, not the operator.
        """
        if operator in _OTHER_OVERLOADS:
            return None
        references = getattr(self.module, _REFERENCES)
        for path, _ in found_paths(references, _base(operator), operator.startswith("function:")):
            space, _, name = path.rpartition(".")
            if name in getattr(at_path(self.module, f"{_REFERENCES}.{space}".rstrip(".")), "__all__", ()):
                parameters = inspect.signature(at_path(references, path)).parameters
                by_name = "reduction" in parameters and parameters["reduction"].annotation in ("str", str)
                return None if by_name else f"{_REFERENCES}.{path}"
        return None

    def _written(self, operator: str) -> str | None:
        path = self._path(operator) if _base(operator) not in _BUILDING and _is_operator(operator) else None
        return None if path is None else f"torch.{path}"


class _TorchDialect(TorchDialect):
    watching = WATCHING

    def __init__(self) -> None:
        super().__init__("torch", special=WRITERS, factories=FACTORIES)


class _UnderMode(_TorchDialect):
    """Writes calls of operators under a mode that hands them on."""

    def imports(self, text: str) -> list[str]:
        return [*super().imports(text), *(_MODE.splitlines() if "with HandingOn()" in text else [])]

    def statement(self, step: Call) -> str:
        text = super().statement(step)
        return f"with HandingOn(): {text}" if _is_operator(step.operator) else text


class _Written(_TorchDialect):
    """Writes calls of operators by the function that ``function`` names; those that it has no name for as torch's."""

    def __init__(self, function: Callable[[str], str | None]) -> None:
        super().__init__()
        self._function = function

    def imports(self, text: str) -> list[str]:
        lines = super().imports(text)
        used = [f"torch.{_REFERENCES}.nn.functional", f"torch.{_REFERENCES}"]
        return [*lines, *[f"import {name}" for name in used if f"{name}." in text][:1]]

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        function = self._function(operator)
        if function is None:
            return super().expression(operator, args, kwargs)
        return f"{function}({', '.join(self.arguments(args, kwargs))})"


@cache
def _names() -> frozenset[str]:
    return frozenset(name.split(".")[0].rstrip("_") for name in operators.load())


def _base(operator: str) -> str:
    return operator.rpartition(":")[2].split(".")[0]


def _is_operator(operator: str) -> bool:
    """Return whether the name is that of an operator of the table, and not syntax or a call of the suite's own."""
    return operator not in SPECIAL and operator not in WRITERS and _base(operator).rstrip("_") in _names()


def _is_compiled(operator: str) -> bool:
    return _is_operator(operator) and _base(operator) not in _BUILDING


def _public_path(module: Any, operator: str) -> str:
    """Return where torch has the public function of an operator, or the method where it is asked for or alone."""
    variant, base = operator.rpartition(":")[0], _base(operator)
    if is_method(module, variant, base):
        return f"Tensor.{base}"
    return next((path for path, _ in found_paths(module, base, variant == "function")), f"Tensor.{base}")


def _forwarding_text(path: str) -> str:
    return f"lambda *args, **kwargs: torch.{path}(*args, **kwargs)"


def _forwarding(module: Any, path: str) -> Callable[..., Any]:
    """Return a function that calls an operator of torch.

    Each function has its own code object, because torch 2.13 reuses the code compiled for one operator when another
    one is compiled directly, or asks the conditions of the first, which look for arguments that the second has not.
    """
    found: Callable[..., Any] = eval(_forwarding_text(path), {"torch": module})
    return found


def _handing_on(base: Any) -> Any:
    class HandingOn(base):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function(*args, **(kwargs or {}))

    return HandingOn
