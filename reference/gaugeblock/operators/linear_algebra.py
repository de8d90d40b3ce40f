"""Which module of `linear` holds which operator of linear algebra."""

from __future__ import annotations

from .deferred import register_deferred

KERNELS = {
    "cholesky": "linalg_cholesky_ex linalg_cholesky cholesky cholesky_inverse cholesky_solve",
    "determinants": "linalg_det det linalg_slogdet slogdet logdet",
    "eigenvalues": "linalg_eigh linalg_eigvalsh linalg_eig linalg_eigvals",
    "equations": "linalg_inv_ex linalg_inv inverse linalg_solve_ex linalg_solve",
    "kronecker": "kron",
    "least_squares": """linalg_lstsq linalg_pinv linalg_pinv.rcond_tensor linalg_pinv.atol_rtol_tensor
        linalg_pinv.atol_rtol_float pinverse linalg_matrix_rank linalg_matrix_rank.tol_tensor
        linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.atol_rtol_float""",
    "lu": "linalg_lu_factor_ex linalg_lu_factor linalg_lu lu_unpack linalg_lu_solve lu_solve",
    "orthogonal": "linalg_qr qr geqrf linalg_householder_product orgqr ormqr",
    "singular_values": "linalg_svd linalg_svdvals svd",
    "triangular_systems": "linalg_solve_triangular triangular_solve",
}
"""Operators with a kernel for CPU and Meta."""

register_deferred("linear", KERNELS)
