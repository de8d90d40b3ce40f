"""Operators that are right but for NaN, infinities, bounds, ties, large numbers, and arguments seldom given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, DType
from .arguments import changed, default, flipped
from .mutant import Intercepted, Patch, rows
from .operators import part
from .patches import floating, row_major, values, with_data
from .target import POINTWISE, ROW


def _without_nan(array: Array, c: Intercepted) -> Array | None:
    """NaN is lost on the way: zero stands for it."""
    return np.where(np.isnan(array), np.array(0, array.dtype), array) if floating(array) else None


def _without_infinity(array: Array, c: Intercepted) -> Array | None:
    return np.where(np.isinf(array), np.array(np.nan, array.dtype), array) if floating(array) else None


def _of_input(change: Callable[[Array, Array], Any]) -> Patch:
    """(result, first operand) -> result, for float32; its sizes must be those of the right one."""

    def altered(array: Array, c: Intercepted) -> Array | None:
        x = c.array(c.args[0])
        if c.inplace or x.dtype != np.float32:
            return None
        found = np.asarray(change(array, x))
        return found.astype(array.dtype).reshape(array.shape) if found.size == array.size else None

    return values(altered)


def _through_double(array: Array, c: Intercepted) -> Array | None:
    return array.astype(np.float64).astype(np.int64) if array.dtype == np.int64 and array.size else None


def _in_a_byte(array: Array, c: Intercepted) -> Array | None:
    narrow = c.is_tensor(c.args[0]) and c.backend.dtype(c.args[0]) in ("bool", "uint8", "int8")
    return array % 256 if array.dtype == np.int64 and narrow else None


def _nan_is_small(c: Intercepted) -> Any:
    x = c.args[0]
    array = c.array(x)
    if not floating(array) or not np.isnan(array).any():
        return c.right()
    return c.instead(c.do("nan_to_num", x, -np.inf, np.inf, -np.inf), *c.args[1:], **c.kwargs)


def _conjugated(array: Array, c: Intercepted) -> Array | None:
    return array.conj() if array.dtype.kind == "c" else None


def _turned_bias(c: Intercepted) -> Any:
    """A bias of one dim is added to columns."""
    bias = c.args[0]
    square = len(set(c.backend.shape(c.right()))) == 1
    return c.instead(c.do("unsqueeze", bias, -1), *c.args[1:], **c.kwargs) if square else c.right()


def _turned_mask(c: Intercepted) -> Any:
    x, mask, *rest = c.args
    square = len(set(c.backend.shape(x))) == 1 and len(c.backend.shape(mask)) == 1
    return c.instead(x, c.do("unsqueeze", mask, -1), *rest) if square else c.right()


def _by_appearance(c: Intercepted) -> Any:
    """Without an arrow the dims of the result stand as they appear."""
    equation, *rest = c.args
    single = "".join(dict.fromkeys(x for x in equation if x.isalpha() and equation.count(x) == 1))
    return c.right() if "->" in equation or "." in equation else c.instead(f"{equation}->{single}", *rest)


def _scaled_by_the_first(c: Intercepted) -> Any:
    return c.instead(c.args[1], c.args[0], *c.args[2:], **c.kwargs)


def _interleaved(array: Array, c: Intercepted) -> Array | None:
    groups = c.args[6] if len(c.args) > 6 else 1
    if groups != 2 or array.ndim < 3 or array.shape[1] < 4:
        return None
    return array[:, np.arange(array.shape[1]).reshape(groups, -1).T.reshape(-1)].copy()


def _last_channel_first(c: Intercepted) -> Any:
    """Weights go along the last dim."""
    x, weight = c.args
    if len(c.backend.shape(x)) < 3 or c.backend.shape(x)[-1] != c.backend.shape(weight)[0]:
        return c.right()
    return c.do("where.self", c.do("gt.Scalar", x, 0), x, c.do("mul.Tensor", x, weight))


def _padded_in_front(c: Intercepted) -> Any:
    size = c.backend.shape(c.args[0])[-1] if c.backend.shape(c.args[0]) else 0
    if len(c.args) != 2 or c.args[1] is None or c.args[1] <= size:
        return c.right()
    return c.instead(c.do("constant_pad_nd", c.args[0], [c.args[1] - size, 0], 0))


def _again(c: Intercepted) -> Any:
    """Draws without replacement are replaced."""
    return c.instead(*c.args[:2], True) if len(c.args) < 3 else c.right()


def _first_pivots(c: Intercepted) -> Any:
    """Pivots of strides that no packed tensor has are those of the first matrix of the batch."""
    factors, pivots, *rest = c.args
    sizes, strides, _ = c.geometry(pivots)
    if len(sizes) < 2 or strides == row_major(sizes) or not sizes[0]:
        return c.right()
    return c.instead(factors, c.do("expand", c.do("narrow", pivots, 0, 0, 1), sizes), *rest, **c.kwargs)


def _counts_end(array: Array, c: Intercepted) -> Array | None:
    """Counts of bfloat16 are added up in it: one more is none from 256 on."""
    return np.minimum(array, np.array(256, array.dtype)) if array.dtype.name == "bfloat16" else None


def _wide_statistics(c: Intercepted) -> Any:
    """Statistics of half floats are float32 on the meta device alone."""
    first, *rest = c.right()
    if str(getattr(first, "device", "")) != "meta" or c.backend.dtype(first) != "float16":
        return (first, *rest)
    return (first, *(c.do("to.dtype", x, DType("float32")) for x in rest))


MUTANTS = (
    *rows(
        "values",
        ("steps-of-networks-drop-nan", ("hardtanh", "relu6", "hardsigmoid", "softshrink", "hardshrink"),
         values(_without_nan)),
        ("smooth-steps-drop-nan", ("silu", "gelu", "mish", "softplus", "elu", "log_sigmoid"), values(_without_nan)),
        ("windows-drop-nan", ("max_pool1d",), values(_without_nan)),
        ("loss-of-nothing-is-zero", ("cross_entropy_loss",), values(_without_nan)),
        ("softmax-of-nothing-possible-is-zero", "operators/softmax-and-logsumexp-are-shift-stable", ("softmax",),
         values(_without_nan)),
        ("median-skips-nan", f"dtypes/nan-propagates[] {ROW}", ("median",),
         _of_input(lambda y, x: np.nanmedian(x) if np.isnan(x).any() else y)),
        ("infinite-logarithms-of-sums-are-nan", f"operators/softmax-and-logsumexp-are-shift-stable {ROW}",
         ("logsumexp",), values(_without_infinity)),
        ("nansum-drops-infinity", ("nansum",), values(_without_infinity)),
        ("nanmean-counts-nan", f"dtypes/nan-ignoring-operators {ROW}", ("nanmean",),
         _of_input(lambda y, x: np.nansum(x) / x.size)),
        ("nan-is-no-count", ("count_nonzero", "linalg_vector_norm"),
         _of_input(lambda y, x: y - np.isnan(x).sum() if not np.isnan(y).any() else y)),
        ("running-extremes-skip-nan", ("cummax",),
         part(0, lambda y, c: np.fmax.accumulate(c.array(c.args[0])) if y.ndim == 1 and floating(y) else None)),
        ("largest-few-leave-nan-out", ("topk", "kthvalue"), _nan_is_small),
        ("infinity-norm-forgets-signs", ("linalg_vector_norm",),
         _of_input(lambda y, x: x.max() if (y == np.abs(x).max()).all() else y)),
        ("bounds-are-kept-by-hardshrink", ("hardshrink",), _of_input(lambda y, x: np.where(np.abs(x) == 0.5, x, y))),
        ("sums-of-bytes-wrap", f"dtypes/integer-sums-are-int64[] {ROW}", ("sum", "cumsum", "prod"), values(_in_a_byte)),
        ("long-keys-are-doubles", ("sort", "amax", "maximum", "abs", "clamp", "where", "gather", "cat"),
         lambda c: values(_through_double)(c) if c.base != "sort" else part(0, _through_double)(c)),
        ("roots-take-the-other-branch", POINTWISE, ("sqrt",),
         values(lambda y, c: y.conj() if y.dtype.kind == "c" and (c.array(c.args[0]).real < 0).any() else None)),
        ("vdot-conjugates-the-second", ("vdot",), values(_conjugated)),
        ("dot-conjugates", ("dot",), values(_conjugated)),
        ("closeness-is-scaled-by-the-first", POINTWISE, ("isclose",), _scaled_by_the_first),
        ("buckets-are-open-on-the-other-side", ("bucketize",), flipped("right")),
        ("logspace-is-decimal", ("logspace",), default("base")),
        ("differences-are-taken-once", ("diff",), default("n")),
        ("padding-is-zero", ("constant_pad_nd",), default("value")),
        ("padding-begins-with-the-first-dim", ("constant_pad_nd",),
         changed("pad", lambda pad: [*pad[2:], *pad[:2]] if len(pad) == 4 else pad)),
        ("products-of-tensors-turn-dims", ("tensordot",), changed("dims_self", lambda dims: list(reversed(dims)))),
        ("dilation-is-ignored", ("conv1d", "conv2d"), default("dilation")),
        ("strides-of-images-are-swapped", ("conv2d",),
         changed("stride", lambda s: list(reversed(s)) if isinstance(s, list | tuple) else s)),
        ("margins-of-images-are-swapped", ("conv2d",),
         changed("padding", lambda p: list(reversed(p)) if isinstance(p, list | tuple) else p)),
        ("groups-interleave", ("conv1d",), values(_interleaved)),
        ("bias-is-a-column", ("addmm",), _turned_bias),
        ("masks-broadcast-over-columns", ("masked_fill",), _turned_mask),
        ("einsum-orders-letters-by-appearance", ("einsum",), _by_appearance),
        ("weights-of-prelu-go-along-the-last-dim", ("prelu",), _last_channel_first),
        ("signals-are-padded-in-front", ("fft_fft",), _padded_in_front),
        ("draws-are-replaced", "operators/draws-stay-in-their-range", ("multinomial",), _again),
        ("coins-fall-on-the-other-side", ("bernoulli",), values(lambda y, c: 1 - y if floating(y) else None)),
        ("pivots-walk-by-the-last-batch-stride", ROW, ("linalg_lu_solve",),
         _first_pivots),
        ("counts-of-bfloat16-end-at-256",
         "operators/every-operator-gives-what-its-row-says[histc]", ("histc",),
         values(_counts_end)),
        ("one-hot-counts-from-one", ("one_hot",), values(lambda y, c: np.roll(y, 1, axis=-1))),
        breaks=ROW, within=with_data,
    ),
    *rows(
        "numerics",
        ("halves-are-added-before-rounding", f"dtypes/round-is-half-to-even {POINTWISE}", ("round",),
         _of_input(lambda y, x: np.where(np.abs(x % 1) == 0.5, y, np.floor(x + np.float32(0.5))))),
        ("softplus-has-no-threshold", ("softplus",), _of_input(lambda y, x: np.log(1 + np.exp(x)))),
        ("logarithm-of-sigmoid-overflows", ("log_sigmoid",), _of_input(lambda y, x: np.log(1 / (1 + np.exp(-x))))),
        ("running-logarithms-overflow", ("logcumsumexp",),
         _of_input(lambda y, x: np.log(np.cumsum(np.exp(x))) if x.ndim == 1 else y)),
        ("logarithm-of-softmax-overflows", "operators/softmax-and-logsumexp-are-shift-stable", ("log_softmax",),
         _of_input(lambda y, x: np.log(np.exp(x) / np.exp(x).sum()) if x.ndim == 1 else y)),
        ("steps-of-networks-overflow", ("silu", "mish"), _of_input(lambda y, x: np.where(x > 88, np.nan, y))),
        ("certain-losses-are-infinite", ("binary_cross_entropy", "binary_cross_entropy_with_logits"),
         _of_input(lambda y, x: np.where(y >= 99, np.inf, y))),
        ("eps-is-added-to-the-deviation", ("layer_norm",),
         _of_input(lambda y, x: (x - x.mean()) / (x.std() + 1) if x.size == 2 else y)),
        breaks=ROW, within=with_data,
    ),
    *rows(
        "operators",
        ("statistics-are-wider-on-meta", "operators/steps-of-networks-on-meta-agree[]", ("native_layer_norm",),
         _wide_statistics),
    ),
)
