"""Dispatch modes and ``__torch_dispatch__``: the kernels of the Python key, which stands below autograd.

A thread's modes are a stack. A call meets the innermost one, and while that runs it is off the stack, so that what it
calls goes to the next mode out, at last to the kernels. After the modes come the classes of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..tensor.tensor import Tensor
from .dispatcher import REGISTRY
from .keys import BACKEND_MASK, FUNCTIONALITY_BIT, tensors_in
from .operator import Operator
from .overrides import insert_by_class
from .state import STATE, enter_special, leave_special


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if isinstance(default, tuple) and isinstance(value, (tuple, list)):
        return tuple(value) == default
    return type(value) is type(default) and isinstance(value, (bool, int, float, str)) and bool(value == default)


def without_defaults(
    operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments without trailing positional ones, and keyword-only ones, that equal the schema's defaults. The
    engine's kernels take alpha also by position; outside it has the form that the schema says."""
    positional = operator.schema.positional
    count = len(args)
    if count > len(positional):
        names = [argument.name for argument in operator.schema.keyword_only if argument.name not in kwargs]
        kwargs = {**kwargs, **dict(zip(names, args[len(positional) :], strict=False))}
        count = len(positional)
    while count and positional[count - 1].default is not None:
        if not _is_default(args[count - 1], positional[count - 1].default_value):
            break
        count -= 1
    defaults = {a.name: a.default_value for a in operator.schema.keyword_only if a.default is not None}
    options = {
        name: value
        for name, value in kwargs.items()
        if name not in defaults or not _is_default(value, defaults[name])
    }
    return args[:count], options


def written_argument(operator: Operator, result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what a call returns: the argument that it wrote, if the operator returns that, whatever a mode gave."""
    returns = operator.schema.returns
    if len(returns) != 1 or returns[0].alias is None or not returns[0].alias.mutable:
        return result
    for argument in operator.schema.arguments:
        if argument.written and argument.alias is not None and argument.alias.before == returns[0].alias.before:
            return operator.by_name(args, kwargs).get(argument.name, result)
    return result


NUMBER_FORMS = {
    f"{base}{mark}.Scalar{mode}": f"{base}{mark}.Tensor{mode}"
    for base in ("add", "sub", "mul", "div")
    for mark in ("", "_")
    for mode in (("", "_mode") if base == "div" else ("",))
} | {"floor_divide.Scalar": "floor_divide", "floor_divide_.Scalar": "floor_divide_.Tensor"}
"""Operators with a number -> those of two tensors under whose name they appear outside."""
SWAPPED = {"add.Tensor": "add.Tensor", "mul.Tensor": "mul.Tensor", "sub.Tensor": "rsub.Scalar"}
"""Operators of a number and a tensor, in this order -> how they appear outside, the tensor first."""


def outer_form(operator: Operator, args: tuple[Any, ...]) -> tuple[Operator, tuple[Any, ...]]:
    """The operator and positional arguments as modes and fallbacks see them."""
    other = NUMBER_FORMS.get(operator.name)
    if other is not None:
        return REGISTRY.find(other), args
    other = SWAPPED.get(operator.name)
    if other is not None and len(args) > 1 and isinstance(args[0], (bool, int, float, complex)):
        return REGISTRY.find(other), (args[1], args[0], *args[2:])
    return operator, args


PYTHON = FUNCTIONALITY_BIT["Python"]
MODE_KEYS = PYTHON | FUNCTIONALITY_BIT["PythonTLSSnapshot"]
ABOVE_PYTHON = ((1 << 64) - 1) & ~(PYTHON | (PYTHON - 1)) & ~BACKEND_MASK
"""The functionalities that are done with when the Python key is reached."""


def public(operator: Operator) -> Any:
    """The callable object that stands for an operator outside, such as ``ops.aten.add.Tensor``."""
    if operator.public is None:
        operator.public = REGISTRY.publish(operator)
    return operator.public


@contextmanager
def mode_stack(modes: tuple[Any, ...], exclude: int = 0) -> Iterator[None]:
    """This thread's stack of dispatch modes is `modes` for the duration; an empty one takes the Python keys out. The
    functionalities of `exclude` are skipped."""
    before = STATE.modes, STATE.include, STATE.exclude
    STATE.modes = modes
    STATE.include = STATE.include | MODE_KEYS if modes else STATE.include & ~MODE_KEYS
    STATE.exclude |= exclude
    enter_special()
    try:
        yield
    finally:
        STATE.modes, STATE.include, STATE.exclude = before
        leave_special()


def wrapped_tensors(values: tuple[Any, ...], options: Mapping[str, Any]) -> list[Tensor]:
    """The arguments whose classes have ``__torch_dispatch__``: one of each class, subclasses before their bases."""
    found: list[Tensor] = []
    for one in tensors_in((*values, *options.values())):
        if one.class_keys & PYTHON:
            insert_by_class(found, one)
    return found


def python_fallback(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Ask the innermost mode, then the classes of the arguments; TypeError when all answer NotImplemented."""
    modes = STATE.modes
    operator, args = outer_form(operator, args)
    function = public(operator)
    tensors = wrapped_tensors(args, kwargs)
    types = tuple(type(tensor) for tensor in tensors)
    values, options = without_defaults(operator, args, kwargs)
    result: Any = NotImplemented
    if modes:
        rule = operator.rules.get(type(modes[-1]))
        with mode_stack(modes[:-1], ABOVE_PYTHON):
            if rule is not None:
                result = rule(modes[-1], function, types, values, options)
            else:
                result = modes[-1].__torch_dispatch__(function, types, values, options)
    for tensor in tensors:
        if result is not NotImplemented:
            break
        answer = operator.rules.get(type(tensor)) or type(tensor).__torch_dispatch__  # type: ignore[attr-defined]
        with mode_stack((), ABOVE_PYTHON):
            result = answer(function, types, values, options)
    if result is NotImplemented:
        asked = [*([modes[-1]] if modes else []), *types]
        raise TypeError(
            f"Multiple dispatch failed for '{operator.qualified_name}'; all __torch_dispatch__ handlers returned "
            f"NotImplemented: {', '.join(repr(one) for one in asked)}"
        )
    return written_argument(operator, result, args, kwargs)


REGISTRY.register_fallback("Python", python_fallback)
