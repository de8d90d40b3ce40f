"""Derivative expressions as code: which names they use, and Python source that a node runs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from math import inf, nan, pi
from types import CodeType
from typing import Any

from ..calls.functions import ops
from .autograd_meta import METADATA

BUILTINS: dict[str, Any] = {
    "len": len, "tuple": tuple, "range": range, "min": min, "max": max, "int": int, "float": float,
    "inf": inf, "nan": nan, "pi": pi,
}  # fmt: skip
DESCRIBED = "_described"
"""Ends the name that stands for the metadata of a tensor."""


class Names(ast.NodeTransformer):
    """Renames what is only asked for its metadata and, for real numbers, drops calls of ``conj``."""

    def __init__(self, tensors: frozenset[str], *, real: bool) -> None:
        self.tensors = tensors
        self.real = real
        self.values: set[str] = set()
        self.described: set[str] = set()
        self.others: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``self.shape`` asks for metadata only."""
        value = self._described(node.value) if node.attr in METADATA else None
        return self.generic_visit(node) if value is None else ast.Attribute(value, node.attr, ast.Load())

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """``x is None`` asks for metadata only."""
        value = self._described(node.left) if isinstance(node.ops[0], (ast.Is, ast.IsNot)) else None
        return self.generic_visit(node) if value is None else ast.Compare(value, node.ops, node.comparators)

    def _described(self, node: ast.expr) -> ast.Name | None:
        """Return the name of a tensor's metadata; None for what names no tensor."""
        if not isinstance(node, ast.Name) or node.id not in self.tensors:
            return None
        self.described.add(node.id)
        return ast.Name(node.id + DESCRIBED, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``x.conj()`` is x where all numbers are real; ``len(tensors)`` asks for metadata."""
        function = node.func
        if self.real and isinstance(function, ast.Attribute) and function.attr == "conj" and not node.args:
            return self.visit(function.value)  # type: ignore[no-any-return]
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """``grad * alpha.conjugate()`` multiplies only when alpha is not 1, which it mostly is."""
        whole = self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and ast.unparse(node.right) == "alpha.conjugate()":
            is_one = ast.Compare(ast.Name("alpha", ast.Load()), [ast.Eq()], [ast.Constant(1)])
            return ast.IfExp(is_one, node.left, whole)  # type: ignore[arg-type]
        return whole

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Note what the name stands for."""
        (self.values if node.id in self.tensors else self.others).add(node.id)
        return node


class Expression:
    """One derivative expression: its `text` for numbers of one kind, the names it uses of each sort."""

    def __init__(self, text: str, tensors: frozenset[str], *, real: bool) -> None:
        tree = ast.parse(text.strip(), mode="eval")
        names = Names(tensors, real=real)
        body = names.visit(tree.body)
        bound = {one.id for one in ast.walk(body) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        self.text = ast.unparse(body)
        self.values = names.values
        self.described = names.described
        self.others = names.others - bound
        self._code: CodeType | None = None

    def value(self, given: Mapping[str, Any], what: str) -> Any:
        """Return the value for the arguments `given`; `what` stands for the source in tracebacks. Raises NameError for
        a name that is neither an argument nor anything that `find_name` knows."""
        if self._code is None:
            self._code = compile(self.text, f"<{what}>", "eval")
        names = self.others | self.values
        return eval(self._code, {name: given[name] if name in given else find_name(name) for name in names})


@functools.cache
def expression(text: str, tensors: frozenset[str], real: bool) -> Expression:
    """The expression `text` over arguments of which `tensors` are tensors."""
    return Expression(text, tensors, real=real)


def find_name(name: str) -> Any:
    """Return what a name in an expression stands for that is no argument: helper, builtin, or function of an operator.
    NameError when it is none of them."""
    from .derivative_helpers import helpers

    if name in helpers():
        return helpers()[name]
    if name in BUILTINS:
        return BUILTINS[name]
    try:
        return getattr(ops, name)
    except AttributeError:
        raise NameError(f"{name!r} in a derivative is neither argument, helper nor function of the engine") from None
