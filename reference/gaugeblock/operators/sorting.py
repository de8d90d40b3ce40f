"""Order along a dim: sort, argsort, msort, topk, kthvalue, median. NaN counts as the largest value."""

from __future__ import annotations

from typing import Any

from ..core.device import cpu
from ..core.dtype import bool_, int64
from ..core.errors import wrap_dim
from ..kernels.bound_call import Fresh
from ..kernels.ordering import Order, order_kernel, scratch_words, word_bytes
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, meta_of, preserve_format_strides
from .composition import Part, composite
from .invoke import invoke, result_type
from .loop_plan import LoopPlan, RowLaunch, planned_loops, row_launch
from .operand_checks import check_implemented
from .plan import Planned, plannable, planned_fresh
from .reductions import reduced_sizes
from .registration import kernel

Ints = tuple[int, ...]
SHORT = 1024
"""Elements of a row that is sorted as a whole where more than an eighth are wanted; of a longer one more than half."""


def _dim_of(operator: str, self: Tensor, dim: int) -> int:
    """Return the wrapped `dim`. Raise IndexError out of range, and for complex values the class PyTorch raises."""
    place = wrap_dim(operator, dim, self.meta.ndim)
    if self.meta.dtype.is_complex:
        error = RuntimeError if operator in ("sort", "topk") else NotImplementedError
        raise error(f"{operator}(): Sort does not support complex dtypes on CPU")
    return place


def order_launch(
    order: Order, results: tuple[TensorMeta, ...], given: TensorMeta, dim: int, number: int, descending: bool
) -> tuple[RowLaunch, tuple[TensorMeta, ...]]:
    """Return the launch that writes values and indices, and the meta of its scratch memory, if it has any."""
    sizes = given.sizes or (1,)
    words = scratch_words(order, given.dtype, sizes[dim], number)
    others = (*sizes[:dim], *sizes[dim + 1 :])
    steps = default_strides((*others, words))
    scratch = meta_of((*sizes[:dim], words, *sizes[dim + 1 :]), (*steps[:dim], 1, *steps[dim:-1]), int64, cpu)
    temporaries = (scratch,) if words else ()
    size = word_bytes(order, given.dtype, sizes[dim])
    kernel = order_kernel(order, given.dtype, descending, size, not words)
    return row_launch(kernel, [*results, *temporaries, given], dim, sizes), temporaries


def ordered(
    operator: str, self: Tensor, dim: int, order: Order, number: int = 0, many: int = 1, *, descending: bool = False,
    strides: Ints | None = None, keepdim: bool = True,
) -> Planned[Any]:  # fmt: skip
    """Plan `many` values along the wrapped `dim`, or one without `keepdim`, and their int64 indices. They are row-major
    unless `strides` are given."""
    meta = self.meta
    sizes = (*meta.sizes[:dim], many, *meta.sizes[dim + 1 :]) if meta.sizes else ()
    made = [meta_of(sizes, strides or default_strides(sizes), dtype, meta.device) for dtype in (meta.dtype, int64)]
    kept = sizes if keepdim else reduced_sizes(meta.sizes, (dim,), False)
    results = made if keepdim else [contiguous_meta(kept, one.dtype, meta.device) for one in made]
    if meta.device is not cpu or 0 in sizes:
        return planned_fresh(Fresh(None, tuple(results), ()), self, kind=result_type(operator))
    (run, tail), temporaries = order_launch(order, tuple(made), meta, dim, number, descending)
    fresh = Fresh(run, (*results, *temporaries), (number, *tail), temporary=len(temporaries))
    return planned_fresh(fresh, self, kind=result_type(operator))


@kernel("sort")
@plannable
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> Any | Planned[Any]:
    """Values and int64 indices in order along `dim`; equal keys keep their order. Raises IndexError for a dim out of
    range, RuntimeError for complex values."""
    return sort_stable.planned(self, stable=False, dim=dim, descending=descending)


@kernel("sort.stable")
@plannable
def sort_stable(self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Any | Planned[Any]:
    """sort; equal keys keep their order whether `stable` or not."""
    meta, place = self.meta, _dim_of("sort", self, dim)
    strides = preserve_format_strides(meta.sizes, meta.strides)
    size = meta.sizes[place] if meta.sizes else 1
    return ordered("sort", self, place, Order.SORTED, size, size, descending=descending, strides=strides)


@kernel("argsort", "CompositeImplicitAutograd")
@kernel("argsort.stable", "CompositeImplicitAutograd")
def argsort(self: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Tensor:
    """The indices of sort."""
    if stable is None:
        return invoke("sort", self, dim, descending)[1]  # type: ignore[no-any-return]
    return invoke("sort.stable", self, stable=stable, dim=dim, descending=descending)[1]  # type: ignore[no-any-return]


@kernel("msort", "CompositeImplicitAutograd")
@composite
def msort(part: Part, self: Tensor) -> Tensor:
    """The values of sort along dim 0."""
    return part.first("sort", self, 0)


@kernel("topk")
@plannable
def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) values along `dim`, in order, and their indices. Raises RuntimeError when `k`
    exceeds the size, and for bool and complex."""
    place, sizes = wrap_dim("topk", dim, self.meta.ndim), self.meta.sizes
    size = sizes[place] if sizes else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"topk(): selected index k out of range: k is {k}, the dimension has size {size}")
    if self.meta.dtype is bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    _dim_of("topk", self, dim)
    whole = size < (8 if size <= SHORT else 2) * max(k, 4)
    return ordered("topk", self, place, Order.SORTED if whole else Order.SELECTED, k, k, descending=largest)


@kernel("kthvalue")
@plannable
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest value along `dim`, counted from 1, and its index. Raises IndexError for a dim of size 0,
    RuntimeError when `k` is out of [1, size], NotImplementedError for bool."""
    place = wrap_dim("kthvalue", dim, self.meta.ndim)
    size = self.meta.sizes[place] if self.meta.ndim else 1
    if size:
        if not 1 <= k <= size:
            raise RuntimeError(
                f"kthvalue(): selected number k out of range for dimension {place}: {k} not in [1, {size}]"
            )
        check_implemented("kthvalue", self.meta.dtype, self.meta.dtype is not bool_)
        _dim_of("kthvalue", self, dim)
    return one_along("kthvalue", self, dim, keepdim, Order.RANKED, k - 1)


def one_along(operator: str, self: Tensor, dim: int, keepdim: bool, order: Order, rank: int = 0) -> Planned[Any]:
    """One value along `dim` and its index. Raises IndexError for a dim out of range or without elements."""
    base = operator.partition(".")[0]
    place = wrap_dim(base, dim, self.meta.ndim)
    if self.meta.sizes and not self.meta.sizes[place]:
        raise IndexError(f"{base}(): Expected reduction dim {place} to have non-zero size.")
    return ordered(operator, self, place, order, rank, keepdim=keepdim)


EMPTY_MEDIANS = {"int32": -(1 << 31), "int64": -(1 << 63), "uint64": 1 << 63}
"""Integer dtype -> the median of no elements, NaN converted to it; 0 for dtypes that are not listed."""


def _median_of_all(order: Order, meta: TensorMeta) -> LoopPlan:
    plan = LoopPlan([meta], [contiguous_meta((), meta.dtype)])
    if not meta.numel:
        missing = float("nan") if meta.dtype.kind == 2 else EMPTY_MEDIANS.get(meta.dtype.name, 0)
        plan.fill(plan.results[0], missing)
        return plan
    flat, index = contiguous_meta((meta.numel,), meta.dtype), contiguous_meta((1,), int64)
    source = plan.inputs[0] if meta.contiguous else plan.row_major(plan.inputs[0])
    (run, tail), temporaries = order_launch(order, (contiguous_meta((1,), meta.dtype), index), flat, 0, 0, False)
    views = [plan.results[0], *map(plan.temporary, (index, *temporaries)), source]
    plan.kernel(run, views, (0, *tail))
    return plan


def _register_median(name: str, order: Order) -> None:
    """Register a median of all elements, and along a dim together with its index."""

    @kernel(name)
    @plannable
    def whole(self: Tensor) -> Tensor | Planned[Tensor]:
        meta = self.meta
        check_implemented(name, meta.dtype, meta.dtype.kind in (1, 2))
        if meta.device is not cpu:
            return planned_fresh(Fresh(None, (contiguous_meta((), meta.dtype, meta.device),), ()), self)
        return planned_loops(self, ("median", order), lambda: _median_of_all(order, meta))

    @kernel(f"{name}.dim")
    @plannable
    def along_dim(self: Tensor, dim: int, keepdim: bool = False) -> Any:
        check_implemented(name, self.meta.dtype, self.meta.dtype.kind in (1, 2))
        return one_along(f"{name}.dim", self, dim, keepdim, order)


_register_median("median", Order.MEDIAN)
_register_median("nanmedian", Order.NANMEDIAN)
