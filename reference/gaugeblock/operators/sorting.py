"""Order along a dim: sort, argsort, msort, topk, kthvalue, median. NaN counts as the largest value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import away, long_call
from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, int64
from ..core.errors import wrap_dim
from ..kernels.bound_call import Fresh
from ..tensor.array_view import array_at
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, preserve_format_strides, recalled
from .arrays import STEPS, Array, along, has_many_dims, planned_arrays
from .composition import Part, composite
from .invoke import invoke, result_type
from .loop_plan import picking
from .operand_checks import check_implemented
from .plan import Planned, plannable, planned_fresh
from .reductions import reduced_sizes
from .registration import kernel

FEW_KEYS = 16
"""Up to so many elements are ordered where selecting one would do."""
SMALL = 1024
"""Rows of up to so many elements are always sorted stably."""


def sortable(array: Array) -> Array:
    """`array` in a dtype that NumPy sorts; bfloat16 is widened."""
    return array.astype(np.float32) if array.dtype == bfloat16.numpy else array


def order_along(array: Array, dim: int, descending: bool, stable: bool = True) -> Array:
    """The order of the elements along `dim`: NaN last ascending, first descending; if `stable`, equal keys as given."""
    array = sortable(array)
    work = 400 * array.size
    if not stable and array.shape[dim] > SMALL:
        order: Array = away(work, array.argsort, dim)
        return order[_backwards(dim)] if descending else order
    if not descending:
        return np.asarray(away(work, array.argsort, dim, kind="stable"))
    reversed_order = away(work, array[_backwards(dim)].argsort, dim, kind="stable")
    return np.asarray((array.shape[dim] - 1 - reversed_order)[_backwards(dim)])


def _backwards(dim: int) -> tuple[Any, ...]:
    """The NumPy index that reverses `dim`, which counts from the end when it is negative."""
    if dim < 0:
        return (..., slice(None, None, -1), *[slice(None)] * (-1 - dim))
    return (*[slice(None)] * dim, slice(None, None, -1))


Ints = tuple[int, ...]
Finder = Callable[[Array], Array]
"""From the values of a tensor (1-D for a 0-dim one) to the indices of the chosen ones along the dim."""


def _dim_of(operator: str, self: Tensor, dim: int) -> int:
    """Return the wrapped `dim`. Raise IndexError out of range, and for complex values the class PyTorch raises."""
    place = wrap_dim(operator, dim, self.meta.ndim)
    if self.meta.dtype.is_complex:
        error = RuntimeError if operator in ("sort", "topk") else NotImplementedError
        raise error(f"{operator}(): Sort does not support complex dtypes on CPU")
    return place


def _found(
    operator: str, self: Tensor, dim: int, sizes: Ints, strides: Ints, find: Finder, kept: Ints | None = None
) -> Planned[Any]:
    """Plan values and int64 indices of `sizes`, which agree with those of `self` outside `dim`. The results have the
    sizes `kept`, if that is given."""
    meta = self.meta
    made, order = results = tuple([meta_of(sizes, strides, dtype, meta.device) for dtype in (meta.dtype, int64)])
    if kept is not None:
        results = tuple([contiguous_meta(kept, one.dtype, meta.device) for one in results])
    if meta.device is not cpu or 0 in sizes:
        return planned_fresh(Fresh(None, results, ()), self, kind=result_type(operator))
    pick = recalled(meta.plans, ("pick", dim, made), picking, made, meta, order, dim, sizes or (1,))
    run = long_call(STEPS * meta.numel, partial(_pick, meta, order, find, pick))
    return planned_fresh(Fresh(run, results, ()), self, kind=result_type(operator))


def _pick(
    meta: TensorMeta, order: TensorMeta, find: Finder, pick: Fresh, values: int, indices: int, source: int
) -> None:
    """Write values and indices, given the addresses of these and of the tensor they are chosen from."""
    array_at(order, indices)[...] = find(array_at(meta, source).reshape(meta.sizes or (1,))).reshape(order.sizes)
    assert pick.kernel is not None
    pick.kernel(values, source, indices, *pick.tail)


@kernel("sort")
@plannable
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> Any | Planned[Any]:
    """Values and int64 indices in order along `dim`; equal keys of long rows come in any order. Raises IndexError for a
    dim out of range, RuntimeError for complex values."""
    return sort_stable.planned(self, stable=False, dim=dim, descending=descending)


@kernel("sort.stable")
@plannable
def sort_stable(self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Any | Planned[Any]:
    """sort; with `stable` equal keys keep their order."""
    if has_many_dims(self.meta):
        return along("sort", self, dim, partial(sort_stable, stable=stable, dim=1, descending=descending))
    meta, place = self.meta, _dim_of("sort", self, dim)
    strides = preserve_format_strides(meta.sizes, meta.strides)
    order = partial(order_along, dim=place, descending=descending, stable=bool(stable))
    return _found("sort", self, place, meta.sizes, strides, order)


@kernel("argsort", "CompositeImplicitAutograd")
@kernel("argsort.stable", "CompositeImplicitAutograd")
def argsort(self: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Tensor:
    """The indices of sort; with `stable` equal keys keep their order."""
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
    if has_many_dims(self.meta):
        return along("topk", self, dim, lambda three: topk(three, k, 1, largest, sorted))
    place, sizes = wrap_dim("topk", dim, self.meta.ndim), self.meta.sizes
    size = sizes[place] if sizes else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"topk(): selected index k out of range: k is {k}, the dimension has size {size}")
    if self.meta.dtype is bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    chosen = (*sizes[:place], k, *sizes[place + 1 :]) if sizes else ()
    if not (16 * k < size and size > 1 and not self.meta.dtype.is_complex):
        _dim_of("topk", self, dim)

    def first(array: Array) -> Array:
        if 16 * k < size and size > 1:
            return _selected(array, k, place, largest)
        return order_along(array, place, largest)[(slice(None),) * place + (slice(k if sizes else 1),)]

    return _found("topk", self, place, chosen, contiguous_meta(chosen, int64).strides, first)


def _selected(array: Array, k: int, dim: int, largest: bool) -> Array:
    """The indices of the first `k` values of an order along `dim`, found without ordering the others."""
    keys = sortable(array)
    size = array.shape[dim]
    parted = np.argpartition(keys, max(size - k, 0) % size if largest else k, dim)
    part = slice(size - k, size) if largest else slice(0, k)
    candidates = parted[(slice(None),) * dim + (part,)]
    order = order_along(np.take_along_axis(keys, candidates, dim), dim, largest)
    return np.asarray(np.take_along_axis(candidates, order, dim))


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
    return one_along("kthvalue", self, dim, keepdim, lambda rows: order_along(rows, -1, False)[..., k - 1])


def one_along(operator: str, self: Tensor, dim: int, keepdim: bool, find: Finder) -> Planned[Any]:
    """One value along `dim` and its index, which `find` gives for an array along its last axis. Raises IndexError for a
    dim out of range or without elements."""
    base = operator.partition(".")[0]
    if has_many_dims(self.meta):
        result = along(base, self, dim, lambda three: one_along(operator, three, 1, True, find).result, keepdim=keepdim)
        return Planned(result, None)
    place = wrap_dim(base, dim, self.meta.ndim)
    sizes = self.meta.sizes
    if sizes and not sizes[place]:
        raise IndexError(f"{base}(): Expected reduction dim {place} to have non-zero size.")
    one = reduced_sizes(sizes, (place,), True)

    def indices(array: Array) -> Array:
        return find(np.moveaxis(array, place, -1))

    kept = None if keepdim else reduced_sizes(sizes, (place,), False)
    return _found(operator, self, place, one, contiguous_meta(one, int64).strides, indices, kept)


def _middle(array: Array, ignore_nan: bool) -> Array:
    """Index of the median along the last axis, which has at least one element; equal ones count in their order."""
    size, keys = array.shape[-1], sortable(array)
    half = (size - 1) // 2
    nan = np.isnan(keys) if array.dtype.kind not in "iub" else np.zeros((1,) * array.ndim, np.bool_)
    some = nan.any()
    if not some and size <= FEW_KEYS:
        return order_along(array, -1, False)[..., half]
    missing = nan.sum(-1)
    if ignore_nan and some:
        place = np.maximum(size - missing - 1, 0) // 2
        return np.take_along_axis(order_along(array, -1, False), np.asarray(place)[..., None], -1)[..., 0]
    value = np.partition(keys, half, -1)[..., half : half + 1]
    equal = keys == value
    if (equal.sum(-1) > 1).any():
        before = half - (keys < value).sum(-1, keepdims=True)
        equal &= equal.cumsum(-1) == before + 1
    middle: Array = np.where(missing > 0, nan.argmax(-1), equal.argmax(-1))
    return middle


EMPTY_MEDIANS = {"int32": -(1 << 31), "int64": -(1 << 63), "uint64": 1 << 63}
"""Integer dtype -> the median of no elements, NaN converted to it; 0 for dtypes that are not listed."""


def _median_of(flat: Array, dtype: DType, ignore_nan: bool) -> Any:
    if not flat.size:
        return float("nan") if dtype.kind == 2 else EMPTY_MEDIANS.get(dtype.name, 0)
    keys = sortable(flat)
    missing = int(np.count_nonzero(np.isnan(keys))) if dtype.kind == 2 else 0
    if missing and not ignore_nan:
        return float("nan")
    place = max(flat.size - missing - 1, 0) // 2
    return np.partition(keys, place)[place]


def _register_median(name: str, ignore_nan: bool) -> None:
    """Register median, in which NaN wins, or nanmedian: of all elements, and along a dim together with its index."""

    @kernel(name)
    @plannable
    def whole(self: Tensor) -> Tensor | Planned[Tensor]:
        dtype = self.meta.dtype
        check_implemented(name, dtype, dtype.kind in (1, 2))
        flat, wanted = reshape(self, (-1,)) if has_many_dims(self.meta) else self, (contiguous_meta, (), dtype)
        return planned_arrays(
            None, (flat,), lambda array: (_median_of(array.reshape(-1), dtype, ignore_nan),), wanted, kept=flat is self
        )

    @kernel(f"{name}.dim")
    @plannable
    def along_dim(self: Tensor, dim: int, keepdim: bool = False) -> Any:
        check_implemented(name, self.meta.dtype, self.meta.dtype.kind in (1, 2))
        return one_along(f"{name}.dim", self, dim, keepdim, partial(_middle, ignore_nan=ignore_nan))


_register_median("median", False)
_register_median("nanmedian", True)
