"""Adaptive pooling: as many windows as are asked for, which share the dim out and may overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...core.device import cpu
from ...core.dtype import int64
from ...tensor.array_view import array_of
from ...tensor.geometry import geometry_of
from ...tensor.tensor import Tensor, new_like
from ..arrays import Array, values, widened
from ..copy import copy_values
from ..reductions import mean_dims
from .calls import apply, apply_for_many, check_dtype
from .layouts import empty_in_suggested_format, empty_row_major
from .pool_shapes import adaptive_bounds
from .windows import trailing

Ints = Sequence[int]


def _result(operator: str, self: Tensor, output_size: Ints, dims: int) -> Tensor:
    own = self.geometry.sizes
    if len(output_size) != dims:
        raise RuntimeError(f"{operator}(): output_size must be {dims}, got {list(output_size)}")
    if min(output_size) < 0:
        raise RuntimeError(
            f"{operator}(): elements of output_size must be greater than or equal to 0 but received "
            f"{list(output_size)}"
        )
    if len(own) not in (dims + 1, dims + 2):
        raise RuntimeError(f"{operator}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(own)}")
    if 0 in own[-dims:]:
        raise RuntimeError(
            f"{operator}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(own)} with dimension {own.index(0, len(own) - dims)} being empty"
        )
    check_dtype(operator, self)
    sizes = (*own[:-dims], *output_size)
    if dims == 3 and (operator != "adaptive_avg_pool3d" or max(output_size) > 1):
        return empty_row_major(self.geometry, sizes)
    return empty_in_suggested_format(self.geometry, sizes)


def averaged(array: Array, parts: Ints) -> Array:
    """The means of the parts of the last dims, dim after dim."""
    for d, count in enumerate(parts):
        axis = array.ndim - len(parts) + d
        size = array.shape[axis]
        if count and size % count == 0:
            split = (*array.shape[:axis], count, size // count, *array.shape[axis + 1 :])
            array = array.reshape(split).mean(axis=axis + 1, dtype=array.dtype)
            continue
        lead: tuple[Any, ...] = (slice(None),) * axis
        made = np.empty((*array.shape[:axis], count, *array.shape[axis + 1 :]), array.dtype)
        for part, (start, end) in enumerate(adaptive_bounds(size, count)):
            made[(*lead, part)] = array[(*lead, slice(start, end))].mean(axis=axis, dtype=array.dtype)
        array = made
    return array


def _adaptive_avg_pool(dims: int) -> Callable[..., Tensor]:
    name = f"adaptive_avg_pool{dims}d"

    def adaptive_avg_pool(self: Tensor, output_size: Ints) -> Tensor:
        result = _result(name, self, output_size, dims)
        if result.geometry.device is cpu and result.geometry.numel:
            if set(output_size) == {1}:
                last = tuple(range(self.geometry.ndim - dims, self.geometry.ndim))
                copy_values(result, mean_dims(self, last, True))
                return result
            with np.errstate(all="ignore"):
                array_of(result)[...] = averaged(widened(values(self), self.geometry.dtype), output_size)
        return result

    adaptive_avg_pool.__name__ = adaptive_avg_pool.__qualname__ = name
    return adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg_pool(dims) for dims in (1, 2, 3))


def _adaptive_max_pool(dims: int) -> Callable[..., tuple[Tensor, Tensor]]:
    name = f"adaptive_max_pool{dims}d"

    def adaptive_max_pool(self: Tensor, output_size: Ints) -> tuple[Tensor, Tensor]:
        result = _result(name, self, output_size, dims)
        geometry = result.geometry
        places = new_like(geometry_of(geometry.sizes, geometry.strides, int64, geometry.device))
        if geometry.device is cpu and geometry.numel:
            _fill_largest(values(self), array_of(result), array_of(places), output_size)
        return result, places

    adaptive_max_pool.__name__ = adaptive_max_pool.__qualname__ = name
    return adaptive_max_pool


def _fill_largest(array: Array, largest: Array, places: Array, parts: Ints) -> None:
    dims = len(parts)
    own = array.shape[-dims:]
    lead = array.shape[:-dims]
    bounds = [adaptive_bounds(size, count) for size, count in zip(own, parts, strict=True)]
    for cell in product(*map(range, parts)):
        cut = [bounds[d][cell[d]] for d in range(dims)]
        lengths = tuple(end - start for start, end in cut)
        part = array[trailing(slice(*pair) for pair in cut)].reshape(*lead, prod(lengths))
        nan = np.isnan(part)
        first = np.argmax(part, axis=-1)
        if nan.any():
            last = part.shape[-1] - 1 - np.argmax(nan[..., ::-1], axis=-1)
            first = np.where(nan.any(axis=-1), last, first)
        largest[trailing(cell)] = np.take_along_axis(part, first[..., None], -1)[..., 0]
        inside = np.unravel_index(first, lengths)
        moved = tuple(line + start for line, (start, _) in zip(inside, cut, strict=True))
        places[trailing(cell)] = np.ravel_multi_index(moved, own)


adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max_pool(dims) for dims in (2, 3))


def adaptive_max_pool1d(self: Tensor, output_size: Ints) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool2d of rows. Raises RuntimeError as the others."""
    if self.geometry.ndim not in (2, 3):
        raise RuntimeError(
            f"adaptive_max_pool1d(): Expected 2 to 3 dimensions, but got {self.geometry.ndim}-dimensional tensor"
        )
    found = apply_for_many("adaptive_max_pool2d", apply("unsqueeze", self, -2), (1, *output_size))
    first, second = (apply("squeeze.dim", part, -2) for part in found)
    return first, second
