"""Gradients of linear maps of the last dim: input @ weight.T + bias."""

from __future__ import annotations

from math import prod
from typing import Any

Tensor = Any


def linear_input_back(grad: Tensor, weight: Tensor) -> Tensor:
    """`grad` times the conjugate weight, a matrix or a vector."""
    return grad.matmul(weight.conj()) if weight.ndim == 2 else grad.unsqueeze(-1) * weight.conj()


def linear_weight_back(grad: Tensor, input: Tensor, ndim: int) -> Tensor:
    """The sum over all leading places of `grad` times the conjugate input, for a weight of `ndim` dims."""
    if ndim == 1:
        return _rows(grad.unsqueeze(-1) * input.conj()).sum(0)
    return _rows(grad).t().mm(_rows(input).conj())


def _rows(value: Tensor) -> Tensor:
    """A matrix with the last dim of `value`."""
    return value if value.ndim == 2 else value.reshape((prod(value.shape[:-1]), value.shape[-1]))


HELPERS: dict[str, Any] = {"linear_input_back": linear_input_back, "linear_weight_back": linear_weight_back}
