"""Builders of the functions of this package.

They refuse arguments of wrong Python types, which costs right calls nothing, and make functions that differ only in
their operator and its parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..calls.binding import compile_function
from ..calls.functions import ops
from ..core.errors import type_error
from ..tensor.tensor import Tensor

TENSORS = {"Tensor": False, "Maybe": True, "Tensor | None": True}
"""Annotations of tensors; whether None is taken too."""
NAMES = frozenset({"input", "target", "var", "weight"})
"""Arguments that are tensors without being annotated as such."""


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose Python errors over a wrong type become TypeErrors that name it and the argument."""
    name = function.__name__

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            if isinstance(error, TypeError) and f"{name}()" in str(error):
                raise
            _explain(function, args, kwargs)
            raise TypeError(f"{name}(): {error}") from error

    return run


def _explain(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError for the first argument that should be a tensor and is none."""
    import inspect

    signature = inspect.signature(function)
    for argument, given in signature.bind(*args, **kwargs).arguments.items():
        annotation = signature.parameters[argument].annotation
        optional = False if annotation == "Any" and argument in NAMES else TENSORS.get(annotation)
        if optional is None or (optional and given is None):
            continue
        if not isinstance(given, Tensor) and not hasattr(type(given), "__torch_function__"):
            type_error(function.__name__, argument, given, "Tensor or None" if optional else "Tensor")


def with_inplace(name: str, document: str, /, check: Callable[..., None] | None = None, **parameters: Any) -> Any:
    """Return ``name(input, ..., inplace=False)``, which calls the operator of that name or its in-place form.
    `parameters` are those between the two with their defaults, ``...`` where there is none; `check` gets them first."""
    defaults = "".join(f", {one}" if value is ... else f", {one}={value!r}" for one, value in parameters.items())
    given = ", ".join(["input", *parameters])
    checking = "" if check is None else f"    check({name!r}, {', '.join(parameters)})\n"
    text = f"def {name}(input{defaults}, inplace=False):\n{checking}"
    text += f"    return (ops.{name}_ if inplace else ops.{name})({given})\n"
    made = compile_function(f"nn.functional.{name}", name, text, document, ops=ops, check=check)
    return named(made, name, document)


def named(function: Callable[..., Any], name: str, document: str) -> Callable[..., Any]:
    """Return a function with another name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = document
    return function


def repeated(value: Any, count: int) -> tuple[int, ...]:
    """A number for each of `count` dims."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
