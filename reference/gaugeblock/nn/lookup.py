"""Finding the public function of an operator, be it of the module or of neural networks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..bindings.overloads import nn_functions


@functools.cache
def operator(name: str) -> Callable[..., Any]:
    """The public function `name`. Raises AttributeError when there is none."""
    module = ".operators" if name in nn_functions() else ".."
    found: Callable[..., Any] = getattr(import_module(module, __package__), name)
    return found


def either(name: str, inplace: bool, *args: Any) -> Any:
    """The operator `name`, or its in-place form."""
    return operator(name + "_" if inplace else name)(*args)
