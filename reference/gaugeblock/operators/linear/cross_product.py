"""The vector product of vectors with three components."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_
from ...core.errors import wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...core.warn import warn_once
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ..arrays import check_same_device, outline, values, widened
from .checks import store


def linalg_cross(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The product of the vectors along `dim`; the other dims broadcast.

    Raises RuntimeError for different dtypes or numbers of dims and for vectors of another length.
    """
    left, right = self.meta, other.meta
    device = check_same_device("linalg.cross", self, other)
    if left.ndim != right.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {left.ndim} and {right.ndim}."
        )
    place = wrap_dim("linalg.cross", dim, left.ndim)
    if not left.ndim or left.sizes[place] != 3 or right.sizes[place] != 3:
        given = f"{left.sizes[place]} and {right.sizes[place]}" if left.ndim else "0-dim tensors"
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {given}")
    if left.dtype is not right.dtype:
        raise RuntimeError(
            f"linalg.cross: expected scalar type {UPSTREAM_NAMES[left.dtype.name]} but found "
            f"{UPSTREAM_NAMES[right.dtype.name]}"
        )
    if left.dtype is bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    sizes = broadcast_shapes((left.sizes, right.sizes))
    result, target = outline(sizes, left.dtype, device)
    if target is not None:
        a = np.moveaxis(np.broadcast_to(widened(values(self), left.dtype), sizes), place, 0)
        b = np.moveaxis(np.broadcast_to(widened(values(other), left.dtype), sizes), place, 0)
        places = np.moveaxis(target, place, 0)
        with np.errstate(all="ignore"):
            for k in range(3):
                i, j = (k + 1) % 3, (k + 2) % 3
                store(places[k : k + 1], a[i] * b[j] - a[j] * b[i])
    return result


def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """linalg.cross along `dim`, or the first dim of size 3. Raises RuntimeError when there is none."""
    if dim is None:
        warn_once("cross() without the argument 'dim' is deprecated; pass it, or call linalg.cross()")
        found = [k for k, size in enumerate(self.meta.sizes) if size == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return linalg_cross(self, other, dim=dim)
