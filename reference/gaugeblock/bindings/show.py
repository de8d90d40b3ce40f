"""Looking at generated bindings."""

from __future__ import annotations

import inspect
from textwrap import dedent

from ..core.errors import type_error
from . import factories
from .build import make_function
from .generate import SOURCES
from .groups import find_operator, functions, methods
from .install import PENDING, method


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
