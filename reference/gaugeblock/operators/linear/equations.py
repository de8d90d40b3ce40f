"""Determinants, inverses and solutions of square and triangular systems, powers and exponentials of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...core import lazy_numpy as np
from ...core.dtype import bool_, int32
from ...core.errors import wrap_dims
from ...core.warn import warn_deprecated
from ...iteration.dimensions import broadcast_shapes
from ...kernels.reduction_ops import prod_reduction, sum_reduction
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import contiguous_meta
from ..arrays import Array, filled, from_array, metas_of, planned_arrays
from ..composition import Part, composite
from ..invoke import apply, invoke, result_type
from ..loop_plan import View
from ..plan import Planned, plannable
from ..pointwise import formula_kernel
from . import stacks
from .exponentials import exponential
from .factorizations import factor, solve_factored, substitute
from .lapack_plans import LapackPlan, has_routines
from .stacks import column_major


@plannable
def linalg_det(A: Tensor) -> Tensor | Planned[Tensor]:
    """The determinant of each matrix of (..., n, n); 1 for n = 0. Raises RuntimeError for other shapes and dtypes."""
    dtype, sizes = stacks.check_squares("linalg.det", A)
    wanted = (contiguous_meta, sizes[:-2], dtype)
    if not has_routines([A.meta], sizes[:-2], "getrf"):
        return planned_arrays(None, (A,), lambda array: (stacks.lapack("det", array),), wanted)
    plan = LapackPlan([A.meta], metas_of([wanted]), sizes[:-2], dtype)
    plan.reduce("prod", prod_reduction(dtype), plan.results[0], _Factors(plan, plan.inputs[0]).signed_diagonal())
    return plan.planned(A)


@plannable
def linalg_slogdet(A: Tensor) -> Any:
    """(sign, logabsdet) of each matrix, the sign of modulus 1; (0, -inf) for singular ones."""
    dtype, sizes = stacks.check_squares("linalg.slogdet", A)
    wanted = (contiguous_meta, sizes[:-2], dtype), (contiguous_meta, sizes[:-2], dtype.to_real())
    if not has_routines([A.meta], sizes[:-2], "getrf"):
        return planned_arrays("linalg_slogdet", (A,), lambda array: stacks.lapack("slogdet", array), *wanted)
    plan = LapackPlan([A.meta], metas_of(wanted), sizes[:-2], dtype)
    signed, real = _Factors(plan, plan.inputs[0]).signed_diagonal(), dtype.to_real()
    signs, moduli = [plan.temporary(contiguous_meta(sizes[:-1], kind)) for kind in (dtype, real)]
    plan.loop(formula_kernel("sgn", [dtype], dtype, dtype), [signs], [signed])
    plan.loop(formula_kernel("abs", [dtype], dtype, real), [moduli], [signed])
    plan.loop(formula_kernel("log", [real], real, real), [moduli], [moduli])
    plan.reduce("prod", prod_reduction(dtype), plan.results[0], signs)
    plan.reduce("sum", sum_reduction(real), plan.results[1], moduli)
    return plan.planned_as("linalg_slogdet", A)


@composite
def slogdet(part: Part, self: Tensor) -> Any:
    """linalg.slogdet."""
    return result_type("slogdet")(*part.several("linalg_slogdet", self))


def logdet(self: Tensor) -> Tensor:
    """The logarithm of each determinant; NaN where it is negative, -inf where it is 0."""
    sign, logarithm = invoke("linalg_slogdet", self)
    return apply("add.Tensor", logarithm, apply("log", sign))


def _solved(array: Array, right: Array) -> tuple[Array, Array]:
    """Solutions for right sides, and infos as `factor` gives them; inf and NaN for a singular matrix."""
    try:
        return stacks.lapack("solve", array, right), np.zeros(array.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        factors, pivots, infos = factor(array)
        return solve_factored(factors, pivots, right), infos


def _inverse(operator: str, matrix: Tensor, check_errors: bool, kind: str | None) -> Planned[Any]:
    """Plan the inverse of each matrix of (..., n, n), and int32 infos: 0, or the first zero pivot counted from 1.
    Raises LinAlgError for a singular matrix if `check_errors`, RuntimeError for other shapes and dtypes."""
    dtype, sizes = stacks.check_squares(operator, matrix)

    def compute(array: Array) -> tuple[Array, Array]:
        found, infos = _solved(array, np.eye(sizes[-1], dtype=dtype.numpy))
        if check_errors and infos.any():
            stacks.fail(operator, infos, stacks.SINGULAR)
        return found, infos

    wanted = (column_major, sizes, dtype), (contiguous_meta, sizes[:-2], int32)
    if not has_routines([matrix.meta], sizes[:-2], "getrf", "getrs"):
        return planned_arrays(kind, (matrix,), compute, *wanted)
    plan = LapackPlan([matrix.meta], metas_of(wanted[: 1 if kind is None else 2]), sizes[:-2], dtype)
    factors = _Factors(plan, plan.inputs[0], (operator, stacks.SINGULAR) if check_errors else None)
    inverse = plan.fill(plan.results[0], 0)
    plan.fill(plan.diagonal(inverse), 1)
    factors.solve(inverse)
    for result in plan.results[1:]:
        plan.copy(result, factors.infos)
    return plan.planned_as(kind, matrix)


class _Factors:
    """The LU factorization of square matrices in a plan, which raises the error of an operator with a reason for a
    singular one if there is a `check`. Row-major matrices are transposed instead of copied another way."""

    def __init__(self, plan: LapackPlan, matrices: View, check: tuple[str, str] | None = None) -> None:
        self.plan, n, integer = plan, matrices.sizes[-1], plan.routine("getrf").integer
        self.turned = not plan.dtype.is_complex and plan.is_row_major(matrices)
        source = matrices.turned() if self.turned else matrices
        self.factors = plan.copy(plan.temporary(column_major(source.sizes, plan.dtype)), source)
        self.pivots, self.infos = plan.temporary(contiguous_meta(source.sizes[:-1], integer)), plan.info("getrf")
        plan.run("getrf", [self.factors, self.pivots, self.infos], (n, n, n), n**3)
        if check is not None:
            plan.check(self.infos, *check, stacks.LinAlgError)

    def signed_diagonal(self) -> View:
        """Return the numbers, a vector for each matrix, whose product is the determinant."""
        plan, dtype, pivots = self.plan, self.plan.dtype, self.pivots
        places = plan.constant(from_array(np.arange(1, pivots.sizes[-1] + 1), pivots.dtype))
        signed = plan.temporary(contiguous_meta(pivots.sizes, dtype))
        kernel = formula_kernel("pivoted", [dtype, pivots.dtype, pivots.dtype], dtype, dtype)
        spread = places.along(len(pivots.sizes) - 1, pivots.sizes)
        plan.loop(kernel, [signed], [plan.diagonal(self.factors), pivots, spread])
        return signed

    def solve(self, sides: View, *, left: bool = True) -> None:
        """Add the solutions in place of column-major sides, or if not `left` of row-major ones before the matrices."""
        n, count = self.factors.sizes[-1], sides.sizes[-1 if left else -2]
        views = [self.factors, self.pivots, sides, self.plan.info("getrs")]
        self.plan.run("getrs", views, ("NT"[self.turned is left], n, count, n, n), n * n * count)


@plannable
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """(inverse, info) of each matrix."""
    return _inverse("linalg.inv_ex", A, check_errors, "linalg_inv_ex")


@plannable
def linalg_inv(A: Tensor) -> Tensor | Planned[Tensor]:
    """The inverse of each matrix. Raises LinAlgError for singular ones."""
    return _inverse("linalg.inv", A, True, None)


NOT_SOLVED = "The solver failed because the input matrix is singular."


def _solution(
    operator: str, A: Tensor, B: Tensor, left: bool, check_errors: bool, kind: str | None
) -> Planned[Any]:
    """Plan X and int32 infos of ``A @ X = B``; leading dims broadcast; B is a matrix or, as `is_vector` says, a vector.
    Raises LinAlgError for a singular matrix if `check_errors`, RuntimeError for other shapes and dtypes."""
    stacks.check_squares(operator, A)
    dtype, _ = stacks.check_one_dtype(operator, A, B)
    if not B.meta.ndim:
        stacks.check_matrix(operator, B, "B")
    vector = stacks.is_vector(A.meta.sizes, B.meta.sizes)
    right = (*B.meta.sizes, 1) if vector else B.meta.sizes
    sizes = stacks.solved_sizes(operator, A.meta.sizes, right, left)
    wanted = sizes[:-1] if vector else sizes

    def compute(array: Array, given: Array) -> tuple[Array, Array]:
        given = given.reshape(right)
        if left:
            found, infos = _solved(array, given)
        else:
            turned, infos = _solved(np.swapaxes(array, -2, -1), np.swapaxes(given, -2, -1))
            found = np.swapaxes(turned, -2, -1)
        if check_errors and infos.any():
            stacks.fail(f"torch.{operator}", infos, NOT_SOLVED)
        return found.reshape(wanted), infos

    layout, infos, batch = column_major if left else contiguous_meta, A.meta.sizes[:-2], sizes[:-2]
    results = (layout, wanted, dtype), (contiguous_meta, infos, int32)
    if not (B.meta.numel and infos == batch and has_routines([A.meta], batch, "getrf", "getrs")):
        return planned_arrays(kind, (A, B), compute, *results)
    plan = LapackPlan([A.meta, B.meta], metas_of(results[: 1 if kind is None else 2]), batch, dtype)
    factors = _Factors(plan, plan.inputs[0], (f"torch.{operator}", NOT_SOLVED) if check_errors else None)
    given, result = plan.inputs[1], plan.results[0]
    if vector:
        given, result = (one._replace(sizes=(*one.sizes, 1), strides=(*one.strides, 0)) for one in (given, result))
    solution = plan.temporary(layout(sizes, dtype)) if vector else result
    factors.solve(plan.copy(solution, given.expanded(sizes)), left=left)
    if vector:
        plan.copy(result, solution)
    for found in plan.results[1:]:
        plan.copy(found, factors.infos)
    return plan.planned_as(kind, A, B)


@plannable
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """(result, info) of ``A @ X = B``, or with `left` False of ``X @ A = B``."""
    return _solution("linalg.solve_ex", A, B, left, check_errors, "linalg_solve_ex")


@plannable
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor | Planned[Tensor]:
    """X of ``A @ X = B``, or with `left` False of ``X @ A = B``. Raises LinAlgError for singular matrices."""
    return _solution("linalg.solve", A, B, left, True, None)


@plannable
def linalg_solve_triangular(
    self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor | Planned[Tensor]:
    """X of ``A @ X = B`` (``X @ A = B`` if not `left`), A being one triangle of `self`, with ones if `unitriangular`. A
    zero on the diagonal gives inf and NaN. Raises RuntimeError unless sizes and dtypes fit."""
    operator = "linalg.solve_triangular"
    stacks.check_float(operator, self)
    dtype, _ = stacks.check_one_dtype(operator, self, B)
    stacks.check_matrix(operator, B, "B")
    sizes = stacks.solved_sizes(operator, stacks.check_square(operator, self), B.meta.sizes, left)

    def compute(*given: Array) -> tuple[Array]:
        array, right = (one if left else np.swapaxes(one, -2, -1) for one in given)
        found = substitute(array, right, upper=upper == left, unit=unitriangular)
        return (found if left else np.swapaxes(found, -2, -1),)

    layout = column_major if left else contiguous_meta
    if not has_routines([self.meta, B.meta], sizes[:-2], "trsm"):
        return planned_arrays(None, (self, B), compute, (layout, sizes, dtype))
    plan = LapackPlan([self.meta, B.meta], [layout(sizes, dtype)], sizes[:-2], dtype)
    one, solution = plan.constant(filled((1,), dtype, 1)), plan.copy(plan.results[0], plan.inputs[1])
    n, count = self.meta.sizes[-1], sizes[-1 if left else -2]
    how = "L", "LU"[upper], "TN"[left], "NU"[unitriangular]
    views = [one, plan.column_major(plan.inputs[0]), solution]
    plan.run("trsm", views, (*how, n, count, n, n), n * n * count, shared=[one])
    return plan.planned(self, B)


@plannable
def _copied(A: Tensor, sizes: tuple[int, ...]) -> Tensor | Planned[Tensor]:
    """A column-major copy, which broadcasts to `sizes`."""
    return planned_arrays(None, (A,), lambda array: (array,), (column_major, sizes, A.meta.dtype))


@composite
def triangular_solve(
    part: Part, self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """(solution, cloned_coefficient) of ``A @ X = self``, or of ``A.mT @ X = self`` if `transpose`. Raises RuntimeError
    unless sizes and dtypes fit."""
    operator = "triangular_solve"
    part.run(warn_deprecated, operator, "linalg.solve_triangular")
    for tensor, name in ((self, "b"), (A, "A")):
        if tensor.meta.ndim < 2:
            raise RuntimeError(
                f"torch.{operator}: Expected {name} to have at least 2 dimensions, but it has {tensor.meta.ndim} "
                f"dimensions instead"
            )
    stacks.check_float(operator, A)
    stacks.check_one_dtype(operator, self, A, ("b", "A"))
    square, b = stacks.check_square(operator, A), self.meta.sizes
    if square[-1] != b[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {operator}: each A matrix is {square[-2]} by {square[-1]} but each b "
            f"matrix is {b[-2]} by {b[-1]}"
        )
    sizes = broadcast_shapes((b[:-2], square[:-2])) + square[-2:]
    clone = part.plan(_copied, A, sizes)
    triangle = part("transpose.int", A, -2, -1) if transpose else A
    solution = part("linalg_solve_triangular", triangle, self, upper=upper != transpose, unitriangular=unitriangular)
    return result_type("triangular_solve")(solution, clone)


@composite
def linalg_tensorinv(part: Part, self: Tensor, ind: int = 2) -> Tensor:
    """The inverse of the map from the dims behind the first `ind` to those. Raises RuntimeError unless it is square."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    sizes = self.meta.sizes
    first, rest = sizes[:ind], sizes[ind:]
    if prod(first) != prod(rest):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(rest)} != {prod(first)}"
        )
    found = part("linalg_inv", part("reshape", self, (prod(first), prod(rest))))
    return part("reshape", found, (*rest, *first))


@composite
def linalg_tensorsolve(part: Part, self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with ``tensordot(self, X, X.ndim) == other``; `dims` of `self` are moved to the end first. Raises RuntimeError
    unless the map is square."""
    source = self
    if dims is not None:
        moved = wrap_dims("linalg.tensorsolve", dims, self.meta.ndim)
        source = part("permute", self, (*(d for d in range(self.meta.ndim) if d not in moved), *moved))
    wanted = source.meta.sizes[other.meta.ndim :]
    if prod(wanted) != prod(source.meta.sizes[: other.meta.ndim]):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {prod(wanted)} != {prod(source.meta.sizes[: other.meta.ndim])}"
        )
    matrix = part("reshape", source, (prod(wanted), prod(wanted)))
    return part("reshape", part("linalg_solve", matrix, part("reshape", other, (prod(wanted),))), wanted)


@composite
def linalg_matrix_power(part: Part, self: Tensor, n: int) -> Tensor:
    """The n-th power of each matrix; negative powers of the inverse, and the identity for 0.

    Raises RuntimeError for other shapes, NotImplementedError for bool, LinAlgError for a negative power of a singular
    matrix.
    """
    sizes = stacks.check_square("linalg.matrix_power", self)
    meta = self.meta
    if n == 0:
        identity = part("eye", sizes[-1], dtype=meta.dtype, device=meta.device)
        chosen = part("ones", (), dtype=bool_, device=meta.device)
        # The result depends on self as far as autograd sees, and has gradients of zeros.
        return part("contiguous", part("where.self", chosen, identity, self))
    if meta.dtype is bool_:
        raise NotImplementedError("\"linalg.matrix_power\" not implemented for 'Bool'")
    base = part("linalg_inv", self) if n < 0 else self
    left, power = abs(n), None
    while left:
        if left & 1:
            power = base if power is None else part("matmul", power, base)
        left >>= 1
        if left:
            base = part("matmul", base, base)
    assert power is not None
    return part("clone", power) if power is self else power


@composite
def linalg_matrix_exp(part: Part, self: Tensor) -> Tensor:
    """Return the exponential of each matrix, computed in double precision. Raises RuntimeError for other shapes, bool
    and ints."""
    stacks.check_float("linalg.matrix_exp", self, halves=True)
    sizes = stacks.check_square("linalg.matrix_exp", self)
    return part("exp", self) if sizes[-1] == 1 else part.plan(_exponentials, self)


@plannable
def _exponentials(self: Tensor) -> Tensor | Planned[Tensor]:
    sizes, dtype = self.meta.sizes, self.meta.dtype
    wide, wanted = np.complex128 if dtype.is_complex else np.float64, (contiguous_meta, sizes, dtype)
    single = dtype.to_real().itemsize < 8

    def compute(array: Array) -> tuple[Array]:
        return (exponential(array.astype(wide), single=single),)

    return planned_arrays(None, (self,), compute, wanted)
