"""Steps of neural networks by their definitions, on widened operands: convolutions, pooling, norms, losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..backend import Array
from .activations import log_shares
from .moves import Oracle, Undefined

Numbers = Sequence[int]


def spread(values: Any, rank: int) -> list[int]:
    """One number for each of ``rank`` dims: a single one counts for all."""
    given = [int(v) for v in np.atleast_1d(np.asarray(values, dtype=np.int64))]
    return given * rank if len(given) == 1 else given


def bordered(x: Array, widths: Sequence[int], value: Any, rank: int) -> Array:
    """``x`` with ``widths[k]`` elements of ``value`` on both sides of its last ``rank`` dims."""
    return np.pad(x, [(0, 0)] * (x.ndim - rank) + [(w, w) for w in widths], constant_values=value)


def windows(sizes: Numbers, kernel: Numbers, stride: Numbers, dilation: Numbers) -> Iterator[tuple[Any, Any]]:
    """The place of each output and the key of the window it looks at."""
    counts = [
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
    ]
    if min(counts) < 1:
        raise Undefined("no window fits")
    for place in product(*map(range, counts)):
        starts = [p * s for p, s in zip(place, stride, strict=True)]
        key = [slice(a, a + d * (k - 1) + 1, d) for a, k, d in zip(starts, kernel, dilation, strict=True)]
        yield place, tuple(key)


def convolved(
    x: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Array:
    rank = weight.ndim - 2
    if x.ndim == rank + 1:
        return np.asarray(convolved(x[None], weight, bias, stride, padding, dilation, groups)[0])
    stride, padding, dilation = (spread(v, rank) for v in (stride, padding, dilation))
    x = bordered(x, padding, 0, rank)
    out, per = weight.shape[0], weight.shape[1]
    found = list(windows(x.shape[2:], weight.shape[2:], stride, dilation))
    y = np.zeros((x.shape[0], out, *[n + 1 for n in found[-1][0]]), x.dtype)
    for place, key in found:
        for channel in range(out):
            first = channel // (out // groups) * per
            seen = x[(slice(None), slice(first, first + per), *key)]
            y[(slice(None), channel, *place)] = (seen * weight[channel]).reshape(len(x), -1).sum(axis=1)
    return np.asarray(y if bias is None else y + bias.reshape(-1, *[1] * rank))


def unpadded(
    x: Array, weight: Array, bias: Array | None, stride: Any, padding: str, dilation: Any, groups: int
) -> Array:
    if padding != "valid":
        raise Undefined("borders of two sizes")
    return convolved(x, weight, bias, stride, 0, dilation, groups)


def pooled(
    x: Array, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, join: Any, border: Any
) -> Array:
    """``join`` over the windows of the last ``rank`` dims; only windows that fit whole."""
    if ceil:
        raise Undefined("windows over the edge")
    kernel, padding, dilation = (spread(v, rank) for v in (kernel, padding, dilation))
    stride = spread(stride, rank) if np.size(stride) else kernel
    x = bordered(x, padding, border, rank)
    lead = x.shape[: x.ndim - rank]
    found = list(windows(x.shape[x.ndim - rank :], kernel, stride, dilation))
    y = np.zeros((*lead, *[n + 1 for n in found[-1][0]]), x.dtype)
    for place, key in found:
        y[(..., *place)] = join(x[(..., *key)].reshape(*lead, -1))
    return y


def largest(x: Array, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Array:
    if x.dtype.kind in "iub":
        raise Undefined("the border of integers")
    return pooled(x, rank, kernel, stride, padding, dilation, ceil, lambda v: v.max(axis=-1), -np.inf)


def averaged(
    x: Array, rank: int, kernel: Any, stride: Any, padding: Any, ceil: bool, border: bool, divisor: Any = None
) -> Array:
    if not border and np.any(np.asarray(padding)):
        raise Undefined("windows of different counts")
    count = int(np.prod(spread(kernel, rank))) if divisor is None else divisor
    return pooled(x, rank, kernel, stride, padding, 1, ceil, lambda v: v.sum(axis=-1) / count, 0)


def adaptive(x: Array, rank: int, sizes: Any) -> Array:
    """Means over as many nearly equal parts of each of the last dims."""
    wanted = spread(sizes, rank)
    y = np.zeros((*x.shape[: x.ndim - rank], *wanted), x.dtype)
    lengths = x.shape[x.ndim - rank :]
    for place in product(*map(range, wanted)):
        part = x
        for dim, (p, n, w) in enumerate(zip(place, lengths, wanted, strict=True), x.ndim - rank):
            part = part.take(range(p * n // w, -(-(p + 1) * n // w)), dim)
        there: Any = (..., *place)
        y[there] = part.reshape(*x.shape[: x.ndim - rank], -1).mean(axis=-1)
    return y


def standardized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    centred = x - x.mean(axis=axes, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + np.longdouble(eps)))


def scaled(x: Array, weight: Array | None, bias: Array | None) -> Array:
    y = x if weight is None else x * weight
    return y if bias is None else y + bias


def layer_norm(x: Array, shape: Numbers, weight: Array | None, bias: Array | None, eps: float, *rest: Any) -> Array:
    return scaled(standardized(x, tuple(range(x.ndim - len(shape), x.ndim)), eps), weight, bias)


def group_norm(x: Array, groups: int, weight: Array | None, bias: Array | None, eps: float, *rest: Any) -> Array:
    rows = x.reshape(x.shape[0], groups, -1)
    tail = (-1, *[1] * (x.ndim - 2))
    parts = [v if v is None else v.reshape(tail) for v in (weight, bias)]
    return scaled(standardized(rows, (2,), eps).reshape(x.shape), *parts)


def rms_norm(x: Array, shape: Numbers, weight: Array | None, eps: float | None) -> Array:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    if eps is None:
        raise Undefined("the default depends on the dtype")
    return scaled(x / np.sqrt((x**2).mean(axis=axes, keepdims=True) + np.longdouble(eps)), weight, None)


def reduced(loss: Array, reduction: int) -> Array:
    return np.asarray(loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum())


def smooth(x: Array, y: Array, beta: float) -> Array:
    off = np.abs(x - y)
    return np.asarray(np.where(off < beta, off**2 / (2 * np.longdouble(beta)), off - np.longdouble(beta) / 2))


def huber(x: Array, y: Array, delta: float) -> Array:
    off, wide = np.abs(x - y), np.longdouble(delta)
    return np.asarray(np.where(off <= delta, off**2 / 2, wide * (off - wide / 2)))


def chosen(x: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    """The loss of negative likelihoods: the element of each row that ``target`` names, with its sign changed."""
    each = -np.take_along_axis(x, target[:, None], 1)[:, 0]
    shares = np.ones(len(target), np.longdouble) if weight is None else weight[target]
    each = each * shares
    return np.asarray(each if reduction == 0 else each.sum() / (shares.sum() if reduction == 1 else 1))


def of_channels(x: Array, factor: int) -> Array:
    *lead, channels, rows, columns = x.shape
    if channels % (factor * factor):
        raise Undefined("channels that do not divide")
    y = x.reshape(-1, channels // factor**2, factor, factor, rows, columns).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(*lead, channels // factor**2, rows * factor, columns * factor)


def into_channels(x: Array, factor: int) -> Array:
    *lead, channels, rows, columns = x.shape
    if rows % factor or columns % factor:
        raise Undefined("sizes that do not divide")
    y = x.reshape(-1, channels, rows // factor, factor, columns // factor, factor).transpose(0, 1, 3, 5, 2, 4)
    return y.reshape(*lead, channels * factor**2, rows // factor, columns // factor)


def shuffled(x: Array, groups: int) -> Array:
    if x.shape[1] % groups:
        raise Undefined("channels that do not divide")
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1).swapaxes(1, 2).reshape(x.shape)


def padded(x: Array, widths: Numbers, mode: str = "constant", value: Any = 0) -> Array:
    """Widths in pairs from the last dim on; negative ones cut off."""
    pairs = [(widths[k], widths[k + 1]) for k in range(0, len(widths), 2)][::-1]
    full = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    grown = [(max(a, 0), max(b, 0)) for a, b in full]
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode == "constant":
        fill = np.asarray(0 if value is None else value).astype(x.dtype)
        y = np.pad(x, grown, constant_values=fill)
    else:
        y = np.pad(x, grown, mode=names[mode])  # type: ignore[call-overload]
    return y[tuple(slice(max(-a, 0), y.shape[k] - max(-b, 0)) for k, (a, b) in enumerate(full))]


NETWORKS: dict[str, Oracle] = {
    "linear": lambda x, weight, bias: x @ weight.T if bias is None else x @ weight.T + bias,
    "bilinear": lambda x, y, weight, bias: scaled(np.einsum("bi,oij,bj->bo", x, weight, y), None, bias),
    **{f"conv{k}d": convolved for k in (1, 2, 3)},
    **{f"conv{k}d.padding": unpadded for k in (1, 2, 3)},
    "mse_loss": lambda x, y, reduction: reduced((x - y) ** 2, reduction),
    "smooth_l1_loss": lambda x, y, reduction, beta: reduced(smooth(x, y, beta), reduction),
    "huber_loss": lambda x, y, reduction, delta: reduced(huber(x, y, delta), reduction),
    "nll_loss": lambda x, target, weight, reduction, ignored: chosen(x, target, weight, reduction),
    "nll_loss_nd": lambda x, target, weight, reduction, ignored: chosen(x, target, weight, reduction),
    "cross_entropy_loss": lambda x, target, weight, reduction, ignored, smoothing: chosen(
        log_shares(x, 1), target, weight, reduction
    ),
    "layer_norm": layer_norm,
    "group_norm": group_norm,
    "rms_norm": rms_norm,
    "embedding": lambda weight, indices, *rest: weight[indices],
    "pixel_shuffle": of_channels,
    "pixel_unshuffle": into_channels,
    "channel_shuffle": shuffled,
    "native_channel_shuffle": shuffled,
    "constant_pad_nd": lambda x, pad, value: padded(x, pad, "constant", value),
    "pad": padded,
    **{f"max_pool{k}d": lambda x, *a, k=k: largest(x, k, *a) for k in (1, 2, 3)},
    **{f"avg_pool{k}d": lambda x, *a, k=k: averaged(x, k, *a) for k in (1, 2, 3)},
    **{f"adaptive_avg_pool{k}d": lambda x, sizes, k=k: adaptive(x, k, sizes) for k in (1, 2, 3)},
}
