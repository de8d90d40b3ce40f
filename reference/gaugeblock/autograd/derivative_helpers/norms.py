"""Gradients of vector norms of every order, and of the distance of two tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .spreading import Dims, reduced_dims, restored


def norm_back(grad: Tensor, self: Tensor, result: Tensor, order: float | None, dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of a vector norm: 0 for order 0 and where the norm is 0; of order inf shared by the largest."""
    p = 2.0 if order is None else float(order)
    if p == 0:
        return gb.zeros_like(self)
    if self.ndim:
        grad, result = restored(grad, self.shape, dim, keepdim), restored(result, self.shape, dim, keepdim)
    if p == 1:
        return self.sgn() * grad
    if p == 2:
        return grad * (self / result).masked_fill(result == 0, 0)
    size = self.abs()
    if math.isinf(p):
        largest = (size == result) | (size.isnan() & result.isnan())
        return self.sgn() * (grad / largest.sum(reduced_dims(self.ndim, dim), True) * largest)
    if p < 1:
        return self.sgn() * size.pow(p - 1).masked_fill(self == 0, 0) * grad * result.pow(1 - p)
    scaled = self.sgn() * size.pow(p - 1) if p < 2 else self * size.pow(p - 2)
    return scaled * (grad / result.pow(p - 1)).masked_fill(result == 0, 0)


def dist_back(grad: Tensor, self: Tensor, other: Tensor, p: float, result: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the norm of ``self - other`` by both."""
    back = norm_back(grad, self - other, result, p, None, False)
    return back, -back


HELPERS: dict[str, Callable[..., Any]] = {"norm_back": norm_back, "dist_back": dist_back}
