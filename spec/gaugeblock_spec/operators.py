"""The operator table: rows of `operators/*.yaml`, one per operator, keyed by the schema name such as "add.Tensor".

The row format is described in operators.md and, field by field, in operator.schema.json.
`rows()` and `digest()` are for programs that keep their own cache of the parsed table.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROOT = files("gaugeblock_spec")

Row = dict[str, Any]


class OperatorTableError(ValueError):
    """A row that breaks the format; the message names file, row, field and what is allowed."""


@dataclass(frozen=True)
class ErrorCase:
    """A call that must raise: condition in words, offending argument, exception class, message pattern, example call."""

    when: str
    argument: str
    raises: str
    match: str
    example: str


@dataclass(frozen=True)
class Domain:
    """Values from which an argument is drawn: both ends included, None for no limit."""

    low: float | None = None
    high: float | None = None
    exclude: tuple[float, ...] = ()


@dataclass(frozen=True)
class Operator:
    """One row, with defaults filled in and dtype names spelt out."""

    name: str
    schema: str
    inplace: str | None
    out: str | None
    aliases: tuple[str, ...]
    variants: tuple[str, ...]
    family: str
    dtypes: tuple[str, ...]
    promotion: str
    result: str
    out_cast: str | None
    ulp: Mapping[str, float]
    ulp_scale: str
    domain: Mapping[str, Domain]
    errors: tuple[ErrorCase, ...] = field(default=())
    note: str = ""
    file: str = ""

    @property
    def base_name(self) -> str:
        """The name without the overload: "add" for "add.Tensor"."""
        return self.name.partition(".")[0]

    @property
    def inplace_name(self) -> str | None:
        """Schema name of the in-place form, such as "add_.Tensor"."""
        return None if self.inplace is None else schema_name(self.inplace)

    @property
    def out_name(self) -> str | None:
        """Schema name of the out= form, such as "add.out"."""
        return None if self.out is None else schema_name(self.out)


def schema_name(schema: str) -> str:
    """The part of a schema string before its arguments."""
    return schema.partition("(")[0]


def table_files() -> tuple[str, ...]:
    """File names of the table in alphabetical order."""
    return tuple(sorted(entry.name for entry in _ROOT.joinpath("operators").iterdir() if entry.name.endswith(".yaml")))


@functools.cache
def digest() -> str:
    """SHA-256 over everything that the table is read from; changes whenever a row may have changed."""
    total = hashlib.sha256()
    for name in ("dtype_classes.yaml", "operator.schema.json"):
        total.update(_ROOT.joinpath(name).read_bytes())
    for name in table_files():
        total.update(name.encode() + b"\0" + _ROOT.joinpath("operators", name).read_bytes())
    return total.hexdigest()


@functools.cache
def rows() -> tuple[Row, ...]:
    """All rows as plain dicts in file order, unchecked, each with its `name` and `file` added."""
    found: list[Row] = []
    for name in table_files():
        content = yaml.load(_ROOT.joinpath("operators", name).read_bytes(), Loader=_LOADER)
        if not isinstance(content, list):
            raise OperatorTableError(f"{name}: expected a list of rows, got {type(content).__name__}")
        for number, row in enumerate(content, start=1):
            if not isinstance(row, dict) or not isinstance(row.get("schema"), str):
                raise OperatorTableError(f"{name}, row {number}: field schema is required and must be a string")
            found.append({**row, "name": schema_name(row["schema"]), "file": name})
    return tuple(found)


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
    definition = json_schema()["$defs"]["row"]
    properties: dict[str, Any] = definition["properties"]
    where = f"{row['file']}, row {row['name']}"
    for name in definition["required"]:
        if name not in row:
            raise OperatorTableError(f"{where}: field {name} is missing")
    for name, value in row.items():
        if name in ("name", "file"):
            continue
        if name not in properties:
            raise OperatorTableError(f"{where}: unknown field {name}; allowed: {', '.join(properties)}")
        _check_value(f"{where}: field {name}", value, properties[name])
    if ("out" in row) != ("out_cast" in row):
        raise OperatorTableError(f"{where}: field out_cast must be present exactly when field out is")


_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "array": (list,), "object": (dict,), "number": (int, float),
}


def _check_value(where: str, value: Any, rule: dict[str, Any]) -> None:
    if "enum" in rule and value not in rule["enum"]:
        raise OperatorTableError(f"{where}: {value!r} is not allowed; allowed: {', '.join(rule['enum'])}")
    kind = rule.get("type")
    if kind is not None and (not isinstance(value, _JSON_TYPES[kind]) or isinstance(value, bool)):
        raise OperatorTableError(f"{where}: {value!r} is not of type {kind}")
    if "pattern" in rule and not re.search(rule["pattern"], value):
        raise OperatorTableError(f"{where}: {value!r} does not match {rule['pattern']}")
    if kind == "array":
        for number, item in enumerate(value, start=1):
            _check_value(f"{where}, item {number}", item, rule.get("items", {}))
    if kind == "object":
        _check_object(where, value, rule)


def _check_object(where: str, value: dict[str, Any], rule: dict[str, Any]) -> None:
    properties = rule.get("properties", {})
    for name in rule.get("required", ()):
        if name not in value:
            raise OperatorTableError(f"{where}: {name} is missing")
    for name, item in value.items():
        item_rule = properties.get(name, rule.get("additionalProperties", {}))
        if item_rule is False:
            raise OperatorTableError(f"{where}: unknown name {name}; allowed: {', '.join(properties)}")
        _check_value(f"{where}.{name}", item, item_rule)


def operator_from_row(row: Row) -> Operator:
    """Check a row of `rows()` and turn it into an Operator."""
    check_row(row)
    try:
        dtypes = expand_dtypes(row["dtypes"])
    except OperatorTableError as error:
        raise OperatorTableError(f"{row['file']}, row {row['name']}: field {error}") from None
    return Operator(
        name=row["name"],
        schema=row["schema"],
        inplace=row.get("inplace"),
        out=row.get("out"),
        aliases=tuple(row.get("aliases", ())),
        variants=tuple(row["variants"]),
        family=row["family"],
        dtypes=dtypes,
        promotion=row["promotion"],
        result=row["result"],
        out_cast=row.get("out_cast"),
        ulp=MappingProxyType(dict(row.get("ulp", {}))),
        ulp_scale=row.get("ulp_scale", "result"),
        domain=MappingProxyType({name: _domain(limits) for name, limits in row.get("domain", {}).items()}),
        errors=tuple(ErrorCase(**case) for case in row.get("errors", ())),
        note=row.get("note", ""),
        file=row["file"],
    )


def _domain(limits: dict[str, Any]) -> Domain:
    return Domain(limits.get("low"), limits.get("high"), tuple(limits.get("exclude", ())))


@functools.cache
def load() -> Mapping[str, Operator]:
    """The whole table, checked, by schema name. Raises OperatorTableError for a bad or doubled row."""
    table: dict[str, Operator] = {}
    for row in rows():
        if row["name"] in table:
            raise OperatorTableError(f"{row['file']}, row {row['name']}: already in {table[row['name']].file}")
        table[row["name"]] = operator_from_row(row)
    return MappingProxyType(table)


@functools.cache
def overloads(base_name: str) -> tuple[Operator, ...]:
    """The rows whose name without overload is `base_name`, in table order; empty when there is none."""
    return tuple(operator for operator in load().values() if operator.base_name == base_name)
