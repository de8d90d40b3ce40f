"""The extension linalg of the standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ..calls.functions import ops
from ..tensor.tensor import Tensor
from .linear_algebra import cross, diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot
from .operands import Axis, axes_of, bad_value, check_array, check_kind, computed, pair

FLOATING = "float complex"
__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


class EigResult(NamedTuple):
    """Result of eig."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Result of eigh."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Result of qr."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Result of slogdet."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Result of svd."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _matrices(function: str, x: Any) -> Tensor:
    """Return `x`. Raises TypeError unless it is an array of a floating dtype, ValueError for less than 2 dims."""
    check_kind(function, check_array(function, "x", x).meta.dtype, FLOATING)
    if x.meta.ndim < 2:
        raise ValueError(f"{function}(): an array of {x.meta.ndim} dims has no matrices")
    return x  # type: ignore[no-any-return]


def _one(name: str, what: str) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        return getattr(ops, f"linalg_{name}")(_matrices(name, x))  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {what} of matrices."
    return function


det = _one("det", "the determinants")
inv = _one("inv", "the inverses")
svdvals = _one("svdvals", "the singular values")
eigvalsh = _one("eigvalsh", "the eigenvalues, in order, ")
eigvals = _one("eigvals", "the complex eigenvalues")


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the triangular factor of positive definite matrices. Raises LinAlgError for others."""
    return ops.linalg_cholesky(_matrices("cholesky", x), upper=upper)  # type: ignore[no-any-return]


def eig(x: Tensor, /) -> EigResult:
    """Return complex eigenvalues and eigenvectors of matrices."""
    return EigResult(*ops.linalg_eig(_matrices("eig", x)))


def eigh(x: Tensor, /) -> EighResult:
    """Return eigenvalues, in order, and eigenvectors of symmetric matrices."""
    return EighResult(*ops.linalg_eigh(_matrices("eigh", x)))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return an orthonormal and an upper triangular factor of matrices."""
    if mode not in ("reduced", "complete"):
        bad_value("qr", "mode", mode, "'reduced' or 'complete'")
    return QRResult(*ops.linalg_qr(_matrices("qr", x), mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Return the signs of determinants, and the logarithms of their absolute values."""
    return SlogdetResult(*ops.linalg_slogdet(_matrices("slogdet", x)))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decomposition of matrices."""
    return SVDResult(*ops.linalg_svd(_matrices("svd", x), full_matrices))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the pseudo-inverses of matrices; singular values below rtol times the largest count as zero."""
    return ops.linalg_pinv(_matrices("pinv", x), rtol=rtol)  # type: ignore[no-any-return]


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the number of singular values above rtol times the largest."""
    return ops.linalg_matrix_rank(_matrices("matrix_rank", x), rtol=rtol)  # type: ignore[no-any-return]


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Return matrices multiplied by themselves `n` times; the inverse for negative `n`."""
    if n < 0:
        _matrices("matrix_power", x)
    return computed(lambda given: ops.linalg_matrix_power(given, n), x)  # type: ignore[no-any-return]


def matrix_norm(
    x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Tensor:  # fmt: skip
    """Return norms of matrices."""
    given = "fro" if ord is None else ord
    return ops.linalg_matrix_norm(_matrices("matrix_norm", x), given, keepdim=keepdims)  # type: ignore[no-any-return]


def vector_norm(
    x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Tensor:  # fmt: skip
    """Return norms of the vectors along one axis, or of the elements along several or all."""
    check_kind("vector_norm", check_array("vector_norm", "x", x).meta.dtype, FLOATING)
    axes = axes_of("vector_norm", axis, x.meta.ndim)
    if axes:
        return ops.linalg_vector_norm(x, ord, axes, keepdims)  # type: ignore[no-any-return]
    return ops.linalg_vector_norm(ops.unsqueeze(x, -1), ord, (-1,))  # type: ignore[no-any-return]


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions of linear equations; a 1-D `x2` is one vector, else it has a matrix for each of x1."""
    first, second = pair("solve", _matrices("solve", x1), check_array("solve", "x2", x2))
    check_kind("solve", first.meta.dtype, FLOATING)
    if second.meta.ndim == 1:
        return ops.squeeze(_solved(first, ops.unsqueeze(second, -1)), -1)  # type: ignore[no-any-return]
    return _solved(first, second)


def _solved(first: Tensor, second: Any) -> Tensor:
    missing = first.meta.ndim - second.meta.ndim  # without them it could be taken for vectors
    return ops.linalg_solve(first, second[(None,) * missing])  # type: ignore[no-any-return]
