"""Gradients of linear maps of the last dim: input @ weight.T + bias."""

from __future__ import annotations

from typing import Any

Tensor = Any


def linear_input_back(grad: Tensor, weight: Tensor) -> Tensor:
    """`grad` times the conjugate weight, a matrix or a vector."""
    return grad.matmul(weight.conj()) if weight.ndim == 2 else grad.unsqueeze(-1) * weight.conj()


def linear_weight_back(grad: Tensor, input: Tensor, ndim: int) -> Tensor:
    """The sum over all leading places of `grad` times the conjugate input, for a weight of `ndim` dims."""
    if ndim == 1:
        return (grad.unsqueeze(-1) * input.conj()).reshape((-1, input.shape[-1])).sum(0)
    rows = grad.reshape((-1, grad.shape[-1])) if grad.ndim != 2 else grad
    return rows.t().mm((input.reshape((-1, input.shape[-1])) if input.ndim != 2 else input).conj())


HELPERS: dict[str, Any] = {"linear_input_back": linear_input_back, "linear_weight_back": linear_weight_back}
