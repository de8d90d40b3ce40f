"""Sampling of images and volumes at places that a grid names, and grids of affine maps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ...core.device import cpu
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, empty_tensor
from ..arrays import Array, check_same_device, values, widened
from ..invoke import apply
from ..operand_checks import check_scalar_type
from .calls import check_dtype
from .upsampling import cubic_weights

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
Places = list[Array]


def _checked(operator: str, input: Tensor, grid: Tensor, mode: int, padding: int) -> Tensor:
    own, given = input.meta.sizes, grid.meta.sizes
    device = check_same_device(operator, input, grid)
    check_scalar_type(f"{operator}()", input.meta.dtype, grid.meta.dtype)
    if len(own) not in (4, 5) or len(given) != len(own):
        raise RuntimeError(
            f"{operator}(): expected {max(len(own), 4)}D input and grid with same number of dimensions, but got input "
            f"with sizes {list(own)} and grid with sizes {list(given)}"
        )
    if own[0] != given[0]:
        raise RuntimeError(
            f"{operator}(): expected grid and input to have same batch size, but got input with sizes {list(own)} and "
            f"grid with sizes {list(given)}"
        )
    if given[-1] != len(own) - 2:
        raise RuntimeError(
            f"{operator}(): expected grid to have size {len(own) - 2} in last dimension, but got grid with sizes "
            f"{list(given)}"
        )
    for dim in range(2, len(own)):
        if own[dim] <= 0:
            raise RuntimeError(
                f"{operator}(): expected input to have non-empty spatial dimensions, but input has sizes {list(own)} "
                f"with dimension {dim} being empty"
            )
    for name, number in (("interpolation_mode", mode), ("padding_mode", padding)):
        if number not in range(3):
            raise RuntimeError(f"{operator}(): {name} must be 0, 1 or 2, got {number}")
    if mode == BICUBIC and len(own) == 5:
        raise RuntimeError(f"{operator}(): bicubic interpolation only supports 4D input")
    check_dtype(operator, input)
    return empty_tensor((*own[:2], *given[1:-1]), input.meta.dtype, device)


def _real(share: Array, size: int, align: bool) -> Array:
    """Places in elements of numbers from -1 to 1: from corner to corner, or from edge to edge."""
    kind = share.dtype.type
    if align:
        return np.asarray((share + kind(1)) / kind(2) * kind(size - 1))
    return np.asarray(((share + kind(1)) * kind(size) - kind(1)) / kind(2))


def _inside(places: Array, size: int, padding: int, align: bool) -> Array:
    """Places moved into the image: to its border, or reflected at it; as they are for zeros."""
    if padding == ZEROS:
        return places
    kind = places.dtype.type
    if padding == REFLECTION:
        low, span = kind(0 if align else -0.5), kind(size - 1 if align else size)
        if not span:
            return np.zeros_like(places)
        off = np.abs(places - low)
        extra, odd = np.fmod(off, span), np.floor(off / span) % 2 == 1
        places = np.where(odd, span - extra + low, extra + low)
    return np.asarray(np.clip(places, 0, size - 1))


def _taken(array: Array, places: Places) -> Array:
    """The elements at whole places of every channel, zero at those outside; [batch, grid..., channels]."""
    known = np.ones(places[0].shape, bool)
    index = []
    for where, size in zip(places, array.shape[2:], strict=True):
        known &= (where >= 0) & (where < size)
        index.append(np.where(known, where, 0).astype(np.int64))
    batch = np.arange(array.shape[0]).reshape(-1, *[1] * (places[0].ndim - 1))
    channels_last = np.moveaxis(array, 1, -1)
    return np.asarray(np.where(known[..., None], channels_last[(batch, *index)], array.dtype.type(0)))


def _linear(array: Array, places: Places) -> Array:
    low = [np.floor(where) for where in places]
    total: Any = 0
    for corner in product((0, 1), repeat=len(places)):
        shares = [where - below if far else below + 1 - where
                  for where, below, far in zip(places, low, corner, strict=True)]  # fmt: skip
        weight = np.prod(np.stack(shares), axis=0)
        total = total + _taken(array, [below + far for below, far in zip(low, corner, strict=True)]) * weight[..., None]
    return np.asarray(total)


def _cubic(array: Array, places: Places, padding: int, align: bool) -> Array:
    low = [np.floor(where) for where in places]
    weights = [cubic_weights(where - below) for where, below in zip(places, low, strict=True)]
    total: Any = 0
    for far in product(range(4), repeat=2):
        seen = [
            _inside(below + (k - 1), size, padding, align)
            for below, k, size in zip(low, far, array.shape[2:], strict=True)
        ]
        total = total + _taken(array, seen) * (weights[0][far[0]] * weights[1][far[1]])[..., None]
    return np.asarray(total)


def _sampler(operator: str) -> Any:
    def sample(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
        result = _checked(operator, input, grid, interpolation_mode, padding_mode)
        if result.meta.device is not cpu or not result.meta.numel:
            return result
        array, shares = (widened(values(tensor), input.meta.dtype) for tensor in (input, grid))
        sizes = array.shape[2:]
        # The last of a place's numbers counts along the first dim.
        real = [_real(shares[..., len(sizes) - 1 - k], size, align_corners) for k, size in enumerate(sizes)]
        with np.errstate(all="ignore"):
            if interpolation_mode == BICUBIC:
                found = _cubic(array, real, padding_mode, align_corners)
            else:
                moved = [_inside(w, n, padding_mode, align_corners) for w, n in zip(real, sizes, strict=True)]
                rounded = interpolation_mode == NEAREST
                found = _taken(array, [np.rint(w) for w in moved]) if rounded else _linear(array, moved)
            array_of(result)[...] = np.moveaxis(found, -1, 1)
        return result

    return sample


grid_sampler_2d, grid_sampler_3d = _sampler("grid_sampler_2d"), _sampler("grid_sampler_3d")


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """input [batch, channels, sizes...] at the places of grid [batch, out sizes..., numbers from -1 to 1].

    Modes 0 bilinear, 1 nearest, 2 bicubic; outside lie 0 zeros, 1 the border, 2 the image reflected. Raises
    RuntimeError for sizes and dtypes that do not fit.
    """
    _checked("grid_sampler", input, grid, interpolation_mode, padding_mode)
    name = f"grid_sampler_{input.meta.ndim - 2}d"
    return apply(name, input, grid, interpolation_mode, padding_mode, align_corners)


def _steps(theta: Tensor, count: int, align: bool) -> Tensor:
    """Numbers from -1 to 1, of corners or of middles; 0 for a single one."""
    options = {"dtype": theta.meta.dtype, "device": theta.meta.device}
    if count <= 1:
        return apply("zeros", (max(count, 0),), **options)
    steps = apply("linspace", -1, 1, count, **options)
    return steps if align else apply("mul.Scalar", steps, (count - 1) / count)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """For each matrix of theta [batch, n, n + 1] the grid of the map it stands for, over an image of these sizes.

    Raises RuntimeError for sizes of other than 4 or 5 dims, and for matrices that do not fit.
    """
    if len(size) not in (4, 5):
        raise RuntimeError(
            f"affine_grid_generator(): AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs, got "
            f"{len(size)}d"
        )
    batch, spatial = size[0], tuple(size[2:])
    dims = len(spatial)
    dtype, device = theta.meta.dtype, theta.meta.device
    base = apply("ones", (batch, *spatial, dims + 1), dtype=dtype, device=device)
    for k in range(dims):
        # x, the first of a place's numbers, counts along the last dim.
        steps = _steps(theta, spatial[dims - 1 - k], align_corners)
        shown = apply("view", steps, (-1, *[1] * k)) if spatial[dims - 1 - k] else steps
        if base.meta.numel:
            apply("copy_", apply("select.int", base, -1, k), shown)
    rows = apply("view", base, (batch, int(np.prod(spatial)), dims + 1))
    return apply("view", apply("bmm", rows, apply("transpose.int", theta, 1, 2)), (batch, *spatial, dims))
