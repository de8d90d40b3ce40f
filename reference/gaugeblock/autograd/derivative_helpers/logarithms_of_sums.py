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
    above, below = ((_later(part - result, dim) + self).exp() for part in _logarithms(grad))
    return above - below


def logcumsumexp_forward(tangent: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """``sum over j <= i of tangent[j] exp(x[j] - y[i])``, kept from overflow by adding up logarithms."""
    if not self.ndim or not self.numel():
        return tangent
    if tangent.is_complex():
        return ((tangent.log() + self).logcumsumexp(dim) - result).exp()
    above, below = (((part + self).logcumsumexp(dim) - result).exp() for part in _logarithms(tangent))
    return above - below


def _logarithms(value: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithms of the positive and of the negative numbers, for all others the lowest number there is."""
    least = gb.finfo(value.dtype).min
    size = value.abs().log()
    return gb.where(value > 0, size, least), gb.where(value < 0, size, least)


def _later(value: Tensor, dim: int) -> Tensor:
    return value.flip(dim).logcumsumexp(dim).flip(dim)


HELPERS: dict[str, Callable[..., Any]] = {
    "logsumexp_back": logsumexp_back,
    "logcumsumexp_back": logcumsumexp_back,
    "logcumsumexp_forward": logcumsumexp_forward,
}
