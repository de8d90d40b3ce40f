"""Making one function or method of the public API, when it is first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gaugeblock_spec.schema import parse

from ..core.dtype import DType
from ..dispatch.dispatcher import call_on
from ..dispatch.overrides import NOT_OVERRIDDEN, foreign, intercept
from ..dispatch.registry import REGISTRY
from ..dispatch.state import OVERRIDING, SPECIAL, WATCHING
from ..dispatch.watching import any_watched
from ..memory.untyped import UntypedStorage
from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.conversion import to_dispatched
from ..tensor.metadata import set_
from ..tensor.view_table import view_functions
from . import copies, direct, factories
from .binding import Binding
from .caller import Caller
from .dunders import REVERSED_ROWS
from .generate import compile_function
from .groups import Group
from .parameters import parameters_of, takes_spread
from .reversed_operator import reversed_operator
from .unrecorded_views import MARKED, marking


@functools.cache
def make_function(group: Group) -> Any:
    """Return the module function, such as ``gaugeblock.add``; one for each group."""
    if group.name in factories.FUNCTIONS:
        return factories.FUNCTIONS[group.name]
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
        return compile_function(label, function, text, document(group), **names)
    if function in CONVERSIONS:
        return _conversion(group, caller, label=label, self=self, name=name)
    view = VIEW_FUNCTIONS.get(function)
    spread = suffix == "method" and takes_spread(group)
    parameters = parameters_of(group, spread=spread, given=view is not None and not view.at_same_place)
    if parameters is None or function in GENERAL:
        text = direct.general(name, function)
        run = marking(caller) if function in MARKED else GENERAL[function](caller) if function in GENERAL else caller
        return compile_function(label, function, text, document(group), **{f"slow_{name}": run})
    binding = Binding(group, parameters, caller, marked=function in MARKED, view=view)
    return binding.function(label, function, document(group))


def _conversion(group: Group, caller: Caller, *, label: str, self: str, name: str) -> Any:
    """Return the binding of a conversion."""
    function = group.name
    names = {
        f"slow_{name}": GENERAL[function](caller) if function in GENERAL else caller, f"public_{name}": caller,
        f"direct_{name}": CONVERSIONS[function], "OVERRIDING": OVERRIDING, "foreign": foreign, "WATCHING": WATCHING,
        "any_watched": any_watched,
    }  # fmt: skip
    return compile_function(label, function, direct.conversion(name, function, self), document(group), **names)


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

    def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and args[0].__class__ is DType and not kwargs and not SPECIAL:
            return call_on(TO_DTYPE, self, args[0], False, False, None)
        found = intercept(caller.public, (self, *args), kwargs)
        return to_dispatched(self, *args, **kwargs) if found is NOT_OVERRIDDEN else found

    return run


def slow_set(caller: Caller) -> Callable[..., Any]:
    """Return the general path of ``x.set_(...)``: only the form with a tensor is an operator of the table."""

    def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
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
OWN_FORMS = copies.BINDINGS
"""Public names with a form of their own."""
GENERAL: dict[str, Callable[[Caller], Callable[..., Any]]] = {
    "to": slow_to, "set_": slow_set,
}  # fmt: skip
"""General paths of names with more forms than the table has schemas."""
VIEW_FUNCTIONS = view_functions()
"""Operators on metadata alone, which are the same on every device."""


def document(group: Group) -> str:
    """Return the docstring of a binding: its schemas."""
    return "\n".join(dict.fromkeys(overload.schema for overload in group.overloads))
