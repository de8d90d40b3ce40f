"""The gradient of a convolution's weight as products of matrices, where nothing is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...core.away import away
from ...core.device import cpu
from ...core.dtype import float32, float64
from ...dispatch.keys import any_watched
from ...dispatch.state import SPECIAL
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, empty_tensor
from ..arrays import Array, values
from .columns import column_blocks
from .windows import Ints, padded


def weight_gradient(
    small: Tensor,
    wide: Tensor,
    sizes: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor | None:
    """What each element of a weight of `sizes` [small's channels, wide's channels / groups, kernel...] saw.

    That is the sum of the products of `small` [batch, channels, windows...] with the window elements of `wide` [batch,
    channels, spatial...].

    None for what is recorded, watched by modes, on other devices, or of other dtypes than float32 and float64.
    """
    dtype = small.meta.dtype
    plain = all(
        one.__class__ is Tensor and one.meta.device is cpu and not one.meta.lazy and one.meta.dtype is dtype
        for one in (small, wide)
    )
    if not plain or dtype not in (float32, float64) or SPECIAL or any_watched((small, wide), {}):
        return None
    result = empty_tensor(tuple(sizes), dtype, cpu)
    target = array_of(result)
    target[...] = 0
    if small.meta.numel and wide.meta.numel and result.meta.numel:
        around = tuple(padding)
        setting = (tuple(stride), tuple(dilation), groups)
        work = small.meta.numel * prod(sizes[1:])
        away(work, _add_products, target, values(small), padded(values(wide), around, around), *setting)
    return result


def _add_products(into: Array, small: Array, source: Array, stride: Ints, dilation: Ints, groups: int) -> None:
    counts, kernel = small.shape[2:], into.shape[2:]
    given = np.ascontiguousarray(small).reshape(small.shape[0], groups, small.shape[1] // groups, -1)
    total = into.reshape(groups, given.shape[2], -1)
    with np.errstate(all="ignore"):
        for samples, places, block in column_blocks(source, kernel, stride, dilation, counts, groups, into.dtype):
            total += _product(given[samples, :, :, places], block)


def _product(given: Array, columns: Array) -> Array:
    """[groups, channels, length]: over all samples, each channel with each line of the columns."""
    found: Array = np.matmul(given, columns.swapaxes(-1, -2)).sum(0)
    return found
