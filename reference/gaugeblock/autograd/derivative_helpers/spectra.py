"""Gradients of singular values, eigenvalues and their vectors."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

PHASE = (
    "{}_backward: The {} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
    "function depends on this quantity, so it is ill-defined."
)
CLOSE = 1e-2
"""How far from zero, beside 1, the part of a gradient that turns the phases may be."""


def svd_back(
    grad_u: Tensor, grad_s: Tensor, grad_vh: Tensor, u: Tensor, s: Tensor, vh: Tensor, shape: tuple[int, ...]
) -> Tensor:
    """The gradient of a matrix of `shape` from those of U, S and Vh, of which the first min(shape) vectors count.

    Raises RuntimeError when a complex gradient depends on the phases of the vectors.
    """
    rows, columns = shape[-2:]
    k = min(rows, columns)
    u, grad_u = u.narrow(-1, 0, k), grad_u.narrow(-1, 0, k)
    vh, grad_vh = vh.narrow(-2, 0, k), grad_vh.narrow(-2, 0, k)
    of_u, of_v = _skew(u.adjoint().matmul(grad_u)), _skew(vh.matmul(grad_vh.adjoint()))
    _check_phase("svd", "singular vectors", (of_u + of_v).diagonal(0, -2, -1), s)
    gaps = s.unsqueeze(-2).square() - s.unsqueeze(-1).square()
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    turns = _divided(_off_diagonal(of_u), gaps) * row + column * _divided(_off_diagonal(of_v), gaps)
    inner = turns + gb.diag_embed(grad_s)
    if u.is_complex():
        inner = inner + gb.diag_embed(_divided(of_u.diagonal(0, -2, -1), 2 * s))
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


def _check_phase(operator: str, vectors: str, diagonal: Tensor, values: Tensor) -> None:
    if not diagonal.is_complex() or not diagonal.numel() or diagonal.device.type == "meta":
        return
    if diagonal.detach().imag.abs().max().item() > CLOSE:
        raise RuntimeError(PHASE.format(operator, vectors))


def svdvals_back(grad: Tensor, A: Tensor) -> Tensor:
    """The gradient of a matrix from that of its singular values."""
    u, _, vh = gb.linalg.svd(A, full_matrices=False)
    found: Tensor = (u * grad.unsqueeze(-2)).matmul(vh)
    return found


def svd_old_back(grads: tuple[Tensor, ...], A: Tensor, u: Tensor, s: Tensor, v: Tensor, compute_uv: bool) -> Tensor:
    """svd_back for an operator that gives V in place of its adjoint; without vectors svdvals_back."""
    if not compute_uv:
        return svdvals_back(grads[1], A)
    return svd_back(grads[0], grads[1], grads[2].adjoint(), u, s, v.adjoint(), tuple(A.shape))


def eigh_back(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """The gradient of a Hermitian matrix. Raises RuntimeError when it depends on the phases of the vectors."""
    inner = vectors.adjoint().matmul(grad_vectors)
    _check_phase("linalg_eigh", "eigenvectors", inner.diagonal(0, -2, -1), values)
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    inner = _divided(_off_diagonal(inner), gaps) + gb.diag_embed(grad_values)
    return vectors.matmul((inner + inner.adjoint()) / 2).matmul(vectors.adjoint())


def _off_diagonal(matrix: Tensor) -> Tensor:
    return matrix.tril(-1) + matrix.triu(1)


def eigvalsh_back(grad: Tensor, A: Tensor, uplo: str) -> Tensor:
    """The gradient of a Hermitian matrix from that of its eigenvalues."""
    vectors = gb.linalg.eigh(A, uplo)[1]
    found: Tensor = (vectors * grad.unsqueeze(-2)).matmul(vectors.adjoint())
    return found


def eig_back(grad_values: Tensor, grad_vectors: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """The gradient of a matrix from those of its eigenvalues and of its eigenvectors of length 1.

    Raises RuntimeError when it depends on the phases of the vectors.
    """
    inner = vectors.adjoint().matmul(grad_vectors)
    along = inner.diagonal(0, -2, -1)
    _check_phase("linalg_eig", "eigenvectors", along, values)
    inner = inner - vectors.adjoint().matmul(vectors * along.real.unsqueeze(-2))
    gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj()
    inner = _divided(_off_diagonal(inner), gaps) + gb.diag_embed(grad_values)
    found: Tensor = gb.linalg.solve(vectors.adjoint(), inner.matmul(vectors.adjoint()))
    return found


def eigvals_back(grad: Tensor, A: Tensor) -> Tensor:
    """The gradient of a matrix from that of its eigenvalues."""
    vectors = gb.linalg.eig(A)[1]
    found: Tensor = gb.linalg.solve(vectors.adjoint(), grad.unsqueeze(-1) * vectors.adjoint())
    return found


HELPERS: dict[str, Any] = {
    "svd_back": svd_back,
    "svdvals_back": svdvals_back,
    "svd_old_back": svd_old_back,
    "eigh_back": eigh_back,
    "eigvalsh_back": eigvalsh_back,
    "eig_back": eig_back,
    "eigvals_back": eigvals_back,
}
