"""Gradients of operators that pick elements along a dim and say which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gaugeblock import Tensor


def scatter_back(grad: Tensor, dim: int, index: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zeros of `shape` with the elements of `grad` added at the places `index` along `dim`."""
    if not shape:
        return grad.sum()
    zeros = grad.new_zeros(shape)
    return zeros.scatter_add(dim, index, grad) if index.numel() else zeros


def pick_back(grad: Tensor, dim: int, index: Tensor, shape: tuple[int, ...], keepdim: bool) -> Tensor:
    """As scatter_back for one place along `dim`, which `grad` and `index` lack unless `keepdim`."""
    if keepdim or not shape:
        return scatter_back(grad, dim, index, shape)
    return scatter_back(grad.unsqueeze(dim), dim, index.unsqueeze(dim), shape)


def pick(value: Tensor, dim: int, index: Tensor, keepdim: bool) -> Tensor:
    """The elements of `value` at the places `index` along `dim`, which `index` lacks unless `keepdim`."""
    if not value.ndim:
        return value
    if keepdim:
        return value.gather(dim, index)
    return value.gather(dim, index.unsqueeze(dim)).squeeze(dim)


HELPERS: dict[str, Callable[..., Any]] = {"scatter_back": scatter_back, "pick_back": pick_back, "pick": pick}
