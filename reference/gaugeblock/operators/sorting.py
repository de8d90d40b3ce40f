"""Order along a dim: sort, argsort, msort, topk, kthvalue. NaN counts as the largest value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, int64
from ..core.errors import wrap_dim
from ..tensor.array_view import array_of
from ..tensor.geometry import contiguous_geometry, geometry_of
from ..tensor.strides import preserve_format_strides
from ..tensor.tensor import Tensor, new_like
from .arrays import Array, values
from .named_results import pair
from .registration import kernel

SMALL = 1024
"""Rows of up to so many elements are always sorted stably."""


def sortable(array: Array) -> Array:
    """`array` in a dtype that NumPy sorts; bfloat16 is widened."""
    return array.astype(np.float32) if array.dtype == bfloat16.numpy else array


def order_along(array: Array, dim: int, descending: bool, stable: bool = True) -> Array:
    """The order of the elements along `dim`: NaN last ascending, first descending; if `stable`, equal keys as given."""
    array = sortable(array)
    if not stable and array.shape[dim] > SMALL:
        order = np.argsort(array, dim)
        return np.flip(order, dim) if descending else order
    if not descending:
        return np.argsort(array, dim, kind="stable")
    reversed_order = np.argsort(np.flip(array, dim), dim, kind="stable")
    return np.flip(array.shape[dim] - 1 - reversed_order, dim)


def _ordered(array: Array, dim: int, descending: bool, stable: bool = True) -> tuple[Array, Array]:
    """The values in order and their indices."""
    order = order_along(array, dim, descending, stable)
    return np.take_along_axis(array, order, dim), order


Finder = Callable[[Array], tuple[Array, Array]]
"""From the values of a tensor (1-D for a 0-dim one) to the chosen values and their indices."""


def _dim_of(operator: str, self: Tensor, dim: int) -> int:
    """The wrapped `dim`. Raises IndexError out of range, RuntimeError for complex values."""
    place = wrap_dim(operator, dim, self.geometry.ndim)
    if self.geometry.dtype.is_complex:
        raise RuntimeError(f"{operator}(): Sort does not support complex dtypes on CPU")
    return place


def _found(self: Tensor, sizes: tuple[int, ...] | None, find: Finder) -> tuple[Tensor, Tensor]:
    """Fresh values and int64 indices of `sizes`, row-major; for None with the sizes and stride order of `self`."""
    geometry, dtype, device = self.geometry, self.geometry.dtype, self.geometry.device
    if sizes is None:
        strides = preserve_format_strides(geometry.sizes, geometry.strides)
        results = [new_like(geometry_of(geometry.sizes, strides, kind, device)) for kind in (dtype, int64)]
    else:
        results = [new_like(contiguous_geometry(sizes, kind, device)) for kind in (dtype, int64)]
    if device is cpu:
        found = find(values(self).reshape(geometry.sizes or (1,)))
        for result, array in zip(results, found, strict=True):
            array_of(result)[...] = array.reshape(result.geometry.sizes)
    return results[0], results[1]


def _sorted(operator: str, self: Tensor, dim: int, descending: bool, stable: bool = True) -> tuple[Tensor, Tensor]:
    place = _dim_of(operator, self, dim)
    return _found(self, None, lambda array: _ordered(array, place, descending, stable))


@kernel("sort")
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """Values and int64 indices in order along `dim`; equal keys of long rows come in any order.

    Raises IndexError for a dim out of range, RuntimeError for complex values.
    """
    return pair("sort", *_sorted("sort", self, dim, descending, False))


@kernel("sort.stable")
def sort_stable(self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Any:
    """sort; with `stable` equal keys keep their order."""
    return pair("sort.stable", *_sorted("sort", self, dim, descending, bool(stable)))


@kernel("argsort")
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices of sort."""
    return _sorted("argsort", self, dim, descending, False)[1]


@kernel("argsort.stable")
def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices of sort; with `stable` equal keys keep their order."""
    return _sorted("argsort", self, dim, descending, stable)[1]


@kernel("msort")
def msort(self: Tensor) -> Tensor:
    """The values of sort along dim 0."""
    return _sorted("msort", self, 0, False)[0]


def check_not_bool(operator: str, dtype: DType) -> None:
    """Raise NotImplementedError for bool."""
    if dtype is bool_:
        raise NotImplementedError(f"\"{operator}\" not implemented for 'Bool'")


@kernel("topk")
def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) values along `dim`, in order, and their indices.

    Raises RuntimeError when `k` exceeds the size, and for bool and complex.
    """
    place = wrap_dim("topk", dim, self.geometry.ndim)
    size = self.geometry.sizes[place] if self.geometry.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"topk(): selected index k out of range: k is {k}, the dimension has size {size}")
    if self.geometry.dtype is bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    sizes = self.geometry.sizes
    chosen = (*sizes[:place], k, *sizes[place + 1 :]) if sizes else ()
    if 16 * k < size and size > 1 and not self.geometry.dtype.is_complex:
        return pair("topk", *_found(self, chosen, lambda array: _selected(array, k, place, largest)))
    _dim_of("topk", self, dim)

    def first(array: Array) -> tuple[Array, Array]:
        part = (slice(None),) * place + (slice(k if sizes else 1),)
        ordered, order = _ordered(array, place, largest)
        return ordered[part], order[part]

    return pair("topk", *_found(self, chosen, first))


def _selected(array: Array, k: int, dim: int, largest: bool) -> tuple[Array, Array]:
    """The first `k` values of an order along `dim`, found without ordering the others."""
    keys = sortable(array)
    size = array.shape[dim]
    parted = np.argpartition(keys, max(size - k, 0) % size if largest else k, dim)
    part = slice(size - k, size) if largest else slice(0, k)
    candidates = parted[(slice(None),) * dim + (part,)]
    order = order_along(np.take_along_axis(keys, candidates, dim), dim, largest)
    chosen = np.take_along_axis(candidates, order, dim)
    return np.take_along_axis(array, chosen, dim), chosen


@kernel("kthvalue")
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest value along `dim`, counted from 1, and its index.

    Raises RuntimeError when `k` is out of [1, size], NotImplementedError for bool.
    """
    place = wrap_dim("kthvalue", dim, self.geometry.ndim)
    size = self.geometry.sizes[place] if self.geometry.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {place}: {k} not in [1, {size}]")
    check_not_bool("kthvalue", self.geometry.dtype)
    _dim_of("kthvalue", self, dim)
    sizes = self.geometry.sizes
    kept = (1,) if keepdim else ()
    part = (slice(None),) * place + (slice(k - 1, k),)

    def one(array: Array) -> tuple[Array, Array]:
        ordered, order = _ordered(array, place, False)
        return ordered[part], order[part]

    return pair("kthvalue", *_found(self, (*sizes[:place], *kept, *sizes[place + 1 :]) if sizes else (), one))
