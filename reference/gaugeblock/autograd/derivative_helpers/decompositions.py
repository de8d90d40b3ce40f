"""Gradients of decompositions: QR, Cholesky, LU, singular values and eigenvalues."""

from __future__ import annotations

from ...calls.functions import tensor_ops as ops
from . import Tensor

Pair = tuple[Tensor | None, Tensor | None]


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
    return ops.cat((square, q.matmul(rest)), -1)


def _tall(grad_q: Tensor, grad_r: Tensor, q: Tensor, r: Tensor) -> Tensor:
    """For at least as many rows as columns: (gQ + Q S) R^-H, S Hermitian with the upper triangle of gR R^H - Q^H gQ."""
    upper = (grad_r.matmul(r.adjoint()) - q.adjoint().matmul(grad_q)).triu()
    total = grad_q + q.matmul(_hermitian_of_triangle(upper))
    return ops.linalg_solve_triangular(r.adjoint(), total, upper=False, left=False)


def _hermitian_of_triangle(triangle: Tensor) -> Tensor:
    """The Hermitian matrix with the elements of a triangle off the diagonal and its real part on it."""
    total = triangle + triangle.adjoint()
    return total - ops.diag_embed(total.diagonal(0, -2, -1)) / 2


def householder_back(grad: Tensor, input: Tensor, tau: Tensor) -> Pair:
    """The gradients of reflectors I - tau v v^H, v below the diagonal of `input`, from that of their product. `grad`
    has the rows of `input`, and as many columns of the product as it has columns itself."""
    rows, count = input.shape[-2], tau.shape[-1]
    if not count or not grad.numel():
        return ops.zeros_like(input), ops.zeros_like(tau)
    below = input.narrow(-1, 0, count).tril(-1)
    vectors = (below + ops.eye(rows, count, dtype=input.dtype, device=input.device)).split(1, -1)
    factors = [tau.narrow(-1, k, 1).unsqueeze(-1) for k in range(count)]
    behind = [ops.eye(rows, grad.shape[-1], dtype=grad.dtype, device=grad.device).expand(grad.shape)]
    for v, factor in zip(vectors[:0:-1], factors[:0:-1], strict=True):
        behind.append(behind[-1] - factor * v.matmul(v.adjoint().matmul(behind[-1])))
    columns, scalars = [], []
    for v, factor, rest in zip(vectors, factors, reversed(behind), strict=True):
        onto, back = grad.matmul(rest.adjoint().matmul(v)), rest.matmul(grad.adjoint().matmul(v))
        scalars.append(-v.adjoint().matmul(onto).squeeze(-1))
        columns.append(-factor.conj() * onto - factor * back)
        grad = grad - factor.conj() * v.matmul(v.adjoint().matmul(grad))
    lower = ops.cat(columns, -1).tril(-1)
    missing = input.shape[-1] - count
    return ops.constant_pad_nd(lower, (0, missing)) if missing else lower, ops.cat(scalars, -1)


def ormqr_back(
    grad: Tensor, input: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool, needed: tuple[bool, ...]
) -> tuple[Tensor | None, ...]:
    """The gradients of reflectors, their factors and the matrix that their product is multiplied with."""
    mine: tuple[Tensor | None, Tensor | None] = (None, None)
    if needed[0] or needed[1]:
        outer = grad.matmul(other.adjoint()) if left else other.adjoint().matmul(grad)
        mine = householder_back(outer.adjoint() if transpose else outer, input, tau)
    theirs = ops.ormqr(input, tau, grad, left, not transpose) if needed[2] else None
    return *mine, theirs


def cholesky_back(grad: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a Hermitian matrix from that of its factor: L^-H S L^-1 / 2, S made of the triangle of L^H gL."""
    low, back = (factor.adjoint(), grad.adjoint()) if upper else (factor, grad)
    inner = _hermitian_of_triangle(low.adjoint().matmul(back).tril()) / 2
    right = ops.linalg_solve_triangular(low, inner, upper=False, left=False)
    return ops.linalg_solve_triangular(low.adjoint(), right, upper=True)


def _triangle(matrix: Tensor, upper: bool, diagonal: int = 0) -> Tensor:
    return matrix.triu(diagonal) if upper else matrix.tril(-diagonal)


def cholesky_inverse_back(grad: Tensor, factor: Tensor, upper: bool, inverse: Tensor) -> Tensor:
    """The gradient of the factor of a matrix from that of the matrix's inverse."""
    own = _triangle(factor, upper)
    middle = inverse.matmul(grad + grad.adjoint()).matmul(inverse)
    return -_triangle(own.matmul(middle) if upper else middle.matmul(own), upper)


def cholesky_solve_back(grad: Tensor, factor: Tensor, solution: Tensor, upper: bool, needed: tuple[bool, bool]) -> Pair:
    """The gradients of the right side and of the factor."""
    right = ops.cholesky_solve(grad, factor, upper)
    if not needed[1]:
        return right, None
    product = right.matmul(solution.adjoint())
    both, own = product + product.adjoint(), _triangle(factor, upper)
    return right, -_triangle(own.matmul(both) if upper else both.matmul(own), upper)


def lu_factor_back(grad: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """The gradient of a matrix from that of both its factors in one matrix."""
    P, L, U = ops.lu_unpack(LU, pivots)
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    top, left = L.narrow(-2, 0, k), U.narrow(-1, 0, k)
    back = grad.narrow(-2, 0, k).narrow(-1, 0, k)
    back_l, back_u = back.tril(-1), back.triu()
    rest = None
    if columns > k:
        beside = grad.narrow(-1, k, columns - k)
        rest = ops.linalg_solve_triangular(top.adjoint(), beside, upper=True, unitriangular=True)
        back_l = back_l - rest.matmul(U.narrow(-1, k, columns - k).adjoint())
    elif rows > k:
        below = grad.narrow(-2, k, rows - k)
        rest = ops.linalg_solve_triangular(left.adjoint(), below, upper=False, left=False)
        back_u = back_u - L.narrow(-2, k, rows - k).adjoint().matmul(rest)
    inner = top.adjoint().matmul(back_l).tril(-1) + back_u.matmul(left.adjoint()).triu()
    total = ops.linalg_solve_triangular(left.adjoint(), inner, upper=False, left=False)
    total = ops.linalg_solve_triangular(top.adjoint(), total, upper=True, unitriangular=True)
    found: Tensor = P.matmul(total if rest is None else ops.cat((total, rest), -1 if columns > k else -2))
    return found


def lu_unpack_back(grad_l: Tensor, grad_u: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of both factors in one matrix of `shape`."""
    rows, columns = shape[-2:]
    if not grad_l.numel() and not grad_u.numel():
        return grad_l.new_zeros(shape)
    low, high = grad_l.tril(-1), grad_u.triu()
    return ops.constant_pad_nd(low, (0, columns - low.shape[-1])) + ops.constant_pad_nd(
        high, (0, 0, 0, rows - high.shape[-2])
    )


def lu_solve_back(
    grad: Tensor, LU: Tensor, pivots: Tensor, solution: Tensor, left: bool, adjoint: bool, needed: tuple[bool, bool]
) -> Pair:
    """The gradients of both factors in one matrix and of the right side."""
    right = ops.linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    if not needed[0]:
        return None, right
    product = right.matmul(solution.adjoint()) if left else solution.adjoint().matmul(right)
    P, L, U = ops.lu_unpack(LU, pivots)
    back = P.adjoint().matmul(-product.adjoint() if adjoint else -product)
    return back.matmul(U.adjoint()).tril(-1) + L.adjoint().matmul(back).triu(), right


PHASE = (
    "{}_backward: The {} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
    "function depends on this quantity, so it is ill-defined."
)
CLOSE = 1e-2
"""Largest size, relative to 1, of the part of a gradient that depends on the phases, which must be zero."""


def svd_back(
    grad_u: Tensor, grad_s: Tensor, grad_vh: Tensor, u: Tensor, s: Tensor, vh: Tensor, shape: tuple[int, ...]
) -> Tensor:
    """The gradient of a matrix of `shape` from those of U, S and Vh, of which the first min(shape) vectors count.
    Raises RuntimeError when a complex gradient depends on the phases of the vectors."""
    rows, columns = shape[-2:]
    k = min(rows, columns)
    u, grad_u = u.narrow(-1, 0, k), grad_u.narrow(-1, 0, k)
    vh, grad_vh = vh.narrow(-2, 0, k), grad_vh.narrow(-2, 0, k)
    of_u, of_v = _skew(u.adjoint().matmul(grad_u)), _skew(vh.matmul(grad_vh.adjoint()))
    _check_phase("svd", "singular vectors", (of_u + of_v).diagonal(0, -2, -1))
    gaps = s.unsqueeze(-2).square() - s.unsqueeze(-1).square()
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    turns = _divided(_off_diagonal(of_u), gaps) * row + column * _divided(_off_diagonal(of_v), gaps)
    inner = turns + ops.diag_embed(grad_s)
    if u.is_complex():
        inner = inner + ops.diag_embed(_divided(of_u.diagonal(0, -2, -1), 2 * s))
    total = u.matmul(inner).matmul(vh)
    if rows > k:
        rest = grad_u - u.matmul(u.adjoint().matmul(grad_u))
        total = total + _divided(rest, row.expand(rest.shape)).matmul(vh)
    if columns > k:
        rest = grad_vh - grad_vh.matmul(vh.adjoint()).matmul(vh)
        total = total + u.matmul(_divided(rest, column.expand(rest.shape)))
    return total


def _skew(matrix: Tensor) -> Tensor:
    return matrix - matrix.adjoint()


def _divided(above: Tensor, below: Tensor) -> Tensor:
    """The quotient, with zeros where both are zero."""
    return above / below.masked_fill((below == 0) & (above == 0), 1)


def _check_phase(operator: str, vectors: str, diagonal: Tensor) -> None:
    if not diagonal.is_complex() or not diagonal.numel() or diagonal.device.type == "meta":
        return
    if diagonal.detach().imag.abs().max().item() > CLOSE:
        raise RuntimeError(PHASE.format(operator, vectors))


def svdvals_back(grad: Tensor, A: Tensor) -> Tensor:
    """The gradient of a matrix from that of its singular values."""
    u, _, vh = ops.linalg_svd(A, full_matrices=False)
    found: Tensor = (u * grad.unsqueeze(-2)).matmul(vh)
    return found


def eigh_back(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """The gradient of a Hermitian matrix. Raises RuntimeError when it depends on the phases of the vectors."""
    inner = vectors.adjoint().matmul(grad_vectors)
    _check_phase("linalg_eigh", "eigenvectors", inner.diagonal(0, -2, -1))
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    inner = _divided(_off_diagonal(inner), gaps) + ops.diag_embed(grad_values)
    return vectors.matmul((inner + inner.adjoint()) / 2).matmul(vectors.adjoint())


def _off_diagonal(matrix: Tensor) -> Tensor:
    return matrix.tril(-1) + matrix.triu(1)


def eig_back(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """The gradient of a matrix from those of its eigenvalues and of its eigenvectors of length 1. Raises RuntimeError
    when it depends on the phases of the vectors."""
    inner = vectors.adjoint().matmul(grad_vectors)
    along = inner.diagonal(0, -2, -1)
    _check_phase("linalg_eig", "eigenvectors", along)
    inner = inner - vectors.adjoint().matmul(vectors * along.real.unsqueeze(-2))
    gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj()
    inner = _divided(_off_diagonal(inner), gaps) + ops.diag_embed(grad_values)
    return ops.linalg_solve(vectors.adjoint(), inner.matmul(vectors.adjoint()))


def eigvals_back(grad: Tensor, A: Tensor) -> Tensor:
    """The gradient of a matrix from that of its eigenvalues."""
    vectors = ops.linalg_eig(A)[1]
    return ops.linalg_solve(vectors.adjoint(), grad.unsqueeze(-1) * vectors.adjoint())
