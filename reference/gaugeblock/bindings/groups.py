"""Public names and the overloads behind them, from the spec's rows."""

from __future__ import annotations

import functools
from typing import NamedTuple

from gaugeblock_spec.schema import Argument

from ..operators.rows import Row, rows


class Overload(NamedTuple):
    """One schema that a public name may stand for, and the out= form of it if there is one."""

    row: Row
    schema: str
    out: str | None

    @property
    def operator(self) -> str:
        return self.schema.partition("(")[0]


class Group(NamedTuple):
    """A public name with its overloads, those with tensors before those with numbers."""

    name: str
    overloads: tuple[Overload, ...]

    @property
    def inplace(self) -> bool:
        return self.name.endswith("_") and not self.name.endswith("__")


SCALED = frozenset({"add", "sub", "rsub"})
"""Operators whose number `alpha` is a keyword in Python even where the schema takes it by position."""


def by_keyword(row: Row, argument: Argument) -> bool:
    """Whether Python takes an argument of the row's operator by keyword only."""
    return argument.kwarg_only or (argument.name == "alpha" and row.base in SCALED)


@functools.cache
def functions() -> dict[str, Group]:
    """Names of the module's operator functions."""
    return _collect("function")


@functools.cache
def methods() -> dict[str, Group]:
    """Names of the Tensor methods that are operators, in-place ones included."""
    return _collect("method")


@functools.cache
def nn_functions() -> dict[str, Group]:
    """Names of the functions of neural networks, in-place ones included."""
    return _collect("nn")


def _collect(variant: str) -> dict[str, Group]:
    found: dict[str, list[Overload]] = {}
    for row in rows().values():
        if variant in row.variants:
            for name in (row.base, *row.aliases):
                found.setdefault(name, []).append(Overload(row, row.schema, row.out))
        if row.inplace is not None and variant == _home_of_inplace(row):
            base = (row.inplace_name or "").partition(".")[0]
            for name in (base, *(alias + "_" for alias in row.aliases)):
                found.setdefault(name, []).append(Overload(row, row.inplace, None))
    return {name: Group(name, tuple(sorted(overloads, key=_number_last))) for name, overloads in found.items()}


def _home_of_inplace(row: Row) -> str:
    return "method" if "method" in row.variants else row.variants[0]


def _number_last(overload: Overload) -> int:
    return overload.schema.count("Scalar ") - 100 * overload.schema.count("Tensor")


def find_operator(name: str) -> Overload | None:
    """The overload with the operator name ``add.Tensor`` or ``add_.Tensor``."""
    for group in (functions(), methods(), nn_functions()):
        for overload in (o for entry in group.values() for o in entry.overloads):
            if name in (overload.operator, (overload.out or "").partition("(")[0]):
                return overload
    return None
