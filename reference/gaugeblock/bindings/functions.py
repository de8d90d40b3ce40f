"""The functions of the public API by the names of their operators, for the packages below the public modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..dispatch.overrides import overridable
from ..operators.composites import unique
from ..operators.public import public_function
from ..operators.tensor_data import tensor
from .binding import MARKED, marking
from .build import make_function
from .overloads import functions, nn_functions

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
