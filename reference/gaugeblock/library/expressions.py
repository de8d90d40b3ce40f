"""Formulas and derivatives written as Python expressions: of expressions for kernels, of tensors for gradients."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from gaugeblock_spec.schema import Schema

from ..operators.formulas import FORMULAS
from .op_overload import Derivative


def compiled(text: str, what: str) -> CodeType:
    """The code of an expression. ValueError for a text that is none."""
    try:
        return compile(text.strip(), f"<{what}>", "eval")
    except SyntaxError as error:
        raise ValueError(f"{what}: {text!r} is not an expression: {error.msg}") from None


def formula_from(text: str, names: list[str], what: str) -> Callable[..., Any]:
    """Return a formula from an expression in `names` and pointwise operators.

    Raises ValueError for a text that is no expression or that uses another name.
    """
    code = compiled(text, what)
    used = {node.id for node in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(node, ast.Name)}
    for name in sorted(used - {*names, *FORMULAS}):
        raise ValueError(f"{what}: {name!r} in {text!r} is neither an argument nor a pointwise operator")
    formulas = {name: FORMULAS[name] for name in used - {*names}}

    def formula(*exprs: Any) -> Any:
        return eval(code, {"__builtins__": {}}, {**formulas, **dict(zip(names, exprs, strict=True))})

    formula.__name__ = formula.__qualname__ = what
    return formula


def derivative_from(schema: Schema, row: Mapping[str, str]) -> Derivative:
    """The derivative of a row ``{name: schema, argument: expression}``; ``grad`` and ``result`` are names too.

    ValueError when a field is no string, the row's name is not exactly the schema, an argument does not exist or is no
    tensor, or an expression is none.
    """
    from gaugeblock_spec.schema import parse

    from ..autograd.expressions import Expression, expression

    declared = str(schema).rpartition("::")[2]
    for name in ("name", *row):
        if not isinstance(row.get(name), str):
            raise ValueError(f"the derivative of {declared!r}: field {name} must be a string, got {row.get(name)!r}")
    if str(parse(row["name"])).rpartition("::")[2] != declared:
        raise ValueError(f"the derivative is declared for {row['name']!r}, but the operator is {declared!r}")
    names = [argument.name for argument in schema.arguments]
    gradients: dict[str, Expression] = {}
    for name, text in row.items():
        if name == "name":
            continue
        if name not in names or schema.argument(name).base_type != "Tensor":
            raise ValueError(f"the derivative of {declared!r} names {name!r}, which is no tensor argument")
        compiled(text, f"derivative of {schema.qualified_name} by {name}")
        gradients[name] = expression(text, frozenset(), False)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        tensors = [value for name, value in zip(names, inputs, strict=False) if schema.argument(name).type == "Tensor"]
        ctx.save_for_backward(*tensors, output)
        ctx.plain = {n: v for n, v in zip(names, inputs, strict=False) if schema.argument(n).type != "Tensor"}

    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        *tensors, result = ctx.saved_tensors
        held = dict(zip((n for n in names if schema.argument(n).type == "Tensor"), tensors, strict=True))
        given = {**held, **ctx.plain, "grad": grad, "result": result}
        what = f"derivative of {schema.qualified_name}"
        return tuple(gradients[name].value(given, what) if name in gradients else None for name in names)

    return Derivative(backward, setup_context)
