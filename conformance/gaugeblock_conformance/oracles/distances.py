"""Distances between rows by their definitions, on widened operands (see :mod:`.sums`)."""

from __future__ import annotations

import numpy as np

from ..backend import Array
from .moves import Oracle


def distance(off: Array, p: float, keepdim: bool = False) -> Array:
    """The p-norm along the last dim; the number of elements that are not 0 for p of 0."""
    size = np.abs(off)
    if p == 0:
        found = (size != 0).sum(axis=-1, keepdims=keepdim).astype(np.longdouble)
    elif np.isinf(p):
        found = (size.max if p > 0 else size.min)(axis=-1, keepdims=keepdim)
    else:
        found = (size ** np.longdouble(p)).sum(axis=-1, keepdims=keepdim) ** (1 / np.longdouble(p))
    return np.asarray(found)


def cosine(left: Array, right: Array, dim: int, square: float) -> Array:
    """The cosine of the angle between rows, ``square`` added to the square of either length."""
    lengths = [(v * v).sum(axis=dim) + np.longdouble(square) for v in (left, right)]
    return np.asarray((left * right).sum(axis=dim) / np.sqrt(lengths[0] * lengths[1]))


def similarity(left: Array, right: Array, dim: int, eps: float) -> Array:
    """The cosine of the angle between rows, none of them taken for shorter than ``eps``."""
    left, right = np.broadcast_arrays(left, right)
    lengths = [np.maximum(np.sqrt((v * v).sum(axis=dim)), np.longdouble(eps)) for v in (left, right)]
    return np.asarray((left * right).sum(axis=dim) / lengths[0] / lengths[1])


def apart(x: Array, p: float) -> Array:
    """The distances of every two rows, in order."""
    first, second = np.triu_indices(len(x), 1)
    return distance(x[first] - x[second], p)


DISTANCES: dict[str, Oracle] = {
    "cosine_similarity": similarity,
    "pairwise_distance": lambda x, y, p, eps, keepdim: distance(x - y + np.longdouble(eps), p, keepdim),
    "cdist": lambda x, y, p, mode: distance(x[..., :, None, :] - y[..., None, :, :], p),
    "pdist": apart,
}
