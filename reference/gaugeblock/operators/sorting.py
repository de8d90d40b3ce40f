"""Order along a dim: sort, argsort, msort, topk, kthvalue. NaN counts as the largest value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtype import DType, bfloat16, bool_, int64
from ..core.errors import wrap_dim
from ..tensor.tensor import Tensor
from .arrays import Array, filled, values
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


def _ordered(operator: str, self: Tensor, dim: int, descending: bool, stable: bool = True) -> tuple[Array, Array]:
    """The values in order and their indices, both with the sizes of `self`."""
    place = wrap_dim(operator, dim, self.geometry.ndim)
    if self.geometry.dtype.is_complex:
        raise RuntimeError(f"{operator}(): Sort does not support complex dtypes on CPU")
    array = values(self).reshape(self.geometry.sizes or (1,))
    order = order_along(array, place, descending, stable)
    sizes = self.geometry.sizes
    return np.take_along_axis(array, order, place).reshape(sizes), order.reshape(sizes)


def _pair(name: str, self: Tensor, ordered: Array, order: Array) -> Any:
    return pair(name, filled(ordered.shape, self.geometry.dtype, ordered), filled(order.shape, int64, order))


@kernel("sort", "CPU")
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """Values and int64 indices in order along `dim`; equal keys of long rows come in any order.

    Raises IndexError for a dim out of range, RuntimeError for complex values.
    """
    return _pair("sort", self, *_ordered("sort", self, dim, descending, False))


@kernel("sort.stable", "CPU")
def sort_stable(self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Any:
    """sort; with `stable` equal keys keep their order."""
    return _pair("sort.stable", self, *_ordered("sort", self, dim, descending, bool(stable)))


@kernel("argsort", "CPU")
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices of sort."""
    order = _ordered("argsort", self, dim, descending, False)[1]
    return filled(order.shape, int64, order)


@kernel("argsort.stable", "CPU")
def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices of sort; with `stable` equal keys keep their order."""
    order = _ordered("argsort", self, dim, descending, stable)[1]
    return filled(order.shape, int64, order)


@kernel("msort", "CPU")
def msort(self: Tensor) -> Tensor:
    """The values of sort along dim 0."""
    ordered = _ordered("msort", self, 0, False)[0]
    return filled(ordered.shape, self.geometry.dtype, ordered)


def check_not_bool(operator: str, dtype: DType) -> None:
    """Raise NotImplementedError for bool."""
    if dtype is bool_:
        raise NotImplementedError(f"\"{operator}\" not implemented for 'Bool'")


@kernel("topk", "CPU")
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
    if 16 * k < size and size > 1 and not self.geometry.dtype.is_complex:
        return _pair("topk", self, *_selected(values(self), k, place, largest))
    ordered, order = _ordered("topk", self, dim, largest)
    if self.geometry.ndim:
        part = (slice(None),) * place + (slice(k),)
        ordered, order = ordered[part], order[part]
    return _pair("topk", self, ordered, order)


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


@kernel("kthvalue", "CPU")
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest value along `dim`, counted from 1, and its index.

    Raises RuntimeError when `k` is out of [1, size], NotImplementedError for bool.
    """
    place = wrap_dim("kthvalue", dim, self.geometry.ndim)
    size = self.geometry.sizes[place] if self.geometry.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {place}: {k} not in [1, {size}]")
    check_not_bool("kthvalue", self.geometry.dtype)
    ordered, order = _ordered("kthvalue", self, dim, False)
    if self.geometry.ndim:
        part = (slice(None),) * place + (slice(k - 1, k) if keepdim else k - 1,)
        ordered, order = ordered[part], order[part]
    return _pair("kthvalue", self, np.asarray(ordered), np.asarray(order))
