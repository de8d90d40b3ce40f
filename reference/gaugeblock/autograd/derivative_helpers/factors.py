"""Gradients of Cholesky and LU factorizations, and of what is computed with the factors."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .orthogonal import hermitian_of_triangle

Pair = tuple[Tensor | None, Tensor | None]


def cholesky_back(grad: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a Hermitian matrix from that of its factor: L^-H S L^-1 / 2, S made of the triangle of L^H gL."""
    low, back = (factor.adjoint(), grad.adjoint()) if upper else (factor, grad)
    inner = hermitian_of_triangle(low.adjoint().matmul(back).tril()) / 2
    right = gb.linalg.solve_triangular(low, inner, upper=False, left=False)
    found: Tensor = gb.linalg.solve_triangular(low.adjoint(), right, upper=True)
    return found


def _triangle(matrix: Tensor, upper: bool, diagonal: int = 0) -> Tensor:
    return matrix.triu(diagonal) if upper else matrix.tril(-diagonal)


def cholesky_inverse_back(grad: Tensor, factor: Tensor, upper: bool, inverse: Tensor) -> Tensor:
    """The gradient of the factor of a matrix from that of the matrix's inverse."""
    own = _triangle(factor, upper)
    middle = inverse.matmul(grad + grad.adjoint()).matmul(inverse)
    return -_triangle(own.matmul(middle) if upper else middle.matmul(own), upper)


def cholesky_solve_back(grad: Tensor, factor: Tensor, solution: Tensor, upper: bool, needed: tuple[bool, bool]) -> Pair:
    """The gradients of the right side and of the factor."""
    right = gb.cholesky_solve(grad, factor, upper)
    if not needed[1]:
        return right, None
    product = right.matmul(solution.adjoint())
    both, own = product + product.adjoint(), _triangle(factor, upper)
    return right, -_triangle(own.matmul(both) if upper else both.matmul(own), upper)


def lu_back(grad_l: Tensor, grad_u: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    """The gradient of a matrix from those of L and U in P L U; an empty P stands for the identity."""
    rows, columns = L.shape[-2], U.shape[-1]
    k = min(rows, columns)
    top, left = L.narrow(-2, 0, k), U.narrow(-1, 0, k)
    back_l, back_u = grad_l.narrow(-2, 0, k), grad_u.narrow(-1, 0, k)
    rest = None
    if columns > k:
        rest = gb.linalg.solve_triangular(
            top.adjoint(), grad_u.narrow(-1, k, columns - k), upper=True, unitriangular=True
        )
        back_l = back_l - rest.matmul(U.narrow(-1, k, columns - k).adjoint())
    elif rows > k:
        below = grad_l.narrow(-2, k, rows - k)
        rest = gb.linalg.solve_triangular(left.adjoint(), below, upper=False, left=False)
        back_u = back_u - L.narrow(-2, k, rows - k).adjoint().matmul(rest)
    inner = top.adjoint().matmul(back_l).tril(-1) + back_u.matmul(left.adjoint()).triu()
    total = gb.linalg.solve_triangular(left.adjoint(), inner, upper=False, left=False)
    total = gb.linalg.solve_triangular(top.adjoint(), total, upper=True, unitriangular=True)
    if rest is not None:
        total = gb.cat((total, rest), -1 if columns > k else -2)
    return P.matmul(total) if P.numel() else total


def lu_factor_back(grad: Tensor, LU: Tensor, pivots: Tensor, pivot: bool) -> Tensor:
    """lu_back for both factors in one matrix."""
    P, L, U = gb.lu_unpack(LU, pivots, True, pivot)
    k = min(LU.shape[-2:])
    return lu_back(grad.narrow(-1, 0, k).tril(-1), grad.narrow(-2, 0, k).triu(), P, L, U)


def lu_unpack_back(grad_l: Tensor, grad_u: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of both factors in one matrix of `shape`."""
    rows, columns = shape[-2:]
    if not grad_l.numel() and not grad_u.numel():
        return grad_l.new_zeros(shape)
    low, high = grad_l.tril(-1), grad_u.triu()
    return gb.constant_pad_nd(low, (0, columns - low.shape[-1])) + gb.constant_pad_nd(
        high, (0, 0, 0, rows - high.shape[-2])
    )


def lu_solve_back(
    grad: Tensor, LU: Tensor, pivots: Tensor, solution: Tensor, left: bool, adjoint: bool, needed: tuple[bool, bool]
) -> Pair:
    """The gradients of both factors in one matrix and of the right side."""
    right = gb.linalg.lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    if not needed[0]:
        return None, right
    product = right.matmul(solution.adjoint()) if left else solution.adjoint().matmul(right)
    P, L, U = gb.lu_unpack(LU, pivots)
    back = P.adjoint().matmul(-product.adjoint() if adjoint else -product)
    return back.matmul(U.adjoint()).tril(-1) + L.adjoint().matmul(back).triu(), right


HELPERS: dict[str, Any] = {
    "cholesky_back": cholesky_back,
    "cholesky_inverse_back": cholesky_inverse_back,
    "cholesky_solve_back": cholesky_solve_back,
    "lu_back": lu_back,
    "lu_factor_back": lu_factor_back,
    "lu_unpack_back": lu_unpack_back,
    "lu_solve_back": lu_solve_back,
}
