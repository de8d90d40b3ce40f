"""LU factors with row pivots, and what is solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtype import int32
from ...core.promotion import UPSTREAM_NAMES
from ...core.warn import warn_deprecated
from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..named_results import result_type
from .checks import FULL, adjoint, check_matrix, check_one_dtype, check_square, matrices, store
from .equations import solved_sizes
from .triangles import factor, permutation, solve_factored


def _checked(operator: str, matrix: Tensor, pivot: bool) -> tuple[int, ...]:
    sizes = matrix.meta.sizes
    if len(sizes) < 2:
        raise RuntimeError(f"{operator}: Expected tensor with 2 or more dimensions. Got size: {list(sizes)} instead")
    dtype = matrix.meta.dtype
    if dtype.name not in FULL:
        raise NotImplementedError(f"\"{operator}\" not implemented for '{UPSTREAM_NAMES[dtype.name]}'")
    if not pivot:
        raise RuntimeError(f"{operator}: LU without pivoting is not implemented on the CPU")
    return sizes


def factors_and_info(operator: str, matrix: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    """L and U of each matrix (..., m, n) in one tensor, int32 pivots counted from 1, int32 infos."""
    sizes = _checked(operator, matrix, pivot)
    dtype, device = matrix.meta.dtype, matrix.meta.device
    both, target = matrices(sizes, dtype, device)
    pivots, places = outline((*sizes[:-2], min(sizes[-2:])), int32, device)
    info, infos = outline(sizes[:-2], int32, device)
    if target is not None:
        found = factor(values(matrix))
        store(target, found[0])
        store(places, found[1] + 1)
        store(infos, found[2])
    return both, pivots, info


def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """(LU, pivots, info) of each matrix. Raises RuntimeError for a zero pivot if `check_errors`."""
    found = factors_and_info("torch.linalg.lu_factor_ex", A, pivot)
    if check_errors:
        check_pivots("torch.linalg.lu_factor_ex", found[2])
    return result_type("linalg_lu_factor_ex")(*found)


def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """(LU, pivots) of each matrix. Raises RuntimeError for a zero pivot."""
    both, pivots, info = factors_and_info("torch.linalg.lu_factor", A, pivot)
    check_pivots("torch.linalg.lu_factor", info)
    return result_type("linalg_lu_factor")(both, pivots)


def check_pivots(operator: str, info: Tensor) -> None:
    """Raise RuntimeError for the first matrix with a zero pivot."""
    if info.meta.device.type != "cpu":
        return
    flat = values(info).reshape(-1)
    if flat.any():
        place = int(np.flatnonzero(flat)[0])
        where = f"(Batch element {place}): " if info.meta.ndim else ""
        k = int(flat[place])
        raise RuntimeError(
            f"{operator}: {where}U[{k},{k}] is zero and using it on lu_solve would result in a division by zero. If "
            f"you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            f"linalg.lu_factor_ex(A, pivot)"
        )


def split(factors: Array) -> tuple[Array, Array]:
    """The lower factor, with ones on its diagonal, and the upper one."""
    k = min(factors.shape[-2:])
    lower = np.tril(factors[..., :k], -1) + np.eye(factors.shape[-2], k, dtype=factors.dtype)
    return lower, np.triu(factors[..., :k, :])


def permutation_matrix(pivots: Array, rows: int) -> Array:
    """P with ``P @ L @ U`` equal to the factored matrix; `pivots` are counted from 0."""
    order = permutation(pivots, rows)
    return np.asarray(np.arange(rows)[:, None] == order[..., None, :])


def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """(P, L, U) whose product is each matrix (..., m, n); L is (m, min(m, n)), U (min(m, n), n)."""
    *batch, m, n = _checked("linalg.lu", A, pivot)
    dtype, device = A.meta.dtype, A.meta.device
    P, place = outline((*batch, m, m), dtype, device)
    L, lower = outline((*batch, m, min(m, n)), dtype, device)
    U, upper = outline((*batch, min(m, n), n), dtype, device)
    if place is not None:
        factors, pivots, _ = factor(values(A))
        parts = split(factors)
        store(place, permutation_matrix(pivots, m))
        store(lower, parts[0])
        store(upper, parts[1])
    return result_type("linalg_lu")(P, L, U)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """(P, L, U) from packed factors and pivots; what is not asked for has no elements. Raises RuntimeError."""
    *batch, m, n = check_matrix("torch.lu_unpack", LU_data, "LU_data")
    if unpack_pivots and LU_pivots.meta.dtype is not int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if LU_pivots.meta.sizes != (*batch, min(m, n)):
        raise RuntimeError(
            f"torch.lu_unpack: LU_pivots must have sizes {[*batch, min(m, n)]} for factors of sizes "
            f"{list(LU_data.meta.sizes)}, got {list(LU_pivots.meta.sizes)}"
        )
    dtype, device = LU_data.meta.dtype, LU_data.meta.device
    P, place = outline((*batch, m, m) if unpack_pivots else (0,), dtype, device)
    L, lower = outline((*batch, m, min(m, n)) if unpack_data else (0,), dtype, device)
    U, upper = outline((*batch, min(m, n), n) if unpack_data else (0,), dtype, device)
    if place is not None and unpack_pivots:
        store(place, permutation_matrix(pivot_rows("torch.lu_unpack", LU_pivots, m), m))
    if lower is not None and unpack_data:
        parts = split(values(LU_data))
        store(lower, parts[0])
        store(upper, parts[1])
    return result_type("lu_unpack")(P, L, U)


def pivot_rows(operator: str, pivots: Tensor, rows: int) -> Array:
    """Return 0-based rows from 1-based pivots. Raise RuntimeError for a pivot outside [1, rows]."""
    places = values(pivots).astype(np.int64)
    if places.size and not 1 <= places.min() <= places.max() <= rows:
        bad = int(places.min()) if places.min() < 1 else int(places.max())
        raise RuntimeError(
            f"{operator}: pivots must all be greater or equal to 1 and smaller or equal to LU.size(-2), {rows}, got "
            f"{bad}; use the pivots that linalg.lu_factor returns"
        )
    return np.asarray(places - 1)


def solve_with_factors(operator: str, LU: Tensor, pivots: Tensor, B: Tensor, left: bool, turned: bool) -> Tensor:
    """X of ``A @ X = B`` from A's packed factors; with `turned` A.mH stands for A. Raises RuntimeError."""
    dtype, device = check_one_dtype(operator, LU, B, ("LU", "B"))
    if dtype.name not in FULL:
        raise NotImplementedError(f"\"{operator}\" not implemented for '{UPSTREAM_NAMES[dtype.name]}'")
    if pivots.meta.dtype is not int32:
        raise RuntimeError(f"{operator}: pivots should be a Tensor of scalar type torch.int32")
    A = check_square(operator, LU, "LU")
    check_matrix(operator, B, "B")
    if pivots.meta.sizes != A[:-1]:
        raise RuntimeError(
            f"{operator}: Number of pivots per batch should be same as the dimension of the matrix, got "
            f"{list(pivots.meta.sizes)} for LU of {list(A)}"
        )
    result, target = matrices(solved_sizes(operator, A, B.meta.sizes, left), dtype, device, column_major=left)
    if target is None:
        return result
    factors, right = values(LU), values(B)
    places = pivot_rows(operator, pivots, A[-1])
    if not left:
        right, turned = adjoint(right), not turned
    found = solve_factored(factors, places, right, turned=turned)
    store(target, found if left else adjoint(found))
    return result


def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X of ``A @ X = B`` (``X @ A = B`` if not `left`) from A's factors; A.mH in the place of A if `adjoint`."""
    return solve_with_factors("linalg.lu_solve", LU, pivots, B, left, adjoint)


def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X of ``A @ X = self`` from A's factors."""
    warn_deprecated("lu_solve", "linalg.lu_solve")
    return solve_with_factors("linalg.lu_solve", LU_data, LU_pivots, self, True, False)
