"""Gradients of inverses, solutions of linear equations and determinants."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

Pair = tuple[Tensor | None, Tensor | None]


def inverse_back(grad: Tensor, inverse: Tensor) -> Tensor:
    """The gradient of a square matrix from that of its inverse."""
    return -inverse.adjoint().matmul(grad).matmul(inverse.adjoint())


def _is_vector(matrix: tuple[int, ...], right: tuple[int, ...]) -> bool:
    return len(right) == 1 or (len(right) == len(matrix) - 1 and right == matrix[:-1])


def solve_back(
    grad: Tensor, A: Tensor, solution: Tensor, right: tuple[int, ...], left: bool, needed: tuple[bool, bool]
) -> Pair:
    """The gradients of the matrix and of the right side, of sizes `right`, of linalg.solve."""
    vector = _is_vector(tuple(A.shape), tuple(right))
    if vector:
        grad, solution = grad.unsqueeze(-1), solution.unsqueeze(-1)
    theirs = gb.linalg.solve(A.adjoint(), grad, left=left)
    mine = _outer(theirs, solution, left) if needed[0] else None
    return mine, theirs.squeeze(-1) if vector else theirs


def _outer(right: Tensor, solution: Tensor, left: bool) -> Tensor:
    return -right.matmul(solution.adjoint()) if left else -solution.adjoint().matmul(right)


def _part(matrix: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    offset = 1 if unitriangular else 0
    return matrix.triu(offset) if upper else matrix.tril(-offset)


def solve_triangular_back(
    grad: Tensor, A: Tensor, solution: Tensor, upper: bool, left: bool, unitriangular: bool, needed: tuple[bool, bool]
) -> Pair:
    """The gradients of the triangular matrix, zero outside of its triangle, and of the right side."""
    theirs = gb.linalg.solve_triangular(A.adjoint(), grad, upper=not upper, left=left, unitriangular=unitriangular)
    return _part(_outer(theirs, solution, left), upper, unitriangular) if needed[0] else None, theirs


def triangular_solve_back(
    grads: tuple[Tensor, ...], A: Tensor, solution: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Pair:
    """The gradients of the right side and of the matrix, of which the second result is a copy."""
    turned = A.conj() if transpose else A.adjoint()
    lower = upper == transpose
    theirs = gb.linalg.solve_triangular(turned, grads[0], upper=lower, unitriangular=unitriangular)
    product = _outer(theirs, solution, True)
    return theirs, _part(product.transpose(-2, -1) if transpose else product, upper, unitriangular) + grads[1]


def det_back(grad: Tensor, A: Tensor, det: Tensor) -> Tensor:
    """The gradient of a square matrix from that of its determinant; of a singular one too, through its cofactors."""
    if not A.numel():
        return gb.zeros_like(A)
    if A.device.type == "meta" or not (det == 0).any().item():
        return _det_regular(grad, A, det)
    n = A.shape[-1]
    matrices, grads, dets = A.reshape((-1, n, n)), grad.reshape((-1,)), det.reshape((-1,))
    parts = [
        (_det_singular if dets[k].item() == 0 else _det_regular)(grads[k], matrices[k], dets[k])
        for k in range(len(dets))
    ]
    return gb.stack(parts).reshape(A.shape)


def _det_regular(grad: Tensor, A: Tensor, det: Tensor) -> Tensor:
    factor = (grad * det.conj()).unsqueeze(-1).unsqueeze(-1)
    found: Tensor = gb.linalg.solve(A.adjoint(), factor * gb.eye(A.shape[-1], dtype=A.dtype, device=A.device))
    return found


def _det_singular(grad: Tensor, A: Tensor, det: Tensor) -> Tensor:
    u, s, vh = gb.linalg.svd(A)
    count = s.shape[-1]
    others = (
        s.unsqueeze(-2).expand((count, count)).masked_fill(gb.eye(count, dtype=gb.bool, device=s.device), 1).prod(-1)
    )
    sign = gb.linalg.det(u) * gb.linalg.det(vh)
    found: Tensor = (u * (others * (grad * sign.conj())).unsqueeze(-2)).matmul(vh)
    return found


def slogdet_back(grads: tuple[Tensor, ...], A: Tensor, sign: Tensor) -> Tensor:
    """The gradient of a square matrix from those of sign and logarithm of the modulus of its determinant."""
    total = grads[1]
    if sign.is_complex():
        total = gb.complex(total, (grads[0] * sign.conj()).imag)
    return logdet_back(total, A)


def logdet_back(grad: Tensor, A: Tensor) -> Tensor:
    """The gradient of a square matrix from that of the logarithm of its determinant."""
    found: Tensor = grad.unsqueeze(-1).unsqueeze(-1) * gb.linalg.inv_ex(A)[0].adjoint()
    return found


HELPERS: dict[str, Any] = {
    "inverse_back": inverse_back,
    "solve_back": solve_back,
    "solve_triangular_back": solve_triangular_back,
    "triangular_solve_back": triangular_solve_back,
    "det_back": det_back,
    "slogdet_back": slogdet_back,
    "logdet_back": logdet_back,
}
