"""Making the functions and methods of the public API, each when it is first asked for, and showing their source."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from textwrap import dedent
from typing import Any

from gaugeblock_spec.schema import parse

from ..core.dtype import DType
from ..core.errors import type_error
from ..core.fork_safety import fork_safe
from ..core.resting import without_collecting
from ..dispatch.dispatcher import call_on
from ..dispatch.overrides import NOT_OVERRIDDEN, foreign, intercept
from ..dispatch.registry import REGISTRY, any_watched
from ..dispatch.state import OVERRIDING, SPECIAL, WATCHING
from ..memory.untyped import UntypedStorage
from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.conversion import to_dispatched
from ..operators.tensor_data import legacy_tensor, new_tensor
from ..tensor.hooks import hooks
from ..tensor.metadata import set_
from ..tensor.tensor import Tensor
from ..tensor.view_table import view_functions
from . import copies, direct, factories
from . import dispatched as _dispatched  # noqa: F401
from .binding import MARKED, SOURCES, Binding, compile_function, marking
from .call_cache import parameters_of
from .caller import Caller
from .factories import METHODS as FACTORIES
from .overloads import Group, find_operator, functions, methods, takes_spread
from .reversed_operator import reversed_operator

BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}  # fmt: skip
"""Name in ``__add__``, ``__radd__`` and ``__iadd__`` -> function."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not", "pos": "positive"}
REVERSED_ROWS = {"pow": "pow.Scalar", "remainder": "remainder.Scalar_Tensor"}
"""Functions that have an own row for a number on the left."""


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
        text, function = direct.self_later(slow, group.name, names), make_function(functions()[group.name])
        return compile_function(f"Tensor.{group.name}", group.name, text, document(group), **{f"slow_{slow}": function})
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
        if self.meta.watched:
            return hooks.dispatched["rebound"](self, None, lambda: set_(self, *args, **kwargs))
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


PENDING: dict[str, Callable[[], Any]] = {}
"""Methods that are not made yet, with what makes them."""
GENERATED: set[str] = set(FACTORIES)
"""Methods made from schemas: they look for overrides and modes themselves."""


@without_collecting
def install() -> None:
    """Add a stand-in for every operator method and dunder that Tensor does not define itself."""
    groups = methods()
    for name, method in {**FACTORIES, "new_tensor": new_tensor}.items():
        setattr(Tensor, name, method)
    for name, group in groups.items():
        if name not in Tensor.__dict__:
            _pending(name, partial(make_method, group))
    for name, function in BINARY.items():
        _pending(f"__{name}__", partial(make_dunder, f"__{name}__", groups[function]))
        _pending(f"__r{name}__", partial(make_reversed, f"__r{name}__", groups[function]))
        if function + "_" in groups:
            _pending(f"__i{name}__", partial(make_dunder, f"__i{name}__", groups[function + "_"]))
    for name in COMPARISONS:
        _pending(f"__{name}__", partial(make_dunder, f"__{name}__", groups[name]))
    for name, function in UNARY.items():
        _pending(f"__{name}__", partial(make_method, groups[function]))
    for name, conversion in CONVERSIONS.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, conversion)
    Tensor.__new__ = _construct  # type: ignore[assignment]
    Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def _construct(cls: type[Tensor], *sizes: Any) -> Tensor:
    return legacy_tensor(*sizes)


class Pending:
    """Stands on Tensor for a method that is not made yet: looking at it makes it, and puts it in this place."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type) -> Any:
        made = method(self.name)
        return made if tensor is None else made.__get__(tensor, owner)


def _pending(name: str, make: Callable[[], Any]) -> None:
    PENDING[name] = make
    GENERATED.add(name)
    setattr(Tensor, name, Pending(name))


def method(name: str) -> Any:
    """The finished method, made now if it is still pending; KeyError when Tensor has none of that name."""
    with _MAKING:
        make = PENDING.get(name)
        if make is not None:
            setattr(Tensor, name, make())
            del PENDING[name]
    return Tensor.__dict__[name]


_MAKING = fork_safe(threading.RLock())
"""Held while a method is created."""


def namespace(
    module: str, prefix: str, others: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of `module`; a function is made when it is first asked for.

    `linalg.det` is the operator `linalg_det`, for the prefix "linalg_"; `others` gives the operators of other names.
    """
    renamed = others or {}

    def get(name: str) -> Any:
        group = functions().get(prefix + name) or functions().get(renamed.get(name, ""))
        if group is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        made = make_function(group)
        setattr(sys.modules[module], name, made)
        return made

    def names() -> list[str]:
        here = vars(sys.modules[module])
        made = (name.removeprefix(prefix) for name in functions() if name.startswith(prefix))
        return sorted({*(name for name in here if not name.startswith("_")), *made, *renamed} - HIDDEN)

    return get, names


HIDDEN = frozenset({"Any", "OTHER_NAMES", "SAME", "annotations", "namespace"})
"""What a module imports for its own use."""


def show_binding(name: str) -> str:
    """The source behind an operator ("add.Tensor"), a function ("add") or a method ("Tensor.add", "Tensor.__add__").

    Raises ValueError when there is no such binding.
    """
    if not isinstance(name, str):
        type_error("show_binding", "name", name, "str")
    factory = factories.FUNCTIONS.get(name) or factories.METHODS.get(name.removeprefix("Tensor."))
    if factory is not None:
        return dedent(inspect.getsource(factory))
    if name.startswith("Tensor."):
        attribute = name.partition(".")[2]
        if attribute in PENDING:
            method(attribute)
    else:
        overload = find_operator(name)
        public = name if overload is None else overload.operator.partition(".")[0]
        if public in functions():
            name = public
            if name not in SOURCES:
                make_function(functions()[name])
        elif public in methods():
            return show_binding(f"Tensor.{public}")
    if name not in SOURCES:
        raise ValueError(f"no generated binding {name!r}; functions: {', '.join(sorted(functions()))}")
    return SOURCES[name]
