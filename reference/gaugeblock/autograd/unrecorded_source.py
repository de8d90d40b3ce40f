"""What a recorder does while nothing is recorded, as Python source: the public function on the plain tensors."""

from __future__ import annotations

from typing import Any

from gaugeblock_spec.schema import Argument, Schema

from ..dispatch.registry import Operator
from ..operators.rows import rows
from ..tensor.tensor import Tensor
from .derivative_table import row_of_form
from .public import gb


def is_tensor(argument: Argument) -> bool:
    """Whether tensors are given for an argument."""
    return argument.base_type == "Tensor"


def unrecorded_lines(schema: Schema, kind: str, run: str, quick: str | None, found: str) -> list[str]:
    """Lines for a call without tangents, on tensors that may be watched; none where the general way is as good.

    `run` calls the operator on the plain tensors, `quick` is the source around it that is sooner, `found` looks for the
    kernel of a view.
    """
    tensors = [a for a in schema.arguments if is_tensor(a)]
    one = len(schema.returns) == 1 and schema.returns[0].type == "Tensor"
    inplace = kind == "inplace"
    if (not one and not inplace) or any(a.is_list for a in tensors) or (kind == "view" and len(tensors) != 1):
        return []
    given = [f"{a.name}.__class__ is Tensor" + (f" or {a.name} is None" if a.optional else "") for a in tensors]
    lines = [f"if not DUAL.level and {' and '.join(f'({test})' if ' or ' in test else test for test in given)}:"]
    for a in tensors:
        none = f"{a.name} is not None and " if a.optional else ""
        lines.append(f"    p_{a.name} = plain_of({a.name}) if {none}{a.name}.geometry.watched else {a.name}")
    if kind == "view":
        lines += [f"    {line}" for line in found.splitlines()]
    call = run if quick is None else quick.format(run=run)
    if inplace:
        return [*lines, f"    {call}", f"    return {schema.arguments[0].name}"]
    lines.append(f"    result = {call}")
    for a in tensors:
        lines += [f"    if result is p_{a.name}:", f"        return {a.name}"]
    if kind == "view":
        return [*lines, f"    return unrecorded_view(operator, {tensors[0].name}, result)"]
    return [*lines, "    if result.__class__ is not Tensor or result.base is None:", "        return result"]


def quick_call(operator: Operator, schema: Schema) -> tuple[str | None, Any]:
    """How the public function serves a call sooner than the dispatcher: its source around ``{run}``, the function."""
    row = rows().get(operator.name)
    if row is None or row.family not in QUICK_FAMILIES or not {"function", "nn"} & {*row.variants} or schema.vararg:
        return None, None
    function = getattr(gb if "function" in row.variants else gb.nn.operators, row.base)
    return _around(schema, function)


def quick_write(operator: Operator, schema: Schema) -> tuple[str | None, Any]:
    """The same for an in-place operator, by its method."""
    row = rows().get(row_of_form().get(operator.name, operator.name))
    function = getattr(Tensor, operator.name.partition(".")[0], None)
    if row is None or row.family not in QUICK_FAMILIES or function is None or schema.vararg:
        return None, None
    return _around(schema, function)


def _around(schema: Schema, function: Any) -> tuple[str | None, Any]:
    if hasattr(function, "__wrapped__"):  # written by hand, with arguments of its own
        return None, None
    if not function.__code__.co_argcount:  # nothing but the general path
        return None, None
    left_out = [a for a in schema.positional[-1:] if a.name == "alpha"]
    options = [*left_out, *schema.keyword_only]
    shown = [a for a in schema.positional if a not in left_out]
    given = ", ".join(f"p_{a.name}" if is_tensor(a) else a.name for a in shown)
    plain = "not OVERRIDING"
    if [a.name for a in options] in (["alpha"], ["value"]):
        [option] = options
        factor = f"quick({given}, {option.name}={option.name})"
        return f"(quick({given}) if {_default(option)} else {factor}) if {plain} else {{run}}", function
    return f"quick({given}) if {' and '.join([plain, *map(_default, options)])} else {{run}}", function


def _default(argument: Argument) -> str:
    """A test that an argument has its default."""
    value = argument.default_value if argument.default is not None else None
    if value is None or isinstance(value, bool):
        return f"{argument.name} is {value!r}"
    return f"({argument.name}.__class__ is {type(value).__name__} and {argument.name} == {value!r})"


QUICK_FAMILIES = frozenset({"pointwise", "reduction", "linalg", "network", "index", "shape", "scan", "sort", "copy"})
"""Families whose public functions have fast paths of their own."""
