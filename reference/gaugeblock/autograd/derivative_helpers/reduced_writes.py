"""Gradients of writes that reduce: scatter with reduce=, scatter_reduce, index_reduce."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .places import filled_up

Pair = tuple[Tensor, Tensor]


def scatter_reduce_back(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> Pair:
    """The gradients of `self` and `src` where `src` was reduced into `self` at `index` along `dim`.

    amax and amin share a gradient evenly among all that equal the result.
    """
    used = src[tuple(slice(0, size) for size in index.shape)]
    mine, theirs = _REDUCTIONS[reduce](grad, self, dim, index, used, include_self, result)
    if not include_self:
        mine = mine.scatter(dim, index, 0)
    return mine, filled_up(theirs, src.shape)


def index_reduce_back(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor
) -> Pair:
    """As scatter_reduce_back, for whole parts along `dim`."""
    sizes = [1] * source.ndim
    if sizes:
        sizes[dim] = -1
    places = index.reshape(sizes).expand(source.shape)
    return scatter_reduce_back(grad, self, dim, places, source, reduce, include_self, result)


def scatter_value_reduce_back(grad: Tensor, dim: int, index: Tensor, value: Any, reduce: str) -> Tensor:
    """The gradient of `self` where a number was added to or multiplied with its elements at `index` along `dim`."""
    if reduce == "add":
        return grad
    return grad * gb.ones_like(grad).scatter(dim, index, value.conjugate(), reduce="multiply")


def _sum(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    return grad, grad.gather(dim, index)


def _mean(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    count = gb.full_like(grad, 1 if include else 0).scatter_add(dim, index, gb.ones_like(src))
    share = grad / count.masked_fill(count == 0, 1)
    return share, share.gather(dim, index)


def _prod(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    """The product of all others is that of all, divided by the own factor, or made without it where it is zero."""
    ones = gb.ones_like(self)
    start = self if include else ones
    zero = src == 0
    alone = zero & (gb.zeros_like(self).scatter_add(dim, index, zero.to(src.dtype)).gather(dim, index) == 1)
    product = start.scatter_reduce(dim, index, src, "prod").conj()
    without = start.scatter_reduce(dim, index, src.masked_fill(alone, 1), "prod").conj()
    divided = (grad * product).gather(dim, index) / src.masked_fill(zero, 1).conj()
    mine = grad * ones.scatter_reduce(dim, index, src, "prod").conj()
    return mine, gb.where(alone, (grad * without).gather(dim, index), divided)


def _touched(self: Tensor, dim: int, index: Tensor) -> Tensor:
    return gb.zeros_like(self, dtype=gb.bool).scatter(dim, index, True)


def _extreme(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    mine = self == result
    if not include:
        mine = mine & ~_touched(self, dim, index)
    theirs = (src == result.gather(dim, index)).to(grad.dtype)
    count = mine.to(grad.dtype).scatter_add(dim, index, theirs)
    share = grad / count.masked_fill(count == 0, 1)
    return share.masked_fill(~mine, 0), share.gather(dim, index) * theirs


_REDUCTIONS = {
    "sum": _sum, "add": _sum, "prod": _prod, "multiply": _prod, "mean": _mean, "amax": _extreme, "amin": _extreme,
}  # fmt: skip

HELPERS: dict[str, Any] = {
    "scatter_reduce_back": scatter_reduce_back,
    "index_reduce_back": index_reduce_back,
    "scatter_value_reduce_back": scatter_value_reduce_back,
}
