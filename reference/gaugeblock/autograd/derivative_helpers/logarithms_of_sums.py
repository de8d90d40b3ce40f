"""Gradients of logsumexp and logcumsumexp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .spreading import Dims, restored


def logsumexp_back(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """`grad` times the share of each element in the sum."""
    spread_grad = restored(grad, self.shape, dim, keepdim)
    return spread_grad * (self - restored(result, self.shape, dim, keepdim)).exp().conj()


def logcumsumexp_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """``sum over j >= i of grad[j] exp(x[i] - y[j])``, kept from overflow by adding up logarithms."""
    if not self.ndim or not self.numel():
        return grad
    if grad.is_complex():
        return (_later(grad.conj().log() - result, dim) + self).exp().conj()
    least = gb.finfo(grad.dtype).min
    size = grad.abs().log()
    above = (_later(gb.where(grad > 0, size, least) - result, dim) + self).exp()
    below = (_later(gb.where(grad < 0, size, least) - result, dim) + self).exp()
    return above - below


def _later(value: Tensor, dim: int) -> Tensor:
    return value.flip(dim).logcumsumexp(dim).flip(dim)


HELPERS: dict[str, Callable[..., Any]] = {
    "logsumexp_back": logsumexp_back,
    "logcumsumexp_back": logcumsumexp_back,
}
