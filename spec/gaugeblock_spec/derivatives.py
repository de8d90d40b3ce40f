"""The derivative table: `derivatives/*.yaml`, for each differentiable row of the operator table its formulas.

The format is described in derivatives.md. One file belongs to the file of operator rows of the same name, so that a
program can read the formulas of a row without reading all: `find(name, file)`. `load()` reads and checks everything.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

import yaml

KINDS = ("none", "composite", "formulas")
NOTHING = "nothing"
TANGENT = "tangent"
FOLLOWS = "follows"

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROOT = files("gaugeblock_spec")
_HELPER = re.compile(r"^\| `(\w+)\(([^)]*)\)` \|", re.MULTILINE)


class DerivativeError(ValueError):
    """An entry that breaks the format; the message names file, row, field and what is allowed."""


@dataclass(frozen=True)
class Derivative:
    """The entry of one row of the operator table.

    `kind` is `formulas`; `composite` for an operator made of differentiable ones; `none` where no result has a
    gradient. `formulas` maps the arguments that an expression gives gradients of to the expression, a tuple of several
    names where it gives a tuple. `nothing` lists tensor arguments without gradient, `follows` arguments in which the
    gradients are locally constant. `tangent` is the text of the entry's
    forward derivative: "linear", an expression, or `RESULT=expression, ...`; None for the default of the family.
    """

    name: str
    file: str
    kind: Literal["formulas", "composite", "none"]
    formulas: Mapping[tuple[str, ...], str] = field(default_factory=lambda: MappingProxyType({}))
    nothing: tuple[str, ...] = ()
    tangent: str | None = None
    follows: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """Every argument with a gradient, in the order of the entry."""
        return tuple(name for names in self.formulas for name in names)


def table_files() -> tuple[str, ...]:
    """File names of the table in alphabetical order."""
    entries = _ROOT.joinpath("derivatives").iterdir()
    return tuple(sorted(entry.name for entry in entries if entry.name.endswith(".yaml")))


@functools.cache
def digest() -> str:
    """SHA-256 over everything that the table is read from; changes whenever an entry may have changed."""
    total = hashlib.sha256()
    for name in table_files():
        total.update(name.encode() + b"\0" + _ROOT.joinpath("derivatives", name).read_bytes())
    return total.hexdigest()


@functools.cache
def helpers() -> Mapping[str, tuple[str, ...]]:
    """The helpers that expressions may call with the names of their parameters, from the tables of derivatives.md."""
    page = _ROOT.joinpath("derivatives.md").read_text(encoding="utf-8")
    found: dict[str, tuple[str, ...]] = {}
    for name, parameters in _HELPER.findall(page):
        if name in found:
            raise DerivativeError(f"derivatives.md: helper {name} stands twice")
        found[name] = tuple(part.strip() for part in parameters.split(",") if part.strip())
    return MappingProxyType(found)


def parse(file: str, text: str | bytes) -> dict[str, Derivative]:
    """The entries of one file by row name: well formed, but not yet compared with the rows they are about."""
    try:
        content = yaml.load(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise DerivativeError(f"{file}{place}: not YAML: {error.problem}") from None
    if not isinstance(content, dict):
        raise DerivativeError(f"{file}: expected rows by name, got {type(content).__name__}")
    _refuse_doubled(file, text.decode() if isinstance(text, bytes) else text)
    return {name: _entry(file, name, fields) for name, fields in content.items()}


def _refuse_doubled(file: str, text: str) -> None:
    seen: set[str] = set()
    for name in re.findall(r"^([\w.]+):", text, re.MULTILINE):
        if name in seen:
            raise DerivativeError(f"{file}, row {name}: stands twice")
        seen.add(name)


def _entry(file: str, name: Any, fields: Any) -> Derivative:
    where = f"{file}, row {name}"
    if fields in ("none", "composite"):
        return Derivative(name, file, fields)
    if not isinstance(fields, dict) or not fields:
        allowed = "none, composite, or expressions by the names of arguments"
        raise DerivativeError(f"{where}: {fields!r} is not allowed; allowed: {allowed}")
    formulas: dict[tuple[str, ...], str] = {}
    nothing: list[str] = []
    seen: set[str] = set()
    for key, value in fields.items():
        if key == FOLLOWS and isinstance(value, str):
            continue
        if not isinstance(value, str) or not isinstance(key, str):
            raise DerivativeError(f"{where}: field {key}: {value!r} is {type(value).__name__}; allowed: an expression")
        names = tuple(part.strip() for part in key.split(","))
        for argument in names:
            if argument in seen:
                raise DerivativeError(f"{where}: field {key}: {argument} stands twice")
            seen.add(argument)
        if value == NOTHING:
            nothing += names
        elif key != TANGENT:
            formulas[names] = value.strip()
    tangent = fields.get(TANGENT)
    return Derivative(
        name, file, "formulas", MappingProxyType(formulas), tuple(nothing), tangent and tangent.strip(),
        tuple(part.strip() for part in fields[FOLLOWS].split(",")) if FOLLOWS in fields else (),
    )  # fmt: skip


@functools.cache
def entries(file: str) -> Mapping[str, Derivative]:
    """The entries about the rows of one file of the operator table, unchecked; empty when there are none.

    Raises DerivativeError for what is not well formed.
    """
    path = _ROOT.joinpath("derivatives", file)
    return MappingProxyType(parse(file, path.read_bytes()) if path.is_file() else {})


def find(name: str, file: str) -> Derivative | None:
    """The entry of the row `name` of the operator file `file`, or None where it has none."""
    return entries(file).get(name)
