"""The operator table: rows of `operators/*.yaml`, one per operator, keyed by the schema name such as "add.Tensor".

The row format is described in operator_rows.md and, field by field, in operator.schema.json.
`rows()` and `digest()` are for programs that keep their own cache of the parsed table.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .operator_freedoms import Half, half_from, of_family
from .operator_rows import (
    OperatorTableError,
    Row,
    check_row,
    digest,
    dtype_classes,
    expand_dtypes,
    json_schema,
    parse_rows,
    rows,
    schema_name,
    table_files,
)

__all__ = [
    "Domain",
    "ErrorCase",
    "Half",
    "Operator",
    "OperatorTableError",
    "Row",
    "check_row",
    "digest",
    "dtype_classes",
    "expand_dtypes",
    "json_schema",
    "load",
    "operator_from_row",
    "overloads",
    "parse_rows",
    "rows",
    "schema_name",
    "table_files",
]


@dataclass(frozen=True)
class ErrorCase:
    """A call that must raise: condition in words, offending argument, exception class, message pattern, example.

    ``reads_elements``: it takes elements to see it, which tensors without data have not. ``cpu_only``: other devices
    may give any elements instead.
    """

    when: str
    argument: str
    raises: str
    match: str
    example: str
    reads_elements: bool = False
    cpu_only: bool = False


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
    errors: tuple[ErrorCase, ...]
    overflow: str
    signed_zero: str
    ties: str
    dimless: str
    bits: str
    out_from: str
    without_data: str
    open: tuple[str, ...]
    half: Half
    unoffered: tuple[str, ...]
    note: str
    file: str

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


def operator_from_row(row: Row) -> Operator:
    """Check a row of `rows()` and turn it into an Operator. Raises OperatorTableError."""
    check_row(row)
    freedoms = {**of_family(row["family"]), **row}
    return Operator(
        name=row["name"],
        schema=row["schema"],
        inplace=row.get("inplace"),
        out=row.get("out"),
        aliases=tuple(row.get("aliases", ())),
        variants=tuple(row["variants"]),
        family=row["family"],
        dtypes=expand_dtypes(row["dtypes"]),
        promotion=row["promotion"],
        result=row["result"],
        out_cast=row.get("out_cast"),
        ulp=MappingProxyType(dict(row.get("ulp", {}))),
        ulp_scale=row.get("ulp_scale", "result"),
        domain=MappingProxyType({name: _domain(limits) for name, limits in row.get("domain", {}).items()}),
        errors=tuple(ErrorCase(**case) for case in row.get("errors", ())),
        overflow=freedoms.get("overflow", "terms"),
        signed_zero=freedoms.get("signed_zero", "exact"),
        ties=freedoms.get("ties", "first"),
        dimless=freedoms.get("dimless", "kept"),
        bits=freedoms.get("bits", "equal"),
        out_from=freedoms.get("out_from", "result"),
        without_data=freedoms.get("without_data", "all"),
        open=tuple(freedoms.get("open", ())),
        half=half_from(freedoms.get("half", {})),
        unoffered=tuple(freedoms.get("unoffered", ())),
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
