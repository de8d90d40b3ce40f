"""Copies with some places written anew, and reductions onto the places that an index names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Near, Refused


def with_part(x: Array, key: Any, source: Array) -> Array:
    y = x.copy()
    y[key] = source
    return y


def select_scatter(x: Array, source: Array, dim: int, index: int) -> Array:
    return with_part(x, (slice(None),) * (dim % x.ndim) + (index,), source)


def slice_scatter(x: Array, source: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    return with_part(x, (slice(None),) * (dim % x.ndim) + (slice(start, end, step),), source)


def diagonal_scatter(x: Array, source: Array, offset: int, dim1: int, dim2: int) -> Array:
    y = x.copy()
    shown = np.moveaxis(y, (dim1, dim2), (-2, -1))
    for k in range(source.shape[-1]):
        shown[..., k + max(-offset, 0), k + max(offset, 0)] = source[..., k]
    return y


def diag_embed(x: Array, offset: int, dim1: int, dim2: int) -> Array:
    """Matrices whose diagonal is the last dim of ``x``, in the dims ``dim1`` and ``dim2``."""
    size = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], size, size), x.dtype)
    y[..., np.arange(x.shape[-1]) + max(-offset, 0), np.arange(x.shape[-1]) + max(offset, 0)] = x
    return np.moveaxis(y, (-2, -1), (dim1, dim2))


def fill_diagonal(x: Array, value: Any, wrap: bool) -> Array:
    """The diagonal of a matrix, or of a cube of more dims; of a tall matrix again below, a row left out, if it shall
    ``wrap``."""
    y = x.copy()
    if x.ndim > 2:
        y[(np.arange(len(x)),) * x.ndim] = np.asarray(value).astype(x.dtype)
        return y
    rows, columns = x.shape
    for row in range(rows):
        column = row % (columns + 1) if wrap else row
        if column < columns:
            y[row, column] = np.asarray(value).astype(x.dtype)
    return y


def nonzero_static(x: Array, size: int, fill: int) -> Array:
    found = np.argwhere(x != 0)[:size]
    return np.concatenate([found, np.full((size - len(found), x.ndim), fill, np.int64)])


def _reduced(start: Any, values: Sequence[Any], reduce: str, include: bool, whole: bool) -> tuple[Any, Any]:
    """One element after a reduction, and what its error is measured by."""
    given = [*([start] if include else []), *values]
    if not values:
        return start, 0
    total: Any = given[0]
    for value in given[1:]:
        total = {
            "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum
        }[reduce](total, value)  # fmt: skip
    if reduce == "mean":
        total = total // len(given) if whole else total / len(given)
    scale = sum(np.abs(v) for v in given) if reduce in ("sum", "mean") else np.abs(total) * len(given)
    return total, 0 if reduce in ("amax", "amin") else scale


def _onto(x: Array, parts: dict[tuple[int, ...], list[Any]], reduce: str, include: bool) -> Near:
    whole = x.dtype.kind in "iub"
    if x.dtype.kind == "b" and reduce == "mean":
        raise Refused("the mean of bool")
    if x.dtype.kind == "c" and reduce in ("amax", "amin"):
        raise Refused("the largest or smallest of complex numbers")
    y, scale = x.copy(), np.zeros(x.shape, np.longdouble)
    for place, values in parts.items():
        y[place], size = _reduced(x[place], values, reduce, include, whole)
        scale[place] = float(size)
    return Near(y, 0.0 if whole else scale, 8, "input")


def scatter_reduce(x: Array, dim: int, index: Array, source: Array, reduce: str, include: bool) -> Near:
    parts: dict[tuple[int, ...], list[Any]] = {}
    lifted, places = (v.reshape(1) if not v.ndim else v for v in (x, index))
    values = source.reshape(1) if not source.ndim else source
    for at in np.ndindex(*places.shape):
        place = tuple(int(places[at]) if k == dim % lifted.ndim else n for k, n in enumerate(at))
        parts.setdefault(place, []).append(values[at])
    found = _onto(lifted, parts, reduce, include)
    return Near(found.value.reshape(x.shape), np.broadcast_to(found.scale, lifted.shape).reshape(x.shape), 8, "input")


def index_reduce(x: Array, dim: int, index: Array, source: Array, reduce: str, include: bool) -> Near:
    axis = dim % max(x.ndim, 1)
    shape = [-1 if k == axis else 1 for k in range(max(source.ndim, 1))]
    values = np.atleast_1d(source)
    places = np.broadcast_to(index.reshape(shape), values.shape)
    return scatter_reduce(x, dim, places, values, reduce, include)


SCATTERS: dict[str, Oracle] = {
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
    "diagonal_scatter": diagonal_scatter,
    "diag_embed": diag_embed,
    "diagflat": lambda x, offset: diag_embed(x.reshape(-1), offset, -2, -1),
    "fill_diagonal_": fill_diagonal,
    "nonzero_static": nonzero_static,
    "scatter_reduce": scatter_reduce,
    "index_reduce": index_reduce,
}
