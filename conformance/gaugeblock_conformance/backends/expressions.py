"""Operators of the spec as calls of another library: facts as text, ``sum(self, axis=dim, keepdims=keepdim)``.

A line of a table names an operator, the kinds of dtypes that the library documents the same semantics for, and a Python
expression over the arguments of the operator's schema. Every other name is looked up in the library's namespace.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import Argument

from ..backend import Unsupported
from ..dialect import at_path
from ..operators.calls import schema_arguments

# Arguments that are true for libraries and false in the spec where they are left out.
_TOLD = frozenset({"copy"})
_BUILTINS = frozenset({"tuple", "len", "isinstance", "int", "range"})


@dataclass(frozen=True)
class Expression:
    """One line of a table. ``kinds``: letters of b u i f c (bool, unsigned, signed, floating, complex)."""

    operator: str
    kinds: str
    text: str

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of the operator's schema."""
        return schema_arguments(_row_of(self.operator) or self.operator)

    @property
    def used(self) -> frozenset[str]:
        """Names of the arguments that the expression speaks of."""
        known = {a.name for a in self.arguments}
        return frozenset(n.id for n in ast.walk(_parsed(self.text)) if isinstance(n, ast.Name) and n.id in known)

    @property
    def functions(self) -> frozenset[str]:
        """Dotted names that must be in the namespace."""
        finder = _Paths({a.name for a in self.arguments})
        finder.visit(_parsed(self.text))
        return frozenset(finder.found)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Every argument that the expression uses, by name.

        Raises:
            Unsupported: the call does not fit the schema, or gives an argument that the library has no place for.
        """
        declared = self.arguments
        given = _positional(self.operator, declared, args)
        known = {a.name for a in declared}
        for name, value in kwargs.items():
            if name not in known or name in given:
                raise Unsupported(self.operator, f"no argument {name!r} in this adapter's form of it")
            given[name] = value
        for argument in declared:
            if argument.name not in given:
                if argument.default is None and argument.name in self.used:
                    raise Unsupported(self.operator, f"argument {argument.name!r} is missing")
                given[argument.name] = None if argument.default is None else argument.default_value
            elif argument.name not in self.used and not _is_default(argument, given[argument.name]):
                raise Unsupported(self.operator, f"argument {argument.name!r} is not offered")
        return {a.name: _in_form(a, given[a.name]) for a in declared if a.name in self.used}

    def left_out(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], bound: Mapping[str, Any]) -> frozenset[str]:
        """Return the arguments that a call does not give and the library is not told of: not one, or not so.

        A library may lack a keyword that nobody uses.
        """
        given = {a.name for a in [a for a in self.arguments if not a.kwarg_only][: len(args)]} | kwargs.keys()
        return frozenset(n for n, v in bound.items() if (v is None or v is False) and n not in given and n not in _TOLD)

    def function(self, namespace: Any, left_out: frozenset[str] = frozenset()) -> Callable[..., Any]:
        """The expression as a function of the arguments' names, without the keywords that would get those left out.

        Raises:
            Unsupported: the namespace lacks a function.
        """
        for path in self.functions:
            if at_path(namespace, path) is None:
                raise Unsupported(self.operator, f"the library has no {path}")
        return self._compiled(namespace, ", ".join(sorted(self.used)), left_out)

    def by_position(self, namespace: Any) -> Callable[..., Any]:
        """The expression as a function of the arguments that it uses, in the schema's order, with their defaults.

        Raises:
            Unsupported: the namespace lacks a function.
        """
        for path in self.functions:
            if at_path(namespace, path) is None:
                raise Unsupported(self.operator, f"the library has no {path}")
        used = [a for a in self.arguments if a.name in self.used]
        return self._compiled(
            namespace, ", ".join(a.name if a.default is None else f"{a.name}={a.default_value!r}" for a in used)
        )

    def _compiled(
        self, namespace: Any, parameters: str, left_out: frozenset[str] = frozenset()
    ) -> Callable[..., Any]:
        body = _Qualified({a.name for a in self.arguments}, "xp").visit(self._without(left_out))
        code = f"lambda {parameters}: {ast.unparse(body)}"
        made: Callable[..., Any] = eval(compile(code, f"<{self.operator}>", "eval"), {"xp": namespace})
        return made

    def written(self, alias: str, literals: Mapping[str, str], left_out: frozenset[str]) -> str:
        """The call as a line of source, without the keywords that would get the arguments that are left out."""
        body = _Qualified({a.name for a in self.arguments}, alias).visit(self._without(left_out))
        return ast.unparse(_Filled(literals).visit(body))

    def _without(self, left_out: frozenset[str]) -> ast.Expression:
        tree = ast.parse(self.text, mode="eval")
        for call in ast.walk(tree):
            if isinstance(call, ast.Call):
                call.keywords = [k for k in call.keywords if not _names_one(k.value, left_out)]
        return tree


def table(text: str) -> dict[str, Expression]:
    """The expressions of a table by operator: ``operator kinds expression`` per line, ``#`` for notes.

    An operator may be named as it is in place.
    """
    found = {}
    for line in text.strip().splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            operator, kinds, expression = line.split(maxsplit=2)
            if _row_of(operator) is None:
                raise LookupError(f"no operator {operator!r} in the spec")
            found[operator] = Expression(operator, kinds, expression)
    return found


def _row_of(operator: str) -> str | None:
    """The row of an operator, which for one in place is that of its functional form; None where there is none."""
    return operator if operator in operators.load() else _in_place().get(operator)


@cache
def _in_place() -> dict[str, str]:
    return {row.inplace_name: name for name, row in operators.load().items() if row.inplace_name}


@cache
def _parsed(text: str) -> ast.Expression:
    return ast.parse(text, mode="eval")


def _positional(operator: str, declared: tuple[Argument, ...], args: tuple[Any, ...]) -> dict[str, Any]:
    places = [a for a in declared if not a.kwarg_only]
    if len(args) > len(places) and places and places[-1].is_list:
        head = len(places) - 1
        args = (*args[:head], tuple(args[head:]))
    elif len(args) == len(places) and places and places[-1].is_list and isinstance(args[-1], int):
        args = (*args[:-1], (args[-1],))
    if len(args) > len(places):
        raise Unsupported(operator, f"{len(args)} positional arguments in this adapter's form of it")
    return {argument.name: value for argument, value in zip(places, args, strict=False)}


def _is_default(argument: Argument, value: Any) -> bool:
    default = None if argument.default is None else argument.default_value
    return value is None or (type(value) is type(default) and value == default)


def _in_form(argument: Argument, value: Any) -> Any:
    """Lists as tuples, one number for a list of them as such; no dims for ``dim`` are None, which stands for all."""
    if argument.is_list and isinstance(value, list | tuple | int) and not isinstance(value, bool):
        value = (value,) if isinstance(value, int) else tuple(value)
    return None if argument.name == "dim" and value == () else value


def _names_one(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


class _Paths(ast.NodeVisitor):
    """Collects dotted names that start at no argument."""

    def __init__(self, arguments: set[str]) -> None:
        self._own = arguments
        self.found: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = _dotted(node)
        if path is None:
            self.generic_visit(node)
        elif path.split(".")[0] not in self._own:
            self.found.add(path)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id not in self._own and node.id not in _BUILTINS:
            self.found.add(node.id)


class _Qualified(ast.NodeTransformer):
    """Puts the namespace's name before the names that are its own."""

    def __init__(self, arguments: set[str], alias: str) -> None:
        self._own = arguments
        self._alias = alias

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._own or (node.id in _BUILTINS and hasattr(builtins, node.id)):
            return node
        return ast.Attribute(ast.Name(self._alias, ast.Load()), node.id, ast.Load())


class _Filled(ast.NodeTransformer):
    """Puts source text in the place of arguments."""

    def __init__(self, literals: Mapping[str, str]) -> None:
        self._literals = literals

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = self._literals.get(node.id)
        return node if text is None else ast.parse(text, mode="eval").body

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """A choice by whether an argument is None is made, since the argument is known."""
        self.generic_visit(node)
        match node.test:
            case ast.Compare(left=ast.Constant(value), ops=[ast.Is()], comparators=[ast.Constant(None)]):
                return node.body if value is None else node.orelse
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Fold an ``or`` whose first value is a constant."""
        self.generic_visit(node)
        match node:
            case ast.BoolOp(op=ast.Or(), values=[ast.Constant(value), other]):
                return node.values[0] if value else other
        return node


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return None if head is None else f"{head}.{node.attr}"
    return None
