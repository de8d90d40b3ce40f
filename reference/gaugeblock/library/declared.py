"""Pointwise operators from outside, declared by a row of the spec's format, a formula and a derivative row.

Everything else comes by itself: kernels for CPU and meta with vector loops, strides, dtypes, broadcasting, in-place and
out= forms if the row has them, function, method, and an object in ``gaugeblock.ops``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from gaugeblock_spec.operators import OperatorTableError, operator_from_row, parse_rows
from gaugeblock_spec.schema import Argument, Schema, parse

from ..calls.binding import compile_function
from ..calls.caller import Caller
from ..calls.overloads import Group, Overload
from ..calls.special_forms import general_source
from ..core.errors import type_error
from ..dispatch.dispatcher import REGISTRY
from ..operators.formulas import FORMULAS
from ..operators.pointwise import PointwiseRule
from ..operators.pointwise_operators import Form, call_of
from ..operators.rows import Row, row_of
from ..tensor.tensor import Tensor
from .expressions import derivative_from, formula_from
from .library import Library
from .op_overload import OpOverload, find_overload

OPERANDS = ("Tensor", "Scalar")
NUMBERS = ("float", "int", "SymInt", "bool")


class DeclaredOperator:
    """One declared operator, itself callable; its `variants` are in ``gaugeblock`` and on Tensor. `overload` is its
    object in ``gaugeblock.ops``. ``remove()`` takes it away again, and so does deleting the object."""

    def __init__(
        self, row: Row, namespace: str, formula: Callable[..., Any], check: Callable[..., None] | None
    ) -> None:
        self.row = row
        self.name = f"{namespace}::{row.name}"
        if self.name in REGISTRY.operators:
            raise RuntimeError(f"operator {self.name!r} is already declared")
        self.schema = parse(row.schema)
        arguments = [a for a in self.schema.arguments if not a.written]
        self._library = Library(namespace, "FRAGMENT")
        rule = PointwiseRule(row)
        FORMULAS[self.name] = formula
        self._library.keep(partial(FORMULAS.pop, self.name, None))
        build = call_of(self.name, arguments, {a.name for a in arguments if a.type in NUMBERS}, check)
        for text in (row.schema, row.inplace, row.out):
            if text is not None:
                self._library.define(text)
                run = Form(text.partition("(")[0], rule, build, inplace=text is row.inplace)
                run.__qualname__ = f"{namespace}::{text.partition('(')[0]}"
                for key in ("CPU", "Meta"):
                    REGISTRY.register(run.__qualname__, key, run)
        self.function = self._bind(namespace)

    def _bind(self, namespace: str) -> Callable[..., Any]:
        base, row = self.row.base, self.row
        out = None if row.out is None else f"{namespace}::{row.out}"
        forms = [(base, Overload(row, f"{namespace}::{row.schema}", out))]
        if row.inplace is not None:
            forms.append((base + "_", Overload(row, f"{namespace}::{row.inplace}", None)))
        function: Callable[..., Any] | None = None
        for name, overload in forms:
            for is_method in (False, True):
                caller = Caller(Group(name, (overload,)), is_method=is_method)
                label = f"Tensor.{name}" if is_method else name
                slow = f"{namespace}_{name}_{'method' if is_method else 'function'}"
                made = compile_function(label, name, general_source(slow, name), row.schema, **{f"slow_{slow}": caller})
                caller.publish(made)
                if not is_method:
                    function = function or made
                if ("method" if is_method else "function") in row.variants:
                    self._install(Tensor if is_method else sys.modules["gaugeblock"], name, made)
        assert function is not None
        return function

    def _install(self, home: Any, name: str, made: Any) -> None:
        if hasattr(home, name):
            raise RuntimeError(f"{self.name}: {home.__name__} has {name!r} already")
        setattr(home, name, made)
        self._library.keep(partial(delattr, home, name))

    @property
    def overload(self) -> OpOverload:
        """The operator's object in ``gaugeblock.ops``."""
        return find_overload(self.name)

    def remove(self) -> None:
        """Take the operator, its function's kernels and its methods away."""
        self._library._destroy()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<DeclaredOperator {self.name}>"


def _kinds(name: str, arguments: Iterable[Argument]) -> tuple[list[str], list[str]]:
    operands = [a.name for a in arguments if a.type in OPERANDS]
    numbers = [a.name for a in arguments if a.type in NUMBERS]
    for argument in arguments:
        if argument.type not in (*OPERANDS, *NUMBERS):
            allowed = ", ".join((*OPERANDS, *NUMBERS))
            raise ValueError(f"{name}: argument {argument.name!r} is a {argument.type}; a formula takes {allowed}")
    return operands, numbers


def _check_arguments(where: str, schema: Schema, field: str, form: Schema) -> None:
    """Raise OperatorTableError unless a form takes the operator's arguments; all forms share the formula."""
    given = tuple(a._replace(alias=None) for a in form.arguments if field == "inplace" or not a.written)
    if given != schema.arguments:
        raise OperatorTableError(f"{where}: the arguments of {form} are not allowed; allowed: those of {schema}")


def declare(
    row: Mapping[str, Any], formula: Callable[..., Any] | str, *, derivative: Mapping[str, str] | None = None,
    check: Callable[..., None] | None = None, namespace: str = "declared",
) -> DeclaredOperator:  # fmt: skip
    """Declare a pointwise operator.

    `row` has the fields of the spec's operator table, operands first; `formula` is a function of scalars with the
    schema's arguments, or an expression in them; `check` gets the arguments by name and raises for what they must not
    be; `derivative` is ``{"name": schema, "self": expression}``. Raises OperatorTableError for a row that breaks the
    format, ValueError for a derivative of another signature, RuntimeError for a name that is taken.
    """
    if not isinstance(row, Mapping):
        type_error("declare", "row", row, "a mapping with the fields of a row")
    if not isinstance(row.get("schema"), str):
        raise OperatorTableError(f"declare(): argument 'row' must have a schema, a str, got {row.get('schema')!r}")
    plain = {"file": "declare()", "name": row["schema"].partition("(")[0], **row}
    operator = operator_from_row(plain)
    made = row_of(operator)
    schema = parse(made.schema)
    written = [argument.name for argument in schema.arguments if argument.written]
    if written or made.base.endswith("_"):
        raise OperatorTableError(
            f"declare(): field schema is that of the functional form, which writes to no argument and has no _ at the "
            f"end of its name, got {made.schema}; in-place and out= forms are the fields inplace and out"
        )
    arguments = schema.arguments
    operands, numbers = _kinds(made.name, arguments)
    if [a.name for a in arguments] != operands + numbers:
        raise ValueError(f"{made.name}: a formula takes its tensors and Scalars first, then {', '.join(NUMBERS)}")
    for field, text in (("inplace", made.inplace), ("out", made.out)):
        if text is not None:
            _check_arguments(f"{operator.file}, row {made.name}: field {field}", parse(made.schema), field, parse(text))
    if isinstance(formula, str):
        formula = formula_from(formula, operands + numbers, made.base)
    found = None if derivative is None else derivative_from(parse(made.schema), derivative)
    declared = DeclaredOperator(made, namespace, formula, check)
    if found is not None:
        registered = REGISTRY.find(declared.name)
        registered.derivative = found
        registered.resolved.clear()
    return declared


def _derivative_rows(file: str | os.PathLike[str], content: Any) -> list[dict[str, str]]:
    """Return the rows of a file of derivatives. Raises ValueError unless it is a list of rows with a `name` each."""
    if not isinstance(content, list):
        raise ValueError(f"{file}: expected a list of rows, got {type(content).__name__}")
    for number, row in enumerate(content, start=1):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise ValueError(f"{file}, row {number}: field name is required and must be a schema, a string")
    return content


def load_operators(
    path: str | os.PathLike[str], formulas: Mapping[str, Callable[..., Any] | str], *,
    derivatives: str | os.PathLike[str] | None = None, checks: Mapping[str, Callable[..., None]] | None = None,
    namespace: str = "declared",
) -> dict[str, DeclaredOperator]:  # fmt: skip
    """Declare every row of a YAML file; formulas and checks by row name, derivatives from a second file.

    Raises what `declare` raises, KeyError for a row without a formula, and ValueError for a formula, check or
    derivative whose name is not a row of the file.
    """
    import yaml

    for argument, place in (("path", path), ("derivatives", derivatives)):
        if not isinstance(place, (str, os.PathLike)) and (place is not None or argument == "path"):
            type_error("load_operators", argument, place, "str or os.PathLike")
    for argument, named in (("formulas", formulas), ("checks", checks)):
        if not isinstance(named, Mapping) and (named is not None or argument == "formulas"):
            type_error("load_operators", argument, named, "a mapping by row name")
    with open(path, "rb") as file:
        rows = parse_rows(os.fspath(path), file.read())
    wanted: list[dict[str, str]] = []
    if derivatives is not None:
        with open(derivatives, "rb") as file:
            wanted = _derivative_rows(derivatives, yaml.safe_load(file))
    names = {row["name"] for row in rows}
    for entry in wanted:
        if entry["name"].partition("(")[0] not in names:
            raise ValueError(f"{derivatives}: {entry['name']!r} is the derivative of no operator of {path}")
    for name in sorted(names - formulas.keys()):
        given = ", ".join(sorted(formulas)) or "none"
        raise KeyError(
            f"load_operators(): argument 'formulas' has no formula for row {name!r} of {path}; it has {given}"
        )
    for argument, named in (("formulas", formulas), ("checks", checks or {})):
        for name in sorted(named.keys() - names):
            raise ValueError(f"load_operators(): argument '{argument}' names {name!r}, which is no row of {path}")
    by_name = {entry["name"].partition("(")[0]: entry for entry in wanted}
    return {
        row["name"]: declare(
            row,
            formulas[row["name"]],
            derivative=by_name.get(row["name"]),
            check=(checks or {}).get(row["name"]),
            namespace=namespace,
        )
        for row in rows
    }
