"""Order: sorting, selection, extremes, searching. NaN is above every number; equal elements have equal ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Array, dtype_name
from .moves import Oracle
from .near import Refused, Undefined


def comparable(x: Array) -> Array:
    """The elements in a dtype that NumPy orders."""
    return x.astype(np.float32) if dtype_name(x.dtype) == "bfloat16" else x


def sorted_indices(values: Sequence[Any], descending: bool = False) -> list[int]:
    """Return the indices that sort ``values`` stably, NaN last."""
    return sorted(range(len(values)), key=lambda k: _key(values[k]), reverse=descending)


def _key(value: Any) -> tuple[bool, Any]:
    return (True, 0) if value != value else (False, value)


def _some(x: Array, dim: int | None = None) -> None:
    """Raise Refused unless there is an element to choose."""
    if not (x.size if dim is None else x.shape[dim]):
        raise Refused("no element to choose")


def ranks(x: Array) -> Array:
    """For each element how many different values lie below it."""
    _, inverse = np.unique(comparable(x), return_inverse=True)
    return np.asarray(inverse).reshape(x.shape).astype(np.int64)


def order(x: Array, dim: int = -1, descending: bool = False) -> Array:
    """The places of the stably sorted elements along ``dim``."""
    rank = ranks(x)
    return np.argsort(-rank if descending else rank, axis=dim, kind="stable")


def _picked(x: Array, places: Array, dim: int) -> tuple[Array, Array]:
    return np.take_along_axis(x, places, dim), places


def top(x: Array, k: int, dim: int, largest: bool) -> tuple[Array, Array]:
    return _picked(x, order(x, dim, largest).take(range(k), dim), dim)


def kth(x: Array, k: int, dim: int, keepdim: bool) -> tuple[Array, ...]:
    both = _picked(x, order(x, dim).take([k - 1], dim), dim)
    return tuple(v if keepdim else np.squeeze(v, dim) for v in both)


def middle(x: Array, dim: int, keepdim: bool) -> tuple[Array, ...]:
    """The lower median; NaN if there is one."""
    _some(x, dim)
    last = order(x, dim).take([-1], dim)
    lower = order(x, dim).take([(x.shape[dim] - 1) // 2], dim)
    spoilt = np.isnan(np.take_along_axis(comparable(x), last, dim)) if x.dtype.kind not in "iub" else False
    both = _picked(x, np.where(spoilt, last, lower), dim)
    return tuple(v if keepdim else np.squeeze(v, dim) for v in both)


def nan_middle(x: Array, dim: int, keepdim: bool) -> tuple[Array, ...]:
    """The lower median of what is not NaN."""
    _some(x, dim)
    valid = np.ones(x.shape, bool) if x.dtype.kind in "iub" else ~np.isnan(comparable(x))
    count = valid.sum(axis=dim, keepdims=True)
    both = _picked(x, np.take_along_axis(order(x, dim), np.maximum(count - 1, 0) // 2, dim), dim)
    return tuple(v if keepdim else np.squeeze(v, dim) for v in both)


def place(x: Array, dim: int | None, keepdim: bool, last: bool) -> Array:
    """The first place of the largest rank, or of the smallest (NaN counts as either)."""
    _some(x, dim)
    rank = ranks(x)
    if not last and x.dtype.kind not in "iub":
        rank = np.where(np.isnan(comparable(x)), -1, rank)
    rank, axis = (rank.reshape(-1), 0) if dim is None else (rank, dim)
    found = rank.argmax(axis=axis) if last else rank.argmin(axis=axis)
    if dim is None:
        return np.asarray(found).reshape((1,) * x.ndim if keepdim else ())
    return np.expand_dims(found, dim) if keepdim else np.asarray(found)


def extreme(x: Array, dims: Any, keepdim: bool, last: bool) -> Array:
    """The largest or smallest element over some dims; NaN if there is one."""
    axes = tuple(d % x.ndim for d in dims) if dims is not None and np.size(dims) else tuple(range(x.ndim))
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    if not all(x.shape[k] for k in axes):
        raise Refused("no element to choose")
    count = math.prod([x.shape[k] for k in axes])
    rows = np.transpose(x, (*rest, *axes)).reshape(*[x.shape[k] for k in rest], count)
    found = np.take_along_axis(rows, place(rows, -1, True, last), -1)[..., 0]
    return found.reshape([1 if k in axes else n for k, n in enumerate(x.shape)]) if keepdim else found


def with_place(x: Array, dim: int, keepdim: bool, last: bool) -> tuple[Array, Array]:
    return extreme(x, (dim,), keepdim, last), place(x, dim, keepdim, last)


def running(x: Array, dim: int, last: bool) -> tuple[Array, Array]:
    """Running extremes and the last place where each was met."""
    values, places = np.moveaxis(x.copy(), dim, 0), np.zeros(x.shape, np.int64)
    places = np.moveaxis(places, dim, 0)
    rank = np.moveaxis(ranks(x), dim, 0)
    if not last and x.dtype.kind not in "iub":
        rank = np.where(np.moveaxis(np.isnan(comparable(x)), dim, 0), -1, rank)
    for k in range(1, len(values)):
        best = np.take_along_axis(rank, places[k - 1 : k], 0)[0]
        newer = rank[k] >= best if last else rank[k] <= best
        places[k] = np.where(newer, k, places[k - 1])
        values[k] = np.where(newer, values[k], values[k - 1])
    return np.moveaxis(values, 0, dim), np.moveaxis(places, 0, dim)


def searched(
    sequence: Array, values: Any, right: bool = False, side: str | None = None, sorter: Array | None = None
) -> Array:
    """Places where ``values`` would keep the last dim of ``sequence`` sorted, row by row if there are several."""
    rows = comparable(sequence if sorter is None else np.take_along_axis(sequence, sorter, -1))
    wanted = comparable(np.asarray(values))
    after = "right" if right or side == "right" else "left"
    if rows.ndim == 1:
        return np.asarray(np.searchsorted(rows, wanted, "right" if after == "right" else "left"))
    found = np.zeros(wanted.shape, np.int64)
    for at in np.ndindex(*rows.shape[:-1]):
        found[at] = searched(rows[at], wanted[at], right, side)
    return found


def unique(x: Array, inverse_too: bool, counts_too: bool) -> tuple[Array | None, ...]:
    """Distinct elements in order and, if wanted, which of them each element is, and how often each occurs."""
    _, first, inverse, counts = np.unique(comparable(x), return_index=True, return_inverse=True, return_counts=True)
    places = np.asarray(inverse).reshape(x.shape) if inverse_too else None
    return x.reshape(-1)[first], places, np.asarray(counts) if counts_too else None


def _slices(x: Array, dim: int) -> int:
    """Return how many slices there are along ``dim``, whose elements are compared."""
    if 0 in [n for k, n in enumerate(x.shape) if k != dim % x.ndim]:
        raise Undefined("empty_slices")
    return int(x.shape[dim])


def unique_slices(x: Array, dim: int) -> tuple[Array, Array, Array]:
    if not _slices(x, dim):
        return x, np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, first, inverse, counts = np.unique(
        comparable(x), return_index=True, return_inverse=True, return_counts=True, axis=dim
    )
    return x.take(first, dim), np.asarray(inverse).reshape(-1), np.asarray(counts)


def mode(x: Array, dim: int, keepdim: bool) -> tuple[Array, ...]:
    """The element that occurs most often, the smallest of several, and a place of it."""
    _some(x, dim)
    rank = np.moveaxis(ranks(x), dim, -1)
    times = (rank[..., :, None] == rank[..., None, :]).sum(axis=-1)
    best = np.where(times == times.max(axis=-1, keepdims=True), -rank, -rank.size).argmax(axis=-1)
    both = _picked(x, np.expand_dims(best, dim), dim)
    return tuple(v if keepdim else np.squeeze(v, dim) for v in both)


def unique_runs(x: Array, inverse_too: bool, counts_too: bool, dim: int | None) -> Array | tuple[Array, ...]:
    """Elements, or slices along a dim, that differ from those before; if wanted, the run of each, and how long each
    is."""
    if not (x.size if dim is None else _slices(x, dim)):
        empty = np.zeros(x.shape if dim is None else 0, np.int64)
        found = (x.reshape(-1) if dim is None else x, *[empty] * inverse_too, *[np.zeros(0, np.int64)] * counts_too)
        return found if len(found) > 1 else found[0]
    rows = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
    new = np.concatenate([[True], (comparable(rows[1:]) != comparable(rows[:-1])).any(axis=1)])
    run = np.cumsum(new) - 1
    kept = x.reshape(-1)[new] if dim is None else np.compress(new, x, axis=dim)
    places = run.reshape(x.shape) if dim is None else run
    found = (kept, *[places] * inverse_too, *[np.bincount(run)] * counts_too)
    return found if len(found) > 1 else kept


def _paired(function: Callable[..., Any], last: bool) -> Oracle:
    return lambda x, dim, keepdim=False: function(x, dim, keepdim, last)


ORDERING: dict[str, Oracle] = {
    "sort": lambda x, dim, descending: _picked(x, order(x, dim, descending), dim),
    "sort.stable": lambda x, stable, dim, descending: _picked(x, order(x, dim, descending), dim),
    "argsort": lambda x, dim, descending: order(x, dim, descending),
    "argsort.stable": lambda x, stable, dim, descending: order(x, dim, descending),
    "msort": lambda x: np.take_along_axis(x, order(x, 0), 0),
    "topk": lambda x, k, dim, largest, ordered: top(x, k, dim, largest),
    "kthvalue": kth,
    "median": lambda x: middle(x.reshape(-1), 0, False)[0],
    "median.dim": middle,
    "nanmedian": lambda x: nan_middle(x.reshape(-1), 0, False)[0],
    "nanmedian.dim": nan_middle,
    "argmax": _paired(place, True),
    "argmin": _paired(place, False),
    "max.other": lambda a, b: np.maximum(a, b),
    "min.other": lambda a, b: np.minimum(a, b),
    "max": lambda x: extreme(x, None, False, True),
    "min": lambda x: extreme(x, None, False, False),
    "max.dim": _paired(with_place, True),
    "min.dim": _paired(with_place, False),
    "amax": _paired(extreme, True),
    "amin": _paired(extreme, False),
    "aminmax": lambda x, dim, keepdim: tuple(
        extreme(x, None if dim is None else (dim,), keepdim, last) for last in (False, True)
    ),
    "cummax": lambda x, dim: running(x, dim, True),
    "cummin": lambda x, dim: running(x, dim, False),
    "mode": mode,
    "unique_consecutive": unique_runs,
    "_unique2": lambda x, ordered, inverse, counts: unique(x, inverse, counts),
    "unique_dim": lambda x, dim, *flags: unique_slices(x, dim),
    "searchsorted": lambda sequence, x, int32, *how: searched(sequence, x, *how),
    "bucketize": lambda x, sequence, int32, right: searched(sequence, x, right),
}
