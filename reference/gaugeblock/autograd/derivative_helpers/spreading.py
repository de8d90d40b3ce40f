"""Gradients of reductions: a value for a removed dim is given back to all elements, or shared by some."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock import Tensor

Dims = int | Sequence[int] | None


def reduced_dims(ndim: int, dim: Dims) -> tuple[int, ...]:
    """The dims that a reduction removes, counted from 0 and sorted: all for None and no dims."""
    given = (dim,) if isinstance(dim, int) else tuple(dim or ())
    return tuple(sorted({place % max(ndim, 1) for place in given})) if given else tuple(range(ndim))


def restored(value: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """`value` with dims of size 1 where a reduction of a tensor of `shape` removed some."""
    if keepdim or not shape:
        return value
    for place in reduced_dims(len(shape), dim):
        value = value.unsqueeze(place)
    return value


def spread(value: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """`value`, the result of a reduction of a tensor of `shape`, at every element that went into it."""
    return restored(value, shape, dim, keepdim).expand(shape)


def count(shape: tuple[int, ...], dim: Dims) -> int:
    """How many elements go into one of the result."""
    return math.prod(shape[place] for place in reduced_dims(len(shape), dim) if shape)


def mean_back(grad: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of a mean."""
    return spread(grad / max(count(shape, dim), 1), shape, dim, keepdim)


def nanmean_back(grad: Tensor, self: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of a mean over the elements that are not nan."""
    there = self.isnan().logical_not()
    counted = there.sum(reduced_dims(self.ndim, dim), True)
    return restored(grad, self.shape, dim, keepdim) / counted * there


def share_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """`grad` in equal shares to the elements that are `result`, which are the nans where that is nan."""
    mask = (self == result) | (self.isnan() & result.isnan())
    return mask * (grad / mask.sum())


def share_dim_back(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """`grad` in equal shares to the elements that are `result` along the dims; nan where none is."""
    mask = restored(result, self.shape, dim, keepdim) == self
    counted = mask.sum(reduced_dims(self.ndim, dim), True)
    return restored(grad, self.shape, dim, keepdim) * mask / counted


HELPERS: dict[str, Callable[..., Any]] = {
    "spread": spread,
    "mean_back": mean_back,
    "nanmean_back": nanmean_back,
    "share_back": share_back,
    "share_dim_back": share_dim_back,
}
