"""Gradients of QR decompositions and of products of Householder reflectors."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

Pair = tuple[Tensor, Tensor]


def qr_back(grad_q: Tensor, grad_r: Tensor, q: Tensor, r: Tensor, shape: tuple[int, ...], mode: str) -> Tensor:
    """The gradient of a matrix of `shape` from those of its factors.

    Raises RuntimeError for mode "r", which has no Q, and for "complete" with more rows than columns.
    """
    rows, columns = shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if rows >= columns:
        return _tall(grad_q, grad_r, q, r)
    first, rest = grad_r.narrow(-1, 0, rows), grad_r.narrow(-1, rows, columns - rows)
    right = q.matmul(r.narrow(-1, rows, columns - rows))
    square = _tall(grad_q + right.matmul(rest.adjoint()), first, q, r.narrow(-1, 0, rows))
    return gb.cat((square, q.matmul(rest)), -1)


def _tall(grad_q: Tensor, grad_r: Tensor, q: Tensor, r: Tensor) -> Tensor:
    """For at least as many rows as columns: (gQ + Q S) R^-H, S Hermitian with the upper triangle of gR R^H - Q^H gQ."""
    upper = (grad_r.matmul(r.adjoint()) - q.adjoint().matmul(grad_q)).triu()
    total = grad_q + q.matmul(hermitian_of_triangle(upper))
    found: Tensor = gb.linalg.solve_triangular(r.adjoint(), total, upper=False, left=False)
    return found


def hermitian_of_triangle(triangle: Tensor) -> Tensor:
    """The Hermitian matrix with the elements of a triangle off the diagonal and its real part on it."""
    total = triangle + triangle.adjoint()
    return total - gb.diag_embed(total.diagonal(0, -2, -1)) / 2


def householder_back(grad: Tensor, input: Tensor, tau: Tensor) -> Pair:
    """The gradients of reflectors I - tau v v^H, v below the diagonal of `input`, from that of their product.

    `grad` has the rows of `input`, and as many columns of the product as it has columns itself.
    """
    rows, count = input.shape[-2], tau.shape[-1]
    if not count or not grad.numel():
        return gb.zeros_like(input), gb.zeros_like(tau)
    vectors = _reflectors(input, count)
    factors = [tau.narrow(-1, k, 1).unsqueeze(-1) for k in range(count)]
    behind = [gb.eye(rows, grad.shape[-1], dtype=grad.dtype, device=grad.device).expand(grad.shape)]
    for v, factor in zip(vectors[:0:-1], factors[:0:-1], strict=True):
        behind.append(behind[-1] - factor * v.matmul(v.adjoint().matmul(behind[-1])))
    columns, scalars = [], []
    for v, factor, rest in zip(vectors, factors, reversed(behind), strict=True):
        onto, back = grad.matmul(rest.adjoint().matmul(v)), rest.matmul(grad.adjoint().matmul(v))
        scalars.append(-v.adjoint().matmul(onto).squeeze(-1))
        columns.append(-factor.conj() * onto - factor * back)
        grad = grad - factor.conj() * v.matmul(v.adjoint().matmul(grad))
    lower = gb.cat(columns, -1).tril(-1)
    missing = input.shape[-1] - count
    return gb.constant_pad_nd(lower, (0, missing)) if missing else lower, gb.cat(scalars, -1)


def _reflectors(input: Tensor, count: int) -> list[Tensor]:
    lower = input.narrow(-1, 0, count).tril(-1)
    lower = lower + gb.eye(input.shape[-2], count, dtype=input.dtype, device=input.device)
    return [lower.narrow(-1, k, 1) for k in range(count)]


def ormqr_back(
    grad: Tensor, input: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool, needed: tuple[bool, ...]
) -> tuple[Tensor | None, ...]:
    """The gradients of reflectors, their factors and the matrix that their product is multiplied with."""
    mine: tuple[Tensor | None, Tensor | None] = (None, None)
    if needed[0] or needed[1]:
        outer = grad.matmul(other.adjoint()) if left else other.adjoint().matmul(grad)
        mine = householder_back(outer.adjoint() if transpose else outer, input, tau)
    theirs = gb.ormqr(input, tau, grad, left, not transpose) if needed[2] else None
    return *mine, theirs


HELPERS: dict[str, Any] = {
    "qr_back": qr_back,
    "householder_back": householder_back,
    "ormqr_back": ormqr_back,
}
