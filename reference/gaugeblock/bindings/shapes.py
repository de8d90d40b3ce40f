"""Which form of generated code a public name gets."""

from __future__ import annotations

from typing import NamedTuple

from gaugeblock_spec.schema import Schema, parse

from ..operators.array_functions import WITHOUT_FORMULA
from ..operators.rows import Row
from .groups import Group, by_keyword

OPTIONS = ("alpha", "rounding_mode", "decimals")


class Shape(NamedTuple):
    """`kind` unary, binary or general; names of the operands; row of the tensor and of the number form."""

    kind: str
    operand: str = ""
    tensor_row: str = ""
    number_row: str | None = None
    tensor_key: str = ""
    number_key: str | None = None
    options: tuple[str, ...] = ()


GENERAL = Shape("general")


def shape_of(group: Group) -> Shape:
    """The form for a group; pointwise operators of one or two operands have fast paths."""
    if any(o.row.family != "pointwise" or o.row.base in WITHOUT_FORMULA for o in group.overloads):
        return GENERAL
    schemas = [parse(overload.schema) for overload in group.overloads]
    options = tuple(dict.fromkeys(a.name for s in schemas for a in s.arguments if a.name in OPTIONS and not a.written))
    if any(a.kwarg_only and a.name not in OPTIONS for s in schemas for a in s.arguments):
        return GENERAL
    with_out = ("out",) if any(overload.out is not None for overload in group.overloads) else ()
    plain = [(o, s) for o, s in zip(group.overloads, schemas, strict=True) if not s.keyword_only or _alpha_only(s)]
    for overload, schema in plain:
        operands = _operands(schema, overload.row)
        if operands == ["Tensor"]:
            name = overload.operator
            return Shape("unary", "", overload.row.name, None, name, None, (*options, *with_out))
    return _binary(group, plain, (*options, *with_out))


def _binary(group: Group, plain: list, options: tuple[str, ...]) -> Shape:  # type: ignore[type-arg]
    by_types = {tuple(_operands(schema, overload.row)): (overload, schema) for overload, schema in reversed(plain)}
    found = by_types.get(("Tensor", "Tensor"))
    if found is None or any(len(_operands(schema, overload.row)) != 2 for overload, schema in plain):
        return GENERAL
    overload, schema = found
    number = by_types.get(("Tensor", "Scalar"))
    return Shape(
        "binary",
        schema.positional[1].name,
        overload.row.name,
        None if number is None else number[0].row.name,
        overload.operator,
        None if number is None else number[0].operator,
        options,
    )


def _operands(schema: Schema, row: Row) -> list[str]:
    return [argument.type for argument in schema.positional if not by_keyword(row, argument)]


def _alpha_only(schema: Schema) -> bool:
    return all(argument.name == "alpha" for argument in schema.keyword_only)
