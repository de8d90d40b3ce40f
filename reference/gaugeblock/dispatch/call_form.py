"""Arguments as kernels and modes written outside the engine see them: defaults left out, as the caller may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .registry import REGISTRY, Operator


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if isinstance(default, tuple) and isinstance(value, (tuple, list)):
        return tuple(value) == default
    return type(value) is type(default) and isinstance(value, (bool, int, float, str)) and bool(value == default)


def without_defaults(
    operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments without trailing positional ones, and keyword-only ones, that equal the schema's defaults.

    The engine's kernels take alpha also by position; outside it has the form that the schema says.
    """
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
    """What a call returns: for an operator that returns the argument it wrote, that argument, whatever a mode gave."""
    returns = operator.schema.returns
    if len(returns) != 1 or returns[0].alias is None or not returns[0].alias.mutable:
        return result
    names = [argument.name for argument in operator.schema.positional]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    for argument in operator.schema.arguments:
        if argument.written and argument.alias is not None and argument.alias.before == returns[0].alias.before:
            return given.get(argument.name, result)
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
