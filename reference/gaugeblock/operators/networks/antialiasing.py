"""Resampling of images that lets every element count: weighted sums over windows as wide as a place of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.device import cpu
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, new_like
from ..arrays import Array, values
from .dense_weights import mixed
from .upsampling import Sizes, by_scales, checked

CUBIC = -0.5
"""The parameter of the cubic filter, another than that of interpolation."""


def triangle(x: Array) -> Array:
    """1 at 0, falling to 0 at 1."""
    return np.asarray(np.maximum(1 - np.abs(x), 0))


def cubic(x: Array) -> Array:
    """1 at 0, 0 at whole numbers and from 2 on."""
    a, x = CUBIC, np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def filter_weights(
    size: int, wanted: int, align: bool, scale: float | None, filter: Callable[[Array], Array], reach: int
) -> Array:
    """A row for each place of the result: how much of each element it gets; every row sums to 1."""
    if align:
        step = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        step = 1 / scale if scale is not None and scale > 0 else size / wanted
    wide = max(step, 1.0)
    weights = np.zeros((wanted, size))
    for k in range(wanted):
        middle = step * (k + 0.5)
        first = max(int(middle - reach * wide + 0.5), 0)
        last = min(int(middle + reach * wide + 0.5), size)
        share = filter((np.arange(first, last) - middle + 0.5) / wide)
        total = share.sum()
        weights[k, first:last] = share / total if total else share
    return weights


def _resampled(operator: str, filter: Callable[[Array], Array], reach: int) -> Any:
    def upsample(
        self: Tensor, output_size: Sizes, align_corners: bool, scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:  # fmt: skip
        result = new_like(checked(operator, self, output_size, 2))
        if result.meta.device is cpu and result.meta.numel:
            array = values(self)
            for axis, scale in ((3, scales_w), (2, scales_h)):
                size, wanted = array.shape[axis], output_size[axis - 2]
                if size != wanted:
                    array = mixed(array, filter_weights(size, wanted, align_corners, scale, filter, reach), axis)
            array_of(result)[...] = array
        return result

    upsample.__name__ = upsample.__qualname__ = operator
    return upsample


_upsample_bilinear2d_aa = _resampled("_upsample_bilinear2d_aa", triangle, 1)
_upsample_bicubic2d_aa = _resampled("_upsample_bicubic2d_aa", cubic, 2)
_upsample_bilinear2d_aa_vec = by_scales("_upsample_bilinear2d_aa")
_upsample_bicubic2d_aa_vec = by_scales("_upsample_bicubic2d_aa")
