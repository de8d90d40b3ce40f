"""Padding, patches, interpolation and sampling by grids with torch.nn.functional's signatures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..calls.functions import ops
from ..core.warn import warn
from ..tensor.tensor import Tensor
from .checked import repeated

UPSAMPLING = {"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,),
              "bicubic": (2,)}  # fmt: skip
"""Mode -> how many dims behind the channels its operators take."""
SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Elements added before and after, last dim first: a constant, reflected, the outermost repeated, or circular."""
    return ops.pad(input, pad, mode, value)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The patches of images as columns."""
    return ops.im2col(input, *(repeated(value, 2) for value in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Columns added up as patches of images."""
    given = (output_size, kernel_size, dilation, padding, stride)
    return ops.col2im(input, *(repeated(value, 2) for value in given))


def _deprecated(name: str) -> None:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """interpolate under its older name."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate to the nearest element."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate between the corners of images."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """input resampled to `size`, or by `scale_factor`.

    Raises ValueError unless exactly one of the two is given, and for options that the mode does not take;
    NotImplementedError for a mode that does not go with the number of dims.
    """
    if mode not in SMOOTH and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and (mode not in ("bilinear", "bicubic") or input.ndim != 4):
        raise ValueError(
            f"Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input, got "
            f"{mode} and {input.ndim} dims"
        )
    dims = input.ndim - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales: tuple[float, ...] | None = None
    sizes: tuple[int, ...] | None = None
    for name, value in (("size", size), ("scale_factor", scale_factor)):
        if isinstance(value, (tuple, list)) and len(value) != dims:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and {name} of shape {value}."
            )
    if size is not None:
        sizes = repeated(size, dims)
    else:
        scales = tuple(float(scale) for scale in repeated(scale_factor, dims))
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None and (recompute_scale_factor or mode == "area"):
        sizes = tuple(math.floor(n * scale) for n, scale in zip(input.shape[2:], scales, strict=True))
        scales = None
    if mode == "area":
        return getattr(ops, f"adaptive_avg_pool{dims}d")(input, sizes)
    if dims not in UPSAMPLING.get(mode, ()):
        raise NotImplementedError(
            f"interpolate(): Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    name = f"upsample_{mode.replace('-', '_')}{dims}d"
    if mode in SMOOTH:
        smooth = getattr(ops, f"_{name}_aa" if antialias else name)
        return smooth(input, sizes, bool(align_corners), scales)
    return getattr(ops, f"_{name}" if mode == "nearest-exact" else name)(input, sizes, scales)


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
    return ops.grid_sampler(input, grid, *numbers, _aligned(align_corners))


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
    return ops.affine_grid_generator(theta, size, align)
