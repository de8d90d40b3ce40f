"""Errors of this package's functions over arguments of wrong Python types, at no cost to calls with right ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..bindings.functions import ops
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


def either(name: str, inplace: bool, *args: Any) -> Any:
    """Return the result of the operator `name`, or of its in-place form."""
    return getattr(ops, name + "_" if inplace else name)(*args)
