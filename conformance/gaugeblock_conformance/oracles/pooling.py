"""Pooling by its definitions: the largest or the mean of the elements in each window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle

Numbers = Sequence[int]
# For each place along a dim the elements that its window sees, and how many it would see if borders had elements.
Window = tuple[list[int], int]


def spread(values: Any, rank: int) -> list[int]:
    """One number for each of ``rank`` dims: a single one counts for all."""
    given = [int(v) for v in np.atleast_1d(np.asarray(values, dtype=np.int64))]
    return given * rank if len(given) == 1 else given


def along(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> list[Window]:
    """The windows along a dim: all that fit between the borders, with ``ceil`` also one that ends behind them, but
    none that begins there."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = room // stride + 1
    if ceil and room % stride and count * stride < size + padding:
        count += 1
    windows = []
    for start in range(-padding, count * stride - padding, stride):
        seen = [start + k * dilation for k in range(kernel)]
        windows.append(([k for k in seen if 0 <= k < size], min(start + kernel, size + padding) - start))
    return windows


def parts(size: int, wanted: int) -> list[Window]:
    """Nearly equal parts of a dim, that overlap where they do not divide it."""
    edges = [(k * size // wanted, -(-(k + 1) * size // wanted)) for k in range(wanted)]
    return [(list(range(*edge)), edge[1] - edge[0]) for edge in edges]


def windows(
    x: Array, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> list[list[Window]]:
    kernel, padding, dilation = (spread(v, rank) for v in (kernel, padding, dilation))
    stride = spread(stride, rank) if np.size(stride) else kernel
    sizes = x.shape[x.ndim - rank :]
    return [along(*of, ceil) for of in zip(sizes, kernel, stride, padding, dilation, strict=True)]


def seen(x: Array, window: Sequence[Window]) -> Array:
    """The elements in a window of the last dims, all in one last dim."""
    lead = x.shape[: x.ndim - len(window)]
    for dim, (places, _) in enumerate(window, len(lead)):
        x = x.take(places, dim)
    return x.reshape(*lead, -1)


def largest(x: Array, found: Sequence[Sequence[Window]]) -> tuple[Array, Array]:
    """The largest element of each window, and the place of the first that is, counted through its image."""
    lead, sizes = x.shape[: x.ndim - len(found)], x.shape[x.ndim - len(found) :]
    wanted = [len(each) for each in found]
    y, places = np.zeros((*lead, *wanted), x.dtype), np.zeros((*lead, *wanted), np.int64)
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    for at in product(*map(range, wanted)):
        window = [each[k] for each, k in zip(found, at, strict=True)]
        elements = seen(x, window)
        first = elements.argmax(axis=-1)
        there: Any = (..., *at)
        y[there] = elements.max(axis=-1)
        places[there] = seen(numbers, window)[first]
    return y, places


def means(x: Array, found: Sequence[Sequence[Window]], border: bool, divisor: int | None = None) -> Array:
    """Sums over how many elements there are, those of the border counted too, or over ``divisor``."""
    wanted = [len(each) for each in found]
    y = np.zeros((*x.shape[: x.ndim - len(found)], *wanted), x.dtype)
    for at in product(*map(range, wanted)):
        window = [each[k] for each, k in zip(found, at, strict=True)]
        elements = seen(x, window)
        count = math.prod([n for _, n in window]) if border else elements.shape[-1]
        there: Any = (..., *at)
        y[there] = elements.sum(axis=-1) / (divisor or count)
    return y


def maxima(x: Array, rank: int, *window: Any) -> tuple[Array, Array]:
    return largest(x, windows(x, rank, *window))


def averaged(
    x: Array, rank: int, kernel: Any, stride: Any, padding: Any, ceil: bool, border: bool, divisor: Any = None
) -> Array:
    return means(x, windows(x, rank, kernel, stride, padding, 1, ceil), border, divisor)


def equal_parts(x: Array, rank: int, sizes: Any) -> list[list[Window]]:
    return [parts(n, wanted) for n, wanted in zip(x.shape[x.ndim - rank :], spread(sizes, rank), strict=True)]


def unpooled(x: Array, rank: int, indices: Array, sizes: Any) -> Array:
    """Every element at the place of its image that ``indices`` names, zeros elsewhere."""
    sizes = spread(sizes, rank)
    lead = x.shape[: x.ndim - rank]
    y = np.zeros((math.prod(lead), math.prod(sizes)), x.dtype)
    for image, values, places in zip(y, x.reshape(len(y), -1), indices.reshape(len(y), -1), strict=True):
        image[places] = values
    return y.reshape(*lead, *sizes)


def drawn_windows(size: int, kernel: int, wanted: int, share: Any) -> list[Window]:
    """Windows at nearly equal distances from the first element to the last, where ``share`` of a distance is gone by
    before the first."""
    far = np.longdouble(size - kernel) / max(wanted - 1, 1)
    starts = [int((k + share) * far) - int(share * far) for k in range(wanted - 1)] + [size - kernel]
    return [(list(range(start, start + kernel)), kernel) for start in starts]


def drawn_pools(x: Array, rank: int, kernel: Any, sizes: Any, shares: Array) -> tuple[Array, Array]:
    """The largest elements of each image in windows of its own; of images in two dims the columns' share is first."""
    kernel, sizes = spread(kernel, rank), spread(sizes, rank)
    batch = x if x.ndim == rank + 2 else x[None]
    y = np.zeros((*batch.shape[:2], *sizes), x.dtype)
    places = np.zeros(y.shape, np.int64)
    for at in np.ndindex(*batch.shape[:2]):
        own = shares[at][::-1] if rank == 2 else shares[at]
        found = [drawn_windows(*of) for of in zip(batch.shape[2:], kernel, sizes, own, strict=True)]
        y[at], places[at] = largest(batch[at], found)
    result = y.shape if x.ndim == rank + 2 else y.shape[1:]
    return y.reshape(result), places.reshape(result)


_RANKS = (1, 2, 3)
POOLING: dict[str, Oracle] = {
    **{f"max_pool{k}d": lambda x, *a, k=k: maxima(x, k, *a)[0] for k in _RANKS},
    **{f"max_pool{k}d_with_indices": lambda x, *a, k=k: maxima(x, k, *a) for k in _RANKS},
    **{f"avg_pool{k}d": lambda x, *a, k=k: averaged(x, k, *a) for k in _RANKS},
    **{f"adaptive_avg_pool{k}d": lambda x, n, k=k: means(x, equal_parts(x, k, n), False) for k in _RANKS},
    **{f"adaptive_max_pool{k}d": lambda x, n, k=k: largest(x, equal_parts(x, k, n)) for k in _RANKS},
    **{f"fractional_max_pool{k}d": lambda x, *a, k=k: drawn_pools(x, k, *a) for k in (2, 3)},
    "max_unpool2d": lambda x, indices, sizes: unpooled(x, 2, indices, sizes),
    "max_unpool3d": lambda x, indices, sizes, stride, padding: unpooled(x, 3, indices, sizes),
}
