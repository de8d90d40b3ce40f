"""Elements put back where max pooling found them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...core.device import cpu
from ...core.dtype import int64
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor
from ..arrays import values
from .calls import check_dtype
from .layouts import empty_in_suggested_format

Ints = Sequence[int]


def _unpooled(operator: str, self: Tensor, indices: Tensor, output_size: Ints, dims: int) -> Tensor:
    own = self.geometry.sizes
    if len(output_size) != dims:
        raise RuntimeError(
            f"{operator}(): There should be exactly {dims} elements in output_size, but got {len(output_size)}"
        )
    if indices.geometry.dtype is not int64:
        raise RuntimeError(
            f"{operator}(): elements in indices should be type int64 but got: {indices.geometry.dtype.name}"
        )
    if len(own) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{operator}(): Input to {operator} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
            f"{len(own)} dimensions."
        )
    if indices.geometry.sizes != own:
        raise RuntimeError(
            f"{operator}(): Expected shape of indices to be same as that of the input tensor ({list(own)}) but got "
            f"indices tensor with shape: {list(indices.geometry.sizes)}"
        )
    if 0 in own[-dims - 1 :]:
        raise RuntimeError(
            f"{operator}(): Expected input to have non-zero size for non-batch dimensions, but got {list(own)}"
        )
    check_dtype(operator, self)
    result = empty_in_suggested_format(self.geometry, (*own[:-dims], *output_size))
    if self.geometry.device is not cpu:
        return result
    places = values(indices).reshape(prod(own[:-dims]), prod(own[-dims:]))
    area = prod(output_size)
    wrong = (places < 0) | (places >= area)
    if wrong.any():
        raise RuntimeError(
            f"{operator}(): Found an invalid max index: {places[wrong][0]} (output volumes are of size "
            f"{'x'.join(map(str, output_size))})"
        )
    flat = np.zeros((places.shape[0], area), self.geometry.dtype.numpy)
    np.put_along_axis(flat, places, values(self).reshape(places.shape), 1)
    array_of(result)[...] = flat.reshape(result.geometry.sizes)
    return result


def max_unpool2d(self: Tensor, indices: Tensor, output_size: Ints) -> Tensor:
    """self at the places `indices` of images of `output_size`, else 0. Raises RuntimeError for what does not fit."""
    return _unpooled("max_unpool2d", self, indices, output_size, 2)


def max_unpool3d(self: Tensor, indices: Tensor, output_size: Ints, stride: Ints, padding: Ints) -> Tensor:
    """The same for volumes. Raises RuntimeError for what does not fit, and for a stride not above 0."""
    for name, value in (("stride", stride), ("padding", padding)):
        if len(value) != 3:
            raise RuntimeError(
                f"max_unpool3d(): There should be exactly three elements (depth, height, width) in {name}, but got: "
                f"{len(value)} elements."
            )
    if min(stride) <= 0:
        raise RuntimeError(f"max_unpool3d(): strides should be greater than zero, but got stride: {list(stride)}")
    return _unpooled("max_unpool3d", self, indices, output_size, 3)
