"""Sums with products of vectors and of batches: addr, addbmm; and trace."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_
from ...core.promotion import UPSTREAM_NAMES, promote_types
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ...tensor.views import diagonal, expand
from ..arrays import check_same_device, outline, outline_between, values, widened
from ..invoke import apply
from ..number_limits import check_fits
from ..plan import Planned, plannable
from ..products import check_batches
from ..reductions import sum_all
from ..scaled_products import scaled
from .checks import store


def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * self`` plus alpha times the sum of the matrix products of all batches. Raises as baddbmm."""
    batch, rows, columns = check_batches(batch1, batch2)
    inner = batch1.meta.sizes[2]
    left = apply("reshape", apply("permute", batch1, (1, 0, 2)), (rows, batch * inner))
    right = apply("reshape", batch2, (batch * inner, columns))
    return scaled("addbmm", self, left, right, (rows, columns), beta, alpha)


def addr(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * self + alpha * outer(vec1, vec2)`` in the promoted dtype; `self` is ignored when beta is 0.

    Raises RuntimeError for other than vectors and for numbers of a higher kind than the result.
    """
    for tensor, name in ((vec1, "vec1"), (vec2, "vec2")):
        if tensor.meta.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {tensor.meta.ndim}-D")
    device = check_same_device("addr", self, vec1, vec2)
    dtype = promote_types(promote_types(self.meta.dtype, vec1.meta.dtype), vec2.meta.dtype)
    for name, number in (("beta", beta), ("alpha", alpha)):
        kind = 1 if isinstance(number, int) else 2 if isinstance(number, float) else 3
        if (dtype.kind < 2 <= kind) or (dtype.kind < 3 <= kind):
            raise RuntimeError(
                f"addr(): For {UPSTREAM_NAMES[dtype.name]} input tensors, argument {name} must not be a "
                f"{type(number).__name__}, got {number!r}"
            )
        check_fits("addr", number, dtype)
    sizes = (vec1.meta.numel, vec2.meta.numel)
    addend = expand(self, sizes)
    result, target = outline_between(sizes, dtype, device, (self, apply("unsqueeze", vec1, 1), vec2))
    if target is None:
        return result
    a, b, c = (widened(values(t).astype(dtype.numpy), dtype) for t in (vec1, vec2, addend))
    with np.errstate(all="ignore"):
        if dtype is bool_:
            total = (a[:, None] & b) & bool(alpha)
            store(target, total | (c & bool(beta)) if beta else total)
            return result
        total = np.asarray(alpha).astype(a.dtype) * (a[:, None] * b)
        store(target, total + np.asarray(beta).astype(a.dtype) * c if beta != 0 else total)
    return result


@plannable
def trace(self: Tensor) -> Tensor | Planned[Tensor]:
    """The sum of the diagonal of a matrix, int64 for ints. Raises RuntimeError below or above two dims."""
    meta = self.meta
    if meta.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {meta.ndim}")
    if meta.dtype is bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    if not meta.lazy:
        total = sum_all.planned(diagonal(self))
        return Planned(total.result, total.call)
    result, target = outline((), meta.dtype, meta.device)
    if target is not None:
        store(target, np.diagonal(values(self)).sum())
    return result
