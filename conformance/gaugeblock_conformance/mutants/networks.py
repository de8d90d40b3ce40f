"""Steps of neural networks that forget or change an argument, run another operator, or differ at a border."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..backend import Array
from ..case import default_strides
from .arguments import another, changed, default, flipped
from .mutant import Intercepted, Patch, rows
from .patches import values, with_data
from .target import ROW

_DROPOUTS = ("dropout", "native_dropout")
_SMOOTH = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d")


def _changed(argument: str, change: Callable[[Any], Any]) -> Patch:
    """The right answer with another value of one argument, if it is given."""

    def patch(c: Intercepted) -> Any:
        row = operators.load().get(c.operator)
        if row is None:
            return c.right()
        names = [a.name for a in parse(row.schema).arguments]
        if argument in c.kwargs:
            return c.instead(*c.args, **{**c.kwargs, argument: change(c.kwargs[argument])})
        place = names.index(argument) if argument in names else len(c.args)
        if place >= len(c.args):
            return c.right()
        return c.instead(*c.args[:place], change(c.args[place]), *c.args[place + 1 :], **c.kwargs)

    return patch


def _always(argument: str, value: Any) -> Patch:
    return _changed(argument, lambda given: value)


def _instead_of(old: str, new: str) -> Patch:
    """Another operator of the same arguments."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.do(c.operator.replace(old, new), *c.args, **c.kwargs)
        except Exception:
            return c.right()

    return patch


def _part(place: int, change: Callable[[Array, Intercepted], Array | None]) -> Patch:
    def patch(c: Intercepted) -> Any:
        result = c.right()
        if isinstance(result, tuple | list) and len(result) > place and c.has_data and not _on_meta(result[place]):
            with np.errstate(all="ignore"):
                changed = change(c.array(result[place]), c)
            if changed is not None and changed.size:
                c.put(result[place], changed)
        return result

    return patch


def _on_meta(tensor: Any) -> bool:
    return str(getattr(tensor, "device", "")) == "meta"


def _centred(c: Intercepted) -> Any:
    """The mean is taken off before the root of the mean square is taken."""
    x = c.array(c.args[0])
    if not x.size or not x.ndim or c.base != "rms_norm":
        return c.right()
    return c.instead(c.tensor((x - x.mean(axis=-1, keepdims=True)).astype(x.dtype)), *c.args[1:], **c.kwargs)


def _unscaled(array: Array, c: Intercepted) -> Array | None:
    rate, train = c.args[1], c.args[2]
    return (array * (1 - rate)).astype(array.dtype) if train is not False and 0 < rate < 1 else None


def _halves(array: Array, c: Intercepted) -> Array | None:
    """Each second element is dropped or kept with the one before it."""
    if array.ndim != 1 or len(array) < 100 or not 0 < c.args[1] < 1:
        return None
    kept = np.repeat(array[::2] != 0, 2)[: len(array)]
    full = c.array(c.args[0]).astype(np.float64) / (1 - c.args[1])
    return np.where(kept, full, 0).astype(array.dtype)


def _undilated(c: Intercepted) -> Any:
    return _changed("dilation", lambda given: 1 if isinstance(given, int) else [1] * len(given))(c)


def _without_eps(c: Intercepted) -> Any:
    return _always("eps", 0.0)(c)


def _transposed_grid(c: Intercepted) -> Any:
    """Rows are taken for columns."""
    grid = c.array(c.args[1])
    return c.instead(c.args[0], c.tensor(np.ascontiguousarray(grid[..., ::-1])), *c.args[2:], **c.kwargs)


def _mean_of_all(c: Intercepted) -> Any:
    """The mean of the losses themselves, whatever the lengths of their targets."""
    if len(c.args) < 6 or c.args[5] != 1:
        return c.right()
    loss = c.do(c.operator, *c.args[:5], 0, *c.args[6:], **c.kwargs)
    return c.do("mean", loss)


def _next_column(array: Array, c: Intercepted) -> Array | None:
    return np.roll(array, 1, axis=-1) if array.ndim and array.shape[-1] > 1 else None


def _first_row(array: Array, c: Intercepted) -> Array | None:
    """An image of width 1 repeats its first row."""
    return np.broadcast_to(array[:, :, :1], array.shape) if array.ndim == 4 and array.shape[3] == 1 else None


def _packed_weight(c: Intercepted) -> Any:
    """The weight is read as if nothing lay between its elements."""
    weight = c.args[1]
    if not c.is_tensor(weight):
        return c.right()
    sizes, _, offset = c.geometry(weight)
    return c.instead(c.args[0], c.restride(weight, sizes, (1,), offset), *c.args[2:], **c.kwargs)


def _within_lines(array: Array, c: Intercepted) -> Array | None:
    """Places are counted within a line of the image."""
    return array % c.backend.shape(c.args[0])[-1]


def _bytes_in_storage_order(c: Intercepted) -> Any:
    """The elements of a uint8 image are read as if in row-major order."""
    sizes, strides, offset = c.geometry(c.args[0])
    if c.backend.dtype(c.args[0]) != "uint8" or strides == default_strides(sizes):
        return c.right()
    return c.instead(c.restride(c.args[0], sizes, default_strides(sizes), offset), *c.args[1:], **c.kwargs)


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


MUTANTS = (
    *rows(
        "operators",
        ("ignored-class-counts", ("nll_loss", "nll_loss_forward", "cross_entropy_loss"), _always("ignore_index", -100)),
        ("class-weights-are-forgotten", ("nll_loss2d", "nll_loss_nd"), _always("weight", None)),
        ("label-smoothing-is-forgotten", ("cross_entropy_loss",), _always("label_smoothing", 0.0)),
        ("positive-weight-is-forgotten", ("binary_cross_entropy_with_logits",), _always("pos_weight", None)),
        ("mean-of-loss-is-its-sum", ("l1_loss", "soft_margin_loss"), _changed("reduction", lambda kind: kind and 2)),
        ("huber-delta-is-one", ("huber_loss",), _always("delta", 1.0)),
        ("smooth-beta-is-one", ("smooth_l1_loss",), _always("beta", 1.0)),
        ("hinge-margin-is-one", ("hinge_embedding_loss",), _always("margin", 1.0)),
        ("cosine-margin-is-zero", ("cosine_embedding_loss",), _always("margin", 0.0)),
        ("triplet-never-swaps", ("triplet_margin_loss",), _always("swap", False)),
        ("multi-margin-is-linear", ("multi_margin_loss",), _always("p", 1)),
        ("divergence-of-logs-is-of-shares", ("kl_div",), _always("log_target", False)),
        ("poisson-is-never-full", ("poisson_nll_loss",), _always("full", False)),
        ("alignment-mean-ignores-lengths", ("ctc_loss",), _mean_of_all),
        ("impossible-alignments-stay-infinite", ("ctc_loss",), _always("zero_infinity", False)),
        ("windows-never-hang-over", ("max_pool2d_with_indices", "avg_pool1d"), _always("ceil_mode", False)),
        ("average-counts-its-border", ("avg_pool2d",), _always("count_include_pad", True)),
        ("divisor-is-forgotten", ("avg_pool3d",), _always("divisor_override", None)),
        ("pooled-places-count-lines", ("adaptive_max_pool2d", "max_pool3d_with_indices"), _part(1, _within_lines)),
        ("exact-nearest-is-nearest", tuple(f"_upsample_nearest_exact{k}d" for k in (1, 2, 3)),
         _instead_of("_upsample_nearest_exact", "upsample_nearest")),
        ("corners-are-never-aligned", _SMOOTH, _always("align_corners", False)),
        ("scale-of-linear-is-forgotten", ("upsample_linear1d",), _always("scales", None)),
        ("cubic-is-linear", ("upsample_bicubic2d",), _instead_of("bicubic", "bilinear")),
        ("antialiasing-is-interpolation", ("_upsample_bilinear2d_aa",),
         _instead_of("_upsample_bilinear2d_aa", "upsample_bilinear2d")),
        ("antialiased-cubic-has-the-other-parameter", ("_upsample_bicubic2d_aa",),
         _instead_of("_upsample_bicubic2d_aa", "upsample_bicubic2d")),
        ("antialiased-column-repeats-its-first-row", ROW,
         ("_upsample_bilinear2d_aa",), values(_first_row)),
        ("grid-reflects-as-border", ("grid_sampler", "grid_sampler_2d"),
         _changed("padding_mode", lambda mode: min(mode, 1))),
        ("grid-rows-are-columns", ("grid_sampler_3d",), _transposed_grid),
        ("affine-grid-aligns-corners", ("affine_grid_generator",), _always("align_corners", True)),
        ("reciprocal-deviation-is-deviation", ("native_layer_norm", "native_batch_norm"), _part(2, lambda a, c: 1 / a)),
        ("norm-forgets-eps", ("batch_norm", "instance_norm", "_fused_rms_norm"), _without_eps),
        ("group-norm-has-one-group", ("group_norm",), _always("num_groups", 1)),
        ("group-norm-packs-its-weight",
         "operators/every-operator-gives-what-its-row-says[native_group_norm]",
         ("native_group_norm",), _packed_weight),
        ("running-statistics-move-twice", "operators/batch-norm-keeps-running-statistics",
         ("batch_norm", "instance_norm"),
         _changed("momentum", lambda m: min(2 * m, 0.9))),
        ("root-mean-square-is-deviation", ("rms_norm",), _centred),
        ("bag-mean-is-sum", ("embedding_bag",), _changed("mode", lambda mode: mode if mode == 2 else 0)),
        ("padding-index-counts", ("embedding_bag",), _always("padding_idx", None)),
        ("last-offset-is-a-bag", ("embedding_bag",), _changed("include_last_offset", lambda last: False)),
        ("renorm-of-rows-is-euclidean", ("embedding_renorm_",), _always("norm_type", 2.0)),
        ("distance-is-squared", ("cdist", "pdist"), values(lambda a, c: a * a)),
        ("distance-forgets-eps", ("pairwise_distance",), _always("eps", 1e-6)),
        ("short-rows-have-a-cosine", ("cosine_similarity",), _always("eps", 1e-8)),
        ("attention-mask-is-forgotten", ("scaled_dot_product_attention",), _always("attn_mask", None)),
        ("attention-scale-is-its-own", ("scaled_dot_product_attention",), _always("scale", None)),
        ("attention-looks-ahead", ("scaled_dot_product_attention",), _always("is_causal", False)),
        ("dropout-does-not-scale", "operators/dropout-scales-what-it-keeps", _DROPOUTS, values(_unscaled)),
        ("dropout-goes-by-pairs", "operators/dropout-scales-what-it-keeps", ("dropout",), values(_halves)),
        ("dropout-keeps-its-rate", "operators/dropout-scales-what-it-keeps", _DROPOUTS,
         _changed("p", lambda rate: 1 - rate if 0 < rate < 1 else rate)),
        ("feature-dropout-drops-elements", "operators/dropout-scales-what-it-keeps", ("feature_dropout",),
         _instead_of("feature_dropout", "dropout")),
        ("alpha-dropout-gives-zeros", "operators/dropout-scales-what-it-keeps", ("alpha_dropout",),
         _instead_of("alpha_dropout", "dropout")),
        ("rrelu-leaks-by-one-slope", f"operators/dropout-scales-what-it-keeps {ROW}", ("rrelu",),
         _changed("upper", lambda upper: upper * 0.9)),
        ("transposed-convolution-forgets-dilation", ("conv_transpose1d", "conv_transpose3d"), _undilated),
        ("transposed-groups-change-places", ("conv_transpose2d",),
         values(lambda a, c: a[:, ::-1] if a.ndim > 3 and a.shape[1] > 1 else None)),
        ("columns-begin-at-the-second", ("im2col", "col2im"), values(_next_column)),
        ("resampling-reads-bytes-in-storage-order", ROW,
         ("upsample_bilinear2d", "upsample_bicubic2d"), _bytes_in_storage_order),
        ("replication-reflects", ("replication_pad1d", "replication_pad2d"), _instead_of("replication", "reflection")),
        ("circular-padding-turns", ("_pad_circular",), values(_next_column)),
        breaks=ROW,
    ),
    *rows(
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
         ("batch_norm", "native_batch_norm"),
         lambda c: changed("training", lambda given: given and c.args[3] is None)(c)),
        ("instances-always-have-their-own-statistics", ("instance_norm",),
         changed("use_input_stats", lambda given: True)),
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
    ),
)
