"""Norms of matrices, linalg.norm, and condition numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...core.dtype import DType
from ...core.errors import wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor
from ..arguments import dtype_argument
from ..invoke import apply, invoke, reshape
from ..norms import norm_compute_dtype
from ..reductions import reduced_sizes
from .checks import FULL, check_float, check_matrix, check_square

Order = float | str | None
OPERATOR = "linalg.matrix_norm"
NAMES = ("fro", "nuc")
NUMBERS = (1, 2, math.inf)


def linalg_matrix_norm(
    self: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
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
    source = apply("to.dtype", self, chosen)
    if ord == "fro":
        return apply("linalg_vector_norm", source, 2, (rows, columns), keepdim)
    spectral = ord == "nuc" or abs(float(ord)) == 2
    inner, outer = (rows, columns) if not spectral and abs(float(ord)) == 1 else (columns, rows)
    over = [self.meta.sizes[d] for d in ((rows, columns) if spectral else (outer,))]
    kept = reduced_sizes(self.meta.sizes, tuple(sorted((rows, columns))), keepdim)
    if not isinstance(ord, str) and ord > 0 and not all(over):
        return apply("new_zeros", source, kept, dtype=chosen.to_real())
    best = "amin" if not isinstance(ord, str) and ord < 0 else "amax"
    if not spectral:
        sums = apply("sum.dim_IntList", apply("abs", source), (inner,), keepdim)
        return apply(best, sums, (outer - (inner < outer and not keepdim),), keepdim)
    if own.name not in FULL:
        raise RuntimeError(f"{OPERATOR}: Low precision dtypes not supported. Got {UPSTREAM_NAMES[own.name]}")
    if ord != "nuc" and not all(over) and self.meta.device.type != "meta":
        raise RuntimeError(f"{OPERATOR}: the norm of order {ord} has no identity, so matrices must not be empty")
    found = apply("linalg_svdvals", apply("movedim.intlist", source, (rows, columns), (-2, -1)))
    if ord == "nuc":
        return reshape(apply("sum.dim_IntList", found, (-1,)), kept)
    if not all(over):
        return apply("new_zeros", source, kept, dtype=chosen.to_real())
    return reshape(apply(best, found, (-1,)), kept)


def linalg_norm(
    self: Tensor,
    ord: Order = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Vector norm over one dim, matrix norm over two; without `ord` the 2-norm of all elements of `dim`.

    Raises RuntimeError for more dims than an order can take.
    """
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    ndim = self.meta.ndim
    if ord is None:
        source = reshape(self, (-1,)) if dims is None and not keepdim else self
        return apply("linalg_vector_norm", source, 2, dims, keepdim, dtype=dtype)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D."
        )
    if dims is None:
        dims = tuple(range(ndim))
    if len(dims) == 2:
        return linalg_matrix_norm(self, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: the order {ord!r} is one of matrices, so two dims are needed, got {dims}")
    return apply("linalg_vector_norm", self, ord, dims, keepdim, dtype=dtype)


def linalg_cond(self: Tensor, p: Order = None) -> Tensor:
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
        return apply("new_zeros", self, sizes[:-2], dtype=dtype.to_real())
    if p is None or p in (2, -2):
        check_float("linalg.cond", self)
        found = apply("linalg_svdvals", self)
        largest, smallest = apply("select.int", found, -1, 0), apply("select.int", found, -1, -1)
        return apply("div.Tensor", smallest, largest) if p == -2 else apply("div.Tensor", largest, smallest)
    check_square(f"linalg.cond(ord={p})", self)
    inverse, info = invoke("linalg_inv_ex", self)
    if p == "nuc":
        lost = apply("logical_not", apply("isfinite", inverse))
        inverse = apply("masked_fill.Scalar", inverse, lost, 0)
    norms = [linalg_matrix_norm(one, p) for one in (self, inverse)]
    singular = apply("ne.Scalar", info, 0)
    return apply("masked_fill.Scalar", apply("mul.Tensor", *norms), singular, math.inf)


def nuclear_norm_dim(self: Tensor, dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of the matrices that two dims span."""
    return linalg_matrix_norm(self, "nuc", dim, keepdim)


def nuclear_norm(self: Tensor, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of each matrix. Raises RuntimeError for fewer than two dims."""
    return nuclear_norm_dim(self, keepdim=keepdim)


def frobenius_norm_dim(self: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The square root of the sum of squared moduli over one or two dims. Raises RuntimeError for more."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"frobenius_norm(): Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return apply("linalg_vector_norm", self, 2, dims or None, keepdim)
