"""Looking up rows of a table by their numbers, on widened operands: embeddings, and bags of them joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .distances import distance
from .moves import Oracle
from .near import Refused


def renormed(weight: Array, indices: Array, most: float, p: float) -> Array:
    """The rows named shortened to a length of ``most``, if they are longer."""
    y = weight.copy()
    for k in np.unique(indices):
        length = distance(weight[k], p)
        if length > most:
            y[k] = weight[k] * (np.longdouble(most) / (length + np.longdouble(1e-7)))
    return y


def bags(
    weight: Array, indices: Array, offsets: Array, by_count: bool, mode: int, sparse: bool, shares: Array | None,
    last: bool, ignored: int | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The sum, mean or maximum of the rows of each bag; of one without rows zeros. What else is given is left open."""
    if shares is not None and mode:
        raise Refused("weights of samples unless summed")
    edges = [*offsets.tolist()] if last else [*offsets.tolist(), len(indices)]
    y = np.zeros((len(edges) - 1, weight.shape[1]), weight.dtype)
    for bag, begin, end in zip(y, edges, edges[1:], strict=False):
        kept = [k for k in range(begin, end) if ignored is None or indices[k] != ignored % len(weight)]
        rows = weight[indices[kept]] * (1 if shares is None else shares[kept][:, None])
        if kept:
            bag[...] = rows.max(axis=0) if mode == 2 else rows.sum(axis=0) / (len(kept) if mode else 1)
    return y, None, None, None


def marked(x: Array, classes: int) -> Array:
    """A row of zeros with a one at the place that each element names."""
    count = int(x.max()) + 1 if classes < 0 else classes
    return np.asarray((x[..., None] == np.arange(count)).astype(np.int64))


LOOKUPS: dict[str, Oracle] = {
    "embedding": lambda weight, indices, *rest: weight[indices],
    "embedding_renorm_": renormed,
    "embedding_bag": bags,
    "one_hot": marked,
}
