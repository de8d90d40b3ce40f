"""The largest singular values of a large matrix by random projections, and principal components from them."""

from __future__ import annotations

from typing import Any

from ...core.errors import check_int, type_error
from ...core.warn import warn_deprecated
from ...tensor.tensor import Tensor
from ..arguments import tensor_argument
from ..invoke import apply, invoke

Factors = tuple[Tensor, Tensor, Tensor]


def _product(A: Tensor, M: Tensor | None, right: Tensor, adjoint: bool = False) -> Tensor:
    """``(A - M) @ right``, or that of the adjoint."""
    made: Tensor = apply("matmul", apply("adjoint", A) if adjoint else A, right)
    if M is None:
        return made
    less: Tensor = apply("matmul", apply("adjoint", M) if adjoint else M, right)
    return apply("sub.Tensor", made, less)


def _basis(A: Tensor, M: Tensor | None, q: int, niter: int) -> Tensor:
    """q orthonormal columns that nearly span the range of ``A - M``, each step of `niter` nearer."""
    meta = A.meta
    drawn = apply("randn", (meta.sizes[-1], q), dtype=meta.dtype, device=meta.device)
    columns: Tensor = invoke("linalg_qr", _product(A, M, drawn))[0]
    for _ in range(niter):
        rows = invoke("linalg_qr", _product(A, M, columns, adjoint=True))[0]
        columns = invoke("linalg_qr", _product(A, M, rows))[0]
    return columns


def _factors(A: Tensor, M: Tensor | None, q: int, niter: int) -> Factors:
    rows, columns = A.meta.sizes[-2:]
    if rows < columns:
        V, S, U = _factors(apply("adjoint", A), None if M is None else apply("adjoint", M), q, niter)
        return U, S, V
    basis = _basis(A, M, q, niter)
    small = apply("adjoint", _product(A, M, basis, adjoint=True))
    U, S, Vh = invoke("linalg_svd", small, False)
    return apply("matmul", basis, U), S, apply("adjoint", Vh)


def _check(operator: str, A: Tensor, q: int, niter: int) -> None:
    tensor_argument(operator, "A", 1, A)
    if A.meta.ndim < 2 or A.meta.dtype.kind < 2:
        raise RuntimeError(
            f"{operator}(): expected floating point matrices, got {A.meta.dtype.name}{list(A.meta.sizes)}"
        )
    least = min(A.meta.sizes[-2:])
    if not 0 <= check_int(operator, "q", q) <= least:
        raise ValueError(f"{operator}(): q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if check_int(operator, "niter", niter) < 0:
        raise ValueError(f"{operator}(): niter(={niter}) must be non-negative integer")


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Factors:
    """(U, S, V) of rank `q` with ``U diag(S) V.mH`` near ``A - M``, from random columns that are drawn anew.

    Raises TypeError for no tensor, RuntimeError for other than floating matrices, ValueError for q out of range.
    """
    _check("svd_lowrank", A, q := 6 if q is None else q, niter := 2 if niter is None else niter)
    if M is not None:
        if not isinstance(M, Tensor):
            type_error("svd_lowrank", "M", M, "Tensor or None")
        M = apply("expand", M, A.meta.sizes)
    return _factors(A, M, q, niter)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Factors:
    """svd_lowrank of the rows of `A`, less their mean if `center`; q is at most 6 if it is not given."""
    tensor_argument("pca_lowrank", "A", 1, A)
    if q is None and A.meta.ndim >= 2:
        q = min(6, *A.meta.sizes[-2:])
    _check("pca_lowrank", A, 6 if q is None else q, niter)
    if center:
        A = apply("sub.Tensor", A, apply("mean.dim", A, (-2,), True))
    return _factors(A, None, 6 if q is None else q, niter)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple[Tensor, ...] | None = None) -> Any:
    """The factors of linalg.lu_factor_ex, with its infos if they are asked for; without them a singular A raises."""
    tensor_argument("lu", "A", 1, A)
    warn_deprecated("lu", "linalg.lu_factor")
    found = invoke("linalg_lu_factor_ex", A, pivot=pivot, check_errors=not get_infos)
    parts = found if get_infos else tuple(found)[:2]
    if out is None:
        return parts
    if not isinstance(out, (tuple, list)) or len(out) != len(parts):
        raise TypeError(f"lu(): argument 'out' must be tuple of {len(parts)} Tensors, got {type(out).__name__}")
    for given, part in zip(out, parts, strict=True):
        apply("copy_", apply("resize_", given, part.meta.sizes), part)
    return tuple(out)
