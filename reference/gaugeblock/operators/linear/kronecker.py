"""The Kronecker product."""

from __future__ import annotations

import numpy as np

from ...core.away import away
from ...core.promotion import promote_types
from ...tensor.tensor import Tensor
from ..arrays import STEPS, check_same_device, outline, values


def kron(self: Tensor, other: Tensor) -> Tensor:
    """Every element of `self` times all of `other`, in blocks, in the promoted dtype; missing leading dims are 1."""
    device = check_same_device("kron", self, other)
    dtype = promote_types(self.meta.dtype, other.meta.dtype)
    ndim = max(self.meta.ndim, other.meta.ndim)
    left = (1,) * (ndim - self.meta.ndim) + self.meta.sizes
    right = (1,) * (ndim - other.meta.ndim) + other.meta.sizes
    result, target = outline([a * b for a, b in zip(left, right, strict=True)], dtype, device)
    if target is not None and target.size:
        blocks = target.reshape([size for pair in zip(left, right, strict=True) for size in pair])
        outer = values(self).astype(dtype.numpy).reshape([size for n in left for size in (n, 1)])
        inner = values(other).astype(dtype.numpy).reshape([size for n in right for size in (1, n)])
        with np.errstate(all="ignore"):
            away(STEPS * target.size, np.multiply, outer, inner, out=blocks)
    return result
