"""Operators that are right but for NaN, infinities, bounds, ties, large numbers, and arguments seldom given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, DType
from .arguments import changed, default, flipped
from .mutant import Intercepted, Mutant, Patch
from .operators import part, with_data
from .patches import floating, row_major, values


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


def _row(name: str, operators: tuple[str, ...], patch: Patch) -> Mutant:
    return Mutant(name, "values", "operators", operators, with_data(patch))


def _numeric(name: str, operators: tuple[str, ...], patch: Patch) -> Mutant:
    return Mutant(name, "numerics", "operators", operators, with_data(patch))


MUTANTS = (
    _row("steps-of-networks-drop-nan", ("hardtanh", "relu6", "hardsigmoid", "softshrink", "hardshrink"),
         values(_without_nan)),
    _row("smooth-steps-drop-nan", ("silu", "gelu", "mish", "softplus", "elu", "log_sigmoid"), values(_without_nan)),
    _row("windows-drop-nan", ("max_pool1d",), values(_without_nan)),
    _row("loss-of-nothing-is-zero", ("cross_entropy_loss",), values(_without_nan)),
    _row("softmax-of-nothing-possible-is-zero", ("softmax",), values(_without_nan)),
    _row("median-skips-nan", ("median",), _of_input(lambda y, x: np.nanmedian(x) if np.isnan(x).any() else y)),
    _row("infinite-logarithms-of-sums-are-nan", ("logsumexp",), values(_without_infinity)),
    _row("nansum-drops-infinity", ("nansum",), values(_without_infinity)),
    _row("nanmean-counts-nan", ("nanmean",), _of_input(lambda y, x: np.nansum(x) / x.size)),
    _row("nan-is-no-count", ("count_nonzero", "linalg_vector_norm"),
         _of_input(lambda y, x: y - np.isnan(x).sum() if not np.isnan(y).any() else y)),
    _row("running-extremes-skip-nan", ("cummax",), part(0, lambda y, c: np.fmax.accumulate(c.array(c.args[0]))
         if y.ndim == 1 and floating(y) else None)),
    _row("largest-few-leave-nan-out", ("topk", "kthvalue"), _nan_is_small),
    _row("infinity-norm-forgets-signs", ("linalg_vector_norm",),
         _of_input(lambda y, x: x.max() if (y == np.abs(x).max()).all() else y)),
    _row("bounds-are-kept-by-hardshrink", ("hardshrink",),
         _of_input(lambda y, x: np.where(np.abs(x) == 0.5, x, y))),
    _numeric("halves-are-added-before-rounding", ("round",),
             _of_input(lambda y, x: np.where(np.abs(x % 1) == 0.5, y, np.floor(x + np.float32(0.5))))),
    _numeric("softplus-has-no-threshold", ("softplus",), _of_input(lambda y, x: np.log(1 + np.exp(x)))),
    _numeric("logarithm-of-sigmoid-overflows", ("log_sigmoid",), _of_input(lambda y, x: np.log(1 / (1 + np.exp(-x))))),
    _numeric("running-logarithms-overflow", ("logcumsumexp",),
             _of_input(lambda y, x: np.log(np.cumsum(np.exp(x))) if x.ndim == 1 else y)),
    _numeric("logarithm-of-softmax-overflows", ("log_softmax",),
             _of_input(lambda y, x: np.log(np.exp(x) / np.exp(x).sum()) if x.ndim == 1 else y)),
    _numeric("steps-of-networks-overflow", ("silu", "mish"), _of_input(lambda y, x: np.where(x > 88, np.nan, y))),
    _numeric("certain-losses-are-infinite", ("binary_cross_entropy", "binary_cross_entropy_with_logits"),
             _of_input(lambda y, x: np.where(y >= 99, np.inf, y))),
    _numeric("eps-is-added-to-the-deviation", ("layer_norm",),
             _of_input(lambda y, x: (x - x.mean()) / (x.std() + 1) if x.size == 2 else y)),
    _row("sums-of-bytes-wrap", ("sum", "cumsum", "prod"), values(_in_a_byte)),
    _row("long-keys-are-doubles", ("sort", "amax", "maximum", "abs", "clamp", "where", "gather", "cat"),
         lambda c: values(_through_double)(c) if c.base != "sort" else part(0, _through_double)(c)),
    _row("roots-take-the-other-branch", ("sqrt",), values(lambda y, c: y.conj() if y.dtype.kind == "c" and
         (c.array(c.args[0]).real < 0).any() else None)),
    _row("vdot-conjugates-the-second", ("vdot",), values(_conjugated)),
    _row("dot-conjugates", ("dot",), values(_conjugated)),
    _row("closeness-is-scaled-by-the-first", ("isclose",), _scaled_by_the_first),
    _row("buckets-are-open-on-the-other-side", ("bucketize",), flipped("right")),
    _row("logspace-is-decimal", ("logspace",), default("base")),
    _row("differences-are-taken-once", ("diff",), default("n")),
    _row("padding-is-zero", ("constant_pad_nd",), default("value")),
    _row("padding-begins-with-the-first-dim", ("constant_pad_nd",),
         changed("pad", lambda pad: [*pad[2:], *pad[:2]] if len(pad) == 4 else pad)),
    _row("products-of-tensors-turn-dims", ("tensordot",), changed("dims_self", lambda dims: list(reversed(dims)))),
    _row("dilation-is-ignored", ("conv1d", "conv2d"), default("dilation")),
    _row("strides-of-images-are-swapped", ("conv2d",),
         changed("stride", lambda s: list(reversed(s)) if isinstance(s, list | tuple) else s)),
    _row("margins-of-images-are-swapped", ("conv2d",),
         changed("padding", lambda p: list(reversed(p)) if isinstance(p, list | tuple) else p)),
    _row("groups-interleave", ("conv1d",), values(_interleaved)),
    _row("bias-is-a-column", ("addmm",), _turned_bias),
    _row("masks-broadcast-over-columns", ("masked_fill",), _turned_mask),
    _row("einsum-orders-letters-by-appearance", ("einsum",), _by_appearance),
    _row("weights-of-prelu-go-along-the-last-dim", ("prelu",), _last_channel_first),
    _row("signals-are-padded-in-front", ("fft_fft",), _padded_in_front),
    _row("draws-are-replaced", ("multinomial",), _again),
    _row("coins-fall-on-the-other-side", ("bernoulli",), values(lambda y, c: 1 - y if floating(y) else None)),
    _row("pivots-walk-by-the-last-batch-stride", ("linalg_lu_solve",), _first_pivots),
    _row("counts-of-bfloat16-end-at-256", ("histc",), values(_counts_end)),
    Mutant("statistics-are-wider-on-meta", "operators", "operators", ("native_layer_norm",), _wide_statistics),
    _row("one-hot-counts-from-one", ("one_hot",), values(lambda y, c: np.roll(y, 1, axis=-1))),
)  # fmt: skip
