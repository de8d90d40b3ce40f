"""Comparing the entries of the derivative table with the rows and schemas that they are about."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from . import samples
from .derivatives import NOTHING, Derivative, DerivativeError, entries, helpers, table_files
from .operator_rows import Row, dtype_classes, expand_dtypes, rows
from .schema import Schema, parse

BUILTINS = frozenset({"len", "tuple", "range", "min", "max", "int", "float"})
CONSTANTS = frozenset({"inf", "nan", "pi"})
NAMESPACES = {"linalg": "linalg_", "special": "special_", "fft": "fft_"}
METADATA = frozenset(
    """shape dtype ndim device layout T H mT mH stride numel dim size is_complex is_floating_point is_contiguous
    requires_grad element_size storage_offset itemsize conj conjugate new_zeros new_ones new_empty new_full""".split()
)
_NODES = (
    ast.Expression, ast.Call, ast.Attribute, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
    ast.IfExp, ast.Tuple, ast.List, ast.Subscript, ast.Slice, ast.Starred, ast.keyword, ast.operator, ast.unaryop,
    ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
_INEXACT = frozenset(dtype_classes()["inexact"])


@functools.cache
def _operators() -> frozenset[str]:
    """Every public name of an operator: functions, methods and aliases, in-place ones included."""
    names: set[str] = set()
    for row in rows():
        own = [row["name"].partition(".")[0], *row.get("aliases", ())]
        names.update(own)
        if "inplace" in row:
            names.update(f"{name}_" for name in own)
    return frozenset(names)


def result_names(schema: Schema) -> tuple[str, ...]:
    """What an expression calls the results: `result`, or upstream's names, or `result0`, `result1`, ..."""
    if len(schema.returns) == 1:
        return ("result",)
    return tuple(value.name or f"result{number}" for number, value in enumerate(schema.returns))


def tensor_arguments(schema: Schema) -> tuple[str, ...]:
    """The arguments that hold tensors, single, optional or in a list; not those of out=."""
    arguments = (a for a in schema.arguments if not (a.kwarg_only and a.written))
    return tuple(argument.name for argument in arguments if argument.base_type == "Tensor")


def floating_arguments(row: Row) -> tuple[str, ...]:
    """The tensor arguments that may have a gradient: not indices, masks and other integral ones, by the samples."""
    forms = samples.load().get(row["name"], ({},))
    named = tensor_arguments(parse(row["schema"]))
    return tuple(name for name in named if any(_may_float(facts.get(name)) for facts in forms))


def _may_float(fact: samples.Fact | None) -> bool:
    if not isinstance(fact, samples.TensorFact):
        return True
    if fact.index is not None or fact.kind == "counts":
        return False
    return not fact.dtypes or not _INEXACT.isdisjoint(fact.dtypes)


def needs_entry(row: Row) -> bool:
    """Return whether the table must say something about a row: it takes a floating tensor and gives a floating one.

    Questions and results that are always bool or whole numbers need no entry.
    """
    if row["result"] in ("bool", "int64", "truth", "number") or row["family"] == "query":
        return False
    schema = parse(row["schema"])
    gives = any(value.type.startswith("Tensor") for value in schema.returns)
    return gives and bool(floating_arguments(row)) and not _INEXACT.isdisjoint(expand_dtypes(row["dtypes"]))


@functools.cache
def load() -> Mapping[str, Derivative]:
    """The whole table by row name, every entry checked against its row. Raises DerivativeError."""
    schemas = {row["name"]: row for row in rows()}
    found: dict[str, Derivative] = {}
    for file in table_files():
        for name, entry in entries(file).items():
            if name not in schemas:
                raise DerivativeError(f"{file}, row {name}: the operator table has no such row")
            if schemas[name]["file"] != file:
                raise DerivativeError(f"{file}, row {name}: belongs to {schemas[name]['file']}, like the operator")
            check(entry, schemas[name])
            found[name] = entry
    return MappingProxyType(found)


def undeclared() -> tuple[str, ...]:
    """FILE: NAME of every row that needs an entry and has none."""
    declared = load()
    return tuple(f"{row['file']}: {row['name']}" for row in rows() if needs_entry(row) and row["name"] not in declared)


def check(entry: Derivative, row: Row) -> None:
    """Raise DerivativeError unless the arguments exist, all floating ones are covered, and every name is allowed."""
    if entry.kind != "formulas":
        return
    schema = parse(row["schema"])
    tensors = tensor_arguments(schema)
    where = f"{entry.file}, row {entry.name}"
    for names in (*entry.formulas, entry.nothing):
        for name in names:
            if name not in tensors and not (name in entry.nothing and name in result_names(schema)):
                allowed = ", ".join((*tensors, "tangent", "follows"))
                raise DerivativeError(f"{where}: field {name}: no tensor argument; allowed: {allowed}")
    for name in entry.follows:
        if name not in entry.arguments:
            allowed = ", ".join(entry.arguments)
            raise DerivativeError(f"{where}: field follows: {name} has no gradient here; allowed: {allowed}")
    covered = {*entry.arguments, *entry.nothing}
    for name in floating_arguments(row):
        if name not in covered:
            raise DerivativeError(f"{where}: argument {name} is missing; give a formula or say {NOTHING!r}")
    known = {argument.name for argument in schema.arguments if not (argument.kwarg_only and argument.written)}
    known.update(result_names(schema))
    many = len(schema.returns) > 1 or "[" in schema.returns[0].type
    for names, text in entry.formulas.items():
        allowed_names = known | {"grad"} | ({"grads"} if many else set()) | ({"needed"} if len(names) > 1 else set())
        _check_expression(f"{where}: field {', '.join(names)}", text, allowed_names)
    if entry.tangent is not None and entry.tangent != "linear":
        tangents = known | {f"{name}_t" for name in tensors}
        for result, text in tangent_expressions(entry, schema).items():
            _check_expression(f"{where}: field tangent, {result}", text, tangents)


def tangent_expressions(entry: Derivative, schema: Schema) -> Mapping[str, str]:
    """The expressions of a `tangent` by the names of the results that they are of."""
    assert entry.tangent is not None
    where = f"{entry.file}, row {entry.name}: field tangent"
    allowed = result_names(schema)
    try:
        ast.parse(entry.tangent, mode="eval")
    except SyntaxError:
        call = _parsed(where, f"_({entry.tangent})").body
        assert isinstance(call, ast.Call)
        found = {keyword.arg or "": ast.unparse(keyword.value) for keyword in call.keywords}
        for name in found:
            if name not in allowed:
                shown = ", ".join(allowed)
                raise DerivativeError(f"{where}: {name!r} is no result; allowed: {shown}") from None
        return found
    return {allowed[0]: entry.tangent}


def _parsed(where: str, text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise DerivativeError(f"{where}: {text!r} is no expression: {error.msg}") from None


def _check_expression(where: str, text: str, names: set[str]) -> None:
    for node in ast.walk(_parsed(where, text)):
        if not isinstance(node, _NODES):
            raise DerivativeError(f"{where}: {type(node).__name__} is not allowed in {text!r}; write a helper")
        if isinstance(node, ast.Name):
            _check_name(where, node.id, names)
        elif isinstance(node, ast.Attribute):
            _check_attribute(where, node)
        elif isinstance(node, ast.Call):
            _check_call(where, node)


def _check_name(where: str, name: str, names: set[str]) -> None:
    known: tuple[Any, ...] = (names, BUILTINS, CONSTANTS, NAMESPACES, ("nn",), helpers(), _operators())
    if not any(name in group for group in known):
        allowed = ", ".join(sorted(names))
        raise DerivativeError(f"{where}: unknown name {name!r}; allowed: {allowed}, operators of the table, helpers")


def _check_attribute(where: str, node: ast.Attribute) -> None:
    if isinstance(node.value, ast.Name) and node.value.id in NAMESPACES:
        if not {NAMESPACES[node.value.id] + node.attr, node.attr} & _operators():
            raise DerivativeError(f"{where}: {node.value.id} has no operator {node.attr!r}")
    elif ast.unparse(node).startswith("nn."):
        return
    elif node.attr not in METADATA and node.attr not in _operators():
        raise DerivativeError(f"{where}: {node.attr!r} is neither an operator nor a property of a tensor")


def _check_call(where: str, node: ast.Call) -> None:
    if not isinstance(node.func, ast.Name) or node.func.id not in helpers():
        return
    parameters = helpers()[node.func.id]
    unknown = [keyword.arg for keyword in node.keywords if keyword.arg is not None and keyword.arg not in parameters]
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if unknown or (not starred and len(node.args) + len(node.keywords) > len(parameters)):
        shown = ", ".join(parameters)
        raise DerivativeError(f"{where}: {ast.unparse(node)} does not fit helper {node.func.id}({shown})")
