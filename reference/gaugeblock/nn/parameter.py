"""Parameter: a tensor that a module registers when it is assigned to an attribute."""

from __future__ import annotations

from typing import Any

from ..calls.functions import ops
from ..core.errors import type_error
from ..tensor.attributes import PARAMETER
from ..tensor.tensor import Tensor


class _ParameterMeta(type):
    """Makes ``isinstance(x, Parameter)`` check the mark."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and PARAMETER in instance.__dict__


class Parameter(metaclass=_ParameterMeta):
    """``Parameter(data)`` returns a leaf on the data of a tensor, marked as a parameter.

    It is a plain Tensor, so operators treat it as one. ``isinstance(x, Parameter)`` checks the mark, which copies and
    pickles keep. Raises TypeError unless `data` is a tensor. Source: torch.nn.parameter.Parameter.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = ops.empty(0)
        if not isinstance(data, Tensor):
            type_error("Parameter", "data", data, "Tensor")
        made: Any = data.detach()  # type: ignore[attr-defined]
        made.requires_grad_(requires_grad)
        made.__dict__[PARAMETER] = True
        return made
