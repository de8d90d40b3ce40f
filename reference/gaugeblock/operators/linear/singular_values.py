"""Singular value decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..named_results import result_type
from . import lapack
from .checks import adjoint, check_float, check_matrix, matrices, store
from .errors import NOT_CONVERGED, NOT_FINITE, LinAlgError


def decomposed(operator: str, array: Array, full: bool) -> tuple[Array, Array, Array]:
    """U, S and Vh of a stack of matrices. Raises LinAlgError for what is not finite."""
    m, n = array.shape[-2:]
    if not array.size:
        k = min(m, n)
        batch = array.shape[:-2]
        left = np.broadcast_to(np.eye(m, m if full else k), (*batch, m, m if full else k))
        right = np.broadcast_to(np.eye(n if full else k, n), (*batch, n if full else k, n))
        return left, np.zeros((*batch, k)), right
    check_finite(operator, array)
    try:
        u, s, vh = lapack.svd(array, full_matrices=full)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"{operator}: {NOT_CONVERGED}") from None
    return u, s, vh


def singular_values(operator: str, array: Array) -> Array:
    """The singular values of a stack of matrices, largest first. Raises LinAlgError for what is not finite."""
    if not array.size:
        return np.zeros((*array.shape[:-2], min(array.shape[-2:])))
    check_finite(operator, array)
    try:
        return np.asarray(lapack.svd(array, compute_uv=False))
    except np.linalg.LinAlgError:
        raise LinAlgError(f"{operator}: {NOT_CONVERGED}") from None


def check_finite(operator: str, array: Array) -> None:
    """Raise LinAlgError for elements that are not finite: LAPACK may never return for them."""
    if not np.isfinite(array).all():
        raise LinAlgError(f"{operator}: {NOT_FINITE}")


def check_driver(driver: str | None) -> None:
    """Raise RuntimeError for a choice of algorithm, which only CUDA has."""
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs")


def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """(U, S, Vh) with ``U * S @ Vh`` equal to each matrix, S real and descending.

    Raises LinAlgError for what is not finite, RuntimeError for other shapes and for a driver.
    """
    dtype = check_float("linalg.svd", A)
    *batch, m, n = check_matrix("linalg.svd", A)
    check_driver(driver)
    device, k = A.meta.device, min(m, n)
    U, u = matrices((*batch, m, m if full_matrices else k), dtype, device)
    S, s = outline((*batch, k), dtype.to_real(), device)
    Vh, vh = matrices((*batch, n if full_matrices else k, n), dtype, device)
    if u is not None:
        for target, found in zip((u, s, vh), decomposed("linalg.svd", values(A), full_matrices), strict=True):
            store(target, found)
    return result_type("linalg_svd")(U, S, Vh)


def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of each matrix, descending. Raises as linalg.svd."""
    dtype = check_float("linalg.svd", A)
    *batch, m, n = check_matrix("linalg.svd", A)
    check_driver(driver)
    S, s = outline((*batch, min(m, n)), dtype.to_real(), A.meta.device)
    if s is not None:
        store(s, singular_values("linalg.svd", values(A)))
    return S


def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V) with ``U * S @ V.mH`` equal to each matrix; square U and V unless `some`, zeros unless `compute_uv`."""
    dtype = check_float("linalg.svd", self)
    *batch, m, n = check_matrix("linalg.svd", self)
    device, k = self.meta.device, min(m, n)
    full = not (some and compute_uv)
    U, u = matrices((*batch, m, m if full else k), dtype, device, column_major=compute_uv)
    S, s = outline((*batch, k), dtype.to_real(), device)
    V, v = matrices((*batch, n, n if full else k), dtype, device, column_major=not compute_uv)
    if u is not None and compute_uv:
        found = decomposed("linalg.svd", values(self), full)
        store(u, found[0])
        store(s, found[1])
        store(v, adjoint(found[2]))
    elif u is not None:
        store(u, 0)
        store(s, singular_values("linalg.svd", values(self)))
        store(v, 0)
    return result_type("svd")(U, S, V)
