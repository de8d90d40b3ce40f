"""Norms, condition numbers and ranks of matrices, pseudo-inverses and least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import lazy_numpy as np
from ...core.device import cpu
from ...core.dtype import DType, bool_, int64
from ...core.errors import wrap_dim
from ...core.limits import finfo
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta
from ..arguments import dtype_argument
from ..arrays import filled, filled_arrays, values
from ..composition import Part, composite
from ..norms import norm_compute_dtype
from ..plan import Planned, plannable
from ..reductions import reduced_sizes
from .decompositions import decomposed, finite_for
from .lapack_plans import LapackPlan
from .stacks import FULL, adjoint_of, check_float, check_matrix, check_square, column_major, is_vector

Order = float | str | None
OPERATOR = "linalg.matrix_norm"
NAMES = ("fro", "nuc")
NUMBERS = (1, 2, math.inf)


@composite
def linalg_matrix_norm(
    part: Part, self: Tensor, ord: float | str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The norm of the matrices that two dims span: "fro", "nuc", or the induced norms 1, 2 and inf (or their minima).

    Raises RuntimeError for another order, other than two different dims, bool, ints, and a dtype that narrows.
    """
    check_matrix(OPERATOR, self)
    own = check_float(OPERATOR, self, halves=True)
    if len(dim) != 2:
        raise RuntimeError(f"{OPERATOR}: dim must be a 2-tuple. Got {list(dim)}")
    rows, columns = (wrap_dim(OPERATOR, d, self.meta.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"{OPERATOR}: dims must be different. Got ({dim[0]}, {dim[1]})")
    chosen = norm_compute_dtype(OPERATOR, own, dtype_argument(OPERATOR, dtype))
    if ord not in NAMES if isinstance(ord, str) else abs(ord) not in NUMBERS:
        raise RuntimeError(f"{OPERATOR}: Order {ord} not supported.")
    source = part("to.dtype", self, chosen)
    if ord == "fro":
        return part("linalg_vector_norm", source, 2, (rows, columns), keepdim)
    spectral = ord == "nuc" or abs(float(ord)) == 2
    inner, outer = (rows, columns) if not spectral and abs(float(ord)) == 1 else (columns, rows)
    over = [self.meta.sizes[d] for d in ((rows, columns) if spectral else (outer,))]
    best = "amin" if not isinstance(ord, str) and ord < 0 else "amax"
    if not spectral and (best == "amin" or all(over)):
        sums = part("sum.dim_IntList", part("abs", source), (inner,), keepdim)
        return part(best, sums, (outer - (inner < outer and not keepdim),), keepdim)
    kept = reduced_sizes(self.meta.sizes, tuple(sorted((rows, columns))), keepdim)
    if not isinstance(ord, str) and best == "amax" and not all(over):
        return part("new_zeros", source, kept, dtype=chosen.to_real())
    if own.name not in FULL:
        raise RuntimeError(f"{OPERATOR}: Low precision dtypes not supported. Got {UPSTREAM_NAMES[own.name]}")
    if ord != "nuc" and not all(over) and self.meta.device.type != "meta":
        raise RuntimeError(f"{OPERATOR}: the norm of order {ord} has no identity, so matrices must not be empty")
    found = part("linalg_svdvals", part("movedim.intlist", source, (rows, columns), (-2, -1)))
    if ord == "nuc":
        return part("reshape", part("sum.dim_IntList", found, (-1,)), kept)
    if not all(over):
        return part("new_zeros", source, kept, dtype=chosen.to_real())
    return part("reshape", part(best, found, (-1,)), kept)


def _matrix_norm(order: float | str) -> str:
    """Return the operator of matrix norms for an order."""
    return "linalg_matrix_norm.str_ord" if isinstance(order, str) else "linalg_matrix_norm"


@composite
def linalg_norm(
    part: Part, /, self: Tensor, ord: Order = None, dim: int | Sequence[int] | None = None, keepdim: bool = False,
    **options: Any,
) -> Tensor:  # fmt: skip
    """Vector norm over one dim, matrix norm over two; without `ord` the 2-norm of all elements of `dim`. Raises
    RuntimeError for more dims than an order can take."""
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    ndim = self.meta.ndim
    if ord is None:
        return part("linalg_vector_norm", self, 2, dims, keepdim, **options)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D.")
    if dims is None:
        dims = tuple(range(ndim))
    if len(dims) == 2:
        return part(_matrix_norm(ord), self, ord, dims, keepdim, **options)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: the order {ord!r} is one of matrices, so two dims are needed, got {dims}")
    return part("linalg_vector_norm", self, ord, dims, keepdim, **options)


@composite
def linalg_cond(part: Part, self: Tensor, p: Order = None) -> Tensor:
    """The condition number of each matrix: the ratio of its extreme singular values, or for other orders than None,
    2 and -2 the product of the norms of the matrix and its inverse; inf for singular matrices.

    Raises RuntimeError for another order, and where an inverse is needed for matrices that are not square.
    """
    sizes = self.meta.sizes
    if len(sizes) < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in NAMES if isinstance(p, str) else p is not None and abs(p) not in NUMBERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    dtype = self.meta.dtype
    if not self.meta.numel:
        return part("new_zeros", self, sizes[:-2], dtype=dtype.to_real())
    if p is None or p in (2, -2):
        check_float("linalg.cond", self)
        found = part("linalg_svdvals", self)
        largest, smallest = part("select.int", found, -1, 0), part("select.int", found, -1, -1)
        return part("div.Tensor", smallest, largest) if p == -2 else part("div.Tensor", largest, smallest)
    check_square(f"linalg.cond(ord={p})", self)
    inverse, info = part.several("linalg_inv_ex", self)
    if p == "nuc":
        lost = part("logical_not", part("isfinite", inverse))
        inverse = part("masked_fill.Scalar", inverse, lost, 0)
    norms = [part(_matrix_norm(p), one, p) for one in (self, inverse)]
    singular = part("ne.Scalar", info, 0)
    return part("where.ScalarSelf", singular, math.inf, part("mul.Tensor", *norms))


@composite
def nuclear_norm_dim(part: Part, self: Tensor, dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of the matrices that two dims span."""
    return part("linalg_matrix_norm.str_ord", self, "nuc", dim, keepdim)


@composite
def nuclear_norm(part: Part, self: Tensor, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of each matrix. Raises RuntimeError for fewer than two dims."""
    return part("nuclear_norm.dim", self, (-2, -1), keepdim)


@composite
def frobenius_norm_dim(part: Part, self: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The square root of the sum of squared moduli over one or two dims. Raises RuntimeError for more."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"frobenius_norm(): Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return part("linalg_vector_norm", self, 2, dims or None, keepdim)


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
Bound = float | Tensor | None


def _epsilon(dtype: DType, sizes: tuple[int, ...]) -> float:
    return float(finfo(dtype.to_real()).eps) * max(sizes[-2:])


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


def _by_gelsy(self: Tensor, b: Tensor, count: int, share: float, vector: bool) -> Planned[Any]:
    """Plan the solutions of least norm for `count` right sides, and the ranks."""
    (*batch, m, n), dtype = self.meta.sizes, self.meta.dtype
    solution = contiguous_meta((*batch, n), dtype) if vector else column_major((*batch, n, count), dtype)
    none, real = contiguous_meta((0,), dtype.to_real()), dtype.to_real()
    plan = LapackPlan([self.meta, b.meta], [solution, none, contiguous_meta(tuple(batch), int64), none], batch, dtype)
    integer, matrices = plan.routine("gelsy").integer, plan.finite(plan.inputs[0])
    given = plan.inputs[1]
    if vector:
        given = given._replace(sizes=(*given.sizes, 1), strides=(*given.strides, 0))
    sides = plan.temporary(column_major((*batch, max(m, n), count), dtype))
    if n > m:
        plan.fill(sides.narrow(-2, m, n - m), 0)
    plan.copy(sides.narrow(-2, 0, m), given)
    pivots, ranks = [plan.temporary(contiguous_meta(sizes, integer)) for sizes in ((*batch, n), tuple(batch))]
    plan.fill(pivots, 0)
    least = plan.constant(filled((1,), real, share))
    work, room = plan.workspace(m + 2 * n + count)
    spare = [plan.memory(2 * n, real)] if dtype.is_complex else []
    views = [matrices, sides, pivots, least, ranks, work, *spare, plan.info("gelsy")]
    numbers = (m, n, count, m, max(m, n), room)
    plan.run("gelsy", views, numbers, 4 * m * n * min(m, n), shared=[least, work, *spare])
    found = sides.narrow(-2, 0, n)
    plan.copy(plan.results[0], found.select(-1, 0) if vector else found)
    plan.copy(plan.results[2], ranks)
    return plan.planned_as("linalg_lstsq", self, b)


@plannable
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
    share = _epsilon(dtype, (m, n)) if rcond is None or rcond < 0 else rcond
    if chosen == "gelsy" and b.meta.numel and right[:-2] == tuple(given) and finite_for(self, "gelsy"):
        return _by_gelsy(self, b, k, share, vector)
    wide, tall = chosen != "gels", m > n and chosen != "gelsy"
    with_values = chosen in ("gelsd", "gelss")
    found: Any = ()
    if device is cpu:
        matrix = np.broadcast_to(values(self), (*batch, m, n))
        wanted = np.broadcast_to(values(b).reshape(right), (*batch, m, k))
        U, S, Vh = decomposed("linalg.lstsq", matrix, full_matrices=False)
        kept = np.greater(S, share * S.max(-1, keepdims=True, initial=0))
        tall = tall and bool(kept.sum(-1).min(initial=n) == n)
        with np.errstate(all="ignore"):
            scaled = np.matmul(adjoint_of(U), wanted) * np.where(kept, 1 / S, 0)[..., None]
            X = np.matmul(adjoint_of(Vh), scaled)
            residuals = np.square(np.abs(wanted - np.matmul(matrix, X))).sum(-2) if tall else 0
        solution = X[..., 0] if vector else X
        found = solution, residuals, kept.sum(-1) if wide else 0, S if with_values else 0
    results = (
        (contiguous_meta, (*batch, n), dtype) if vector else (column_major, (*batch, n, k), dtype),
        (contiguous_meta, (*batch, k) if tall else (0,), dtype.to_real()),
        (contiguous_meta, batch if wide else (0,), int64),
        (contiguous_meta, (*batch, min(m, n)) if with_values else (0,), dtype.to_real()),
    )
    return filled_arrays("linalg_lstsq", (self,), lambda _: found, *results)


def _limit(part: Part, sizes: Tensor, matrices: TensorMeta, atol: Bound, rtol: Bound) -> Tensor:
    """The size up to which a singular value counts as 0: the larger of `atol` and `rtol` times the largest. `rtol`
    defaults to the dtype's epsilon times the larger size, or to 0 when `atol` is given and not 0."""
    if rtol is None:
        epsilon = _epsilon(matrices.dtype, matrices.sizes)
        if isinstance(atol, Tensor):
            rtol = part("where.Scalar", part("gt.Scalar", atol, 0.0), 0.0, epsilon)
        else:
            rtol = 0.0 if atol else epsilon
    largest = part("amax", sizes, (-1,), True)
    if isinstance(rtol, Tensor):
        limit = part("mul.Tensor", largest, part("unsqueeze", rtol, -1))
    else:
        limit = part("mul.Scalar", largest, rtol)
    if isinstance(atol, Tensor):
        return part("maximum", part("unsqueeze", atol, -1), limit)
    return part("clamp_min", limit, atol or 0.0)


def _pseudo_inverse(part: Part, self: Tensor, atol: Bound, rtol: Bound, hermitian: bool) -> Tensor:
    operator = "linalg.pinv"
    dtype = self.meta.dtype
    if self.meta.ndim < 2 or dtype.name not in FULL:
        raise RuntimeError(
            f"{operator}({dtype.name}{list(self.meta.sizes)}): expected a tensor with 2 or more dimensions of "
            f"float, double, cfloat or cdouble types"
        )
    sizes = check_square("linalg.eigh", self) if hermitian else self.meta.sizes
    batch = _bounded(operator, sizes[:-2], atol, rtol)
    if not self.meta.numel:
        return part("new_zeros", self, (*batch, sizes[-1], sizes[-2]))
    if hermitian:
        found, right = part.several("linalg_eigh", self)
        left = _adjoint(part, right)
    else:
        U, found, Vh = part.several("linalg_svd", self, False)
        left, right = _adjoint(part, U), _adjoint(part, Vh)
    moduli = part("abs", found) if hermitian else found
    kept = part("gt.Tensor", moduli, _limit(part, moduli, self.meta, atol, rtol))
    inverse = part("where.ScalarOther", kept, part("reciprocal", found), 0)
    return part("matmul", part("mul.Tensor", right, part("unsqueeze", inverse, -2)), left)


def _adjoint(part: Part, matrices: Tensor) -> Tensor:
    """The conjugate transpose of each matrix, which is not lazy."""
    own = part("conj_physical", matrices) if matrices.meta.dtype.is_complex else matrices
    return part("transpose.int", own, -2, -1)


@composite
def linalg_pinv_atol_rtol_tensor(
    part: Part, self: Tensor, *, atol: Bound = None, rtol: Bound = None, hermitian: bool = False
) -> Tensor:
    """The pseudo-inverse of each matrix (..., m, n), singular values within the cut left out. Raises RuntimeError."""
    return _pseudo_inverse(part, self, atol, rtol, hermitian)


@composite
def linalg_pinv(part: Part, self: Tensor, rcond: float | Tensor = 1e-15, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse with a relative bound, or one for each matrix."""
    return _pseudo_inverse(part, self, 0.0, rcond, hermitian)


def _rank(part: Part, self: Tensor, atol: Bound, rtol: Bound, hermitian: bool) -> Tensor:
    operator = "torch.linalg.matrix_rank"
    sizes = check_matrix(operator, self, "input")
    check_float(operator, self, "input")
    batch = _bounded(operator, sizes[:-2], atol, rtol)
    if hermitian:
        check_square("linalg.eigh", self)
    if not self.meta.numel:
        return part("new_zeros", self, batch, dtype=int64)
    found = part("abs", part("linalg_eigvalsh", self)) if hermitian else part("linalg_svdvals", self)
    return part("sum.dim_IntList", part("gt.Tensor", found, _limit(part, found, self.meta, atol, rtol)), (-1,))


@composite
def linalg_matrix_rank_atol_rtol_tensor(
    part: Part, self: Tensor, *, atol: Bound = None, rtol: Bound = None, hermitian: bool = False
) -> Tensor:
    """The number of singular values of each matrix beyond the cut. Raises RuntimeError."""
    return _rank(part, self, atol, rtol, hermitian)


@composite
def linalg_matrix_rank(part: Part, self: Tensor, tol: float | Tensor, hermitian: bool = False) -> Tensor:
    """The rank with an absolute bound, or one for each matrix."""
    return _rank(part, self, tol, 0.0, hermitian)
