"""The most frequent value along a dim."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtype import int64
from ...core.errors import wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor
from ..arrays import outline, values
from ..many_dims import along, has_many_dims
from ..named_results import pair
from ..sorting import sortable


def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """(values, indices): the most frequent value along `dim`, the smallest of several, and its last place.

    Raises IndexError for a dim that is out of range or empty, NotImplementedError for complex values.
    """
    meta = self.meta
    if has_many_dims(meta):
        return along("mode", self, dim, lambda three: mode(three, 1, True), keepdim=keepdim)
    place = wrap_dim("mode", dim, meta.ndim)
    if meta.dtype.is_complex:
        raise NotImplementedError(f"\"mode_cpu\" not implemented for '{UPSTREAM_NAMES[meta.dtype.name]}'")
    if meta.ndim and not meta.sizes[place]:
        raise IndexError(f"mode(): Expected reduction dim {place} to have non-zero size.")
    sizes = tuple(1 if d == place else size for d, size in enumerate(meta.sizes) if keepdim or d != place)
    found, chosen = outline(sizes, meta.dtype, meta.device)
    indices, places = outline(sizes, int64, meta.device)
    if chosen is not None and places is not None and chosen.size:
        array = np.moveaxis(sortable(values(self)).reshape(meta.sizes or (1,)), place, -1)
        order = np.argsort(array, -1, kind="stable")
        ordered = np.take_along_axis(array, order, -1)
        new = np.ones(ordered.shape, bool)
        new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        k = np.arange(ordered.shape[-1])
        length = k - np.maximum.accumulate(np.where(new, k, 0), -1)
        last = np.argmax(length, -1)[..., None]
        chosen[...] = np.take_along_axis(ordered, last, -1).reshape(sizes)
        places[...] = np.take_along_axis(order, last, -1).reshape(sizes)
    return pair("mode", found, indices)
