"""Gradients of products and running products, exact at zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from ..grad_mode import is_grad_enabled


def prod_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient of the product of all elements."""
    if not self.ndim:
        return grad
    if _without_zeros(self):
        return grad * (result / self).conj()
    return grad * _others(self.reshape(-1), 0).reshape(self.shape).conj()


def prod_dim_back(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The gradient of products along `dim`."""
    if not self.ndim:
        return grad
    if not keepdim:
        grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
    return grad * (result / self if _without_zeros(self) else _others(self, dim)).conj()


def reversed_cumsum(grad: Tensor, dim: int) -> Tensor:
    """The running sums from the end of `dim`."""
    if grad.numel() <= 1 or grad.size(dim) == 1:
        return grad
    return grad.flip(dim).cumsum(dim).flip(dim)


def cumprod_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of running products along `dim`."""
    if self.numel() <= 1 or self.size(dim) == 1:
        return grad
    if _without_zeros(self):
        return reversed_cumsum(grad * result.conj(), dim) / self.conj()
    return _recorded(grad, self, dim) if is_grad_enabled() else _at_zeros(grad, self, dim)


def _without_zeros(self: Tensor) -> bool:
    return self.device.type != "meta" and not bool((self == 0).any())


def _others(self: Tensor, dim: int) -> Tensor:
    """For each element the product of all others along `dim`: of those before it and those after it."""
    size = self.size(dim)
    if size == 0:
        return self
    one = gb.ones_like(self.narrow(dim, 0, 1))
    before = gb.cat([one, self.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    after = gb.cat([one, self.narrow(dim, 1, size - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return before * after


def _at_zeros(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """Right for rows with zeros, but not to be differentiated: its masks are taken for constant.

    Up to the first zero the products are as in a row without. The first zero itself gets the sum over the products from
    it on, with 1 in its place. Behind it every product is 0, and stays so.
    """
    zero = self == 0
    zeros = zero.cumsum(dim)
    first = zero & (zeros == 1)
    products = self.masked_fill(first, 1).cumprod(dim).conj()
    usual = reversed_cumsum((grad * products).masked_fill(zeros > 0, 0), dim) / self.masked_fill(zero, 1).conj()
    at_first = (grad * products).masked_fill(zeros == 0, 0).sum(dim, True)
    return gb.where(first, at_first, usual.masked_fill(zeros > 0, 0))


def _recorded(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradient made of products without division, for it to be differentiated again."""
    parts = []
    size = self.size(dim)
    for place in range(size):
        rest = size - place - 1
        one = gb.ones_like(self.narrow(dim, 0, 1))
        before = gb.prod(self.narrow(dim, 0, place), dim, True)
        from_here = gb.cat([one, self.narrow(dim, place + 1, rest)], dim).cumprod(dim)
        parts.append((grad.narrow(dim, place, rest + 1) * (before * from_here).conj()).sum(dim, True))
    return gb.cat(parts, dim)


HELPERS: dict[str, Callable[..., Any]] = {
    "prod_back": prod_back,
    "prod_dim_back": prod_dim_back,
    "reversed_cumsum": reversed_cumsum,
    "cumprod_back": cumprod_back,
}
