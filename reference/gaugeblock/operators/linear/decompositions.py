"""QR factors and reflections, eigenvalues, singular values; singular values by random projections."""

from __future__ import annotations

from typing import Any

from ...core import lazy_numpy as np
from ...core.device import cpu
from ...core.errors import check_int, type_error
from ...core.warn import warn_deprecated
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import contiguous_meta
from ..arguments import tensor_argument
from ..arrays import Array, metas_of, planned_arrays, values
from ..composition import Part, composite
from ..invoke import apply, invoke, result_type
from ..loop_plan import View
from ..plan import Planned, plannable
from ..pointwise import formula_kernel
from . import stacks
from .lapack_plans import BLOCK, LapackPlan, has_routines
from .stacks import column_major

MODES = ("reduced", "complete", "r")


@plannable
def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """(Q, R) of each matrix (..., m, n), Q with orthonormal columns, R upper triangular; mode "r" leaves Q without
    elements. Raises RuntimeError."""
    dtype = stacks.check_float("linalg.qr", A)
    *batch, m, n = stacks.check_matrix("linalg.qr", A)
    if mode not in MODES:
        raise RuntimeError(
            f"qr received unrecognized mode {mode!r} but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    k = min(m, n)
    inner = m if mode == "complete" else k

    def compute(array: Array) -> tuple[Any, Any]:
        return (0, stacks.lapack("qr", array, "r")) if mode == "r" else tuple(stacks.lapack("qr", array, mode))

    first = contiguous_meta((0,), dtype) if mode == "r" else column_major((*batch, m, inner), dtype)
    last = column_major((*batch, inner, n), dtype)
    if not has_routines([A.meta], batch, "geqrf", "orgqr"):
        wanted = [(lambda *given, meta=meta: meta, meta.sizes, dtype) for meta in (first, last)]
        return planned_arrays("linalg_qr", (A,), compute, *wanted)
    plan = LapackPlan([A.meta], [first, last], batch, dtype)
    (Q, R), factors = plan.results, plan.temporary(column_major(A.meta.sizes, dtype))
    reflections = plan.temporary(contiguous_meta((*batch, k), dtype))
    _factored(plan, plan.copy(factors, plan.inputs[0]), reflections)
    plan.triangle(R, factors.narrow(-2, 0, inner), upper=True)
    if mode != "r":
        shared = min(inner, n)
        plan.copy(Q.narrow(-1, 0, shared), factors.narrow(-1, 0, shared))
        if inner > shared:
            plan.fill(Q.narrow(-1, shared, inner - shared), 0)
        _product(plan, Q, reflections)
    return plan.planned_as("linalg_qr", A)


def _factored(plan: LapackPlan, matrices: View, reflections: View) -> None:
    """Add the QR factorization in place, and the factors of its reflections."""
    m, n = matrices.sizes[-2:]
    work, size = plan.workspace(n)
    views = [matrices, reflections, work, plan.info("geqrf")]
    plan.run("geqrf", views, (m, n, m, size), 2 * m * n * min(m, n), shared=[work])


def _product(plan: LapackPlan, vectors: View, reflections: View) -> None:
    """Add the product of reflections, in place of their vectors."""
    (m, n), k = vectors.sizes[-2:], reflections.sizes[-1]
    work, size = plan.workspace(n)
    views = [vectors, reflections, work, plan.info("orgqr")]
    plan.run("orgqr", views, (m, n, k, m, size), 4 * m * n * k, shared=[work])


@composite
def qr(part: Part, self: Tensor, some: bool = True) -> Any:
    """(Q, R) of each matrix, with square Q unless `some`."""
    part.run(warn_deprecated, "qr", "linalg.qr")
    return result_type("qr")(*part.several("linalg_qr", self, "reduced" if some else "complete"))


@plannable
def geqrf(self: Tensor) -> Any:
    """(a, tau): R with the Householder vectors below it, and their factors. Raises RuntimeError below two dims."""
    dtype = stacks.check_float("geqrf", self, "self")
    *batch, m, n = stacks.check_matrix("torch.geqrf", self, "input")

    def compute(array: Array) -> tuple[Any, Any]:
        turned, taus = stacks.lapack("qr", array, "raw")
        return np.swapaxes(turned, -2, -1), taus

    wanted = (column_major, (*batch, m, n), dtype), (contiguous_meta, (*batch, min(m, n)), dtype)
    if not has_routines([self.meta], batch, "geqrf"):
        return planned_arrays("geqrf", (self,), compute, *wanted)
    plan = LapackPlan([self.meta], metas_of(wanted), batch, dtype)
    _factored(plan, plan.copy(plan.results[0], plan.inputs[0]), plan.results[1])
    return plan.planned_as("geqrf", self)


def reflected(vectors: Array, taus: Array, onto: Array, *, turned: bool = False) -> Array:
    """The product of the reflections (or its adjoint if `turned`) times `onto`."""
    result = np.array(onto)
    count = taus.shape[-1]
    for k in range(count) if turned else reversed(range(count)):
        below = vectors[..., k + 1 :, k]
        vector = np.concatenate([np.ones((*below.shape[:-1], 1), below.dtype), below], -1)
        factor = np.conjugate(taus[..., k]) if turned else taus[..., k]
        part = result[..., k:, :]
        along = np.einsum("...i,...ij->...j", vector.conj(), part)
        part -= factor[..., None, None] * vector[..., :, None] * along[..., None, :]
    return result


def _check_reflections(operator: str, vectors: Tensor, tau: Tensor) -> tuple[int, ...]:
    sizes = stacks.check_matrix(operator, vectors, "input")
    stacks.check_one_dtype(operator, vectors, tau, ("input", "tau"))
    if tau.meta.ndim != len(sizes) - 1 or tau.meta.sizes[:-1] != sizes[:-2]:
        raise RuntimeError(
            f"{operator}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.meta.sizes)} for input of {list(sizes)}"
        )
    return sizes


@plannable
def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor | Planned[Tensor]:
    """The first n columns of the product of reflections whose vectors lie below the diagonal of (..., m, n). Raises
    RuntimeError unless sizes fit."""
    operator = "torch.linalg.householder_product"
    dtype = stacks.check_float(operator, input, "input")
    sizes = _check_reflections(operator, input, tau)
    m, n = sizes[-2:]
    if n > m:
        raise RuntimeError(f"{operator}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.meta.sizes[-1] > n:
        raise RuntimeError(f"{operator}: input.shape[-1] must be greater than or equal to tau.shape[-1]")

    def compute(vectors: Array, taus: Array) -> tuple[Array]:
        return (reflected(vectors, taus, np.broadcast_to(np.eye(m, n, dtype=dtype.numpy), sizes)),)

    if not (has_routines([input.meta], sizes[:-2], "orgqr") and tau.meta.numel):
        return planned_arrays(None, (input, tau), compute, (column_major, sizes, dtype))
    plan = LapackPlan([input.meta, tau.meta], [column_major(sizes, dtype)], sizes[:-2], dtype)
    _product(plan, plan.copy(plan.results[0], plan.inputs[0]), plan.row_major_vectors(plan.inputs[1]))
    return plan.planned(input, tau)


@plannable
def ormqr(
    self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor | Planned[Tensor]:
    """Q @ input3, or input3 @ Q if not `left`, with Q.mH for Q if `transpose`. Raises RuntimeError unless sizes fit. Q
    is the product of reflections whose vectors lie below the diagonal of `self`, with the factors `input2`."""
    dtype = stacks.check_float("ormqr", self, "self")
    sizes = _check_reflections("torch.ormqr", self, input2)
    other = stacks.check_matrix("torch.ormqr", input3, "other")
    stacks.check_one_dtype("torch.ormqr", self, input3, ("input", "other"))
    if other[-2 if left else -1] != sizes[-2] or input2.meta.sizes[-1] > sizes[-2]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], got {list(other)} and "
            f"{list(sizes)}"
        )

    def compute(vectors: Array, taus: Array, onto: Array) -> tuple[Array]:
        if left:
            return (reflected(vectors, taus, onto, turned=transpose),)
        return (stacks.adjoint_of(reflected(vectors, taus, stacks.adjoint_of(onto), turned=not transpose)),)

    known = has_routines([self.meta, input3.meta], sizes[:-2], "ormqr")
    if not known or not 0 < input2.meta.sizes[-1] <= sizes[-1]:
        return planned_arrays(None, (self, input2, input3), compute, (column_major, other, dtype))
    plan = LapackPlan([one.meta for one in (self, input2, input3)], [column_major(other, dtype)], sizes[:-2], dtype)
    vectors, reflections, given = plan.inputs
    (m, n), k, (work, room) = other[-2:], reflections.sizes[-1], plan.workspace(max(other[-2:]))
    views = [plan.column_major(vectors), plan.row_major_vectors(reflections), plan.copy(plan.results[0], given)]
    how = "L" if left else "R", ("C" if dtype.is_complex else "T") if transpose else "N"
    numbers = (*how, m, n, k, sizes[-2], m, room)
    plan.run("ormqr", [*views, work, plan.info("ormqr")], numbers, 4 * m * n * k, shared=[work])
    return plan.planned(self, input2, input3)


def eigen_of_hermitian(operator: str, array: Array, triangle: str) -> tuple[Array, Array]:
    """Ascending real eigenvalues and orthonormal eigenvectors; NaN for matrices that are not finite."""
    bad = np.asarray(~np.isfinite(array).all((-2, -1)))
    given = np.where(bad[..., None, None], 0, array) if bad.any() else array
    try:
        found = stacks.lapack("eigh", given, triangle)
    except np.linalg.LinAlgError:
        raise stacks.LinAlgError(f"{operator}: {stacks.NOT_CONVERGED}") from None
    if not bad.any():
        return found[0], found[1]
    return np.where(bad[..., None], np.nan, found[0]), np.where(bad[..., None, None], np.nan, found[1])


@plannable
def linalg_eigh(self: Tensor, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of Hermitian matrices, read from one triangle; ascending and real. Raises
    RuntimeError for other shapes, NotImplementedError for other dtypes."""
    dtype, sizes = stacks.check_squares("linalg.eigh", self)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")

    wanted = (contiguous_meta, sizes[:-1], dtype.to_real()), (column_major, sizes, dtype)
    if not finite_for(self, "syevd"):
        return planned_arrays(
            "linalg_eigh", (self,), lambda array: eigen_of_hermitian("linalg.eigh", array, UPLO.upper()), *wanted
        )
    plan = LapackPlan([self.meta], metas_of(wanted), sizes[:-2], dtype)
    vectors = plan.finite(plan.inputs[0])
    _eigen(plan, vectors, plan.results[0], UPLO.upper(), "V")
    plan.copy(plan.results[1], vectors)
    return plan.planned_as("linalg_eigh", self)


def finite_for(self: Tensor, routine: str) -> bool:
    """Return whether a routine can be planned for a tensor, the elements of which it takes now."""
    return has_routines([self.meta], self.meta.sizes[:-2], routine) and bool(np.isfinite(values(self)).all())


def _eigen(plan: LapackPlan, matrices: View, found: View, triangle: str, vectors: str) -> None:
    """Add the eigenvalues of Hermitian matrices, and in place of these with "V" the eigenvectors."""
    n, dtype, integer = matrices.sizes[-1], plan.dtype, plan.routine("syevd").integer
    sizes = [1 + (6 + BLOCK) * n + 2 * n * n, *([1 + 5 * n + 2 * n * n] if dtype.is_complex else []), 3 + 5 * n]
    dtypes = [dtype, *([dtype.to_real()] if dtype.is_complex else []), integer]
    work, infos = [plan.memory(*one) for one in zip(sizes, dtypes, strict=True)], plan.info("syevd")
    views = [matrices, found, *work, infos]
    plan.run("syevd", views, (vectors, triangle, n, n, *sizes), 9 * n**3, shared=work)
    plan.check(infos, "linalg.eigh", stacks.NOT_CONVERGED, stacks.LinAlgError)


@plannable
def _eigenvalues(self: Tensor, UPLO: str) -> Tensor | Planned[Tensor]:
    """The eigenvalues alone."""
    dtype, sizes = self.meta.dtype, self.meta.sizes
    if not finite_for(self, "syevd"):
        return linalg_eigh(self, UPLO)[0]  # type: ignore[no-any-return]
    plan = LapackPlan([self.meta], [contiguous_meta(sizes[:-1], dtype.to_real())], sizes[:-2], dtype)
    _eigen(plan, plan.finite(plan.inputs[0]), plan.results[0], UPLO.upper(), "N")
    return plan.planned(self)


@composite
def linalg_eigvalsh(part: Part, self: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending. Raises as linalg.eigh."""
    stacks.check_squares("linalg.eigh", self)
    if self.meta.has_autograd or self.meta.lazy or self.meta.device is not cpu or UPLO.upper() not in ("L", "U"):
        return part.first("linalg_eigh", self, UPLO)
    return part.plan(_eigenvalues, self, UPLO)


def _general(operator: str, self: Tensor, vectors: bool) -> Planned[Any]:
    dtype, sizes = stacks.check_squares(operator, self)

    def compute(array: Array) -> tuple[Array, ...]:
        if not np.isfinite(array).all():
            raise RuntimeError(f"torch.{operator}: input tensor should not contain infs or NaNs.")
        try:
            return tuple(stacks.lapack("eig", array)) if vectors else (stacks.lapack("eigvals", array),)
        except np.linalg.LinAlgError:
            raise stacks.LinAlgError(f"{operator}: {stacks.NOT_CONVERGED}") from None

    wide = dtype.to_complex()
    wanted = (contiguous_meta, sizes[:-1], wide), (column_major, sizes, wide)
    if not finite_for(self, "geev"):
        return planned_arrays("linalg_eig" if vectors else None, (self,), compute, *wanted[: 1 + vectors])
    plan = LapackPlan([self.meta], metas_of(wanted[: 1 + vectors]), sizes[:-2], dtype)
    _general_eigen(plan, plan.finite(plan.inputs[0]), operator)
    return plan.planned_as("linalg_eig" if vectors else None, self)


def _general_eigen(plan: LapackPlan, matrices: View, operator: str) -> None:
    """Add the eigenvalues, and the eigenvectors if there is a second result, which LAPACK gives as complex numbers or
    as two columns for a pair of them."""
    (found, *vectors), n, dtype = plan.results, matrices.sizes[-1], plan.dtype
    work, room = plan.workspace(n)
    infos, unused = plan.info("geev"), plan.memory(1, dtype)
    if dtype.is_complex:
        values_of, real = [found], [plan.memory(2 * n, dtype.to_real())]
        columns = vectors[0] if vectors else unused
    else:
        values_of, real = [plan.temporary(contiguous_meta(found.sizes, dtype)) for _ in range(2)], []
        padded = plan.temporary(column_major((*plan.batch, n, n + 2), dtype)) if vectors else unused
        columns = padded.narrow(-1, 1, n) if vectors else unused
    shared = [work, *real, unused]
    views = [matrices, *values_of, unused, columns, work, *real, infos]
    numbers = ("N", "V" if vectors else "N", n, n, n, n, room)
    plan.run("geev", views, numbers, 25 * n**3, shared=shared)
    plan.check(infos, operator, stacks.NOT_CONVERGED, stacks.LinAlgError)
    if dtype.is_complex:
        return
    plan.loop(formula_kernel("complex", [dtype, dtype], dtype, found.dtype), [found], values_of)
    if vectors:
        *outer, along = values_of[1].strides
        imaginary = values_of[1]._replace(sizes=matrices.sizes, strides=(*outer, 0, along))
        sides = [imaginary, *[padded.narrow(-1, start, n) for start in range(3)]]
        kernel = formula_kernel("eigenvector", [dtype] * 4, dtype, found.dtype)
        plan.loop(kernel, vectors, sides)


@plannable
def linalg_eig(self: Tensor) -> Any:
    """(eigenvalues, eigenvectors), both complex, in no order. Raises RuntimeError for other shapes, inf and NaN."""
    return _general("linalg.eig", self, True)


@plannable
def linalg_eigvals(self: Tensor) -> Tensor | Planned[Tensor]:
    """The eigenvalues, complex, in no order. Raises as linalg.eig."""
    return _general("linalg.eigvals", self, False)


def decomposed(operator: str, array: Array, **options: bool) -> Any:
    """U, S and Vh of a stack of matrices, or S. Raises LinAlgError for what is not finite."""
    if not np.isfinite(array).all():  # LAPACK may never return
        raise stacks.LinAlgError(f"{operator}: {stacks.NOT_FINITE}")
    try:
        return stacks.lapack("svd", array, **options)
    except np.linalg.LinAlgError:
        raise stacks.LinAlgError(f"{operator}: {stacks.NOT_CONVERGED}") from None


def _by_gesdd(A: Tensor, full: bool | None) -> Planned[Any]:
    """Plan U, S and Vh of finite matrices; S alone if `full` is None."""
    (*batch, m, n), dtype = A.meta.sizes, A.meta.dtype
    k, longer = min(m, n), max(m, n)
    rows, columns = (m, n) if full else (k, k)
    metas = [contiguous_meta((*batch, k), dtype.to_real())]
    if full is not None:
        metas = [column_major((*batch, m, rows), dtype), *metas, column_major((*batch, columns, n), dtype)]
    plan = LapackPlan([A.meta], metas, batch, dtype)
    matrices, room = plan.finite(plan.inputs[0]), 4 * k * k + 7 * k + longer + BLOCK * (m + n)
    real = [plan.memory(5 * k * k + 7 * k + 2 * longer * k + 2 * k * k, dtype.to_real())] if dtype.is_complex else []
    work = [plan.memory(room, dtype), *real, plan.memory(8 * k, plan.routine("gesdd").integer)]
    infos, unused = plan.info("gesdd"), plan.memory(1, dtype)
    U, S, Vh = plan.results if full is not None else (unused, plan.results[0], unused)
    mode = "N" if full is None else "A" if full else "S"
    numbers = (mode, m, n, m, m, max(columns, 1), room)
    plan.run("gesdd", [matrices, S, U, Vh, *work, infos], numbers, 12 * longer * k * k, shared=[*work, unused])
    plan.check(infos, "linalg.svd", stacks.NOT_CONVERGED, stacks.LinAlgError)
    return plan.planned_as(None if full is None else "linalg_svd", A)


def _singular(A: Tensor, driver: str | None, full: bool | None) -> Planned[Any]:
    """Return U, S and Vh of each matrix; S alone if `full` is None."""
    dtype = stacks.check_float("linalg.svd", A)
    *batch, m, n = stacks.check_matrix("linalg.svd", A)
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs")
    k = min(m, n)
    S, name = (contiguous_meta, (*batch, k), dtype.to_real()), "linalg_svd"
    if finite_for(A, "gesdd"):
        return _by_gesdd(A, full)
    if full is None:
        return planned_arrays(None, (A,), lambda array: [decomposed("linalg.svd", array, compute_uv=False)], S)
    rows, columns = (m, n) if full else (k, k)
    U, Vh = (column_major, (*batch, m, rows), dtype), (column_major, (*batch, columns, n), dtype)
    return planned_arrays(name, (A,), lambda array: decomposed("linalg.svd", array, full_matrices=full), U, S, Vh)


@plannable
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """(U, S, Vh) with ``U * S @ Vh`` equal to each matrix, S real and descending. Raises LinAlgError for what is not
    finite, RuntimeError for other shapes and for a driver, which only CUDA has."""
    return _singular(A, driver, full_matrices)


@plannable
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor | Planned[Tensor]:
    """The singular values of each matrix, descending. Raises as linalg.svd."""
    return _singular(A, driver, None)


@composite
def svd(part: Part, self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V) with ``U * S @ V.mH`` equal to each matrix; square U and V unless `some`, zeros unless `compute_uv`."""
    if compute_uv:
        U, S, Vh = part.several("linalg_svd", self, not some)
        return result_type("svd")(U, S, part("adjoint", Vh))
    S = part("linalg_svdvals", self)
    *batch, m, n = self.meta.sizes
    # PyTorch leaves the zeros of U row-major and those of V column-major.
    U, V = (part("fill.Scalar", part("new_empty", self, (*batch, size, size)), 0) for size in (m, n))
    return result_type("svd")(U, S, part("transpose.int", V, -2, -1))


Factors = tuple[Tensor, Tensor, Tensor]


def _factors(A: Tensor, q: int, niter: int) -> Factors:
    """U, S and V of q orthonormal columns that nearly span the range of `A`, each step of `niter` nearer."""
    rows, columns = A.meta.sizes[-2:]
    if rows < columns:
        V, S, U = _factors(apply("adjoint", A), q, niter)
        return U, S, V
    drawn = apply("randn", (columns, q), dtype=A.meta.dtype, device=A.meta.device)
    basis: Tensor = invoke("linalg_qr", apply("matmul", A, drawn))[0]
    for _ in range(niter):
        turned = invoke("linalg_qr", apply("matmul", apply("adjoint", A), basis))[0]
        basis = invoke("linalg_qr", apply("matmul", A, turned))[0]
    small = apply("adjoint", apply("matmul", apply("adjoint", A), basis))
    U, S, Vh = invoke("linalg_svd", small, False)
    return apply("matmul", basis, U), S, apply("adjoint", Vh)


def _check_low_rank(operator: str, A: Tensor, q: int, niter: int) -> None:
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
    """(U, S, V) of rank `q` with ``U diag(S) V.mH`` near ``A - M``, from random columns that are drawn anew. Raises
    TypeError for no tensor, RuntimeError for other than floating matrices, ValueError for q out of range."""
    _check_low_rank("svd_lowrank", A, q := 6 if q is None else q, niter := 2 if niter is None else niter)
    if M is not None:
        if not isinstance(M, Tensor):
            type_error("svd_lowrank", "M", M, "Tensor or None")
        A = apply("sub.Tensor", A, apply("expand", M, A.meta.sizes))
    return _factors(A, q, niter)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Factors:
    """svd_lowrank of the rows of `A`, less their mean if `center`; q is at most 6 if it is not given."""
    tensor_argument("pca_lowrank", "A", 1, A)
    if q is None and A.meta.ndim >= 2:
        q = min(6, *A.meta.sizes[-2:])
    _check_low_rank("pca_lowrank", A, 6 if q is None else q, niter)
    if center:
        A = apply("sub.Tensor", A, apply("mean.dim", A, (-2,), True))
    return _factors(A, 6 if q is None else q, niter)


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
