"""Eigenvalues and eigenvectors, of Hermitian and of general matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..named_results import result_type
from . import lapack
from .checks import check_float, check_square, matrices, store
from .errors import NOT_CONVERGED, LinAlgError


def hermitian(operator: str, array: Array, triangle: str) -> tuple[Array, Array]:
    """Ascending real eigenvalues and orthonormal eigenvectors; NaN for matrices that are not finite."""
    bad = np.asarray(~np.isfinite(array).all((-2, -1)))
    given = np.where(bad[..., None, None], 0, array) if bad.any() else array
    try:
        found = lapack.eigh(given, triangle)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"{operator}: {NOT_CONVERGED}") from None
    if not bad.any():
        return found[0], found[1]
    return np.where(bad[..., None], np.nan, found[0]), np.where(bad[..., None, None], np.nan, found[1])


def check_triangle(uplo: str) -> str:
    """The letter in upper case. Raises RuntimeError for another letter."""
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper()


def linalg_eigh(self: Tensor, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of Hermitian matrices, read from one triangle; ascending and real.

    Raises RuntimeError for other shapes, NotImplementedError for other dtypes.
    """
    dtype = check_float("linalg.eigh", self)
    sizes = check_square("linalg.eigh", self)
    triangle = check_triangle(UPLO)
    found, numbers = outline(sizes[:-1], dtype.to_real(), self.meta.device)
    vectors, columns = matrices(sizes, dtype, self.meta.device)
    if numbers is not None:
        pair = hermitian("linalg.eigh", values(self), triangle)
        store(numbers, pair[0])
        store(columns, pair[1])
    return result_type("linalg_eigh")(found, vectors)


def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending. Raises as linalg.eigh."""
    dtype = check_float("linalg.eigh", self)
    sizes = check_square("linalg.eigh", self)
    triangle = check_triangle(UPLO)
    found, numbers = outline(sizes[:-1], dtype.to_real(), self.meta.device)
    if numbers is not None:
        store(numbers, hermitian("linalg.eigh", values(self), triangle)[0])
    return found


def _general(operator: str, array: Array, vectors: bool) -> tuple[Array, Array | None]:
    if not np.isfinite(array).all():
        raise RuntimeError(f"torch.{operator}: input tensor should not contain infs or NaNs.")
    try:
        return lapack.eig(array) if vectors else (lapack.eigvals(array), None)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"{operator}: {NOT_CONVERGED}") from None


def linalg_eig(self: Tensor) -> Any:
    """(eigenvalues, eigenvectors), both complex, in no order. Raises RuntimeError for other shapes, inf and NaN."""
    dtype = check_float("linalg.eig", self).to_complex()
    sizes = check_square("linalg.eig", self)
    found, numbers = outline(sizes[:-1], dtype, self.meta.device)
    vectors, columns = matrices(sizes, dtype, self.meta.device)
    if numbers is not None:
        pair = _general("linalg.eig", values(self), True)
        store(numbers, pair[0])
        store(columns, pair[1])
    return result_type("linalg_eig")(found, vectors)


def linalg_eigvals(self: Tensor) -> Tensor:
    """The eigenvalues, complex, in no order. Raises as linalg.eig."""
    dtype = check_float("linalg.eigvals", self).to_complex()
    sizes = check_square("linalg.eigvals", self)
    found, numbers = outline(sizes[:-1], dtype, self.meta.device)
    if numbers is not None:
        store(numbers, _general("linalg.eigvals", values(self), False)[0])
    return found
