"""Gradients of products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .layouts import product_like

Pair = tuple[Tensor | None, Tensor | None]


def scaled(grad: Tensor, factor: Any) -> Tensor:
    """`grad` times the conjugate of a number."""
    return grad if factor == 1 else grad * factor.conjugate()


def matmul_back(grad: Tensor, self: Tensor, other: Tensor, needed: tuple[bool, bool]) -> Pair:
    """The gradients of both factors of matmul, with the batch dims of the product where they were broadcast."""
    if self.ndim == 1 and other.ndim == 1:
        return (grad * other.conj() if needed[0] else None, grad * self.conj() if needed[1] else None)
    if self.ndim == 2 and other.ndim == 2:
        return (
            product_like(grad, other.adjoint(), self.stride()) if needed[0] else None,
            product_like(self.adjoint(), grad, other.stride()) if needed[1] else None,
        )
    left = self.unsqueeze(0) if self.ndim == 1 else self
    right = other.unsqueeze(-1) if other.ndim == 1 else other
    if self.ndim == 1:
        grad = grad.unsqueeze(-2)
    if other.ndim == 1:
        grad = grad.unsqueeze(-1)
    mine = theirs = None
    if needed[0]:
        mine = grad.matmul(right.adjoint())
        mine = mine.squeeze(-2) if self.ndim == 1 else mine
    if needed[1]:
        if right.ndim == 2 and left.ndim > 2:
            rows = prod(left.shape[:-1])
            theirs = left.reshape((rows, left.shape[-1])).adjoint().mm(grad.reshape((rows, grad.shape[-1])))
        else:
            theirs = left.adjoint().matmul(grad)
        theirs = theirs.squeeze(-1) if other.ndim == 1 else theirs
    return mine, theirs


def inner_back(grad: Tensor, self: Tensor, other: Tensor, needed: tuple[bool, bool]) -> Pair:
    """The gradients of both operands of inner, which sums over their last dims."""
    if not self.ndim or not other.ndim:
        return (grad * other.conj() if needed[0] else None, grad * self.conj() if needed[1] else None)
    size = self.shape[-1]
    rows, columns = prod(self.shape[:-1]), prod(other.shape[:-1])
    flat = grad.reshape((rows, columns))
    mine = flat.mm(other.reshape((columns, size)).conj()).reshape(self.shape) if needed[0] else None
    theirs = flat.t().mm(self.reshape((rows, size)).conj()).reshape(other.shape) if needed[1] else None
    return mine, theirs


def cross_dim(shape: Sequence[int], dim: int | None) -> int:
    """`dim`, or when it is None the first dim of size 3."""
    return tuple(shape).index(3) if dim is None else dim


def cross_back(grad: Tensor, self: Tensor, other: Tensor, dim: int, needed: tuple[bool, bool]) -> Pair:
    """The gradients of both factors of a cross product along `dim`, broadcast."""
    mine = gb.linalg.cross(other.conj(), grad, dim=dim) if needed[0] else None
    theirs = gb.linalg.cross(grad, self.conj(), dim=dim) if needed[1] else None
    return mine, theirs


def vander_back(grad: Tensor, x: Tensor, increasing: bool) -> Tensor:
    """The gradient of `x` where the columns of a matrix are its powers from 0, or up to 0."""
    columns = grad.shape[-1]
    if columns < 2:
        return gb.zeros_like(x)
    rising = grad if increasing else grad.flip((-1,))
    degrees = gb.arange(columns - 1, device=grad.device)
    slopes = (degrees + 1) * x.unsqueeze(-1).pow(degrees)
    return (rising.narrow(-1, 1, columns - 1) * slopes.conj()).sum(-1)


def trace_back(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Zeros of `shape` with `grad` everywhere on the main diagonal."""
    return grad.new_zeros(shape).diagonal_scatter(grad.expand((min(shape),)))


HELPERS: dict[str, Any] = {
    "scaled": scaled,
    "matmul_back": matmul_back,
    "inner_back": inner_back,
    "cross_dim": cross_dim,
    "cross_back": cross_back,
    "vander_back": vander_back,
    "trace_back": trace_back,
}
