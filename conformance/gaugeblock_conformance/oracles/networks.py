"""Steps of neural networks that move elements or sum products, on widened operands: convolutions, columns, borders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .normalizations import scaled
from .pooling import Numbers, spread

Pairs = Sequence[tuple[int, int]]


def bordered(x: Array, widths: Numbers, value: Any, rank: int) -> Array:
    """``x`` with ``widths[k]`` elements of ``value`` on both sides of its last ``rank`` dims."""
    return np.pad(x, [(0, 0)] * (x.ndim - rank) + [(w, w) for w in widths], constant_values=value)


def cropped(x: Array, widths: Numbers) -> Array:
    """``x`` without the borders of :func:`bordered`."""
    key: Any = (..., *[slice(w, n - w) for w, n in zip(widths, x.shape[x.ndim - len(widths) :], strict=True)])
    return np.asarray(x[key])


def windows(sizes: Numbers, kernel: Numbers, stride: Numbers, dilation: Numbers) -> Iterator[tuple[Any, Any]]:
    """The place of each output and the key of the window it looks at."""
    counts = [
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
    ]
    assert min(counts) > 0, counts
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


def named(
    x: Array, weight: Array, bias: Array | None, stride: Any, padding: str, dilation: Any, groups: int
) -> Array:
    """No borders, or with ``same`` those that keep the sizes, of which the odd element comes last."""
    rank = weight.ndim - 2
    if padding == "same":
        over = [d * (k - 1) for k, d in zip(weight.shape[2:], spread(dilation, rank), strict=True)]
        x = np.pad(x, [(0, 0)] * (x.ndim - rank) + [(n // 2, n - n // 2) for n in over])
    return convolved(x, weight, bias, stride, 0, dilation, groups)


def transposed(
    x: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, border: Any, groups: int, dilation: Any
) -> Array:
    """Every element spread over the window of the result that begins at ``stride`` times its place."""
    rank = weight.ndim - 2
    if x.ndim == rank + 1:
        return np.asarray(transposed(x[None], weight, bias, stride, padding, border, groups, dilation)[0])
    stride, padding, border, dilation = (spread(v, rank) for v in (stride, padding, border, dilation))
    kernel, per, mine = weight.shape[2:], weight.shape[1], x.shape[1] // groups
    spans = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(x.shape[2:], stride, dilation, kernel, strict=True)]
    room = [n + b for n, b in zip(spans, border, strict=True)]
    y = np.zeros((x.shape[0], per * groups, *room), x.dtype)
    for at, offset in product(np.ndindex(*x.shape[2:]), np.ndindex(*kernel)):
        place = tuple(a * s + o * d for a, s, o, d in zip(at, stride, offset, dilation, strict=True))
        for group in range(groups):
            rows = slice(group * mine, (group + 1) * mine)
            y[(slice(None), slice(group * per, (group + 1) * per), *place)] += (
                x[(slice(None), rows, *at)] @ weight[(rows, slice(None), *offset)]
            )
    y = cropped(y, padding)
    return np.asarray(y if bias is None else y + bias.reshape(-1, *[1] * rank))


def either(
    x: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, dilation: Any, across: bool, border: Any,
    groups: int,
) -> Array:  # fmt: skip
    if across:
        return transposed(x, weight, bias, stride, padding, border, groups, dilation)
    return convolved(x, weight, bias, stride, padding, dilation, groups)


def columns(x: Array, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    """The elements of every window as a column."""
    kernel, dilation, padding, stride = (spread(v, 2) for v in (kernel, dilation, padding, stride))
    x = bordered(x, padding, 0, 2)
    each = [x[(..., *key)].reshape(*x.shape[:-3], -1) for _, key in windows(x.shape[-2:], kernel, stride, dilation)]
    return np.stack(each, -1)


def uncolumned(x: Array, sizes: Numbers, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    """The sums of what the windows of all columns hold for each place."""
    kernel, dilation, padding, stride = (spread(v, 2) for v in (kernel, dilation, padding, stride))
    room = [n + 2 * p for n, p in zip(sizes, padding, strict=True)]
    y = np.zeros((*x.shape[:-2], x.shape[-2] // math.prod(kernel), *room), x.dtype)
    for k, (_, key) in enumerate(windows(room, kernel, stride, dilation)):
        y[(..., *key)] += x[..., k].reshape(*y.shape[:-2], *kernel)
    return cropped(y, padding)


def of_channels(x: Array, factor: int) -> Array:
    *lead, channels, rows, columns = x.shape
    y = x.reshape(-1, channels // factor**2, factor, factor, rows, columns).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(*lead, channels // factor**2, rows * factor, columns * factor)


def into_channels(x: Array, factor: int) -> Array:
    *lead, channels, rows, columns = x.shape
    y = x.reshape(-1, channels, rows // factor, factor, columns // factor, factor).transpose(0, 1, 3, 5, 2, 4)
    return y.reshape(*lead, channels * factor**2, rows // factor, columns // factor)


def shuffled(x: Array, groups: int) -> Array:
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1).swapaxes(1, 2).reshape(x.shape)


def padded(x: Array, widths: Numbers, mode: str = "constant", value: Any = 0) -> Array:
    """Widths in pairs from the last dim on; negative ones cut off."""
    if not widths:
        return x
    pairs = [(widths[k], widths[k + 1]) for k in range(0, len(widths), 2)][::-1]
    full = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    grown = np.maximum(np.array(full, np.int64), 0).reshape(-1, 2)
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode == "circular":
        # What is cut off comes round at no side.
        return np.pad(x[_inside(x.shape, full)], grown, mode="wrap")
    if mode == "constant":
        fill = np.asarray(0 if value is None else value).astype(x.dtype)
        y = np.pad(x, grown, constant_values=fill)
    else:
        y = np.pad(x, grown, mode=names[mode])  # type: ignore[call-overload]
    return np.asarray(y[_inside(y.shape, full)])


def _inside(sizes: Numbers, widths: Pairs) -> tuple[slice, ...]:
    """What negative widths leave of each dim."""
    return tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(sizes, widths, strict=True))


NETWORKS: dict[str, Oracle] = {
    "linear": lambda x, weight, bias: x @ weight.T if bias is None else x @ weight.T + bias,
    "bilinear": lambda x, y, weight, bias: scaled(np.einsum("...i,oij,...j->...o", x, weight, y), None, bias),
    **{f"conv{k}d": convolved for k in (1, 2, 3)},
    **{f"conv{k}d.padding": named for k in (1, 2, 3)},
    **{f"conv_transpose{k}d": transposed for k in (1, 2, 3)},
    "convolution": either,
    "im2col": columns,
    "col2im": uncolumned,
    "pixel_shuffle": of_channels,
    "pixel_unshuffle": into_channels,
    "channel_shuffle": shuffled,
    "native_channel_shuffle": shuffled,
    "constant_pad_nd": lambda x, pad, value: padded(x, pad, "constant", value),
    "pad": padded,
    **{f"reflection_pad{k}d": lambda x, pad: padded(x, pad, "reflect") for k in (1, 2, 3)},
    **{f"replication_pad{k}d": lambda x, pad: padded(x, pad, "replicate") for k in (1, 2, 3)},
    "_pad_circular": lambda x, pad: padded(x, pad, "circular"),
}
