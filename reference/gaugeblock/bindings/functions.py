"""The functions of the public API by the names of their operators, for public modules and what is below them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from ..core.errors import type_error
from ..dispatch.overrides import overridable
from ..operators.composites import unique
from ..operators.public import public_function
from ..operators.tensor_data import tensor
from .binding import PENDING, SOURCES, make_function, method
from .factories import FUNCTIONS as FACTORIES
from .factories import METHODS as FACTORY_METHODS
from .marked_views import MARKED, marking
from .overloads import find_operator, functions, methods, nn_functions

if TYPE_CHECKING:
    from gaugeblock import Tensor

WITHOUT_SCHEMA: dict[str, Callable[..., Any]] = {"tensor": tensor, "unique": unique}


class Functions:
    """Has the public function of an operator as an attribute, made when it is first asked for.

    `ops.where` is ``gaugeblock.where``, `ops.linalg_solve` is ``gaugeblock.linalg.solve``, and `ops.softplus` that of
    ``gaugeblock.nn.functional``. Raises AttributeError for other names.
    """

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        made = self.__dict__[name] = _find(name)
        return made


def _find(name: str) -> Callable[..., Any]:
    if name in WITHOUT_SCHEMA:
        return WITHOUT_SCHEMA[name]
    own = public_function(name)
    if own is not None:
        found: Callable[..., Any] = overridable(marking(own) if name in MARKED else own)
        return found
    group = functions().get(name) or nn_functions().get(name)
    if group is None:
        raise AttributeError(f"there is no operator {name!r}")
    made: Callable[..., Any] = make_function(group)
    return made


tensor_ops = Functions()
"""The functions, for callers that take each result for one tensor."""
ops: Any = tensor_ops


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
