"""Between the strided layout and coordinate form."""

from __future__ import annotations

from math import prod

from ..core import lazy_numpy as np
from ..core.dtype import DType, bool_
from ..core.errors import type_error
from ..operators.arrays import Array, true_places, values
from ..operators.invoke import apply
from ..tensor.array_view import array_of
from ..tensor.tensor import Tensor
from .coalescing import coalesced
from .coo_tensor import (
    columns,
    coo,
    dense_sizes,
    flattened,
    index_tensor,
    parts_of,
    places_of,
    sparse_sizes,
    zeros,
)


def dense_to_coo(self: Tensor, sparse_dim: int) -> Tensor:
    """Return the elements that are not zero in coordinate form; NaN is kept, zeros of both signs are not. With fewer
    sparse dims than dims the blocks that have such an element are kept. Raises RuntimeError for a `sparse_dim` out of
    range."""
    meta = self.meta
    if not 0 <= sparse_dim <= meta.ndim:
        raise RuntimeError(
            f"to_sparse(): dense_to_sparse: sparse_dim argument must be in [0,{meta.ndim}] range, but {sparse_dim} is "
            f"given"
        )
    if meta.ndim and not sparse_dim:
        raise RuntimeError("to_sparse(): dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    kept = values(self) != 0
    sizes = meta.sizes[:sparse_dim]
    if sparse_dim < meta.ndim:
        kept = kept.any(axis=tuple(range(sparse_dim, meta.ndim)))
    indices = np.stack(true_places(kept)) if sparse_dim else np.empty((0, int(kept)), np.int64)
    rows = index_tensor(places_of(indices, sizes))
    return coo(
        index_tensor(indices), apply("index_select", flattened(self, sizes), 0, rows), meta.sizes, coalesced=True
    )


def coo_to_dense(self: Tensor) -> Tensor:
    """Return the tensor with strides; values of equal indices are summed. Raises IndexError for an index outside of the
    sizes."""
    one = coalesced(self) if self.meta.dtype is bool_ else self
    parts = parts_of(one)
    sizes = sparse_sizes(one)
    indices = columns(one)
    check_inside(indices, sizes)
    places = places_of(indices, sizes)
    flat = zeros((prod(sizes), *dense_sizes(one)), one.meta.dtype)
    if parts.coalesced:
        # Zeros of both signs become 0, as when they are added to it.
        signless = parts.values if one.meta.dtype is bool_ else apply("add.Scalar", parts.values, 0)
        array_of(flat)[places] = values(signless)
    else:
        apply("index_add_", flat, 0, index_tensor(places), parts.values)
    return apply("reshape", flat, one.meta.sizes)


def check_inside(indices: Array, sizes: tuple[int, ...]) -> None:
    """Raise IndexError unless every index lies within the size of its dim."""
    for dim, (row, size) in enumerate(zip(indices, sizes, strict=True)):
        check_dim(dim, row, size)


def check_dim(dim: int, row: Array, size: int) -> None:
    """Raise IndexError unless every index of a dim lies within its size."""
    if row.size and (row.min() < 0 or row.max() >= size):
        wrong = row[(row < 0) | (row >= size)][0]
        raise IndexError(f"index {wrong} is out of bounds for sparse dim {dim} of size {size}")


def to_dense(self: Tensor, dtype: DType | None = None, masked_grad: bool | None = None) -> Tensor:
    """Return a sparse tensor with strides. Raises RuntimeError for a dtype: nothing is converted on the way."""
    if dtype is not None:
        raise RuntimeError("to_dense(): dtype argument is not supported by sparse_to_dense")
    return coo_to_dense(self)


def dense_to_dense(self: Tensor, dtype: DType | None = None, masked_grad: bool | None = None) -> Tensor:
    """Return a strided tensor itself, or in another dtype."""
    if dtype is None:
        return self
    if not isinstance(dtype, DType):
        type_error("to_dense", "dtype", dtype, "a dtype or None")
    return apply("to.dtype", self, dtype)
