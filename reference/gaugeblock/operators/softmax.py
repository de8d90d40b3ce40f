"""softmax and log_softmax: rows in one piece through a fused kernel, others through a reduction and a formula."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, cast

from ..core.device import cpu
from ..core.dtype import DType, float64
from ..kernels import reduction_ops, rowwise
from ..kernels.bound_call import Fresh
from ..kernels.pointwise import Launch
from ..kernels.rowwise import row_map_kernel
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, default_strides, meta_of, recalled
from .arguments import dtype_argument
from .arrays import MOST_DIMS, along
from .conversion import converted
from .copy import copy_values
from .launch import element_launch
from .loop_plan import RowLaunch, row_launch
from .operand_checks import check_implemented
from .plan import Planned, plannable
from .reductions import plan_reduction, reduced_dims
from .registration import kernel


def _normalised(operator: str, self: Tensor, dim: int, dtype: DType | None) -> Tensor | Planned[Tensor]:
    chosen = dtype_argument(operator, dtype)
    source = self if chosen is None else converted(self, chosen)
    meta = source.meta
    if meta.ndim > MOST_DIMS:
        function = softmax if operator == "softmax" else log_softmax
        return cast("Tensor", along(operator, source, dim, partial(function, dim=1)))
    plan = recalled(meta.plans, (operator, dim), _plan, operator, meta, dim)
    result = new_like(plan.meta)
    if plan.rows is not None:
        read = source.pointer
        if plan.copied:
            copy_values(result, source)
            read = result.pointer
        run, tail = plan.rows
        run(result.pointer, read, *tail)
        if not plan.copied and source is self:
            return Planned(result, Fresh(run, (plan.meta,), tail).native(), (self,))
    elif plan.launch is not None:
        assert plan.reduction is not None and plan.reduction.kernel is not None
        largest, total = map(new_like, plan.reduction.results)
        plan.reduction.kernel(largest.pointer, total.pointer, source.pointer, *plan.reduction.tail)
        plan.launch.run([result.pointer, source.pointer, largest.pointer, total.pointer])
    return result


class _Plan(NamedTuple):
    """Result meta; rows in one piece go through `rows`, after a copy if they are strided, others by a reduction and a
    launch."""

    meta: TensorMeta
    rows: RowLaunch | None = None
    copied: bool = False
    reduction: Fresh | None = None
    launch: Launch | None = None


def _plan(operator: str, meta: TensorMeta, dim: int) -> _Plan:
    own = meta.dtype
    check_implemented(operator, own, own.kind == 2)
    dims = reduced_dims(operator, dim, meta.ndim)
    target = meta_of(meta.sizes, default_strides(meta.sizes), own, meta.device)
    if meta.device is not cpu or not meta.numel:
        return _Plan(target)
    row = dims[0] if dims else 0
    if dims and target.strides[row] != 1:
        exponentials = reduction_ops.exponentials_reduction(own, False)
        reduction = plan_reduction(operator, exponentials, meta, dims, True, own, (own, float64))
        launch = element_launch(operator, target, [meta, *reduction.results], own)
        return _Plan(target, reduction=reduction, launch=launch)
    copied = bool(dims) and meta.strides[row] != 1 and meta.sizes[row] > 1
    program = rowwise.softmax(own) if operator == "softmax" else rowwise.log_softmax(own)
    operands = [target, target if copied else meta]
    return _Plan(target, row_launch(row_map_kernel(operator, program, own), operands, row), copied)


@kernel("softmax.int")
@plannable
def softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """exp(self) / sum(exp(self)) along a dim, stable. Raises NotImplementedError for other than floats, IndexError."""
    return _normalised("softmax", self, dim, dtype)


@kernel("log_softmax.int")
@plannable
def log_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """Logarithm of softmax. Raises NotImplementedError for other than floats, IndexError."""
    return _normalised("log_softmax", self, dim, dtype)
