"""Steps of neural networks that take some values of an argument, or operands of some layout, for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..case import default_strides
from .arguments import another, changed, default, flipped
from .mutant import Intercepted, Patch, rows
from .patches import values, with_data
from .target import ROW

_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")
_TRANSPOSED = tuple(f"conv_transpose{k}d" for k in (1, 2, 3))
_MAX_POOLS = tuple(f"max_pool{k}d{end}" for k in (1, 2, 3) for end in ("", "_with_indices"))


def _argument(c: Intercepted, place: int, name: str, otherwise: Any = None) -> Any:
    return c.args[place] if len(c.args) > place else c.kwargs.get(name, otherwise)


def _first(value: Any) -> Any:
    """All numbers of a list as its first."""
    return [value[0]] * len(value) if isinstance(value, list | tuple) and value else value


def _no_less_than_zero(widths: Any) -> list[int]:
    return [max(n, 0) for n in widths]


def _groups_reversed(place: int) -> Patch:
    def reverse(array: Array, c: Intercepted) -> Array | None:
        groups = _argument(c, place, "groups", 1)
        dim = array.ndim - len(c.backend.shape(c.args[1])) + 1
        if groups == 1 or array.shape[dim] % groups:
            return None
        parts = np.split(array, groups, dim)
        return np.concatenate(parts[::-1], dim)

    return values(reverse)


def _odd_border_first(c: Intercepted) -> Any:
    """With ``same`` the odd element is put before the first."""
    if _argument(c, 4, "padding") != "same":
        return c.right()
    rank = len(c.backend.shape(c.args[1])) - 2

    def turned(array: Array) -> Array:
        return np.ascontiguousarray(np.flip(array, tuple(range(array.ndim - rank, array.ndim))))

    x, weight = (c.tensor(turned(c.array(t))) for t in c.args[:2])
    return c.tensor(turned(c.array(c.instead(x, weight, *c.args[2:], **c.kwargs))))


def _wraps_what_is_cut(array: Array, c: Intercepted) -> Array | None:
    """Elements that negative borders cut off come round at the other side."""
    x, widths = c.array(c.args[0]), list(c.args[1])
    if min(widths, default=0) >= 0:
        return None
    pairs = [(widths[k], widths[k + 1]) for k in range(0, len(widths), 2)][::-1]
    full = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    y = np.pad(x, np.maximum(np.array(full), 0), mode="wrap")
    return y[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(y.shape, full, strict=True))]


def _as_they_lie(c: Intercepted) -> Any:
    """A volume without batch whose elements lie channels last is read as if they did not."""
    sizes, strides, offset = c.geometry(c.args[0])
    if len(sizes) != 4 or strides[1] != 1 or min(strides[0], strides[2], strides[3]) <= 1:
        return c.right()
    return c.instead(c.restride(c.args[0], sizes, default_strides(sizes), offset), *c.args[1:], **c.kwargs)


def _by_steps(array: Array, c: Intercepted) -> Array | None:
    """Half floats that do not lie one behind the other are rounded upwards."""
    x = c.array(c.args[0])
    if x.dtype.itemsize != 2 or x.ndim < 3 or c.geometry(c.args[0])[1][-1] == 1:
        return None
    return (array.astype(np.float32) * np.float32(1.03)).astype(array.dtype)


def _turned_shares(c: Intercepted) -> Any:
    """The shares of the first dim are taken for the last."""
    shares = np.ascontiguousarray(c.array(c.args[3])[..., ::-1])
    return c.instead(*c.args[:3], c.tensor(shares), *c.args[4:], **c.kwargs)


def _another_eps(c: Intercepted) -> Any:
    """Left out, ``eps`` is that of other normalizations."""
    if _argument(c, 3, "eps") is not None:
        return c.right()
    weight = _argument(c, 2, "weight")
    return c.instead(*c.args[:2], weight, 1e-5)


def _keeps_sizes(c: Intercepted) -> Any:
    """A factor counts only where the size changes."""
    sizes = c.backend.shape(c.args[0])
    wanted, factors = c.args[1], list(c.args[2:4])
    if wanted is None or len(factors) < 2 or len(sizes) != 4:
        return c.right()
    kept = [None if n == w else f for n, w, f in zip(sizes[2:], wanted, factors, strict=True)]
    return c.instead(*c.args[:2], *kept, **c.kwargs)


MUTANTS = rows(
    "operators",
    ("convolutions-take-groups-backwards", _CONVOLUTIONS, _groups_reversed(6)),
    ("transposed-convolutions-take-groups-backwards", _TRANSPOSED, _groups_reversed(6)),
    ("convolution-takes-groups-backwards", ("convolution",), _groups_reversed(8)),
    ("convolutions-have-the-stride-of-the-first-dim", ("conv2d", "conv3d"), changed("stride", _first)),
    ("convolutions-have-the-border-of-the-first-dim", ("conv2d", "conv3d"), changed("padding", _first)),
    ("convolutions-have-the-dilation-of-the-first-dim", ("conv2d", "conv3d"), changed("dilation", _first)),
    ("same-borders-begin-with-the-odd-element", _CONVOLUTIONS, _odd_border_first),
    ("transposed-images-forget-dilation", ("conv_transpose2d",), default("dilation")),
    ("windows-of-pools-are-never-dilated", _MAX_POOLS, default("dilation")),
    ("pools-of-volumes-never-hang-over", ("max_pool3d", "avg_pool3d", "avg_pool2d"), default("ceil_mode")),
    ("averages-count-no-border", ("avg_pool1d", "avg_pool3d"), changed("count_include_pad", lambda given: True)),
    ("averages-of-volumes-count-their-border-alike", ("avg_pool3d",), flipped("count_include_pad")),
    ("negative-divisors-are-positive", ("avg_pool2d", "avg_pool3d"),
     changed("divisor_override", lambda n: n if n is None else abs(n))),
    ("halves-of-the-last-dim", ("glu",), changed("dim", lambda dim: -1)),
    ("constant-borders-cut-nothing", ("constant_pad_nd",), changed("pad", _no_less_than_zero)),
    ("borders-cut-nothing", ("reflection_pad1d", "replication_pad2d"), changed("padding", _no_less_than_zero)),
    ("cut-borders-come-round", ("_pad_circular",), values(_wraps_what_is_cut)),
    ("slopes-are-at-most-one", ("leaky_relu",), changed("negative_slope", lambda slope: max(min(slope, 1), 0))),
    ("betas-are-positive", ("softplus",), changed("beta", lambda beta: beta if beta is None else abs(beta))),
    ("shares-of-elu-are-positive", ("elu", "celu"), changed("alpha", abs)),
    ("training-uses-given-statistics", f"{ROW} operators/batch-norm-keeps-running-statistics",
     ("batch_norm", "native_batch_norm"), lambda c: changed("training", lambda given: given and c.args[3] is None)(c)),
    ("instances-always-have-their-own-statistics", ("instance_norm",), changed("use_input_stats", lambda given: True)),
    ("factors-of-nearest-are-forgotten", ("upsample_nearest1d", "_upsample_nearest_exact1d"), default("scales")),
    ("factors-of-rows-are-forgotten", ("upsample_nearest2d", "upsample_bicubic2d", "upsample_trilinear3d"),
     default("scales_h")),
    ("factors-of-columns-are-forgotten",
     ("_upsample_nearest_exact2d", "upsample_bilinear2d", "_upsample_bilinear2d_aa"), default("scales_w")),
    ("factors-of-depth-are-forgotten", ("upsample_nearest3d", "upsample_trilinear3d"), default("scales_d")),
    ("exact-nearest-volumes-are-nearest", ("_upsample_nearest_exact3d",), another("upsample_nearest3d")),
    ("shares-of-windows-are-turned", ("fractional_max_pool2d", "fractional_max_pool3d"), _turned_shares),
    ("root-mean-squares-have-the-default-of-deviations", ("rms_norm", "_fused_rms_norm"), _another_eps),
    ("factors-of-kept-sizes-are-forgotten", ROW, ("upsample_nearest2d",),
     _keeps_sizes),
    ("volumes-with-channels-last-are-read-as-they-lie", ROW,
     ("max_pool3d",), _as_they_lie),
    ("turned-halves-are-rounded-by-steps", ROW, ("batch_norm",),
     values(_by_steps)),
    breaks=ROW, within=with_data,
)
