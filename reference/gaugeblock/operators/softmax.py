"""softmax and log_softmax: rows in one piece through a fused kernel, others through a reduction and a formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from ..core.device import cpu
from ..core.dtype import DType, float64
from ..kernels import reduction_ops, rowwise
from ..kernels.bound_call import Fresh, Kernels
from ..kernels.rowwise import row_map_kernel
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, default_strides, meta_of, recalled
from .arguments import dtype_argument
from .arrays import MOST_DIMS, along
from .conversion import converted
from .copy import copying
from .launch import element_launch
from .loop_plan import row_launch
from .operand_checks import check_implemented
from .plan import Planned, plannable
from .reductions import Dims, plan_reduction, reduced_dims
from .registration import kernel


def _normalised(operator: str, self: Tensor, dim: int, dtype: DType | None) -> Tensor | Planned[Tensor]:
    chosen = dtype_argument(operator, dtype)
    source = self if chosen is None else converted(self, chosen)
    meta = source.meta
    if meta.ndim > MOST_DIMS:
        function = softmax if operator == "softmax" else log_softmax
        return cast("Tensor", along(operator, source, dim, partial(function, dim=1)))
    fresh, call = recalled(meta.plans, (operator, dim), _plan, operator, meta, dim)
    return Planned.unrun(fresh, (source,), call if source is self else None, (source,))


def _plan(operator: str, meta: TensorMeta, dim: int) -> tuple[Fresh, Callable[..., Any]]:
    """Return the call as it is and in machine code: over rows in one piece, of a copy if they are strided; else a
    reduction and a loop."""
    own = meta.dtype
    check_implemented(operator, own, own.kind == 2)
    dims = reduced_dims(operator, dim, meta.ndim)
    target = meta_of(meta.sizes, default_strides(meta.sizes), own, meta.device)
    fresh = Fresh(None, (target,), ())
    if meta.device is cpu and meta.numel:
        across = bool(dims) and target.strides[dims[0]] != 1
        fresh = (_by_reduction if across else _by_rows)(operator, meta, target, dims)
    return fresh, fresh.native()


def _by_reduction(operator: str, meta: TensorMeta, target: TensorMeta, dims: Dims) -> Fresh:
    exponentials = reduction_ops.exponentials_reduction(meta.dtype, False)
    reduction = plan_reduction(operator, exponentials, meta, dims, True, meta.dtype, (meta.dtype, float64))
    launch = element_launch(operator, target, [meta, *reduction.results], meta.dtype)
    assert reduction.kernel is not None and launch is not None
    loop, tail = launch.call()
    steps = (reduction.kernel, (1, 2, 3), (0, 0, 0), reduction.tail), (loop, (0, 3, 1, 2), (0, 0, 0, 0), tail)
    return Fresh(Kernels(steps, ()).native(), (target, *reduction.results), (), temporary=2)


def _by_rows(operator: str, meta: TensorMeta, target: TensorMeta, dims: Dims) -> Fresh:
    row = dims[0] if dims else 0
    program = (rowwise.softmax if operator == "softmax" else rowwise.log_softmax)(meta.dtype)
    kernel = row_map_kernel(operator, program, meta.dtype)
    copy = copying(target, meta) if dims and meta.strides[row] != 1 and meta.sizes[row] > 1 else None
    if copy is None:
        run, tail = row_launch(kernel, [target, meta], row)
        return Fresh(run, (target,), tail)
    (loop, moved), (run, tail) = copy.call(), row_launch(kernel, [target, target], row)
    return Fresh(Kernels(((loop, (0, 1), (0, 0), moved), (run, (0, 0), (0, 0), tail)), ()).native(), (target,), ())


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
