"""Operators that move elements without computing with them: reading and writing by index, rearranging, joining.

Each oracle takes the arguments of the row in schema order, tensors as arrays, and gives the exact result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Array

Oracle = Callable[..., Any]


def corner(x: Array, sizes: Sequence[int], dim: int) -> Array:
    """The first ``sizes[k]`` elements along every dim but ``dim``."""
    axis = dim % max(x.ndim, 1)
    return x[tuple(slice(None) if k == axis else slice(n) for k, n in enumerate(sizes))]


def gather(x: Array, dim: int, index: Array) -> Array:
    if not x.ndim:
        return np.broadcast_to(x, index.shape).copy()
    places = np.atleast_1d(index).astype(np.int64)
    return np.take_along_axis(corner(x, places.shape, dim), places, dim).reshape(index.shape)


def scattered(x: Array, dim: int, index: Array, src: Any, write: Callable[[Any, Any], Any] | None = None) -> Array:
    """``x`` with ``src`` written to the places of ``index`` along ``dim``, in index order; ``write`` joins the element
    there with the one that comes. Of a ``src`` larger than ``index`` its first elements are taken."""
    y, places = np.atleast_1d(x).copy(), np.atleast_1d(index)
    values = np.broadcast_to(src[tuple(slice(n) for n in index.shape)], places.shape) if np.ndim(src) else src
    for at in np.ndindex(*places.shape):
        place = tuple(int(places[at]) if k == dim % y.ndim else n for k, n in enumerate(at))
        value = values[at] if np.ndim(values) else values
        y[place] = value if write is None else write(y[place], value)
    return y.reshape(x.shape)


def along(x: Array, dim: int, index: Array) -> tuple[Any, ...]:
    """The key that names the slices ``index`` along ``dim``."""
    return (slice(None),) * (dim % max(x.ndim, 1)) + (index.reshape(-1).astype(np.int64),)


def written(x: Array, dim: int, index: Array, value: Any) -> Array:
    y = np.atleast_1d(x).copy()
    y[along(y, dim, index)] = value
    return y.reshape(x.shape)


def put(x: Array, index: Array, source: Array, accumulate: bool) -> Array:
    y = x.reshape(-1).copy()
    if accumulate:
        np.add.at(y, index.reshape(-1), source.reshape(-1))
    else:
        y[index.reshape(-1)] = source.reshape(-1)
    return y.reshape(x.shape)


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    x, mask = np.broadcast_arrays(x, mask)
    y = x.copy()
    y[mask] = source.reshape(-1)[: int(mask.sum())]
    return y


def masked_select(x: Array, mask: Array) -> Array:
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


def take_along_dim(x: Array, indices: Array, dim: int | None) -> Array:
    if dim is None:
        return x.reshape(-1)[indices.reshape(-1)]
    return np.take_along_axis(x, indices, dim)


def joined(parts: Sequence[Array], dim: int) -> Array:
    """Concatenation that skips one-dimensional tensors without elements."""
    kept = [p for p in parts if p.shape != (0,)] or list(parts[:1])
    return np.concatenate(kept, dim)


def repeat_interleave(x: Array, repeats: Any, dim: int | None, output_size: int | None = None) -> Array:
    return np.repeat(x if dim is not None else x.reshape(-1), repeats, 0 if dim is None else dim % max(x.ndim, 1))


def roll(x: Array, shifts: Any, dims: Any) -> Array:
    steps = [int(n) for n in np.atleast_1d(shifts)]
    if not np.size(dims):
        return np.roll(x.reshape(-1), steps[0]).reshape(x.shape)
    return np.roll(x, steps, tuple(int(d) for d in np.atleast_1d(dims)))


def meshgrid(tensors: Sequence[Array], indexing: str) -> list[Array]:
    return list(np.meshgrid(*[t.reshape(-1) for t in tensors], indexing="xy" if indexing == "xy" else "ij"))


def diag(x: Array, diagonal: int) -> Array:
    if x.ndim == 1:
        return np.diag(x, diagonal)
    rows, columns = x.shape
    if not -rows <= diagonal <= columns:
        return x.reshape(-1)[:0]
    return np.diagonal(x, diagonal)


MOVES: dict[str, Oracle] = {
    "gather": lambda x, dim, index, sparse_grad: gather(x, dim, index),
    "index_select": lambda x, dim, index: np.take(x, index.reshape(-1), dim),
    "take": lambda x, index: x.reshape(-1)[index],
    "take_along_dim": take_along_dim,
    "masked_select": masked_select,
    "masked_scatter": masked_scatter,
    "masked_fill": lambda x, mask, value: np.where(mask, np.asarray(value).astype(x.dtype), x),
    "nonzero": lambda x: np.argwhere(x != 0),
    "argwhere": lambda x: np.argwhere(x != 0),
    "where": lambda x: list(np.nonzero(x if x.ndim else x.reshape(1))),
    "scatter.src": lambda x, dim, index, src: scattered(x, dim, index, src),
    "scatter.value": lambda x, dim, index, value: scattered(x, dim, index, np.asarray(value).astype(x.dtype)),
    "index_fill": lambda x, dim, index, value: written(x, dim, index, np.asarray(value).astype(x.dtype)),
    "index_copy": written,
    "put": put,
    "cat": joined,
    "stack": lambda parts, dim: np.stack(parts, dim),
    "hstack": lambda parts: joined([np.atleast_1d(p) for p in parts], int(parts[0].ndim > 1)),
    "vstack": lambda parts: np.vstack(parts),
    "dstack": lambda parts: np.dstack(parts),
    "column_stack": lambda parts: np.column_stack(parts),
    "roll": roll,
    "flip": lambda x, dims: np.flip(x, tuple(dims)),
    "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x),
    "rot90": lambda x, k, dims: np.rot90(x, k, tuple(dims)),
    "repeat": lambda x, repeats: np.tile(x, tuple(repeats)),
    "tile": lambda x, dims: np.tile(x, tuple(dims)),
    "repeat_interleave": repeat_interleave,
    "repeat_interleave.Tensor": lambda repeats, output_size: np.repeat(np.arange(len(repeats)), repeats),
    "tril": lambda x, diagonal: np.tril(x, diagonal),
    "triu": lambda x, diagonal: np.triu(x, diagonal),
    "diag": diag,
    "meshgrid": meshgrid,
}
