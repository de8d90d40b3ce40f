"""Matrix products with sparse tensors in coordinate form; the loops are SciPy's where it is installed."""

from __future__ import annotations

import functools
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, NoReturn

from ..core import lazy_numpy as np
from ..core.dtype import complex64, complex128, float32, float64, int64
from ..core.promotion import UPSTREAM_NAMES
from ..operators.arrays import Array, from_array, values
from ..operators.invoke import apply
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from .coalescing import coalesced, grouped, sums
from .conversion import check_inside
from .coo_tensor import columns, coo, index_tensor, is_coo, parts_of, places_of, zeros
from .copying import become


class Matrix(NamedTuple):
    """A matrix in row form: elements, their columns, and where each row begins."""

    data: Array
    indices: Array
    indptr: Array
    shape: tuple[int, ...]


SCIPY_DTYPES = (float32, float64, complex64, complex128)
"""Dtypes whose products SciPy adds up as they are."""


def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices: sparse if both are. Raises RuntimeError for other dims, sizes that do not fit
    and dtypes that differ."""
    check_matrices("mm", self, mat2)
    if is_coo(self) and is_coo(mat2):
        return sparse_product(self, mat2)
    if is_coo(self):
        return by_dense(self, mat2)
    return apply("t", by_dense(apply("t", mat2), apply("t", self)))


def mm_of_strided(sparse: Tensor, dense: Tensor) -> Tensor:
    """Return the product of two strided matrices."""
    return apply("mm", sparse, dense)


def check_matrices(operator: str, first: Tensor, second: Tensor) -> None:
    """Raise RuntimeError unless the product of two matrices is defined."""
    for name, one in (("mat1", first), ("mat2", second)):
        if one.meta.ndim != 2 or (is_coo(one) and parts_of(one).sparse_dim != 2):
            raise RuntimeError(f"{operator}(): {name} must be a matrix, got sizes {list(one.meta.sizes)}")
    (rows, inner), (other, width) = first.meta.sizes, second.meta.sizes
    if inner != other:
        raise RuntimeError(
            f"{operator}(): mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{width})"
        )
    if first.meta.dtype is not second.meta.dtype:
        raise RuntimeError(
            f"{operator}(): expected mat1 and mat2 to have the same dtype, but got: "
            f"{UPSTREAM_NAMES[first.meta.dtype.name]} != {UPSTREAM_NAMES[second.meta.dtype.name]}"
        )


@functools.cache
def scipy_sparse() -> Any:
    """Return SciPy's module of sparse arrays; None where it is not installed."""
    return import_module("scipy.sparse") if find_spec("scipy") is not None else None


def by_dense(self: Tensor, dense: Tensor) -> Tensor:
    """Return the strided product of a sparse and a strided matrix."""
    height, width = self.meta.sizes[0], dense.meta.sizes[1]
    parts = parts_of(self)
    rows, places = columns(self)
    check_inside(columns(self), self.meta.sizes)
    module = scipy_sparse() if self.meta.dtype in SCIPY_DTYPES else None
    if module is not None and parts.nnz and width:
        matrix = module.coo_array((values(parts.values), (rows, places)), shape=self.meta.sizes).tocsr()
        return from_array(matrix @ values(dense), self.meta.dtype)
    taken = apply("index_select", dense, 0, index_tensor(places))
    terms = apply("mul.Tensor", taken, apply("unsqueeze", parts.values, 1))
    return apply("index_add_", zeros((height, width), self.meta.dtype), 0, index_tensor(rows), terms)


def sparse_product(self: Tensor, other: Tensor) -> Tensor:
    """Return the coalesced product of two sparse matrices, specified where any two factors meet."""
    first, second = coalesced(self), coalesced(other)
    (rows, inner), (begins, ends) = columns(first), columns(second)
    sizes = (self.meta.sizes[0], other.meta.sizes[1])
    check_inside(columns(first), first.meta.sizes)
    check_inside(columns(second), second.meta.sizes)
    if scipy_sparse() is not None and self.meta.dtype in SCIPY_DTYPES:
        made = row_product(in_row_form(first), in_row_form(second))
        where = np.empty((2, made.data.size), np.int64)
        where[0], where[1] = _row_columns(made)
        return coo(from_array(where, int64), from_array(made.data, self.meta.dtype), sizes, coalesced=True)
    start = np.searchsorted(begins, inner, "left")
    count = np.searchsorted(begins, inner, "right") - start
    mine = np.repeat(np.arange(rows.size), count)
    theirs = np.arange(mine.size) - np.repeat(np.cumsum(count) - count, count) + np.repeat(start, count)
    factors = [
        apply("index_select", parts_of(one).values, 0, index_tensor(places))
        for one, places in ((first, mine), (second, theirs))
    ]
    found = np.stack([rows[mine], ends[theirs]])
    _, order, begin = grouped(places_of(found, sizes))
    terms = apply("mul.Tensor", *factors)
    return coo(index_tensor(found[:, order[begin]]), sums(terms, order, begin), sizes, coalesced=True)


def row_product(first: Matrix, second: Matrix) -> Matrix:
    """Return the product of two matrices in row form, with the columns of each row in order, specified where any two
    factors meet. SciPy drops sums that are 0, so that a product of truth values tells where that is."""
    csr_array = scipy_sparse().csr_array
    product = csr_array(first[:3], shape=first.shape) @ csr_array(second[:3], shape=second.shape)
    met = [csr_array((np.ones(one.data.size, bool), *one[1:3]), shape=one.shape) for one in (first, second)]
    pattern = met[0] @ met[1]
    product.sort_indices()
    found, kept = product.data, product
    if product.nnz != pattern.nnz:
        pattern.sort_indices()
        found, kept = np.zeros(pattern.nnz, product.dtype), pattern
        where, some = (places_of(np.stack(_row_columns(one)), one.shape) for one in (pattern, product))
        found[np.searchsorted(where, some)] = product.data
    return Matrix(found, kept.indices, kept.indptr, kept.shape)


def in_row_form(self: Tensor) -> Matrix:
    """Return a coalesced matrix in row form."""
    rows, across = columns(self)
    pointers = np.zeros(self.meta.sizes[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=self.meta.sizes[0]), out=pointers[1:])
    return Matrix(values(parts_of(self).values), across, pointers, self.meta.sizes)


def _row_columns(matrix: Any) -> tuple[Array, Array]:
    """Return the row and the column of each element of a matrix in row form."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices


def mv(self: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a sparse matrix and a strided vector. Raises RuntimeError for what does not fit."""
    if not is_coo(self) or is_coo(vec) or vec.meta.ndim != 1:
        raise RuntimeError(f"mv(): expected a sparse matrix and a strided vector, got {vec.meta.ndim} dims of vec")
    if self.meta.sizes[-1] != vec.meta.sizes[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return apply("squeeze.dim", mm(self, apply("unsqueeze", vec, 1)), 1)


def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * mat1 @ mat2``; with `beta` 0 the elements of `self` do not count. Raises
    RuntimeError for a sparse `self` with a strided product, and for sizes that do not fit."""
    made = mm(mat1, mat2)
    if is_coo(self) and not is_coo(made):
        raise RuntimeError("addmm(): a sparse 'self' and a strided product have no common layout")
    scaled = made if alpha == 1 else apply("mul.Scalar", made, alpha)
    if beta == 0:
        return scaled
    return apply("add.Tensor", self if beta == 1 else apply("mul.Scalar", self, beta), scaled)


def addmm_(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Make a tensor ``beta * self + alpha * mat1 @ mat2``, as `addmm`. Raises RuntimeError where that has another
    layout."""
    made = apply("addmm", self, mat1, mat2, beta=beta, alpha=alpha)
    if made.layout is not self.layout:
        raise RuntimeError(
            f"addmm_(): the result has layout {made.layout.name}, and self has layout {self.layout.name}"
        )
    return become(self, made) if isinstance(self, SparseTensor) else apply("copy_", self, made)


def addmv(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * mat @ vec`` for a sparse matrix; with `beta` 0 the elements of `self` do not
    count."""
    made = apply("mv", mat, vec)
    scaled = made if alpha == 1 else apply("mul.Scalar", made, alpha)
    if beta == 0:
        return scaled
    return apply("add.Tensor", self if beta == 1 else apply("mul.Scalar", self, beta), scaled)


def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of a batch of sparse matrices with strided ones, strided. Raises RuntimeError for what does
    not fit."""
    if not is_coo(self) or is_coo(mat2):
        raise RuntimeError("bmm(): expected a sparse self and a strided mat2")
    if self.meta.ndim != 3 or mat2.meta.ndim != 3 or self.meta.sizes[0] != mat2.meta.sizes[0]:
        raise RuntimeError(
            f"bmm(): expected two batches of equal length, got sizes {list(self.meta.sizes)} and "
            f"{list(mat2.meta.sizes)}"
        )
    made = [mm(apply("select.int", self, 0, k), apply("select.int", mat2, 0, k)) for k in range(self.meta.sizes[0])]
    if not made:
        return zeros((0, self.meta.sizes[1], mat2.meta.sizes[2]), self.meta.dtype)
    return apply("stack", made)


def matmul(self: Tensor, other: Tensor) -> Tensor:
    """Return the product by the number of dims: of two matrices, a matrix and a vector, or batches of matrices. Raises
    RuntimeError for others."""
    dims = self.meta.ndim, other.meta.ndim
    if dims == (2, 2):
        return apply("mm", self, other)
    if dims == (2, 1):
        return apply("mv", self, other)
    if dims == (3, 3):
        return apply("bmm", self, other)
    return _no_product(self, other)


def _no_product(self: Tensor, other: Tensor) -> NoReturn:
    raise RuntimeError(
        f"matmul(): sparse tensors are multiplied as matrices, matrices and vectors, or batches of matrices, got sizes "
        f"{list(self.meta.sizes)} and {list(other.meta.sizes)}"
    )


