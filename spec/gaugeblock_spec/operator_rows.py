"""Reading and checking `operators/*.yaml`: plain rows, their digest, and the rules of operator.schema.json."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from .schema import Schema, SchemaError, parse

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROOT = files("gaugeblock_spec")

Row = dict[str, Any]


class OperatorTableError(ValueError):
    """A row that breaks the format; the message names file, row, field and what is allowed."""


def schema_name(schema: str) -> str:
    """The part of a schema string before its arguments: "add.Tensor"."""
    return schema.partition("(")[0]


def table_files() -> tuple[str, ...]:
    """File names of the table in alphabetical order."""
    return tuple(sorted(entry.name for entry in _ROOT.joinpath("operators").iterdir() if entry.name.endswith(".yaml")))


@functools.cache
def digest() -> str:
    """SHA-256 over everything that the table is read from; changes whenever a row may have changed."""
    total = hashlib.sha256()
    for name in ("dtype_classes.yaml", "operator.schema.json", "operator_freedoms.yaml"):
        total.update(_ROOT.joinpath(name).read_bytes())
    for name in table_files():
        total.update(name.encode() + b"\0" + _ROOT.joinpath("operators", name).read_bytes())
    return total.hexdigest()


def parse_rows(file: str, text: str | bytes) -> list[Row]:
    """The rows of one file as plain dicts, unchecked but for `schema`, each with its `name` and `file` added."""
    try:
        content = yaml.load(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise OperatorTableError(f"{file}{place}: not YAML: {error.problem}") from None
    if not isinstance(content, list):
        raise OperatorTableError(f"{file}: expected a list of rows, got {type(content).__name__}")
    for number, row in enumerate(content, start=1):
        if not isinstance(row, dict) or not isinstance(row.get("schema"), str):
            raise OperatorTableError(f"{file}, row {number}: field schema is required and must be a string")
    return [{**row, "name": schema_name(row["schema"]), "file": file} for row in content]


@functools.cache
def rows() -> tuple[Row, ...]:
    """All rows as plain dicts, files in alphabetical order, unchecked; for programs with a cache of their own."""
    texts = ((name, _ROOT.joinpath("operators", name).read_bytes()) for name in table_files())
    return tuple(row for name, text in texts for row in parse_rows(name, text))


@functools.cache
def json_schema() -> dict[str, Any]:
    """The JSON Schema of one table file."""
    schema: dict[str, Any] = json.loads(_ROOT.joinpath("operator.schema.json").read_text())
    return schema


@functools.cache
def dtype_classes() -> Mapping[str, tuple[str, ...]]:
    """Every name that `dtypes` may use, single dtypes included, with the dtypes it stands for."""
    content = yaml.load(_ROOT.joinpath("dtype_classes.yaml").read_bytes(), Loader=_LOADER)
    named = {name: tuple(members) for name, members in content["classes"].items()}
    return MappingProxyType({**{name: (name,) for name in content["order"]}, **named})


@functools.cache
def expand_dtypes(expression: str) -> tuple[str, ...]:
    """The dtypes of an expression such as "numeric+bool" or "all-complex", in the order of the class `all`.

    Raises OperatorTableError for an unknown name.
    """
    classes = dtype_classes()
    chosen: set[str] = set()
    for sign, name in re.findall(r"([+-]?)([^+-]+)", expression):
        if name not in classes:
            raise OperatorTableError(f"dtypes: unknown name {name!r} in {expression!r}; allowed: {', '.join(classes)}")
        chosen = chosen - set(classes[name]) if sign == "-" else chosen | set(classes[name])
    return tuple(name for name in classes["all"] if name in chosen)


def check_row(row: Row) -> None:
    """Raise OperatorTableError for an unknown, missing or wrong field of a row from `rows()`."""
    fields = {name: value for name, value in row.items() if name not in ("name", "file")}
    where = f"{row['file']}, row {row['name']}"
    _check(where, fields, json_schema()["$defs"]["row"])
    if ("out" in row) != ("out_cast" in row):
        raise OperatorTableError(f"{where}: field out_cast must be present exactly when field out is")
    try:
        expand_dtypes(row["dtypes"])
    except OperatorTableError as error:
        raise OperatorTableError(f"{where}: field {error}") from None
    for field in ("schema", "inplace", "out"):
        try:
            parse(row.get(field, row["schema"]))
        except SchemaError as error:
            raise OperatorTableError(f"{where}: field {field}, column {error.position + 1}: {error.problem}") from None
    schema = parse(row["schema"])
    for field, suffix in (("inplace", "_"), ("out", "")):
        if field in row:
            form = parse(row[field])
            _check_name(f"{where}: field {field}", form, schema.name + suffix)
            _check_marks(f"{where}: field {field}", field, form)


def _check_name(where: str, form: Schema, allowed: str) -> None:
    """Raise OperatorTableError unless a form has the allowed name; its overload may differ from the row's."""
    if form.name != allowed:
        raise OperatorTableError(f"{where}: the name {form.name!r} is not allowed; allowed: {allowed!r}")


def _check_marks(where: str, field: str, form: Schema) -> None:
    """Raise OperatorTableError unless the alias marks of a form say that it returns the arguments it writes to.

    These are the first argument of the in-place form, and the marked keyword arguments of the out= form.
    """
    if field == "inplace":
        target = [argument.alias for argument in form.arguments[:1] if argument.written]
        allowed = "the first argument and the result have the same mark, such as Tensor(a!)"
    else:
        target = [argument.alias for argument in form.arguments if argument.written and argument.kwarg_only]
        allowed = "keyword arguments have marks such as Tensor(a!), and the results the same in this order"
    if not target or [one.alias for one in form.returns] != target:
        raise OperatorTableError(f"{where}: the alias marks of {form} are not allowed; allowed: {allowed}")


_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "number": (int, float),
}


def _check(where: str, value: Any, rule: dict[str, Any]) -> None:
    if "enum" in rule and value not in rule["enum"]:
        raise OperatorTableError(f"{where}: {value!r} is not allowed; allowed: {', '.join(rule['enum'])}")
    kind = rule.get("type")
    if kind is not None and (not isinstance(value, _JSON_TYPES[kind]) or isinstance(value, bool)):
        raise OperatorTableError(f"{where}: {value!r} is not of type {kind}")
    if "pattern" in rule and not re.search(rule["pattern"], value):
        raise OperatorTableError(f"{where}: {value!r} does not match {rule['pattern']}")
    if "minimum" in rule and value < rule["minimum"]:
        raise OperatorTableError(f"{where}: {value!r} is below {rule['minimum']}")
    if kind == "array":
        for number, item in enumerate(value, start=1):
            _check(f"{where}, item {number}", item, rule.get("items", {}))
    if kind == "object":
        _check_fields(where, value, rule)


def _check_fields(where: str, value: dict[str, Any], rule: dict[str, Any]) -> None:
    properties = rule.get("properties", {})
    for name in rule.get("required", ()):
        if name not in value:
            raise OperatorTableError(f"{where}: field {name} is missing")
    for name, item in value.items():
        item_rule = properties.get(name, rule.get("additionalProperties", {}))
        if item_rule is False:
            raise OperatorTableError(f"{where}: unknown field {name}; allowed: {', '.join(properties)}")
        _check(f"{where}: field {name}", item, item_rule)
