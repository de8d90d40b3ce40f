"""Cholesky factors of Hermitian positive-definite matrices, and what is solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtype import int32
from ...core.warn import warn_deprecated
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..named_results import result_type
from . import lapack
from .checks import adjoint, check_float, check_one_dtype, check_square, matrices, store
from .errors import NOT_POSITIVE, SINGULAR, fail
from .triangles import substitute


def _lower(array: Array) -> tuple[Array, Array]:
    """Lower factors from the lower triangles, and infos: 0, or the order of the first minor that is not positive."""
    with np.errstate(all="ignore"):
        try:
            return lapack.cholesky(array), np.zeros(array.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            return _column_by_column(array)


def _column_by_column(array: Array) -> tuple[Array, Array]:
    """As `_lower`, but what came before a bad minor stays."""
    factors = np.tril(array)
    infos = np.zeros(array.shape[:-2], np.int32)
    for k in range(array.shape[-1]):
        done = factors[..., k:, :k]
        column = factors[..., k:, k] - np.einsum("...ij,...j->...i", done, np.conjugate(factors[..., k, :k]))
        size = column[..., 0].real
        infos = np.where((infos == 0) & ~(size > 0), k + 1, infos)
        good = infos == 0
        root = np.sqrt(np.where(good, size, 1))
        scaled = column / root[..., None]
        factors[..., k:, k] = np.where(good[..., None], scaled, factors[..., k:, k])
    return factors, infos


def factor_and_info(operator: str, matrix: Tensor, upper: bool, check_errors: bool) -> tuple[Tensor, Tensor]:
    """The factor L with ``L @ L.mH`` (or U with ``U.mH @ U`` if `upper`) equal to each matrix, and int32 infos.

    Only the named triangle is read. Raises LinAlgError for a matrix that is not positive-definite if `check_errors`,
    RuntimeError for other shapes, NotImplementedError for other dtypes.
    """
    dtype = check_float(operator, matrix)
    sizes = check_square(operator, matrix)
    device = matrix.meta.device
    result, target = matrices(sizes, dtype, device)
    info, infos = outline(sizes[:-2], int32, device)
    if target is not None:
        array = values(matrix)
        factors, found = _lower(adjoint(array) if upper else array)
        if check_errors and found.any():
            fail(operator, found, NOT_POSITIVE)
        store(target, adjoint(factors) if upper else factors)
        store(infos, found)
    return result, info


def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """(L, info) of each matrix."""
    return result_type("linalg_cholesky_ex")(*factor_and_info("linalg.cholesky_ex", self, upper, check_errors))


def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    """The Cholesky factor of each matrix. Raises LinAlgError when one is not positive-definite."""
    return factor_and_info("linalg.cholesky", self, upper, True)[0]


def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor of each matrix. Raises LinAlgError when one is not positive-definite."""
    warn_deprecated("cholesky", "linalg.cholesky")
    return factor_and_info("cholesky", self, upper, True)[0]


def _solved(factors: Array, right: Array, upper: bool) -> Array:
    lower = adjoint(factors) if upper else factors
    return substitute(adjoint(lower), substitute(lower, right, upper=False), upper=True)


def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given.

    Raises RuntimeError for other shapes, LinAlgError for a zero on the diagonal of the factor.
    """
    dtype = check_float("cholesky_inverse", self)
    sizes = check_square("cholesky_inverse", self)
    result, target = matrices(sizes, dtype, self.meta.device)
    if target is not None:
        zero = np.diagonal(values(self), 0, -2, -1) == 0
        if zero.any():
            fail("cholesky_inverse", np.where(zero.any(axis=-1), zero.argmax(axis=-1) + 1, 0), SINGULAR)
        store(target, _solved(values(self), np.eye(sizes[-1], dtype=dtype.numpy), upper))
    return result


def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X of ``A @ X = self`` where `input2` is the Cholesky factor of A; leading dims broadcast. Raises RuntimeError."""
    for tensor, name in ((self, "b"), (input2, "u")):
        if tensor.meta.ndim < 2:
            raise RuntimeError(
                f"cholesky_solve(): {name} should have at least 2 dimensions, but has {tensor.meta.ndim} "
                f"dimensions instead"
            )
    check_float("cholesky_solve", self, "self")
    dtype, device = check_one_dtype("cholesky_solve", self, input2, ("b", "A"))
    A, b = check_square("cholesky_solve", input2), self.meta.sizes
    if A[-1] != b[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {A[-2]} by {A[-1]} but each b matrix is "
            f"{b[-2]} by {b[-1]}"
        )
    result, target = matrices(broadcast_shapes((A[:-2], b[:-2])) + b[-2:], dtype, device)
    if target is not None:
        store(target, _solved(values(input2), values(self), upper))
    return result
