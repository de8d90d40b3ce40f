"""Reductions with an identity: sums, products, means, truth, counts, variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType, bool_, int64, uint8
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn
from ..kernels import reduction_ops
from ..kernels.bound_call import Fresh
from ..kernels.reduction_phases import Reduction
from ..tensor.tensor import Tensor
from .arguments import dtype_argument
from .number_limits import check_number, real_number
from .plan import Planned, plannable
from .reduce_call import Dims, check_few_dims, plan_reduction, reduce_one, reduced_dims
from .registration import kernel

Dim = int | Sequence[int] | None


def _accumulated(operator: str, self: Tensor, dtype: DType | None) -> DType:
    chosen = dtype_argument(operator, dtype)
    if chosen is not None:
        return chosen
    own = self.meta.dtype
    return int64 if own.kind < 2 else own


def _total(name: str, build: Any, self: Tensor, dims: Dims, keepdim: bool, dtype: DType | None) -> Planned[Tensor]:
    compute = _accumulated(name, self, dtype)
    return reduce_one(name, build(compute), self, dims, keepdim, compute, compute)


@kernel("sum")
@plannable
def sum_all(self: Tensor, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """Sum of all elements; bool and ints in int64; `dtype` converts the elements first."""
    return _total("sum", reduction_ops.sum_reduction, self, tuple(range(self.meta.ndim)), False, dtype)


@kernel("sum.dim_IntList")
@plannable
def sum_dims(self: Tensor, dim: Dim, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """Sum over dims (None or none given: all). Raises IndexError, RuntimeError for wrong dims."""
    return _total("sum", reduction_ops.sum_reduction, self, reduced_dims("sum", dim, self.meta.ndim), keepdim, dtype)


@kernel("nansum")
@plannable
def nansum(
    self: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor | Planned[Tensor]:
    """Sum with NaN counted as 0. Raises RuntimeError for complex."""
    dims = reduced_dims("nansum", dim, self.meta.ndim)
    if self.meta.dtype.is_complex:
        raise RuntimeError("nansum(): nansum on CPU does not support complex inputs")
    return _total("nansum", reduction_ops.nansum_reduction, self, dims, keepdim, dtype)


@kernel("prod")
@plannable
def prod_all(self: Tensor, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """Product of all elements; bool and ints in int64."""
    return _total("prod", reduction_ops.prod_reduction, self, tuple(range(self.meta.ndim)), False, dtype)


@kernel("prod.dim_int")
@plannable
def prod_dim(self: Tensor, dim: int, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """Product over one dim. Raises IndexError."""
    return _total("prod", reduction_ops.prod_reduction, self, reduced_dims("prod", dim, self.meta.ndim), keepdim, dtype)


def _inexact(operator: str, self: Tensor, dtype: DType | None) -> DType:
    chosen = dtype_argument(operator, dtype)
    found = self.meta.dtype if chosen is None else chosen
    if found.kind < 2:
        source = "Input dtype" if chosen is None else "Optional dtype"
        raise RuntimeError(
            f"{operator}(): could not infer output dtype. {source} must be either a floating point or complex dtype. "
            f"Got: {UPSTREAM_NAMES[found.name]}"
        )
    return found


def _mean(self: Tensor, dim: Dim, keepdim: bool, dtype: DType | None) -> Planned[Tensor]:
    compute = _inexact("mean", self, dtype)
    dims = reduced_dims("mean", dim, self.meta.ndim)
    return reduce_one("mean", reduction_ops.mean_reduction(compute), self, dims, keepdim, compute, compute)


@kernel("mean")
@plannable
def mean_all(self: Tensor, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """Mean of all elements. Raises RuntimeError for bool and ints without a floating `dtype`."""
    return _mean(self, None, False, dtype)


@kernel("mean.dim")
@plannable
def mean_dims(self: Tensor, dim: Dim, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
    """Mean over dims. Raises RuntimeError for bool and ints without a floating `dtype`, IndexError for wrong dims."""
    return _mean(self, dim, keepdim, dtype)


@kernel("nanmean")
@plannable
def nanmean(
    self: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor | Planned[Tensor]:
    """Mean of the elements that are not NaN. Raises RuntimeError for bool, ints and complex."""
    if self.meta.dtype.kind < 2:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got "
            f"{UPSTREAM_NAMES[self.meta.dtype.name]}"
        )
    compute = _inexact("nanmean", self, dtype)
    if self.meta.dtype.is_complex:
        raise RuntimeError("nanmean(): nansum on CPU does not support complex inputs")
    dims = reduced_dims("nanmean", dim, self.meta.ndim)
    return reduce_one("nanmean", reduction_ops.nanmean_reduction(compute), self, dims, keepdim, compute, compute)


def _truth(name: str, self: Tensor, dims: Dims, keepdim: bool) -> Planned[Tensor]:
    check_few_dims(name, self.meta.ndim)
    own = self.meta.dtype
    result = uint8 if own is uint8 else bool_
    return reduce_one(name, reduction_ops.truth_reduction(name == "all"), self, dims, keepdim, own, result)


@kernel("any")
@plannable
def any_all(self: Tensor) -> Tensor | Planned[Tensor]:
    """Return whether any element is nonzero; uint8 for uint8."""
    return _truth("any", self, tuple(range(self.meta.ndim)), False)


@kernel("any.dim")
@plannable
def any_dim(self: Tensor, dim: int, keepdim: bool = False) -> Tensor | Planned[Tensor]:
    """any along one dim. Raises IndexError."""
    return _truth("any", self, reduced_dims("any", dim, self.meta.ndim), keepdim)


@kernel("any.dims")
@plannable
def any_dims(self: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor | Planned[Tensor]:
    """any over dims; an empty list reduces none. Raises IndexError, RuntimeError for wrong dims."""
    return _truth("any", self, reduced_dims("any", dim, self.meta.ndim, empty_is_all=False), keepdim)


@kernel("all")
@plannable
def all_all(self: Tensor) -> Tensor | Planned[Tensor]:
    """Return whether all elements are nonzero; uint8 for uint8."""
    return _truth("all", self, tuple(range(self.meta.ndim)), False)


@kernel("all.dim")
@plannable
def all_dim(self: Tensor, dim: int, keepdim: bool = False) -> Tensor | Planned[Tensor]:
    """all along one dim. Raises IndexError."""
    return _truth("all", self, reduced_dims("all", dim, self.meta.ndim), keepdim)


@kernel("all.dims")
@plannable
def all_dims(self: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor | Planned[Tensor]:
    """all over dims; an empty list reduces none. Raises IndexError, RuntimeError for wrong dims."""
    return _truth("all", self, reduced_dims("all", dim, self.meta.ndim, empty_is_all=False), keepdim)


@kernel("count_nonzero.dim_IntList")
@plannable
def count_nonzero_dims(self: Tensor, dim: Dim) -> Tensor | Planned[Tensor]:
    """How many elements are nonzero, over dims. Raises IndexError, RuntimeError for wrong dims."""
    dims = reduced_dims("count_nonzero", dim, self.meta.ndim)
    return reduce_one("count_nonzero", reduction_ops.count_reduction(False), self, dims, False, self.meta.dtype, int64)


@kernel("count_nonzero")
def count_nonzero(self: Tensor, dim: int | None = None) -> Tensor:
    """How many elements are nonzero, in all or along a dim. Raises IndexError."""
    return count_nonzero_dims(self, dim)


def spread(operator: str, self: Tensor, dim: Dim, keepdim: bool, correction: float | None) -> Planned[Any]:
    """Variance (var, var_mean) or standard deviation (std, std_mean), and the mean for the latter forms.

    Raises RuntimeError for bool and ints; warns when the degrees of freedom are not positive.
    """
    own = self.meta.dtype
    base, _, mean = operator.partition("_")
    if own.kind < 2:
        raise RuntimeError(f"{operator}(): std and var only support floating point and complex dtypes")
    dims = reduced_dims(operator, dim, self.meta.ndim)
    removed = 1.0 if correction is None else real_number(operator, check_number(operator, "correction", correction))
    count = 1
    for d in dims:
        count *= self.meta.sizes[d]
    too_few = count - removed <= 0
    if too_few:
        warn(
            f"{operator}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            f"(input numel divided by output numel)."
        )
    reduction: Reduction = reduction_ops.variance_reduction(own, base == "std", bool(mean))
    results = (own.to_real(), own) if mean else (own.to_real(),)
    plan = plan_reduction(operator, reduction, self.meta, dims, keepdim, own, results)
    call = Fresh(plan.reduce, plan.outputs, (removed, *plan.tail))
    return Planned(call(self), None if too_few else call.native(), (self,))  # each call with too few warns


def _register_spread(base: str) -> None:
    @kernel(base)
    @plannable
    def unbiased_all(self: Tensor, unbiased: bool = True) -> Planned[Tensor]:
        return spread(base, self, None, False, float(unbiased))

    @kernel(f"{base}.dim")
    @plannable
    def unbiased_dims(self: Tensor, dim: Dim, unbiased: bool = True, keepdim: bool = False) -> Planned[Tensor]:
        return spread(base, self, dim, keepdim, float(unbiased))

    @kernel(f"{base}.correction")
    @plannable
    def corrected(
        self: Tensor, dim: Dim = None, *, correction: float | None = None, keepdim: bool = False
    ) -> Planned[Tensor]:
        return spread(base, self, dim, keepdim, correction)

    @kernel(f"{base}_mean")
    @plannable
    def unbiased_all_with_mean(self: Tensor, unbiased: bool = True) -> Planned[tuple[Tensor, ...]]:
        return spread(f"{base}_mean", self, None, False, float(unbiased))

    @kernel(f"{base}_mean.dim")
    @plannable
    def unbiased_with_mean(
        self: Tensor, dim: Dim, unbiased: bool = True, keepdim: bool = False
    ) -> Planned[tuple[Tensor, ...]]:
        return spread(f"{base}_mean", self, dim, keepdim, float(unbiased))

    @kernel(f"{base}_mean.correction")
    @plannable
    def with_mean(
        self: Tensor, dim: Dim = None, *, correction: float | None = None, keepdim: bool = False
    ) -> Planned[tuple[Tensor, ...]]:
        return spread(f"{base}_mean", self, dim, keepdim, correction)


_register_spread("var")
_register_spread("std")
