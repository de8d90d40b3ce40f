"""Medians: the lower of the two middle values, with the index of one that has it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..core.device import cpu
from ..core.dtype import DType, int64
from ..core.errors import wrap_dim
from ..core.promotion import UPSTREAM_NAMES
from ..tensor.array_view import array_of
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, empty_tensor
from .arrays import Array, computed, values
from .many_dims import along, has_many_dims
from .named_results import pair
from .reduce_call import reduced_sizes
from .registration import kernel
from .sorting import order_along, sortable


def _check(operator: str, self: Tensor) -> None:
    dtype = self.meta.dtype
    if dtype.is_complex or dtype.kind == 0:
        raise NotImplementedError(f"\"{operator}\" not implemented for '{UPSTREAM_NAMES[dtype.name]}'")


def _middle(array: Array, ignore_nan: bool) -> Array:
    """Index of the median along the last axis, which has at least one element; equal ones count in their order."""
    size = array.shape[-1]
    keys = sortable(array)
    nan = np.isnan(keys) if array.dtype.kind not in "iub" else np.zeros((1,) * array.ndim, np.bool_)
    missing = nan.sum(-1)
    if ignore_nan and missing.any():
        place = np.maximum(size - missing - 1, 0) // 2
        return np.take_along_axis(order_along(array, -1, False), np.asarray(place)[..., None], -1)[..., 0]
    half = (size - 1) // 2
    value = np.partition(keys, half, -1)[..., half : half + 1]
    equal = keys == value
    if (equal.sum(-1) > 1).any():
        before = half - (keys < value).sum(-1, keepdims=True)
        equal &= equal.cumsum(-1) == before + 1
    middle: Array = np.where(missing > 0, nan.argmax(-1), equal.argmax(-1))
    return middle


def _median_all(operator: str, self: Tensor, ignore_nan: bool) -> Tensor:
    _check(operator, self)
    if has_many_dims(self.meta):
        self = reshape(self, (-1,))
    dtype = self.meta.dtype
    return computed((), dtype, self.meta.device, lambda: _median_of(values(self).reshape(-1), dtype, ignore_nan))


EMPTY_MEDIANS = {"int32": -(1 << 31), "int64": -(1 << 63), "uint64": 1 << 63}
"""Integer dtype -> the median of no elements, NaN converted to it; 0 for dtypes that are not listed."""


def _median_of(flat: Array, dtype: DType, ignore_nan: bool) -> Any:
    if not flat.size:
        if dtype.kind == 2:
            return float("nan")
        return EMPTY_MEDIANS.get(dtype.name, 0)
    return flat[_middle(flat, ignore_nan)]


def _median_dim(operator: str, self: Tensor, dim: int, keepdim: bool, ignore_nan: bool) -> Any:
    _check(operator, self)
    if has_many_dims(self.meta):
        call = partial(_median_dim, operator, dim=1, keepdim=True, ignore_nan=ignore_nan)
        return along(operator, self, dim, call, keepdim=keepdim)
    place = wrap_dim(operator, dim, self.meta.ndim)
    meta = self.meta
    if meta.ndim and meta.sizes[place] == 0:
        raise IndexError(f"{operator}(): Expected reduction dim {place} to have non-zero size.")
    sizes = reduced_sizes(meta.sizes, (place,), keepdim)
    found = empty_tensor(sizes, meta.dtype, meta.device)
    found_at = empty_tensor(sizes, int64, meta.device)
    if meta.device is cpu:
        last = np.moveaxis(values(self).reshape(meta.sizes or (1,)), place, -1)
        index = _middle(last, ignore_nan)
        array_of(found)[...] = np.take_along_axis(last, index[..., None], -1).reshape(sizes)
        array_of(found_at)[...] = index.reshape(sizes)
    return pair(f"{operator}.dim", found, found_at)


@kernel("median")
def median(self: Tensor) -> Tensor:
    """Median of all elements, NaN when one is NaN or there are none."""
    return _median_all("median", self, False)


@kernel("median.dim")
def median_dim(self: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Median along a dim and its index; NaN wins. Raises IndexError for an empty dim."""
    return _median_dim("median", self, dim, keepdim, False)


@kernel("nanmedian")
def nanmedian(self: Tensor) -> Tensor:
    """Median of the elements that are not NaN."""
    return _median_all("nanmedian", self, True)


@kernel("nanmedian.dim")
def nanmedian_dim(self: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Median of the elements along a dim that are not NaN, and its index. Raises IndexError for an empty dim."""
    return _median_dim("nanmedian", self, dim, keepdim, True)
