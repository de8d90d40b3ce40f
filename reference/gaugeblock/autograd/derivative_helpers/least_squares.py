"""Gradients of pseudo-inverses and least-squares solutions."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

Pair = tuple[Tensor | None, Tensor | None]


def pinv_back(grad: Tensor, A: Tensor, inverse: Tensor) -> Tensor:
    """The gradient of a matrix, of constant rank nearby, from that of its pseudo-inverse."""
    back, turned = grad.adjoint(), inverse.adjoint()
    total = -turned.matmul(grad).matmul(turned)
    left = back.matmul(inverse).matmul(turned)
    total = total + left - A.matmul(inverse.matmul(left))
    right = turned.matmul(inverse).matmul(back)
    return total + right - right.matmul(inverse).matmul(A)


def lstsq_back(
    grad_solution: Tensor, grad_residuals: Tensor, A: Tensor, b: Tensor, solution: Tensor, needed: tuple[bool, bool]
) -> Pair:
    """The gradients of the matrix and of the right side from those of the solution and of the squared residuals."""
    vector = b.ndim == 1 or (b.ndim == A.ndim - 1 and b.shape == A.shape[:-1])
    if vector:
        b, solution, grad_solution = b.unsqueeze(-1), solution.unsqueeze(-1), grad_solution.unsqueeze(-1)
    inverse = gb.linalg.pinv(A)
    mine = pinv_back(grad_solution.matmul(b.adjoint()), A, inverse) if needed[0] else None
    theirs = inverse.adjoint().matmul(grad_solution) if needed[1] else None
    if grad_residuals.numel():
        slope = (b - A.matmul(solution)) * (2 * grad_residuals.unsqueeze(-2))
        mine = mine - slope.matmul(solution.adjoint()) if mine is not None else None
        theirs = theirs + slope if theirs is not None else None
    return mine, theirs.squeeze(-1) if vector and theirs is not None else theirs


HELPERS: dict[str, Any] = {"pinv_back": pinv_back, "lstsq_back": lstsq_back}
