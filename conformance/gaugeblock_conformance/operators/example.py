"""Calls written as text in torch's names, as the error rows of the operator table have them, made on any backend."""

from __future__ import annotations

import ast
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..backend import DType, MemoryFormat, Unsupported
from ..oracles.promotion import CORE
from ..session import Session

_FORMATS = ("contiguous_format", "preserve_format", "channels_last")


class Example:
    """One expression; its outermost call is left to the test."""

    def __init__(self, s: Session, row: operators.Operator, text: str) -> None:
        self._s = s
        self._row = row
        self._tree = ast.parse(text, mode="eval").body

    def outermost(self) -> tuple[str, list[Any], dict[str, Any]]:
        """Operator and arguments of the outermost call, its inner calls made."""
        node = self._tree
        if isinstance(node, ast.Subscript):
            return "__getitem__", [self._value(node.value), self._value(node.slice)], {}
        if not isinstance(node, ast.Call):
            raise ValueError(f"{ast.unparse(node)}: no call")
        name, args, kwargs = self._parts(node)
        forms = (self._row.name, self._row.inplace_name, self._row.out_name)
        method = isinstance(node.func, ast.Attribute) and not _is_namespace(node.func.value)
        full = next((form for form in forms if form is not None and form.partition(".")[0] == name), name)
        if isinstance(node.func, ast.Attribute) and not method:
            full = self._row.name
        if kwargs.get("out") is not None and self._row.out_name is not None:
            full = self._row.out_name
        declared = parse(self._row.schema).arguments
        if declared and declared[0].type == "Tensor[]" and args and not isinstance(args[0], list | tuple):
            # A function that takes the tensors of its list one by one.
            args = [args]
        variant = "method:" if method else "function:" if ast.unparse(node).startswith("nn.functional.") else ""
        return (variant if "codegen" in self._s.capabilities else "") + full, args, kwargs

    def _parts(self, node: ast.Call) -> tuple[str, list[Any], dict[str, Any]]:
        args: list[Any] = []
        for item in node.args:
            args += list(self._value(item.value)) if isinstance(item, ast.Starred) else [self._value(item)]
        kwargs = {str(k.arg): self._value(k.value) for k in node.keywords}
        if isinstance(node.func, ast.Attribute) and not _is_namespace(node.func.value):
            return node.func.attr, [self._value(node.func.value), *args], kwargs
        return _dotted(node.func), args, kwargs

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call):
            name, args, kwargs = self._parts(node)
            if name == "tensor":
                return self._s.tensor(args[0], str(kwargs.get("dtype", "")) or _dtype_of(args[0]))
            return self._s.call(name, *args, **kwargs)
        if isinstance(node, ast.Subscript):
            return self._s.call("__getitem__", self._value(node.value), self._value(node.slice))
        if isinstance(node, ast.Name):
            return _named(node.id)
        if isinstance(node, ast.List | ast.Tuple):
            items = [self._value(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Slice):
            return slice(*[None if part is None else self._value(part) for part in (node.lower, node.upper, node.step)])
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Call):
            return self._s.call("__neg__", self._value(node.operand))
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise Unsupported(self._row.name, f"its example {ast.unparse(node)!r} cannot be read") from None


def _is_namespace(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id in ("linalg", "special", "fft", "nn", "_C")) or (
        isinstance(node, ast.Attribute) and _is_namespace(node.value)
    )


def _dotted(node: ast.expr) -> str:
    """``linalg.det`` as the operator ``linalg_det``; ``nn.functional.pad`` as ``pad``."""
    text = ast.unparse(node)
    for prefix in ("_C._nn.", "nn.functional."):
        text = text.removeprefix(prefix)
    return text.replace(".", "_")


def _named(name: str) -> Any:
    if name in CORE:
        return DType(name)
    if name in _FORMATS:
        return MemoryFormat(name)
    special = {"inf": float("inf"), "nan": float("nan"), "None": None}
    if name not in special:
        raise ValueError(f"{name}: neither a dtype nor a memory format")
    return special[name]


def _dtype_of(data: Any) -> str:
    """The dtype that the elements of nested lists lead to."""
    while isinstance(data, list):
        data = data[0] if data else 0.0
    kinds = {bool: "bool", int: "int64", complex: "complex64"}
    return kinds.get(type(data), "float32")
