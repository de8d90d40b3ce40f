"""Making one function or method of the public API, when it is first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gaugeblock_spec.schema import parse

from ..core.dtype import DType
from ..dispatch.dispatcher import call_on
from ..dispatch.overrides import NOT_OVERRIDDEN, intercept
from ..dispatch.registry import REGISTRY
from ..dispatch.state import SPECIAL
from ..memory.untyped import UntypedStorage
from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.conversion import to_dispatched
from ..operators.direct import DIRECT
from ..tensor.metadata import set_
from ..tensor.view_table import METADATA, VIEWS
from . import copies, direct, random_forms, view_forms
from .binding import Binding
from .caller import Caller
from .dunders import REVERSED_ROWS
from .generate import compile_function
from .groups import Group
from .parameters import parameters_of, takes_spread
from .reversed_operator import reversed_operator
from .unrecorded_views import MARKED, marking, special_view


@functools.cache
def make_function(group: Group) -> Any:
    """Return the module function, such as ``gaugeblock.add``; one for each group."""
    caller = Caller(group, is_method=False)
    made = _make(group, caller, label=group.name, self="input", suffix="function")
    caller.publish(made)
    return made


def make_method(group: Group) -> Any:
    """Return the Tensor method, such as ``Tensor.add`` or ``Tensor.add_``."""
    names = [argument.name for argument in parse(group.overloads[0].schema).positional]
    if names[0] != "self":
        slow = f"{group.name}_method"
        text = direct.self_later(slow, group.name, names)
        caller = Caller(group, is_method=False)
        return compile_function(f"Tensor.{group.name}", group.name, text, document(group), **{f"slow_{slow}": caller})
    caller = Caller(group, is_method=True)
    return _make(group, caller, label=f"Tensor.{group.name}", self="self", suffix="method")


def _make(group: Group, caller: Caller, *, label: str, self: str, suffix: str) -> Any:
    function = group.name
    name = f"{function}_{suffix}"
    own_form = OWN_FORMS.get(function)
    if own_form is not None:
        text, names = own_form(name, self, caller)
        names |= _marked(name, label, function, text, group, names)
        return compile_function(label, function, text, document(group), **names)
    implementation = DIRECT.get(function)
    if implementation is not None:
        return _direct(group, caller, implementation, label=label, self=self, name=name)
    parameters = parameters_of(group, spread=suffix == "method" and takes_spread(group))
    if parameters is None:
        text = direct.general(name, function)
        run = marking(caller) if function in MARKED else caller
        return compile_function(label, function, text, document(group), **{f"slow_{name}": run})
    binding = Binding(group, parameters, caller, marked=function in MARKED)
    general = marking(binding.general) if function in MARKED else None
    return binding.function(label, function, document(group), general)


def _direct(
    group: Group, caller: Caller, implementation: Callable[..., Any], *, label: str, self: str, name: str
) -> Any:
    """Return a binding that calls one implementation."""
    function = group.name
    text = direct.direct(
        name,
        function,
        self,
        spread=self == "self" and takes_spread(group),
        checks=function in CONVERSIONS,
        several=_takes_several(group),
        copies=function not in IN_VIEW_TABLES,
        marks=function in MARKED,
    )
    general = GENERAL[function](caller) if function in GENERAL else caller
    names = {f"slow_{name}": general, f"public_{name}": caller, f"direct_{name}": implementation}
    names |= _marked(name, label, function, text, group, names)
    return compile_function(label, function, text, document(group), **names)


def _marked(
    name: str, label: str, function: str, text: str, group: Group, names: dict[str, Any]
) -> dict[str, Any]:
    """Return the name that the binding of a view needs for when views are special."""
    if function not in MARKED:
        return {}
    return {f"special_{name}": special_view(name, label, function, text, document(group), names)}


def make_dunder(dunder: str, group: Group) -> Any:
    """Return ``__add__``, ``__eq__`` or ``__iadd__`` for the method group behind it."""
    parameters = parameters_of(group, spread=False)
    assert parameters is not None
    return Binding(group, parameters, Caller(group, is_method=True)).operator(
        dunder, f"Tensor.{dunder}", document(group)
    )


def make_reversed(dunder: str, group: Group) -> Any:
    """Return ``__radd__`` or the like."""
    row = REVERSED_ROWS.get(group.name, group.overloads[0].row.name)
    return reversed_operator(dunder, row, document(group))


def slow_to(caller: Caller) -> Callable[..., Any]:
    """Return the general path of ``x.to(...)``, whose forms outnumber the schemas."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and args[0].__class__ is DType and not kwargs and not SPECIAL:
            return call_on(TO_DTYPE, self, args[0], False, False, None)
        found = intercept(caller.public, (self, *args), kwargs)
        return to_dispatched(self, *args, **kwargs) if found is NOT_OVERRIDDEN else found

    return run


def slow_set(caller: Caller) -> Callable[..., Any]:
    """Return the general path of ``x.set_(...)``: only the form with a tensor is an operator of the table."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and hasattr(args[0], "untyped"):
            args = (args[0].untyped(), *args[1:])
        if len(args) == 1 and not kwargs and not isinstance(args[0], UntypedStorage):
            return caller(self, *args)
        found = intercept(caller.public, (self, *args), kwargs)
        if found is not NOT_OVERRIDDEN:
            return found
        if self.geometry.watched:
            from ..autograd.rebinding import rebound

            return rebound(self, None, lambda: set_(self, *args, **kwargs))
        return set_(self, *args, **kwargs)

    return run


TO_DTYPE = REGISTRY.find("to.dtype")
OWN_FORMS = {**copies.BINDINGS, **view_forms.FORMS, **random_forms.FORMS}
"""Public names with a form of their own."""
GENERAL: dict[str, Callable[[Caller], Callable[..., Any]]] = {
    "to": slow_to, "set_": slow_set,
}  # fmt: skip
"""General paths of names with more forms than the table has schemas."""
IN_VIEW_TABLES = frozenset(name.partition(".")[0] for name in (*VIEWS, *METADATA))
"""Operators on metadata alone, which are the same on every device."""


def _takes_several(group: Group) -> bool:
    """Return whether a call may have more than one tensor."""
    arguments = (parse(overload.schema).arguments for overload in group.overloads)
    return any(
        sum(argument.base_type == "Tensor" for argument in one) > 1
        or any(argument.base_type == "Tensor" and argument.is_list for argument in one)
        for one in arguments
    )


def document(group: Group) -> str:
    """Return the docstring of a binding: its schemas."""
    return "\n".join(dict.fromkeys(overload.schema for overload in group.overloads))
