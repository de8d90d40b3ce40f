"""Linear algebra: which module has which operator."""

from __future__ import annotations

from ..deferred import register_deferred

KERNELS = {
    "arrangements": "block_diag combinations",
    "cholesky": "linalg_cholesky_ex linalg_cholesky cholesky cholesky_inverse cholesky_solve",
    "cross_product": "linalg_cross cross",
    "determinants": "linalg_det det linalg_slogdet slogdet logdet",
    "eigenvalues": "linalg_eigh linalg_eigvalsh linalg_eig linalg_eigvals",
    "equations": "linalg_inv_ex linalg_inv inverse linalg_solve_ex linalg_solve",
    "kronecker": "kron",
    "least_squares": """linalg_lstsq linalg_pinv linalg_pinv.rcond_tensor linalg_pinv.atol_rtol_tensor
        linalg_pinv.atol_rtol_float pinverse linalg_matrix_rank linalg_matrix_rank.tol_tensor
        linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.atol_rtol_float""",
    "lu": "linalg_lu_factor_ex linalg_lu_factor linalg_lu lu_unpack linalg_lu_solve lu_solve",
    "matrix_functions": "linalg_matrix_power matrix_power linalg_matrix_exp matrix_exp",
    "orthogonal": "linalg_qr qr geqrf linalg_householder_product orgqr ormqr",
    "outer_sums": "addbmm addr trace",
    "singular_values": "linalg_svd linalg_svdvals svd",
    "triangular_systems": "linalg_solve_triangular triangular_solve",
    "vandermonde": "linalg_vander vander",
}
"""Operators with a kernel for CPU and Meta."""
COMPOSITES = {
    "arrangements": "cartesian_prod",
    "chains": "linalg_multi_dot chain_matmul",
    "contraction": "tensordot linalg_vecdot linalg_matmul linalg_diagonal",
    "einstein": "einsum",
    "matrix_norms": """linalg_norm linalg_norm.ord_str linalg_matrix_norm linalg_matrix_norm.str_ord linalg_cond
        linalg_cond.p_str nuclear_norm nuclear_norm.dim frobenius_norm.dim""",
    "tensor_equations": "linalg_tensorinv linalg_tensorsolve",
}
"""Operators made of others."""

register_deferred(__name__, KERNELS)
register_deferred(__name__, COMPOSITES, "CompositeImplicitAutograd")
