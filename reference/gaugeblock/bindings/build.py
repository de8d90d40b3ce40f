"""Making one binding: source chosen by the group's shape, general path prepared, both compiled."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from gaugeblock_spec.schema import parse

from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.direct import DIRECT
from ..tensor.view_table import METADATA, VIEWS
from . import copies, random_forms, source, view_forms
from .caller import Caller
from .deprecated_forms import accepting
from .dunders import REVERSED_ROWS
from .generate import compile_function
from .groups import Group
from .prepared_forms import prepared, slow_prepared
from .prepared_table import PARAMETERS
from .shapes import Shape, shape_of
from .slow import (
    slow_binary,
    slow_dunder,
    slow_inplace_unary,
    slow_reversed,
    slow_set,
    slow_to,
    slow_unary,
)
from .unrecorded_views import MARKED, marking, special_view


@functools.cache
def make_function(group: Group) -> Any:
    """The module function, such as ``gaugeblock.add``; one for each group."""
    caller = Caller(group, is_method=False)
    made = _make(group, shape_of(group), caller, label=group.name, self="input", suffix="function")
    caller.publish(made)
    return made


def make_method(group: Group) -> Any:
    """The Tensor method, such as ``Tensor.add`` or ``Tensor.add_``."""
    names = [argument.name for argument in parse(group.overloads[0].schema).positional]
    if names[0] != "self":
        slow = f"{group.name}_method"
        text = source.self_later(slow, group.name, names)
        caller = Caller(group, is_method=False)
        return compile_function(f"Tensor.{group.name}", group.name, text, document(group), **{f"slow_{slow}": caller})
    caller = Caller(group, is_method=True)
    shape = shape_of(group)
    shape = shape._replace(options=tuple(option for option in shape.options if option != "out"))
    return _make(group, shape, caller, label=f"Tensor.{group.name}", self="self", suffix="method")


def _make(group: Group, shape: Shape, caller: Caller, *, label: str, self: str, suffix: str) -> Any:
    name = f"{group.name}_{suffix}"
    function = group.name
    run: Callable[..., Any] = caller
    own_form = OWN_FORMS.get(function)
    if own_form is not None:
        text, names = own_form(name, self, caller)
        names |= _marked(name, label, function, text, group, names)
        return compile_function(label, function, text, document(group), **names)
    if function in PARAMETERS:
        text, names = prepared(function, f"slow_{name}", self, slow_prepared(caller, function))
        text, more = accepting(function, name, text, caller)
        return compile_function(label, function, text, document(group), **names, **more)
    if shape.kind == "unary":
        if group.inplace:
            run = slow_inplace_unary(caller, shape.tensor_row, shape.tensor_key)
            text = source.inplace_unary(name, function, shape.tensor_key, options=shape.options)
        else:
            run = slow_unary(caller, shape.tensor_row)
            text = source.unary(name, function, self, shape.tensor_row, options=shape.options)
    elif shape.kind == "binary":
        run, text = _binary(shape, caller, function, name, self, inplace=group.inplace)
    else:
        implementation = DIRECT.get(group.name)
        if implementation is not None:
            spread = suffix == "method" and _spreads(group)
            text = source.direct(
                name,
                function,
                self,
                spread=spread,
                checks=group.name in CONVERSIONS,
                several=_takes_several(group),
                copies=group.name not in IN_VIEW_TABLES,
                marks=function in MARKED,
            )
            general = GENERAL[function](caller) if function in GENERAL else caller
            names = {f"slow_{name}": general, f"public_{name}": caller, f"direct_{name}": implementation}
            names |= _marked(name, label, function, text, group, names)
            return compile_function(label, function, text, document(group), **names)
        text = source.general(name, function)
        run = marking(caller) if function in MARKED else caller
    text, more = accepting(function, name, text, caller)
    return compile_function(label, function, text, document(group), **{f"slow_{name}": run}, **more)


def _marked(
    name: str, label: str, function: str, text: str, group: Group, names: dict[str, Any]
) -> dict[str, Any]:
    """The name that the binding of a view needs for when views are special."""
    if function not in MARKED:
        return {}
    direct = names[f"direct_{name}"]
    return {f"special_{name}": special_view(name, label, function, text, document(group), direct)}


def _binary(
    shape: Shape, caller: Caller, function: str, name: str, self: str, *, inplace: bool
) -> tuple[Callable[..., Any], str]:
    slow = f"slow_{name}"
    if inplace:
        keys = (shape.tensor_key, shape.number_key or "")
        run = slow_binary(caller, shape.tensor_row, shape.number_row, inplace_keys=keys)
        text = source.inplace_binary(
            function, shape.operand, (shape.tensor_key, shape.number_key), options=shape.options, slow=slow
        )
        return run, text
    run = slow_binary(caller, shape.tensor_row, shape.number_row)
    rows = (shape.tensor_row, shape.number_row)
    return run, source.binary(function, self, shape.operand, rows, options=shape.options, slow=slow)


def make_dunder(dunder: str, group: Group) -> Any:
    """``__add__``, ``__eq__`` or ``__iadd__`` for the method group behind it."""
    caller = Caller(group, is_method=True)
    shape = shape_of(group)._replace(options=())
    run, text = _binary(shape, caller, dunder, dunder, "self", inplace=group.inplace)
    slow = slow_dunder(caller, run, (shape.tensor_key, shape.number_key))
    return compile_function(f"Tensor.{dunder}", dunder, text, document(group), **{f"slow_{dunder}": slow})


def make_reversed(dunder: str, group: Group) -> Any:
    """``__radd__`` and the like."""
    row = REVERSED_ROWS.get(group.name, shape_of(group).tensor_row)
    text = source.reversed_binary(dunder, row, f"slow_{dunder}")
    slow = slow_reversed(row, dunder)
    return compile_function(f"Tensor.{dunder}", dunder, text, document(group), **{f"slow_{dunder}": slow})


OWN_FORMS = {**copies.BINDINGS, **view_forms.FORMS, **random_forms.FORMS}
"""Public names with a form of their own."""
GENERAL: dict[str, Callable[[Caller], Callable[..., Any]]] = {
    "to": slow_to, "set_": slow_set,
}  # fmt: skip
"""General paths of names with more forms than the table has schemas."""
IN_VIEW_TABLES = frozenset(name.partition(".")[0] for name in (*VIEWS, *METADATA))
"""Operators on metadata alone, which are the same on every device."""
SIZES_FIRST = re.compile(r"^\w+(\.\w+)?\(Tensor(\([^)]*\))? self, (SymInt|int)\[\d*\] \w+(, \*|\))")

INT_FIRST = re.compile(r"^\w+(\.\w+)?\(Tensor(\([^)]*\))? self, (SymInt|int) \w+(, \*|\))")


def _spreads(group: Group) -> bool:
    """Whether a method takes its first argument, a list of ints, also one by one: not where one int alone is another
    overload."""
    if any(INT_FIRST.match(overload.schema) for overload in group.overloads):
        return False
    return any(SIZES_FIRST.match(overload.schema) for overload in group.overloads)


def _takes_several(group: Group) -> bool:
    """Whether a call may have more than one tensor."""
    arguments = (parse(overload.schema).arguments for overload in group.overloads)
    return any(
        sum(argument.base_type == "Tensor" for argument in one) > 1
        or any(argument.base_type == "Tensor" and argument.is_list for argument in one)
        for one in arguments
    )


def document(group: Group) -> str:
    """The docstring of a binding: its schemas."""
    return "\n".join(dict.fromkeys(overload.schema for overload in group.overloads))
