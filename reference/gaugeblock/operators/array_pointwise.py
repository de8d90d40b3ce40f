"""Pointwise operators that loop until they converge: evaluated on whole NumPy arrays in double precision.

The dtype, broadcasting and layout rules are those of every pointwise row; the values come from a function of float64
arrays in `numeric`, which is loaded when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.device import cpu
from ..iteration.operand import Number
from ..iteration.tensor_iterator import TensorIterator, planned_geometry
from ..tensor.array_view import array_of
from ..tensor.tensor import Tensor, new_like
from .array_functions import FUNCTIONS
from .arrays import Array, values
from .deferred import Deferred
from .pointwise_rule import PointwiseRule
from .registration import kernel
from .rows import rows, rows_by_base


def evaluated(rule: PointwiseRule, function: Callable[..., Array], *operands: Tensor | Number) -> Tensor:
    """A new tensor with the function's values, computed in float64 and rounded once to the result's dtype.

    Raises as all pointwise operators: for sizes that do not broadcast, and dtypes that the row does not list.
    """
    config = rule.config._replace(check_mem_overlap=True, resize_outputs=True)
    iterator = TensorIterator((None,), operands, config)
    common = iterator.find_common_dtype()
    given = [operand.geometry.dtype for operand in operands if isinstance(operand, Tensor)]
    rule.check_inputs(common, given)
    iterator.config = config._replace(static_dtype=rule.result_dtype(common, given[0]))
    iterator.build(allocate=False)
    result = new_like(planned_geometry(iterator))
    if result.geometry.device is cpu and result.geometry.numel:
        with np.errstate(all="ignore"):
            wide = [_in_double(operand, common.numpy) for operand in operands]
            array_of(result)[...] = function(*np.broadcast_arrays(*wide))
    return result


def _in_double(operand: Tensor | Number, common: Any) -> Array:
    """The operand rounded to the common dtype, as float64."""
    array = values(operand) if isinstance(operand, Tensor) else np.asarray(operand)
    return np.asarray(array.astype(common).astype(np.float64))


def register() -> None:
    """A kernel for every overload of every such operator, on CPU and Meta."""
    for base, place in FUNCTIONS.items():
        module, _, name = place.rpartition(".")
        function = Deferred(f".numeric.{module}", name)
        for row in rows_by_base()[base]:
            kernel(row.name)(_call(row.name, function))


def _call(name: str, function: Callable[..., Array]) -> Callable[..., Tensor]:
    rule = PointwiseRule(rows()[name])

    def run(*operands: Tensor | Number) -> Tensor:
        return evaluated(rule, function, *operands)

    return run


register()
