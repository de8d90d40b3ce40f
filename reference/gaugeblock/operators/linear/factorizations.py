"""LU and Cholesky factors of stacks of matrices, by recursion into matrix products, and what they solve."""

from __future__ import annotations

from typing import Any

from ...core import lazy_numpy as np
from ...core.dtype import int32
from ...core.warn import warn_deprecated
from ...iteration.dimensions import broadcast_shapes
from ...tensor.array_view import array_at
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import contiguous_meta
from ..arrays import Array, metas_of, outside, planned_arrays
from ..composition import Part, composite
from ..invoke import result_type
from ..loop_plan import View
from ..operand_checks import check_implemented
from ..plan import Planned, plannable
from . import stacks
from .lapack_plans import LapackPlan, has_routines
from .stacks import column_major

SMALL = 16
"""Matrices of up to so many columns are worked on column by column."""


def substitute(matrix: Array, right: Array, *, upper: bool, unit: bool = False) -> Array:
    """The solution of ``triangle @ X = right``, the triangle taken from `matrix`; inf and NaN where it is singular.
    `right` is (..., n, k); leading dims broadcast."""
    batch = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    solution = np.array(np.broadcast_to(right, batch + right.shape[-2:]))
    with np.errstate(all="ignore"):
        _substitute(matrix, solution, upper, unit)
    return solution


def _substitute(matrix: Array, x: Array, upper: bool, unit: bool) -> None:
    n = matrix.shape[-1]
    if n > SMALL:
        half = n // 2
        first, last = slice(half), slice(half, n)
        begin, end = (last, first) if upper else (first, last)
        _substitute(matrix[..., begin, begin], x[..., begin, :], upper, unit)
        x[..., end, :] -= np.matmul(matrix[..., end, begin], x[..., begin, :])
        _substitute(matrix[..., end, end], x[..., end, :], upper, unit)
        return
    for k in reversed(range(n)) if upper else range(n):
        if not unit:
            x[..., k, :] /= matrix[..., k, k, None]
        rest = slice(k) if upper else slice(k + 1, n)
        x[..., rest, :] -= matrix[..., rest, k, None] * x[..., None, k, :]


def factor(array: Array, *, pivot: bool = True) -> tuple[Array, Array, Array]:
    """LU factors in one array, pivots and infos of a stack of matrices (..., m, n).

    Row k was swapped with row ``pivots[k]`` (counted from 0); an info is the number, from 1, of the first pivot that
    is 0, or 0.
    """
    batch, (m, n) = array.shape[:-2], array.shape[-2:]
    count = int(np.prod(batch, dtype=np.int64))
    work = np.array(array.reshape(count, m, n))
    pivots = np.tile(np.arange(min(m, n)), (count, 1))
    infos = np.zeros(count, np.int64)
    with np.errstate(all="ignore"):
        _factor(work, pivots, infos, 0, pivot)
    return work.reshape(array.shape), pivots.reshape(*batch, min(m, n)), infos.reshape(batch)


def _factor(a: Array, pivots: Array, infos: Array, start: int, pivot: bool) -> None:
    """Factor `a` in place; `pivots` are those of its columns, which begin at row `start` of the whole matrix."""
    m, n = a.shape[-2:]
    if min(m, n) <= SMALL:
        _factor_columns(a, pivots, infos, start, pivot)
        return
    half = min(m, n) // 2
    _factor(a[:, :, :half], pivots[:, :half], infos, start, pivot)
    _swap(a[:, :, half:], pivots[:, :half] - start)
    _substitute(a[:, :half, :half], a[:, :half, half:], upper=False, unit=True)
    a[:, half:, half:] -= np.matmul(a[:, half:, :half], a[:, :half, half:])
    _factor(a[:, half:, half:], pivots[:, half:], infos, start + half, pivot)
    _swap(a[:, half:, :half], pivots[:, half:] - start - half)


def _factor_columns(a: Array, pivots: Array, infos: Array, start: int, pivot: bool) -> None:
    rows = np.arange(len(a))
    for k in range(min(a.shape[-2:])):
        if pivot:
            column = a[:, k:, k]
            size = np.abs(column.real) + np.abs(column.imag) if a.dtype.kind == "c" else np.abs(column)
            place = k + np.argmax(size, axis=-1)
            pivots[:, k] = start + place
            swapped = a[rows, place]
            a[rows, place] = a[:, k]
            a[:, k] = swapped
        divisor = a[:, k, k]
        zero = divisor == 0
        infos[zero & (infos == 0)] = start + k + 1
        a[:, k + 1 :, k] /= np.where(zero, 1, divisor)[:, None]
        a[:, k + 1 :, k + 1 :] -= a[:, k + 1 :, k, None] * a[:, None, k, k + 1 :]


def _swap(a: Array, pivots: Array) -> None:
    rows = np.arange(len(a))
    for k in range(pivots.shape[-1]):
        place = pivots[:, k]
        swapped = a[rows, place]
        a[rows, place] = a[:, k]
        a[:, k] = swapped


def permutation(pivots: Array, rows: int) -> Array:
    """Return where each row of the factored matrix was in the given one: ``given[order] == L @ U``."""
    batch, count = pivots.shape[:-1], pivots.shape[-1]
    order = np.tile(np.arange(rows), (int(np.prod(batch, dtype=np.int64)), 1))
    _swap(order, pivots.reshape(len(order), count))
    return order.reshape(*batch, rows)


def solve_factored(factors: Array, pivots: Array, right: Array, *, turned: bool = False) -> Array:
    """The solution of ``A @ X = right``, or of ``A.mH @ X = right`` if `turned`, from A's factors; dims broadcast."""
    order = permutation(pivots, factors.shape[-1])
    batch = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    right = np.broadcast_to(right, batch + right.shape[-2:])
    order = np.broadcast_to(order, (*batch, order.shape[-1]))
    if turned:
        flipped = np.conjugate(np.swapaxes(factors, -2, -1))
        middle = substitute(flipped, right, upper=False)
        return _placed(substitute(flipped, middle, upper=True, unit=True), np.argsort(order, axis=-1))
    return substitute(factors, substitute(factors, _placed(right, order), upper=False, unit=True), upper=True)


def _placed(rows: Array, order: Array) -> Array:
    return np.take_along_axis(rows, order[..., None], axis=-2)


def _planned_lu(operator: str, matrix: Tensor, pivot: bool, check_errors: bool, kind: str) -> Planned[Any]:
    """Plan L and U of each matrix (..., m, n) in one tensor, int32 pivots counted from 1, int32 infos. Raises
    RuntimeError for a zero pivot if `check_errors`."""
    sizes = matrix.meta.sizes
    if len(sizes) < 2:
        raise RuntimeError(f"{operator}: Expected tensor with 2 or more dimensions. Got size: {list(sizes)} instead")
    dtype = matrix.meta.dtype
    check_implemented(operator, dtype, dtype.name in stacks.FULL)
    if not pivot:
        raise RuntimeError(f"{operator}: LU without pivoting is not implemented on the CPU")

    def compute(array: Array) -> tuple[Array, ...]:
        factors, pivots, infos = factor(array)
        if check_errors and infos.any():
            stacks.fail(operator, infos, stacks.ZERO_PIVOT, RuntimeError)
        return factors, pivots + 1, infos

    pivoted, infos = (*sizes[:-2], min(sizes[-2:])), sizes[:-2]
    wanted = (column_major, sizes, dtype), (contiguous_meta, pivoted, int32), (contiguous_meta, infos, int32)
    made = wanted[: 3 if kind.endswith("_ex") else 2]
    if not has_routines([matrix.meta], sizes[:-2], "getrf"):
        return planned_arrays(kind, (matrix,), compute, *made)
    plan = LapackPlan([matrix.meta], metas_of(made), sizes[:-2], dtype)
    factors = plan.copy(plan.results[0], plan.inputs[0])
    found = plan.temporary(contiguous_meta(pivoted, plan.routine("getrf").integer)), plan.info("getrf")
    m, n = sizes[-2:]
    plan.run("getrf", [factors, *found], (m, n, m), m * n * min(m, n))
    if check_errors:
        plan.check(found[1], operator, stacks.ZERO_PIVOT, RuntimeError)
    for result, source in zip(plan.results[1:], found, strict=False):
        plan.copy(result, source)
    return plan.planned_as(kind, matrix)


@plannable
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """(LU, pivots, info) of each matrix. Raises RuntimeError for a zero pivot if `check_errors`."""
    return _planned_lu("torch.linalg.lu_factor_ex", A, pivot, check_errors, "linalg_lu_factor_ex")


@plannable
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """(LU, pivots) of each matrix. Raises RuntimeError for a zero pivot."""
    return _planned_lu("torch.linalg.lu_factor", A, pivot, True, "linalg_lu_factor")


@composite
def linalg_lu(part: Part, A: Tensor, *, pivot: bool = True) -> Any:
    """(P, L, U) whose product is each matrix (..., m, n); L is (m, min(m, n)), U (min(m, n), n)."""
    factors, pivots, _ = part.several("linalg_lu_factor_ex", A, pivot=pivot)
    return result_type("linalg_lu")(*part.several("lu_unpack", factors, pivots))


@plannable
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """(P, L, U) from packed factors and pivots; what is not asked for has no elements. Raises RuntimeError."""
    *batch, m, n = stacks.check_matrix("torch.lu_unpack", LU_data, "LU_data")
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
    k = min(m, n)

    def compute(factors: Array, pivots: Array) -> tuple[Any, ...]:
        P: Any = 0
        if unpack_pivots:
            order = permutation(pivot_rows("torch.lu_unpack", pivots, m), m)
            P = np.arange(m)[:, None] == order[..., None, :]
        if not unpack_data:
            return P, 0, 0
        return P, np.tril(factors[..., :k], -1) + np.eye(m, k, dtype=factors.dtype), np.triu(factors[..., :k, :])

    shapes = (((m, m), unpack_pivots), ((m, k), unpack_data), ((k, n), unpack_data))
    wanted = [(contiguous_meta, (*batch, *sizes) if given else (0,), LU_data.meta.dtype) for sizes, given in shapes]
    if not has_routines([LU_data.meta], batch, "laswp"):
        return planned_arrays("lu_unpack", (LU_data, LU_pivots), compute, *wanted)
    metas = metas_of(wanted)
    plan = LapackPlan([LU_data.meta, LU_pivots.meta], metas, batch, LU_data.meta.dtype)
    (P, L, U), (factors, places) = plan.results, plan.inputs
    if unpack_pivots:
        numbers = _checked_pivots(plan, places, "torch.lu_unpack", m, "laswp")
        plan.fill(plan.diagonal(plan.fill(P, 0)), 1)
        plan.run("laswp", [P, numbers], (m, m, 1, k, 1), m * k)  # row-major P is column-major P.mT
    if unpack_data:
        plan.triangle(L, factors.narrow(-1, 0, k), upper=False, diagonal=-1)
        plan.fill(plan.diagonal(L), 1)
        plan.triangle(U, factors.narrow(-2, 0, k), upper=True)
    return plan.planned_as("lu_unpack", LU_data, LU_pivots)


def pivot_rows(operator: str, pivots: Array, rows: int) -> Array:
    """Return 0-based rows from 1-based pivots. Raise RuntimeError for a pivot outside [1, rows]."""
    places = pivots.astype(np.int64)
    bad = outside(places, rows + 1, 1)
    if bad is not None:
        raise RuntimeError(
            f"{operator}: pivots must all be greater or equal to 1 and smaller or equal to LU.size(-2), {rows}, got "
            f"{bad}; use the pivots that linalg.lu_factor returns"
        )
    return np.asarray(places - 1)


@plannable
def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor | Planned[Tensor]:
    """X of ``A @ X = B`` (``X @ A = B`` if not `left`) from A's packed factors; A.mH in the place of A if `adjoint`.
    Raises RuntimeError unless sizes and dtypes fit."""
    operator = "linalg.lu_solve"
    dtype, _ = stacks.check_one_dtype(operator, LU, B, ("LU", "B"))
    check_implemented(operator, dtype, dtype.name in stacks.FULL)
    if pivots.meta.dtype is not int32:
        raise RuntimeError(f"{operator}: pivots should be a Tensor of scalar type torch.int32")
    A = stacks.check_square(operator, LU, "LU")
    stacks.check_matrix(operator, B, "B")
    if pivots.meta.sizes != A[:-1]:
        raise RuntimeError(
            f"{operator}: Number of pivots per batch should be same as the dimension of the matrix, got "
            f"{list(pivots.meta.sizes)} for LU of {list(A)}"
        )

    def compute(factors: Array, places: Array, right: Array) -> tuple[Array]:
        right = right if left else stacks.adjoint_of(right)
        found = solve_factored(factors, pivot_rows(operator, places, A[-1]), right, turned=adjoint == left)
        return (found if left else stacks.adjoint_of(found),)

    sizes = stacks.solved_sizes(operator, A, B.meta.sizes, left)
    layout = column_major if left else contiguous_meta
    if not has_routines([LU.meta, B.meta], sizes[:-2], "getrs") or (adjoint and not left and dtype.is_complex):
        return planned_arrays(None, (LU, pivots, B), compute, (layout, sizes, dtype))
    plan = LapackPlan([one.meta for one in (LU, pivots, B)], [layout(sizes, dtype)], sizes[:-2], dtype)
    factors, places, right = plan.inputs
    numbers = _checked_pivots(plan, places, operator, A[-1], "getrs")
    factors, solution = plan.column_major(factors), plan.copy(plan.results[0], right)
    turned = "NT"[adjoint is left] if not dtype.is_complex else "C" if adjoint else "N" if left else "T"
    n, count = A[-1], sizes[-1 if left else -2]
    plan.run("getrs", [factors, numbers, solution, plan.info("getrs")], (turned, n, count, n, n), n * n * count)
    return plan.planned(LU, pivots, B)


def _checked_pivots(plan: LapackPlan, pivots: View, operator: str, rows: int, routine: str) -> View:
    """Add the copy of pivots as a routine takes them. Raises as `pivot_rows`."""
    copy = plan.temporary(contiguous_meta(pivots.sizes, plan.routine(routine).integer))
    return plan.within(copy, pivots, 1, rows, lambda found: pivot_rows(operator, found, rows))


@composite
def lu_solve(part: Part, self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X of ``A @ X = self`` from A's factors."""
    part.run(warn_deprecated, "lu_solve", "linalg.lu_solve")
    return part("linalg_lu_solve", LU_data, LU_pivots, self)


def _lower(array: Array) -> tuple[Array, Array]:
    """Lower factors from the lower triangles, and infos: 0, or the order of the first minor that is not positive."""
    try:
        return stacks.lapack("cholesky", array), np.zeros(array.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        with np.errstate(all="ignore"):
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


def _planned_cholesky(operator: str, matrix: Tensor, upper: bool, check_errors: bool, kind: str | None) -> Planned[Any]:
    """Plan the factor L with ``L @ L.mH`` (or U with ``U.mH @ U`` if `upper`) equal to each matrix, and int32 infos.

    Only the named triangle is read. Raises LinAlgError for a matrix that is not positive-definite if `check_errors`,
    RuntimeError for other shapes, NotImplementedError for other dtypes.
    """
    dtype, sizes = stacks.check_squares(operator, matrix)

    def compute(array: Array) -> tuple[Array, Array]:
        factors, infos = _lower(stacks.adjoint_of(array) if upper else array)
        if check_errors and infos.any():
            stacks.fail(operator, infos, stacks.NOT_POSITIVE)
        return stacks.adjoint_of(factors) if upper else factors, infos

    wanted = (column_major, sizes, dtype), (contiguous_meta, sizes[:-2], int32)
    if not has_routines([matrix.meta], sizes[:-2], "potrf"):
        return planned_arrays(kind, (matrix,), compute, *wanted)
    made = metas_of(wanted[: 1 if kind is None else 2])
    plan = LapackPlan([matrix.meta], made, sizes[:-2], dtype)
    n, infos = sizes[-1], plan.info("potrf")
    plan.triangle(plan.results[0], plan.inputs[0], upper=upper)
    plan.run("potrf", [plan.results[0], infos], ("LU"[upper], n, n), n**3)
    if check_errors:
        plan.check(infos, operator, stacks.NOT_POSITIVE, stacks.LinAlgError)
    for result in plan.results[1:]:
        plan.copy(result, infos)
    return plan.planned_as(kind, matrix)


@plannable
def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """(L, info) of each matrix."""
    return _planned_cholesky("linalg.cholesky_ex", self, upper, check_errors, "linalg_cholesky_ex")


@plannable
def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor | Planned[Tensor]:
    """The Cholesky factor of each matrix. Raises LinAlgError when one is not positive-definite."""
    return _planned_cholesky("linalg.cholesky", self, upper, True, None)


@plannable
def _cholesky(self: Tensor, upper: bool) -> Tensor | Planned[Tensor]:
    """linalg.cholesky, whose errors name cholesky."""
    return _planned_cholesky("cholesky", self, upper, True, None)


@composite
def cholesky(part: Part, self: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor of each matrix. Raises LinAlgError when one is not positive-definite."""
    part.run(warn_deprecated, "cholesky", "linalg.cholesky")
    return part.plan(_cholesky, self, upper)


def _solved(factors: Array, right: Array, upper: bool) -> Array:
    lower = stacks.adjoint_of(factors) if upper else factors
    return substitute(stacks.adjoint_of(lower), substitute(lower, right, upper=False), upper=True)


@plannable
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor | Planned[Tensor]:
    """The inverse of the matrix whose Cholesky factor is given. Raises RuntimeError for other shapes, LinAlgError for a
    zero on the diagonal of the factor."""
    dtype, sizes = stacks.check_squares("cholesky_inverse", self)

    def compute(array: Array) -> tuple[Array]:
        _check_zeros(array)
        return (_solved(array, np.eye(sizes[-1], dtype=dtype.numpy), upper),)

    if not has_routines([self.meta], sizes[:-2], "potrs"):
        return planned_arrays(None, (self,), compute, (column_major, sizes, dtype))
    plan, n = LapackPlan([self.meta], [column_major(sizes, dtype)], sizes[:-2], dtype), sizes[-1]
    plan.kernel(lambda factors: _check_zeros(array_at(self.meta, factors)), plan.inputs, ())
    inverse = plan.fill(plan.results[0], 0)
    plan.fill(plan.diagonal(inverse), 1)
    _solve_by_factor(plan, plan.inputs[0], inverse, upper, n)
    return plan.planned(self)


def _check_zeros(factors: Array) -> None:
    zero = np.diagonal(factors, 0, -2, -1) == 0
    if zero.any():
        infos = np.where(zero.any(axis=-1), zero.argmax(axis=-1) + 1, 0)
        stacks.fail("cholesky_inverse", infos, stacks.SINGULAR)


def _solve_by_factor(plan: LapackPlan, factors: View, right: View, upper: bool, count: int) -> None:
    """Add the solution in place of `count` right sides, from a Cholesky factor."""
    n = factors.sizes[-1]
    views = [plan.column_major(factors), right, plan.info("potrs")]
    plan.run("potrs", views, ("LU"[upper], n, count, n, n), n * n * count)


@plannable
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor | Planned[Tensor]:
    """X of ``A @ X = self`` where `input2` is the Cholesky factor of A; leading dims broadcast. Raises RuntimeError."""
    for tensor, name in ((self, "b"), (input2, "u")):
        if tensor.meta.ndim < 2:
            raise RuntimeError(
                f"cholesky_solve(): {name} should have at least 2 dimensions, but has {tensor.meta.ndim} "
                f"dimensions instead"
            )
    stacks.check_float("cholesky_solve", self, "self")
    dtype, _ = stacks.check_one_dtype("cholesky_solve", self, input2, ("b", "A"))
    A, b = stacks.check_square("cholesky_solve", input2), self.meta.sizes
    if A[-1] != b[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {A[-2]} by {A[-1]} but each b matrix is "
            f"{b[-2]} by {b[-1]}"
        )
    sizes = broadcast_shapes((A[:-2], b[:-2])) + b[-2:]
    if not has_routines([self.meta, input2.meta], sizes[:-2], "potrs"):
        wanted = (column_major, sizes, dtype)
        return planned_arrays(None, (self, input2), lambda right, factors: (_solved(factors, right, upper),), wanted)
    plan = LapackPlan([self.meta, input2.meta], [column_major(sizes, dtype)], sizes[:-2], dtype)
    _solve_by_factor(plan, plan.inputs[1], plan.copy(plan.results[0], plan.inputs[0]), upper, sizes[-1])
    return plan.planned(self, input2)
