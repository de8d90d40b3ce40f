"""Sampling at the places of a grid with torch.nn.functional's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.warn import warn
from ..tensor.tensor import Tensor
from .lookup import operator

MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details."
        )
    return bool(align_corners)


def _number(kind: str, known: dict[str, int], word: str) -> int:
    if word not in known:
        *first, last = (repr(one) for one in known)
        raise ValueError(
            f"nn.functional.grid_sample(): expected {kind} to be {', '.join(first)} or {last}, but got: '{word}'"
        )
    return known[word]


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """input at the places of grid, numbers from -1 to 1, the last dim's first. Raises ValueError for other words."""
    numbers = _number("mode", MODES, mode), _number("padding_mode", PADDING_MODES, padding_mode)
    return operator("grid_sampler")(input, grid, *numbers, _aligned(align_corners))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """The grid of each affine map of theta over images of `size`. Raises ValueError for what does not fit."""
    align = _aligned(align_corners)
    if not theta.meta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{list(size)}."
        )
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(size)}. Got "
            f"{tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    return operator("affine_grid_generator")(theta, size, align)
