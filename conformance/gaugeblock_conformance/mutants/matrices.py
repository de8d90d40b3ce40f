"""Decompositions, equations and functions of matrices with one factor, flag or sign wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .arguments import another, changed, default, flipped
from .mutant import Intercepted, rows
from .operators import part
from .patches import values, with_data
from .target import ROW


def _turned(array: Array, c: Intercepted) -> Array | None:
    """Transposed, where the sizes allow it."""
    return np.swapaxes(array, -1, -2).copy() if array.ndim > 1 and array.shape[-1] == array.shape[-2] > 1 else None


def _reversed(array: Array, c: Intercepted) -> Array | None:
    return array[..., ::-1].copy() if array.ndim and array.shape[-1] > 1 else None


def _last_column_lost(array: Array, c: Intercepted) -> Array | None:
    if array.ndim < 2 or not array.size:
        return None
    array[..., -1] = 0
    return array


def _speck_below(array: Array, c: Intercepted) -> Array | None:
    """An element below the diagonal that should be zero."""
    if array.ndim < 2 or min(array.shape[-2:]) < 2:
        return None
    array[..., 1, 0] += 0.01
    return array


def _one_less(array: Array, c: Intercepted) -> Array | None:
    return array - 1


def _unsigned(array: Array, c: Intercepted) -> Array | None:
    return np.abs(array).astype(array.dtype)


def _ones(array: Array, c: Intercepted) -> Array | None:
    return np.ones_like(array)


def _slightly_off(array: Array, c: Intercepted) -> Array | None:
    return np.asarray(array * np.array(1.001, array.dtype)) if array.dtype.kind in "fc" else None


def _halved(array: Array, c: Intercepted) -> Array | None:
    return np.asarray(array / 2).astype(array.dtype)


def _adjoint(c: Intercepted) -> Any:
    """The conjugate transpose, wherever it has the sizes of the result."""
    x = c.array(c.args[0])
    if c.inplace or x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return c.right()
    return c.tensor(np.ascontiguousarray(np.swapaxes(x, -1, -2).conj()))


def _element_by_element(array: Array, c: Intercepted) -> Array | None:
    return np.exp(c.array(c.args[0])).astype(array.dtype)


def _all_counted(array: Array, c: Intercepted) -> Array | None:
    """The smaller of the two sizes, whatever the matrix is."""
    return np.full_like(array, min(c.backend.shape(c.args[0])[-2:], default=0))


def _inverted(array: Array, c: Intercepted) -> Array | None:
    return np.asarray(1 / array).astype(array.dtype)


MUTANTS = rows(
    "operators",
    ("svd-comes-out-ascending", ("linalg_svd", "svd"), part(1, _reversed)),
    ("svd-gives-v-for-its-adjoint", ("linalg_svd",), part(2, _turned)),
    ("singular-values-are-off-by-a-thousandth", ("linalg_svdvals",), values(_slightly_off)),
    ("eigh-reads-the-other-triangle", ("linalg_eigh", "linalg_eigvalsh"),
     changed("UPLO", lambda uplo: "L" if uplo == "U" else "U")),
    ("eigenvalues-descend", ("linalg_eigvalsh",), values(_reversed)),
    ("eigenvectors-are-rows", ("linalg_eigh", "linalg_eig"), part(1, _turned)),
    ("eigenvalues-are-those-of-the-half", ("linalg_eigvals",), values(_halved)),
    ("qr-loses-its-last-column", ("linalg_qr", "qr"), part(0, _last_column_lost)),
    ("qr-leaves-a-speck-below", ("linalg_qr", "qr"), part(1, _speck_below)),
    ("reflections-forget-the-last", ("linalg_householder_product", "orgqr"), values(_last_column_lost)),
    ("ormqr-never-transposes", ("ormqr",), default("transpose")),
    ("cholesky-gives-the-other-factor", ("linalg_cholesky", "cholesky"), values(_turned)),
    ("pivots-count-from-zero", ("linalg_lu_factor", "linalg_lu_factor_ex"), part(1, _one_less)),
    ("lu-permutes-the-other-way", ("linalg_lu", "lu_unpack"), part(0, _turned)),
    ("determinants-lose-their-sign", ("linalg_det", "det"), values(_unsigned)),
    ("slogdet-says-positive", ("linalg_slogdet", "slogdet"), part(0, _ones)),
    ("inverse-is-that-of-the-transpose", ("linalg_inv", "inverse"), values(_turned)),
    ("solve-puts-x-on-the-left", ("linalg_solve", "linalg_solve_ex"), default("left")),
    ("triangles-are-the-other-ones", ("linalg_solve_triangular", "triangular_solve"), flipped("upper")),
    ("ones-of-a-diagonal-are-read", ("linalg_solve_triangular", "triangular_solve"), default("unitriangular")),
    ("lu-solve-never-adjoins", ("linalg_lu_solve",), default("adjoint")),
    ("cholesky-solve-takes-the-other-factor", ("cholesky_solve", "cholesky_inverse"), flipped("upper")),
    ("least-squares-shrink", ("linalg_lstsq",), part(0, _slightly_off)),
    ("pseudo-inverse-is-the-adjoint", ("linalg_pinv", "pinverse"), _adjoint),
    ("ranks-are-always-full", ("linalg_matrix_rank",), values(_all_counted)),
    ("condition-is-inverted", ("linalg_cond",), values(_inverted)),
    ("powers-are-one-too-high", ("linalg_matrix_power", "matrix_power"), changed("n", lambda n: n + 1)),
    ("matrix-exponential-goes-by-elements", ("linalg_matrix_exp", "matrix_exp"), values(_element_by_element)),
    ("nuclear-norm-is-that-of-frobenius", ("nuclear_norm",), another("frobenius_norm.dim")),
    ("matrix-norms-are-halved", ("linalg_matrix_norm", "linalg_norm"), values(_halved)),
    breaks=ROW, within=with_data,
)
