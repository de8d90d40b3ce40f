"""Layouts of new results that the iterator does not choose: calls that ignore numbers, and calls made of steps."""

from __future__ import annotations

from ..core.device import meta
from ..core.dtype import DType
from ..iteration.operand import Number
from ..iteration.tensor_iterator import COMPARISON, TensorIterator, planned_geometry
from ..tensor.geometry import Geometry, geometry_of
from ..tensor.strides import preserve_format_strides
from ..tensor.tensor import Tensor, new_like
from .pointwise_call import Call

NUMBERS_ABSTAIN = frozenset({"clamp", "clamp_min", "clamp_max", "pow", "pow.square"})
"""Formulas whose numbers are options: only the tensors determine whether the operands have the same layout."""
LIKE_SELF = frozenset({"hardtanh", "nan_to_num"})
"""Formulas whose result has the layout of a clone of self."""


def given_layout(call: Call, dtype: DType) -> Geometry | None:
    """Return the geometry of the new result; None when the iterator chooses it."""
    first = next((operand for operand in call.operands if isinstance(operand, Tensor)), None)
    if first is None:
        return None
    geometry = first.geometry
    if call.formula in LIKE_SELF:
        strides = preserve_format_strides(geometry.sizes, geometry.strides)
    elif call.formula == "isinf":
        strides = _step(_step(first), 0).geometry.strides
    elif call.formula == "isfinite":
        alike = _step(first)
        strides = _step(alike, _step(alike, 0)).geometry.strides
    elif call.formula == "div" and first is not call.operands[0]:
        strides = _step(_step(first), 0).geometry.strides
    else:
        return None
    return geometry_of(geometry.sizes, strides, dtype, geometry.device)


def _step(*operands: Tensor | Number) -> Tensor:
    """Return a meta tensor with the layout that an operator on these operands gives its result."""
    result = planned_geometry(TensorIterator((None,), operands, COMPARISON).build(allocate=False))
    return new_like(geometry_of(result.sizes, result.strides, result.dtype, meta))
