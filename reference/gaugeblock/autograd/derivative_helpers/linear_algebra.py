"""Gradients of products of matrices, linear equations, inverses, determinants and functions of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

from ...calls.functions import tensor_ops as ops
from ...core.dtype import bool_
from ...operators.linear.stacks import is_vector
from . import Tensor
from .decompositions import _triangle

Pair = tuple[Tensor | None, Tensor | None]


def product_like(left: Tensor, right: Tensor, strides: tuple[int, ...]) -> Tensor:
    """The matrix product, its elements in memory column by column where `strides` are those of such a matrix."""
    if strides[0] == 1 and strides[1] > 1:
        columns: Tensor = right.mT.mm(left.mT).mT
        return columns
    return left.mm(right)


def linear_weight_back(grad: Tensor, input: Tensor, ndim: int) -> Tensor:
    """The sum over all leading places of `grad` times the conjugate input, for a weight of `ndim` dims."""
    return _rows(grad.unsqueeze(-1) * input.conj()).sum(0) if ndim == 1 else _rows(grad).t().mm(_rows(input).conj())


def _rows(value: Tensor) -> Tensor:
    """A matrix with the last dim of `value`."""
    return value if value.ndim == 2 else value.reshape((prod(value.shape[:-1]), value.shape[-1]))


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
    left, right = self, other
    if self.ndim == 1:
        left, grad = self.unsqueeze(0), grad.unsqueeze(-2)
    if other.ndim == 1:
        right, grad = other.unsqueeze(-1), grad.unsqueeze(-1)
    mine = theirs = None
    if needed[0]:
        mine = grad.matmul(right.adjoint())
        mine = mine.squeeze(-2) if self.ndim == 1 else mine
    if needed[1]:
        summed = right.ndim == 2 and left.ndim > 2
        theirs = _rows(left).adjoint().mm(_rows(grad)) if summed else left.adjoint().matmul(grad)
        theirs = theirs.squeeze(-1) if other.ndim == 1 else theirs
    return mine, theirs


def solve_back(
    grad: Tensor, A: Tensor, solution: Tensor, right: tuple[int, ...], left: bool, needed: tuple[bool, bool]
) -> Pair:
    """The gradients of the matrix and of the right side, of sizes `right`, of linalg.solve."""
    vector = is_vector(tuple(A.shape), tuple(right))
    if vector:
        grad, solution = grad.unsqueeze(-1), solution.unsqueeze(-1)
    theirs = ops.linalg_solve(A.adjoint(), grad, left=left)
    mine = _outer(theirs, solution, left) if needed[0] else None
    return mine, theirs.squeeze(-1) if vector else theirs


def _outer(right: Tensor, solution: Tensor, left: bool) -> Tensor:
    return -right.matmul(solution.adjoint()) if left else -solution.adjoint().matmul(right)


def solve_triangular_back(
    grad: Tensor, A: Tensor, solution: Tensor, upper: bool, left: bool, unitriangular: bool, needed: tuple[bool, bool]
) -> Pair:
    """The gradients of the triangular matrix, zero outside of its triangle, and of the right side."""
    theirs = ops.linalg_solve_triangular(A.adjoint(), grad, upper=not upper, left=left, unitriangular=unitriangular)
    return _triangle(_outer(theirs, solution, left), upper, int(unitriangular)) if needed[0] else None, theirs


def triangular_solve_back(
    grads: tuple[Tensor, ...], A: Tensor, solution: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Pair:
    """The gradients of the right side and of the matrix, of which the second result is a copy."""
    turned = A.mT if transpose else A
    mine, theirs = solve_triangular_back(
        grads[0], turned, solution, upper != transpose, True, unitriangular, (True, True)
    )
    assert mine is not None
    return theirs, (mine.mT if transpose else mine) + grads[1]


def det_back(grad: Tensor, A: Tensor, det: Tensor) -> Tensor:
    """The gradient of a square matrix from that of its determinant; of a singular one too, through its cofactors."""
    if not A.numel():
        return ops.zeros_like(A)
    if A.device.type == "meta" or not (det == 0).any().item():
        return _det_regular(grad, A, det)
    n = A.shape[-1]
    matrices, grads, dets = A.reshape((-1, n, n)), grad.reshape((-1,)), det.reshape((-1,))
    parts = [
        (_det_singular if dets[k].item() == 0 else _det_regular)(grads[k], matrices[k], dets[k])
        for k in range(len(dets))
    ]
    return ops.stack(parts).reshape(A.shape)


def _det_regular(grad: Tensor, A: Tensor, det: Tensor) -> Tensor:
    factor = (grad * det.conj()).unsqueeze(-1).unsqueeze(-1)
    return ops.linalg_solve(A.adjoint(), factor * ops.eye(A.shape[-1], dtype=A.dtype, device=A.device))


def _det_singular(grad: Tensor, A: Tensor, det: Tensor) -> Tensor:
    u, s, vh = ops.linalg_svd(A)
    count = s.shape[-1]
    others = (
        s.unsqueeze(-2).expand((count, count)).masked_fill(ops.eye(count, dtype=bool_, device=s.device), 1).prod(-1)
    )
    sign = ops.linalg_det(u) * ops.linalg_det(vh)
    found: Tensor = (u * (others * (grad * sign.conj())).unsqueeze(-2)).matmul(vh)
    return found


def slogdet_back(grads: tuple[Tensor, ...], A: Tensor, sign: Tensor) -> Tensor:
    """The gradient of a square matrix from those of sign and logarithm of the modulus of its determinant."""
    total = grads[1]
    if sign.is_complex():
        total = ops.complex(total, (grads[0] * sign.conj()).imag)
    found: Tensor = total.unsqueeze(-1).unsqueeze(-1) * ops.linalg_inv_ex(A)[0].adjoint()
    return found


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
    vector = is_vector(tuple(A.shape), tuple(b.shape))
    if vector:
        b, solution, grad_solution = b.unsqueeze(-1), solution.unsqueeze(-1), grad_solution.unsqueeze(-1)
    inverse = ops.linalg_pinv(A)
    mine = pinv_back(grad_solution.matmul(b.adjoint()), A, inverse) if needed[0] else None
    theirs = inverse.adjoint().matmul(grad_solution) if needed[1] else None
    if grad_residuals.numel():
        slope = (b - A.matmul(solution)) * (2 * grad_residuals.unsqueeze(-2))
        mine = mine - slope.matmul(solution.adjoint()) if mine is not None else None
        theirs = theirs + slope if theirs is not None else None
    return mine, theirs.squeeze(-1) if vector and theirs is not None else theirs


def matrix_exp_back(grad: Tensor, A: Tensor) -> Tensor:
    """The gradient of a square matrix from that of its exponential. The exponential of [[A^H, grad], [0, A^H]] has the
    derivative along `grad` in its corner."""
    n, turned = A.shape[-1], A.adjoint()
    enlarged = ops.cat((ops.cat((turned, grad), -1), ops.cat((ops.zeros_like(turned), turned), -1)), -2)
    return ops.linalg_matrix_exp(enlarged).narrow(-2, 0, n).narrow(-1, n, n)
