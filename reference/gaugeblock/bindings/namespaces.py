"""The public namespaces of functions, such as ``gaugeblock.linalg``, and the source of every binding."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import Any

from ..calls.binding import PENDING, SOURCES, make_function, method
from ..calls.factories import FUNCTIONS as FACTORIES
from ..calls.factories import METHODS as FACTORY_METHODS
from ..calls.overloads import find_operator, functions, methods
from ..core.errors import type_error


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
"""Names that a public module imports for itself and does not list."""


def show_binding(name: str) -> str:
    """Return the source behind an operator ("add.Tensor"), a function ("add") or a method ("Tensor.add").

    Raises ValueError when there is no such binding.
    """
    if not isinstance(name, str):
        type_error("show_binding", "name", name, "str")
    factory = FACTORIES.get(name) or FACTORY_METHODS.get(name.removeprefix("Tensor."))
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
