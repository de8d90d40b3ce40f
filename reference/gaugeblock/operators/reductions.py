"""Reductions: sums, products, means, truth, counts and variance by their compiled kernels.

A reduction checks its dims, keeps its plan in the tensor's meta, allocates its outputs, and runs its kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType, bool_, float64, int64, uint8
from ..core.errors import check_ints, wrap_dim
from ..core.promotion import UPSTREAM_NAMES
from ..core.tracing import TRACING
from ..core.warn import warn
from ..iteration.tensor_iterator import TensorIterator
from ..kernels import reduction_ops
from ..kernels.bound_call import Fresh
from ..kernels.reduction import reduction_kernel
from ..kernels.reduction_phases import Reduction
from ..kernels.sharing import FEW, TRANSPOSED
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, remember
from .arguments import dtype_argument
from .composition import Part, composite
from .invoke import result_type
from .operand_checks import check_implemented, check_number, real_number
from .plan import Planned, plannable, planned_fresh
from .registration import kernel

Dims = tuple[int, ...]
MOST_DIMS = 64
"""Most dims that a tensor may have when some are reduced."""
STEPS = 256
"""Steps of work that an element of each of the outputs reduced between two looks for signals takes, about."""


def reduced_dims(operator: str, dim: int | Sequence[int] | None, ndim: int, *, empty_is_all: bool = True) -> Dims:
    """Return the dims to reduce, ascending. Raises IndexError out of range, RuntimeError for a dim given twice and for
    a tensor with more than 64 dims."""
    if dim is None:
        return tuple(range(ndim))
    if type(dim) is int:
        check_few_dims(operator, ndim)
        wrapped = (wrap_dim(operator, dim, ndim),)
        return wrapped if ndim else ()
    given = check_ints(operator, "dim", dim)
    if not given and empty_is_all:
        return tuple(range(ndim))
    check_few_dims(operator, ndim)
    seen: set[int] = set()
    for one in given:
        place = wrap_dim(operator, one, ndim)
        if place in seen:
            raise RuntimeError(f"{operator}(): dim {place} appears multiple times in the list of dims")
        seen.add(place)
    return tuple(sorted(seen)) if ndim else ()


def check_few_dims(operator: str, ndim: int) -> None:
    """Raise RuntimeError for a tensor with more than 64 dims."""
    if ndim > MOST_DIMS:
        raise RuntimeError(f"{operator}(): only tensors with up to {MOST_DIMS} dims are supported, got {ndim}")


def reduced_sizes(sizes: Dims, dims: Dims, keepdim: bool) -> Dims:
    """Sizes of the result."""
    if keepdim:
        return tuple(1 if d in dims else size for d, size in enumerate(sizes))
    return tuple(size for d, size in enumerate(sizes) if d not in dims)


def plan_reduction(
    name: str, reduction: Reduction, meta: TensorMeta, dims: Dims, keepdim: bool, compute: DType,
    results: tuple[DType, ...],
) -> Fresh:  # fmt: skip
    """Return the call of a reduction over `dims` (ascending, checked), from the cache of the meta if it is there. It
    takes the tensor and, if the reduction has any, its numbers."""
    key = (reduction, dims, keepdim, compute, results)
    plan: Fresh | None = meta.plans.get(key)
    if plan is None:
        plan = _plan(name, reduction, meta, dims, keepdim, compute, results)
        remember(meta.plans, key, plan)
    return plan


def planned_reduction(
    name: str, reduction: Reduction, self: Tensor, dims: Dims, keepdim: bool, compute: DType, result: DType
) -> Planned[Any]:
    """Plan a reduction over `dims` with one result."""
    return planned_fresh(plan_reduction(name, reduction, self.meta, dims, keepdim, compute, (result,)), self)


def _plan(
    name: str, reduction: Reduction, meta: TensorMeta, dims: Dims, keepdim: bool, compute: DType,
    results: tuple[DType, ...],
) -> Fresh:  # fmt: skip
    sizes = reduced_sizes(meta.sizes, dims, keepdim)
    outputs = tuple(contiguous_meta(sizes, dtype, meta.device) for dtype in results)
    if meta.device is not cpu or not outputs[0].numel:
        return Fresh(None, outputs, ())
    itemsize = meta.dtype.itemsize
    kept = [d for d in range(meta.ndim) if d not in dims]
    out_steps = default_strides(tuple([meta.sizes[d] for d in kept]))
    steps = [tuple([step * dtype.itemsize for step in out_steps]) for dtype in results]
    steps.insert(0, tuple([meta.strides[d] * itemsize for d in kept]))
    kept_dims = TensorIterator.restrided(tuple([meta.sizes[d] for d in kept]), steps, [meta.dtype, *results]).dims
    inner_sizes, along = tuple([meta.sizes[d] for d in dims]), tuple([meta.strides[d] * itemsize for d in dims])
    positions = "arg" in name or name in ("max", "min")
    inner_dims = TensorIterator.restrided(inner_sizes, [along], [meta.dtype], linear=positions).dims
    tail = [len(kept_dims), len(inner_dims), *(d[0] for d in kept_dims), *(d[0] for d in inner_dims)]
    tail += [*(d[1] for d in kept_dims), *(d[1] for d in inner_dims)]
    for k in range(len(results)):
        tail += [d[2 + k] for d in kept_dims]
    kernel = reduction_kernel(name, reduction, meta.dtype, compute, results)
    if TRACING.hook is not None:
        TRACING.hook("reduction", (kernel, tuple(d[0] for d in kept_dims), tuple(d[0] for d in inner_dims)))
    unpacked = bool(inner_dims) and inner_dims[0][1] != itemsize
    apart = unpacked and not (kept_dims and kept_dims[0][1] == itemsize)
    few = len(results) == 1 == len(inner_dims) and inner_dims[0][0] <= FEW and not apart
    if few and kept_dims and kept_dims[0][0] >= TRANSPOSED and kept_dims[0][1] != itemsize:
        return Fresh(kernel.turning, outputs, tuple(tail))
    builtin = kernel.gathering if apart else kernel.reduce if unpacked else kernel.along
    if kept_dims:  # signals are looked for between some outputs and the next, within one only where it is alone
        builtin = long_call(STEPS * prod(d[0] for d in inner_dims), builtin)
    return Fresh(builtin, outputs, tuple(tail))


def check_not_empty(operator: str, meta: TensorMeta, dims: Dims, *, full: bool, error: Any = RuntimeError) -> None:
    """Raise for reductions without identity: `error` for no elements reduced in full, IndexError for an empty dim."""
    if meta.numel:
        return
    if full:
        raise error(
            f"{operator}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            f"with the 'dim' argument."
        )
    for dim in dims:
        if meta.sizes[dim] == 0:
            raise IndexError(f"{operator}(): Expected reduction dim {dim} to have non-zero size.")


Dim = int | Sequence[int] | None


def _accumulated(operator: str, self: Tensor, dtype: DType | None) -> DType:
    if dtype is not None:
        return dtype_argument(operator, dtype)
    own = self.meta.dtype
    return int64 if own.kind < 2 else own


@kernel("nansum")
@plannable
def nansum(
    self: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor | Planned[Tensor]:
    """Sum with NaN counted as 0. Raises RuntimeError for complex."""
    dims = reduced_dims("nansum", dim, self.meta.ndim)
    if self.meta.dtype.is_complex:
        raise RuntimeError("nansum(): nansum on CPU does not support complex inputs")
    compute = _accumulated("nansum", self, dtype)
    return planned_reduction("nansum", reduction_ops.nansum_reduction(compute), self, dims, keepdim, compute, compute)


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


def _register_total(name: str, dims: str, build: Any, accumulated: Callable[..., DType]) -> None:
    """Register sum, prod or mean: of all elements, and over dims; `dtype` converts the elements first."""

    def total(self: Tensor, dim: Dim, keepdim: bool, dtype: DType | None) -> Planned[Tensor]:
        compute, places = accumulated(name, self, dtype), reduced_dims(name, dim, self.meta.ndim)
        return planned_reduction(name, build(compute), self, places, keepdim, compute, compute)

    @kernel(name)
    @plannable
    def whole(self: Tensor, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
        return total(self, None, False, dtype)

    @kernel(f"{name}.{dims}")
    @plannable
    def over(self: Tensor, dim: Dim, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor | Planned[Tensor]:
        return total(self, dim, keepdim, dtype)


_register_total("sum", "dim_IntList", reduction_ops.sum_reduction, _accumulated)
_register_total("prod", "dim_int", reduction_ops.prod_reduction, _accumulated)
_register_total("mean", "dim", reduction_ops.mean_reduction, _inexact)


@kernel("nanmean", "CompositeImplicitAutograd")
@composite
def nanmean(part: Part, self: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
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
    given = part("to.dtype", self, compute)
    total = part("nansum", given, dims, keepdim, dtype=float64)
    count = part("sum.dim_IntList", part("eq.Tensor", given, given), dims, keepdim)
    return part("to.dtype", part("div.Tensor", total, count), compute)


def _truth(name: str, self: Tensor, dims: Dims, keepdim: bool) -> Planned[Tensor]:
    check_few_dims(name, self.meta.ndim)
    own = self.meta.dtype
    result, every = uint8 if own is uint8 else bool_, name == "all"
    if own.itemsize == 1 and own.kind < 2:
        return planned_reduction(name, reduction_ops.byte_truth_reduction(every), self, dims, keepdim, uint8, result)
    return planned_reduction(name, reduction_ops.truth_reduction(every), self, dims, keepdim, own, result)


def _register_truth(name: str) -> None:
    """Register any or all: of all elements, along one dim, and over dims, of which an empty list means none."""

    @kernel(name)
    @plannable
    def whole(self: Tensor) -> Tensor | Planned[Tensor]:
        return _truth(name, self, tuple(range(self.meta.ndim)), False)

    @kernel(f"{name}.dim")
    @plannable
    def along(self: Tensor, dim: int, keepdim: bool = False) -> Tensor | Planned[Tensor]:
        return _truth(name, self, reduced_dims(name, dim, self.meta.ndim), keepdim)

    @kernel(f"{name}.dims")
    @plannable
    def over(self: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor | Planned[Tensor]:
        return _truth(name, self, reduced_dims(name, dim, self.meta.ndim, empty_is_all=False), keepdim)


_register_truth("any")
_register_truth("all")


@kernel("count_nonzero.dim_IntList")
@plannable
def count_nonzero_dims(self: Tensor, dim: Dim) -> Tensor | Planned[Tensor]:
    """Return how many elements are nonzero, over dims. Raises IndexError, RuntimeError for wrong dims."""
    dims = reduced_dims("count_nonzero", dim, self.meta.ndim)
    reduction = reduction_ops.count_reduction(False)
    return planned_reduction("count_nonzero", reduction, self, dims, False, self.meta.dtype, int64)


@kernel("count_nonzero")
@plannable
def count_nonzero(self: Tensor, dim: int | None = None) -> Tensor | Planned[Tensor]:
    """Return how many elements are nonzero, in all or along a dim. Raises IndexError."""
    return count_nonzero_dims.planned(self, dim)


def spread(operator: str, self: Tensor, dim: Dim, keepdim: bool, correction: float | None) -> Planned[Any]:
    """Variance (var, var_mean) or standard deviation (std, std_mean), and the mean for the latter forms. Raises
    RuntimeError for bool and ints; warns when the degrees of freedom are not positive."""
    own = self.meta.dtype
    base, _, mean = operator.partition("_")
    if own.kind < 2:
        raise RuntimeError(f"{operator}(): std and var only support floating point and complex dtypes")
    dims = reduced_dims(operator, dim, self.meta.ndim)
    removed = 1.0 if correction is None else real_number(operator, check_number(operator, "correction", correction))
    reduction: Reduction = reduction_ops.variance_reduction(own, base == "std", bool(mean))
    results = (own.to_real(), own) if mean else (own.to_real(),)
    plan = plan_reduction(operator, reduction, self.meta, dims, keepdim, own, results)
    fresh = plan._replace(tail=(removed, *plan.tail))
    if prod(self.meta.sizes[d] for d in dims) - removed > 0:
        return planned_fresh(fresh, self)
    message = (
        f"{operator}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
        f"(input numel divided by output numel)."
    )

    def warned(self: Tensor, *numbers: Any) -> tuple[Tensor]:
        warn(message)
        return (self,)

    found = Planned.taking(fresh, warned, (self,), values=warned(self))
    found.operands = None  # this call has warned; those kept warn each time
    return found


def _register_spread(name: str) -> None:
    """Register the forms of var, std, var_mean or std_mean."""

    @kernel(name)
    @plannable
    def unbiased_all(self: Tensor, unbiased: bool = True) -> Planned[Any]:
        return spread(name, self, None, False, float(unbiased))

    @kernel(f"{name}.dim")
    @plannable
    def unbiased_dims(self: Tensor, dim: Dim, unbiased: bool = True, keepdim: bool = False) -> Planned[Any]:
        return spread(name, self, dim, keepdim, float(unbiased))

    @kernel(f"{name}.correction")
    @plannable
    def corrected(
        self: Tensor, dim: Dim = None, *, correction: float | None = None, keepdim: bool = False
    ) -> Planned[Any]:
        found = spread(name, self, dim, keepdim, correction)
        if found.operands is None and correction is not None:
            found.call = None  # it would serve other corrections too
        return found


for _name in ("var", "std", "var_mean", "std_mean"):
    _register_spread(_name)


def _extreme(name: str, self: Tensor, dims: Dims, keepdim: bool, largest: bool) -> Planned[Tensor]:
    own = self.meta.dtype
    compute = uint8 if own is bool_ else own  # vectors of bytes, not of bits
    return planned_reduction(name, reduction_ops.extreme_reduction(compute, largest), self, dims, keepdim, compute, own)


def _register_extreme(word: str, over: str, place: str, largest: bool) -> None:
    """Register max or min, the operator that takes it `over` dims, and the one that gives its `place`."""

    @kernel(over)
    @plannable
    def over_dims(self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False) -> Tensor | Planned[Tensor]:
        check_implemented(over, self.meta.dtype, not self.meta.dtype.is_complex)
        dims = reduced_dims(over, dim, self.meta.ndim)
        check_not_empty(over, self.meta, dims, full=dim == () or dim == [])
        return _extreme(over, self, dims, keepdim, largest)

    @kernel(word)
    @plannable
    def of_all(self: Tensor) -> Tensor | Planned[Tensor]:
        check_implemented(word, self.meta.dtype, not self.meta.dtype.is_complex)
        dims = tuple(range(self.meta.ndim))
        check_not_empty(word, self.meta, dims, full=True)
        return _extreme(over, self, dims, False, largest)

    @kernel(f"{word}.dim")
    @plannable
    def along(self: Tensor, dim: int, keepdim: bool = False) -> Planned[Any]:
        if self.meta.dtype.is_complex:
            raise RuntimeError(f"{word}(): does not support complex input")
        dims = reduced_dims(word, dim, self.meta.ndim)
        check_not_empty(word, self.meta, dims, full=False)
        own, reduction = self.meta.dtype, reduction_ops.position_reduction(self.meta.dtype, largest, False)
        both = plan_reduction(word, reduction, self.meta, dims, keepdim, own, (own, int64))
        return planned_fresh(both, self, kind=result_type(f"{word}.dim"))

    @kernel(place)
    @plannable
    def position(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | Planned[Tensor]:
        kind = self.meta.dtype.category
        if kind in ("bool", "complex"):
            raise RuntimeError(f"{place}(): does not support {kind} input")
        dims = reduced_dims(place, dim, self.meta.ndim)
        check_not_empty(place, self.meta, dims, full=dim is None, error=IndexError)
        reduction = reduction_ops.position_reduction(self.meta.dtype, largest, True)
        return planned_reduction(place, reduction, self, dims, keepdim, self.meta.dtype, int64)


_register_extreme("max", "amax", "argmax", True)
_register_extreme("min", "amin", "argmin", False)


@kernel("aminmax")
@composite
def aminmax(part: Part, self: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """(smallest, largest) in all or along a dim; NaN wins. Raises RuntimeError, IndexError for no elements."""
    check_implemented("aminmax", self.meta.dtype, not self.meta.dtype.is_complex)
    dims = reduced_dims("aminmax", dim, self.meta.ndim)
    check_not_empty("aminmax", self.meta, dims, full=dim is None)
    return result_type("aminmax")(*[part(name, self, dims, keepdim) for name in ("amin", "amax")])
