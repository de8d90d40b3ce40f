"""Normalizations by their definitions, on widened operands: results, and the means and factors they were made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Near

Numbers = Sequence[int]
Parts = tuple[Any, Array, Array]


def standardized(x: Array, axes: tuple[int, ...], eps: float) -> Parts:
    """``x`` less its mean, over its deviation; the mean; one over the deviation."""
    mean = x.mean(axis=axes, keepdims=True)
    factor = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + np.longdouble(eps))
    return (x - mean) * factor, mean, factor


def scaled(x: Array, weight: Array | None, bias: Array | None) -> Array:
    y = x if weight is None else x * weight
    return y if bias is None else y + bias


def trailing(x: Array, shape: Numbers) -> tuple[int, ...]:
    return tuple(range(x.ndim - len(shape), x.ndim))


def of_channels(v: Array | None, x: Array) -> Array | None:
    """A number for each channel, to be broadcast over a batch."""
    return None if v is None else v.reshape(-1, *[1] * (x.ndim - 2))


def layer_norm(x: Array, shape: Numbers, weight: Array | None, bias: Array | None, eps: float, *rest: Any) -> Parts:
    y, mean, factor = standardized(x, trailing(x, shape), eps)
    return scaled(y, weight, bias), mean, factor


def group_norm(x: Array, groups: int, weight: Array | None, bias: Array | None, eps: float) -> Parts:
    y, mean, factor = standardized(x.reshape(x.shape[0], groups, -1), (2,), eps)
    result = scaled(y.reshape(x.shape), of_channels(weight, x), of_channels(bias, x))
    return result, mean[..., 0], factor[..., 0]


def batch_norm(
    x: Array, weight: Array | None, bias: Array | None, mean: Array | None, variance: Array | None, training: bool,
    momentum: float, eps: float, *rest: Any,
) -> Parts:  # fmt: skip
    """By the statistics of the batch, or in use by given ones, which are left alone here."""
    given = of_channels(weight, x), of_channels(bias, x)
    if training or mean is None:
        y, centre, factor = standardized(x, (0, *range(2, x.ndim)), eps)
        return _by_rounded(centre, factor, given[0], scaled(y, *given)), centre.reshape(-1), factor.reshape(-1)
    tail = (-1, *[1] * (x.ndim - 2))
    off, spread = x - mean.reshape(tail), np.asarray(variance).reshape(tail)
    return scaled(off / np.sqrt(spread + np.longdouble(eps)), *given), x.reshape(-1)[:0], x.reshape(-1)[:0]


def instance_norm(
    x: Array, weight: Array | None, bias: Array | None, mean: Array | None, variance: Array | None, own: bool,
    momentum: float, eps: float, *rest: Any,
) -> Any:  # fmt: skip
    if not own:
        return batch_norm(x, weight, bias, mean, variance, False, momentum, eps)[0]
    y, centre, factor = standardized(x, tuple(range(2, x.ndim)), eps)
    return _by_rounded(centre, factor, of_channels(weight, x), scaled(y, of_channels(weight, x), of_channels(bias, x)))


def _by_rounded(centre: Array, factor: Array, weight: Array | None, y: Array) -> Near:
    """Return `y` with what its mean is multiplied to, since the mean may be rounded to the dtype of the result."""
    term = np.abs(scaled(centre * factor, weight, None))
    return Near(y, np.broadcast_to(np.maximum(term, np.abs(y)), y.shape), units=None)


def rms_norm(x: Array, shape: Numbers, weight: Array | None, eps: float | None) -> tuple[Any, Any]:
    """``eps`` is given, for its default depends on the dtype; squares of complex numbers may cancel."""
    assert eps is not None
    squares = (x**2).mean(axis=trailing(x, shape), keepdims=True)
    factor = 1 / np.sqrt(squares + np.longdouble(eps))
    y = scaled(x * factor, weight, None)
    if x.dtype.kind != "c":
        return y, factor
    few = np.abs(squares) < (np.abs(x) ** 2).mean(axis=trailing(x, shape), keepdims=True) / 8
    return (
        Near(y, np.abs(y), open={"cancelling_squares": np.broadcast_to(few, y.shape)}),
        Near(factor, np.abs(factor), open={"cancelling_squares": few}),
    )


NORMALIZATIONS: dict[str, Oracle] = {
    "layer_norm": lambda *a: layer_norm(*a)[0],
    "native_layer_norm": layer_norm,
    "group_norm": lambda x, groups, weight, bias, eps, *rest: group_norm(x, groups, weight, bias, eps)[0],
    "native_group_norm": lambda x, weight, bias, n, c, size, groups, eps: group_norm(x, groups, weight, bias, eps),
    "batch_norm": lambda *a: batch_norm(*a)[0],
    "native_batch_norm": batch_norm,
    "instance_norm": instance_norm,
    "rms_norm": lambda *a: rms_norm(*a)[0],
    "_fused_rms_norm": rms_norm,
}
