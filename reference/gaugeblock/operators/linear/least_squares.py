"""Least squares, pseudo-inverses and ranks: what a cut through the singular values decides."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtype import DType, bool_, int64
from ...core.limits import finfo
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..invoke import result_type
from .checks import FULL, adjoint_of, check_float, check_matrix, check_square, is_vector, matrices, store
from .decompositions import decomposed, eigen_of_hermitian

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
Bound = float | Tensor | None


def _epsilon(dtype: DType, sizes: tuple[int, ...]) -> float:
    return float(finfo(dtype.to_real()).eps) * max(sizes[-2:])


def cut(largest: Array, dtype: DType, sizes: tuple[int, ...], atol: Bound, rtol: Bound) -> Array:
    """The size up to which a singular value counts as 0: the larger of `atol` and `rtol` times the largest.

    `rtol` defaults to the dtype's epsilon times the larger size, or to 0 when `atol` is given and not 0.
    """
    absolute = np.asarray(0.0 if atol is None else values(atol) if isinstance(atol, Tensor) else atol)
    if rtol is None:
        relative = np.where(absolute > 0, 0.0, _epsilon(dtype, sizes))
    else:
        relative = np.asarray(values(rtol) if isinstance(rtol, Tensor) else rtol)
    return np.asarray(np.maximum(absolute, relative * largest))


def _bounded(operator: str, batch: tuple[int, ...], atol: Bound, rtol: Bound) -> tuple[int, ...]:
    """The batch that matrices and bounds broadcast to. Raises RuntimeError for bounds that do not fit."""
    for name, bound in (("atol", atol), ("rtol", rtol)):
        if not isinstance(bound, Tensor):
            continue
        if bound.meta.dtype.is_complex or bound.meta.dtype is bool_:
            raise RuntimeError(f"{operator}: {name} tensor of {bound.meta.dtype.name} type is not supported.")
        try:
            batch = broadcast_shapes((batch, bound.meta.sizes))
        except RuntimeError:
            shape = list(bound.meta.sizes)
            given = f"{name} of sizes {shape} does not broadcast with the batch {list(batch)}"
            raise RuntimeError(f"{operator}: {given}") from None
    return batch


def linalg_lstsq(self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """(solution, residuals, rank, singular_values) of minimising ``|self @ X - b|``.

    The solution is the one of least norm. Residuals come with drivers other than "gelsy" when every matrix is tall and
    of full rank, ranks with all but "gels", singular values with "gelsd" and "gelss"; others have no elements.
    Raises RuntimeError for sizes and dtypes that do not fit and for an unknown driver.
    """
    operator = "torch.linalg.lstsq"
    chosen = "gelsy" if driver is None else driver
    for tensor, name, least in ((self, "input", 2), (b, "other", 1)):
        if tensor.meta.ndim < least:
            raise RuntimeError(f"{operator}: {name} must have at least {least} dimensions.")
    dtype, device = self.meta.dtype, self.meta.device
    if b.meta.dtype is not dtype:
        raise RuntimeError(
            f"{operator}: Expected input and other to have the same dtype, but got input's dtype {dtype.name} and "
            f"other's dtype {b.meta.dtype.name}"
        )
    if dtype.name not in FULL:
        raise RuntimeError(f"{operator}: This function doesn't handle types other than float and double")
    if chosen not in DRIVERS:
        raise RuntimeError(f"{operator}: parameter `driver` should be one of ({', '.join(DRIVERS)})")
    vector = is_vector(self.meta.sizes, b.meta.sizes)
    *given, m, n = self.meta.sizes
    right = (*b.meta.sizes, 1) if vector else b.meta.sizes
    if right[-2] != m:
        raise RuntimeError(f"{operator}: input.size(-2) should match other.size({-1 if vector else -2})")
    batch = broadcast_shapes((tuple(given), right[:-2]))
    k = right[-1]
    wide, tall = chosen != "gels", m > n and chosen != "gelsy"
    with_values = chosen in ("gelsd", "gelss")
    solution, target = matrices((*batch, n) if vector else (*batch, n, k), dtype, device, column_major=not vector)
    rank, ranks = outline(batch if wide else (0,), int64, device)
    spectrum, numbers = outline((*batch, min(m, n)) if with_values else (0,), dtype.to_real(), device)
    if target is None:
        residual = outline((*batch, k) if tall else (0,), dtype.to_real(), device)[0]
        return result_type("linalg_lstsq")(solution, residual, rank, spectrum)
    matrix = np.broadcast_to(values(self), (*batch, m, n))
    wanted = np.broadcast_to(values(b).reshape(right), (*batch, m, k))
    U, S, Vh = decomposed("linalg.lstsq", matrix, full_matrices=False)
    share = _epsilon(dtype, (m, n)) if rcond is None or rcond < 0 else rcond
    kept = np.greater(S, share * S.max(-1, keepdims=True, initial=0))
    with np.errstate(all="ignore"):
        scaled = np.matmul(adjoint_of(U), wanted) * np.where(kept, 1 / S, 0)[..., None]
        found = np.matmul(adjoint_of(Vh), scaled)
    store(target, found.reshape(target.shape))
    tall = tall and bool(kept.sum(-1).min(initial=n) == n)
    residual, rest = outline((*batch, k) if tall else (0,), dtype.to_real(), device)
    if tall:
        store(rest, np.square(np.abs(wanted - np.matmul(matrix, found))).sum(-2))
    if wide:
        store(ranks, kept.sum(-1))
    if with_values:
        store(numbers, S)
    return result_type("linalg_lstsq")(solution, residual, rank, spectrum)


def linalg_pinv_atol_rtol_tensor(
    self: Tensor, *, atol: Bound = None, rtol: Bound = None, hermitian: bool = False
) -> Tensor:
    """The pseudo-inverse of each matrix (..., m, n), singular values within the cut left out. Raises RuntimeError."""
    operator = "linalg.pinv"
    dtype = self.meta.dtype
    if self.meta.ndim < 2 or dtype.name not in FULL:
        raise RuntimeError(
            f"{operator}({dtype.name}{list(self.meta.sizes)}): expected a tensor with 2 or more dimensions of "
            f"float, double, cfloat or cdouble types"
        )
    sizes = check_square("linalg.eigh", self) if hermitian else self.meta.sizes
    batch = _bounded(operator, sizes[:-2], atol, rtol)
    result, target = outline((*batch, sizes[-1], sizes[-2]), dtype, self.meta.device)
    if target is None or not target.size:
        return result
    with np.errstate(all="ignore"):
        if hermitian:
            found, right = eigen_of_hermitian(operator, values(self), "L")
            left = adjoint_of(right)
        else:
            U, found, Vh = decomposed(operator, values(self), full_matrices=False)
            left, right = adjoint_of(U), adjoint_of(Vh)
        limit = cut(np.abs(found).max(-1), dtype, sizes, atol, rtol)
        inverse = np.where(np.abs(found) > limit[..., None], 1 / found, 0)
        store(target, np.matmul(right * inverse[..., None, :], left))
    return result


def linalg_pinv(self: Tensor, rcond: float | Tensor = 1e-15, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse with a relative bound, or one for each matrix."""
    return linalg_pinv_atol_rtol_tensor(self, atol=0.0, rtol=rcond, hermitian=hermitian)


def linalg_matrix_rank_atol_rtol_tensor(
    self: Tensor, *, atol: Bound = None, rtol: Bound = None, hermitian: bool = False
) -> Tensor:
    """The number of singular values of each matrix beyond the cut. Raises RuntimeError."""
    operator = "torch.linalg.matrix_rank"
    sizes = check_matrix(operator, self, "input")
    dtype = check_float(operator, self, "input")
    batch = _bounded(operator, sizes[:-2], atol, rtol)
    if hermitian:
        check_square("linalg.eigh", self)
    result, target = outline(batch, int64, self.meta.device)
    if target is None:
        return result
    if hermitian:
        found = np.abs(eigen_of_hermitian(operator, values(self), "L")[0])
    else:
        found = decomposed("linalg.svd", values(self), compute_uv=False)
    limit = cut(found.max(-1, initial=0), dtype, sizes, atol, rtol)
    store(target, (found > limit[..., None]).sum(-1))
    return result


def linalg_matrix_rank(self: Tensor, tol: float | Tensor, hermitian: bool = False) -> Tensor:
    """The rank with an absolute bound, or one for each matrix."""
    return linalg_matrix_rank_atol_rtol_tensor(self, atol=tol, rtol=0.0, hermitian=hermitian)
