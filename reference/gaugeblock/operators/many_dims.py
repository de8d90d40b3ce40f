"""Operators along one dim of tensors with more dims than NumPy takes: their elements as fewer dims."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..core.errors import wrap_dim
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from ..tensor.views import as_strided

MOST_DIMS = 30
"""NumPy indexes arrays of up to 32 dims with arrays, and some operators add one or two."""


def has_many_dims(meta: TensorMeta) -> bool:
    """Return whether NumPy may have no arrays for the operator's steps."""
    return len(meta.sizes) > MOST_DIMS


def along(operator: str, self: Tensor, dim: int, call: Callable[[Tensor], Any], *, keepdim: bool = True) -> Any:
    """Return what `call` makes of `self` as three dims, where it works along dim 1, with the other dims back.

    `call` keeps dim 1, which the results lose without `keepdim`. Raises IndexError for a dim out of range.
    """
    sizes = self.meta.sizes
    place = wrap_dim(operator, dim, len(sizes))
    before, after = sizes[:place], sizes[place + 1 :]
    found = call(reshape(self, (prod(before), sizes[place], prod(after))))

    def back(result: Tensor) -> Tensor:
        return reshape(result, (*before, *((result.meta.sizes[1],) if keepdim else ()), *after))

    return back(found) if isinstance(found, Tensor) else type(found)(*map(back, found))


def without_dims(self: Tensor, dropped: set[int]) -> Tensor:
    """Return a view of `self` at the first place along the `dropped` dims, without them."""
    sizes, strides = self.meta.sizes, self.meta.strides
    kept = [d for d in range(len(sizes)) if d not in dropped]
    return as_strided(self, tuple([sizes[d] for d in kept]), tuple([strides[d] for d in kept]), self.offset)
