"""Gradients of operators that pick elements along a dim and say which."""

from __future__ import annotations

from typing import Any

from gaugeblock import Tensor


def scatter_back(grad: Tensor, dim: int, index: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zeros of `shape` with the elements of `grad` added at the places `index` along `dim`."""
    if not shape:
        return grad
    zeros = grad.new_zeros(shape)
    return zeros.scatter_add(dim, index, grad) if index.numel() else zeros


HELPERS: dict[str, Any] = {"scatter_back": scatter_back}
