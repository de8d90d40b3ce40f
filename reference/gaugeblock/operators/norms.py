"""Vector norms and logsumexp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from ..core import lazy_numpy as np
from ..core.dtype import DEFAULTS, DType
from ..core.errors import type_error
from ..core.promotion import UPSTREAM_NAMES, promote_types
from ..kernels import reduction_ops
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import contiguous_meta
from .arguments import dtype_argument
from .arrays import Array, planned_arrays
from .operand_checks import check_number
from .plan import Planned, plannable, planned_fresh
from .reductions import check_few_dims, plan_reduction, planned_reduction, reduced_dims, reduced_sizes
from .registration import kernel

Dim = int | Sequence[int] | None


@plannable
def vector_norm(
    operator: str, self: Tensor, order: float, dim: Dim, keepdim: bool, dtype: DType | None
) -> Tensor | Planned[Tensor]:
    """The norm of order `order` over dims, in the real dtype.

    Raises RuntimeError for bool and ints, for a dtype that narrows, and for an infinite or negative order over no
    elements.
    """
    meta = self.meta
    compute = norm_compute_dtype(f"{operator}(): linalg.vector_norm", meta.dtype, dtype_argument(operator, dtype))
    check_few_dims(operator, meta.ndim)
    dims = reduced_dims(operator, dim, meta.ndim)
    if isinstance(order, complex):
        raise RuntimeError(f"{operator}(): the order of a norm must be real, got {order}")
    order = float(order)
    if order < 0 or order == math.inf:
        for d in dims:
            if meta.sizes[d] == 0 and 0 not in reduced_sizes(meta.sizes, dims, False):
                raise RuntimeError(
                    f"{operator}(): linalg.vector_norm cannot compute the {order:g} norm on the dimension {d} because "
                    f"this dimension is empty and the operation does not have an identity"
                )
    kind = {0.0: "0", 1.0: "1", 2.0: "2", math.inf: "inf", -math.inf: "-inf"}.get(order, "p")
    numbers = (order,) if kind == "p" else ()
    reduction = reduction_ops.norm_reduction(compute, kind)
    plan = plan_reduction("norm", reduction, meta, dims, keepdim, compute, (compute.to_real(),))
    return planned_fresh(plan._replace(tail=(*numbers, *plan.tail)), self)


def norm_compute_dtype(operator: str, own: DType, given: DType | None) -> DType:
    """Return the dtype in which the norm of elements of `own` is computed. Raises RuntimeError for bool and ints, and
    for a given dtype of another kind or with less precision."""
    if own.kind < 2:
        raise RuntimeError(
            f"{operator}: Expected a floating point or complex tensor as input. Got {UPSTREAM_NAMES[own.name]}"
        )
    if given is None or given is own:
        return own
    if given.kind < 2:
        raise RuntimeError(
            f"{operator}: dtype should be floating point or complex, but got {UPSTREAM_NAMES[given.name]}"
        )
    if given.is_complex is not own.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(
            f"{operator}: dtype should be {kind} for {kind} inputs, but got {UPSTREAM_NAMES[given.name]}"
        )
    if promote_types(own, given) is not given:
        raise RuntimeError(
            f"{operator}: the dtype of the input ({UPSTREAM_NAMES[own.name]}) should be convertible without narrowing "
            f"to the specified dtype ({UPSTREAM_NAMES[given.name]})"
        )
    return given


def norm_order(operator: str, p: float | str | None) -> float:
    """The order that `p` stands for: 2 for "fro" and None. Raises RuntimeError for another name."""
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"{operator}(): argument 'p' must be a number or 'fro', got {p!r}")
    if p is None or isinstance(p, str):
        return 2.0
    if not isinstance(p, int | float):
        type_error(operator, "p", p, "a number, 'fro', 'nuc' or None")
    check_number(operator, "p", p)
    return float(p)


@kernel("norm.Scalar")
@kernel("norm.ScalarOpt_dim")
@kernel("norm.ScalarOpt_dim_dtype")
@plannable
def norm(
    self: Tensor, p: float | None = 2, dim: Dim = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor | Planned[Tensor]:
    """Norm of all elements, or over dims, of the elements converted to `dtype`."""
    return vector_norm.planned("norm", self, norm_order("norm", p), dim, keepdim, dtype)


@kernel("linalg_vector_norm")
@plannable
def linalg_vector_norm(
    self: Tensor, ord: float = 2, dim: Dim = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor | Planned[Tensor]:
    """Norm of order `ord` over dims, None for all."""
    return vector_norm.planned("linalg_vector_norm", self, ord, dim, keepdim, dtype)


@kernel("logsumexp")
@plannable
def logsumexp(self: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor | Planned[Tensor]:
    """log(sum(exp(self))) over dims, stable; -inf over no elements; ints are converted to the default float dtype."""
    own = self.meta.dtype
    compute = own if own.kind >= 2 else DEFAULTS.dtype
    dims = reduced_dims("logsumexp", dim, self.meta.ndim)
    if compute.is_complex and self.meta.device.type == "cpu":
        sizes = reduced_sizes(self.meta.sizes, dims, keepdim)
        run = partial(_complex_logsumexp, dims, sizes)
        return planned_arrays(None, (self,), run, (contiguous_meta, sizes, own))
    exponentials = reduction_ops.exponentials_reduction(compute, True)
    found = planned_reduction("logsumexp", exponentials, self, dims, keepdim, compute, compute)
    found.call = found.call if own.kind >= 2 else None  # the default dtype may change
    return found


def _complex_logsumexp(dims: tuple[int, ...], sizes: tuple[int, ...], array: Array) -> tuple[Array]:
    with np.errstate(all="ignore"):
        wide = array.astype(np.complex128)
        largest = np.max(wide.real, axis=dims, keepdims=True, initial=-np.inf)
        shift = np.where(np.isinf(largest), 0.0, largest)
        result = np.log(np.exp(wide - shift).sum(axis=dims, keepdims=True)) + shift
    return (result.reshape(sizes),)
