"""The calls of :mod:`..backend_declarations` for a module of torch's style."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import Unsupported

_NAMESPACE = "suite_schemas"
_DECLARED: list[Any] = []


class Declaring:
    """Answers for ``module``, which has torch's ``library`` and ``ops``."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def declared_schema(self, name: str) -> str:
        return str(self._overload("aten", name)._schema).removeprefix("aten::")

    def printed_schema(self, text: str) -> str:
        library = self._module.library.Library(_NAMESPACE, "FRAGMENT")
        try:
            library.define(text)
            name = text.partition("(")[0].strip()
            return str(self._overload(_NAMESPACE, name)._schema).removeprefix(f"{_NAMESPACE}::")
        finally:
            library._destroy()

    def declare_operator(self, declaration: Any) -> None:
        declare = getattr(self._module.library, "declare", None)
        if declare is None:
            raise Unsupported("declare_operator", f"{self._module.__name__} makes no methods of declared operators")
        row = {
            "schema": declaration.schema, "variants": ["function", "method"], "family": "pointwise",
            "dtypes": "+".join(declaration.dtypes), "promotion": "default", "result": "common",
        }  # fmt: skip
        signature = declaration.signature or declaration.schema
        derivative = {"name": signature, "self": declaration.derivative} if declaration.derivative else None
        _DECLARED.append(declare(row, declaration.formula, derivative=derivative, namespace=_NAMESPACE))

    def release_declarations(self) -> None:
        while _DECLARED:
            _DECLARED.pop().remove()

    def _overload(self, namespace: str, name: str) -> Any:
        base, _, overload = name.partition(".")
        packet = getattr(getattr(self._module.ops, namespace), base)
        return getattr(packet, overload or "default")

    def resolve(self, operator: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self, operator)
        return found
