"""Tensors in coordinate form: indices of shape [sparse_dim, nnz] and values of shape [nnz, *dense sizes].

An element is the sum of the values whose column of indices names it, 0 if there is none. A tensor is *coalesced* when
its columns are distinct and in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from ..core import lazy_numpy as np
from ..core.device import cpu
from ..core.dtype import DType, int64
from ..core.layout import Layout, sparse_coo
from ..dispatch.keys import BACKEND_BIT, FUNCTIONALITY_BIT, RECORDED
from ..operators.arrays import Array, from_array, values
from ..operators.fill import full_of
from ..operators.invoke import apply
from ..tensor.sparse_tensor import SparseTensor, sparse_meta, sparse_tensor
from ..tensor.tensor import Tensor, empty_tensor, view_at_same_place
from ..tensor.tensor_meta import contiguous_meta

KEYS = FUNCTIONALITY_BIT["Sparse"] | BACKEND_BIT["CPU"] | FUNCTIONALITY_BIT["AutocastCPU"] | RECORDED
"""The dispatch keys of a tensor in coordinate form."""


class CooParts:
    """Indices and values, both strided and not watched by autograd, and whether the tensor is known to be coalesced."""

    __slots__ = ("coalesced", "indices", "values")

    layout: Layout = sparse_coo
    names = ("indices", "values")

    def __init__(self, indices: Tensor, values: Tensor, coalesced: bool) -> None:
        self.indices = indices
        self.values = values
        self.coalesced = coalesced

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The parts, the values last."""
        return self.indices, self.values

    @property
    def nnz(self) -> int:
        """The number of specified elements, or of specified dense blocks."""
        return self.values.meta.sizes[0]

    @property
    def sparse_dim(self) -> int:
        """The number of dims that the indices name."""
        return self.indices.meta.sizes[0]

    def remade(self, indices: Tensor, values: Tensor) -> CooParts:
        """Return other tensors with what is known of these."""
        return CooParts(indices, values, self.coalesced)

    def take(self, other: CooParts) -> None:
        """Become what other parts are."""
        self.indices, self.values, self.coalesced = other.indices, other.values, other.coalesced

    def tensor(self, sizes: Sequence[int]) -> SparseTensor:
        """Return the tensor of these sizes with the parts."""
        return coo(self.indices, self.values, sizes, coalesced=self.coalesced)


def coo(indices: Tensor, values: Tensor, sizes: Sequence[int], *, coalesced: bool = False) -> SparseTensor:
    """Return the tensor with these parts, which it shares. One with fewer than two columns is coalesced."""
    meta = sparse_meta(tuple(sizes), values.meta.dtype, cpu, KEYS)
    return sparse_tensor(meta, CooParts(indices, values, coalesced or values.meta.sizes[0] < 2))


def parts_of(tensor: Tensor) -> CooParts:
    """Return the parts of a tensor in coordinate form."""
    return cast("CooParts", tensor.parts)  # type: ignore[attr-defined]


def is_coo(tensor: Any) -> bool:
    """Return whether something is a tensor in coordinate form."""
    return isinstance(tensor, SparseTensor) and tensor.parts.layout is sparse_coo


def with_values(tensor: Tensor, values: Tensor, *, coalesced: bool | None = None) -> SparseTensor:
    """Return a tensor with the indices and sizes of another and its own values."""
    parts = parts_of(tensor)
    known = parts.coalesced if coalesced is None else coalesced
    return coo(parts.indices, values, tensor.meta.sizes, coalesced=known)


def empty_coo(sizes: Sequence[int], sparse_dim: int, dtype: DType) -> SparseTensor:
    """Return a tensor without specified elements."""
    dense = tuple(sizes[sparse_dim:])
    indices = from_array(np.empty((sparse_dim, 0), np.int64), int64)
    return coo(indices, empty_tensor((0, *dense), dtype), sizes, coalesced=True)


def alias(tensor: Tensor) -> Tensor:
    """Return another tensor object on the same storage, which is no view for autograd."""
    made = view_at_same_place(tensor, tensor.meta)
    made.base = None
    return made


def columns(tensor: Tensor) -> Array:
    """Return the indices as an array of shape [sparse_dim, nnz]."""
    return values(parts_of(tensor).indices)


def places_of(indices: Array, sizes: Sequence[int]) -> Array:
    """Return for each column of indices its place in the row-major order of all elements of `sizes`."""
    places = np.zeros(indices.shape[1], np.int64)
    for row, size in zip(indices, sizes, strict=True):
        places *= size
        places += row
    return places


def indices_at(places: Array, sizes: Sequence[int]) -> Array:
    """Return the columns of indices that have these places in the row-major order of `sizes`."""
    found = np.empty((len(sizes), places.size), np.int64)
    rest = places
    for dim in range(len(sizes) - 1, -1, -1):
        rest, found[dim] = np.divmod(rest, max(sizes[dim], 1))
    return cast("Array", found)


def index_tensor(array: Array) -> Tensor:
    """Return an array of indices as an int64 tensor."""
    return from_array(np.ascontiguousarray(array), int64)


def sparse_sizes(tensor: Tensor) -> tuple[int, ...]:
    """Return the sizes of the sparse dims."""
    return tensor.meta.sizes[: parts_of(tensor).sparse_dim]


def dense_sizes(tensor: Tensor) -> tuple[int, ...]:
    """Return the sizes of the dense dims."""
    return tensor.meta.sizes[parts_of(tensor).sparse_dim :]


def zeros(sizes: Sequence[int], dtype: DType) -> Tensor:
    """Return a strided tensor of zeros."""
    return full_of("zeros", contiguous_meta(tuple(sizes), dtype), 0)


def flattened(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return a strided tensor whose dims of `sizes`, its first ones, are one dim."""
    return apply("reshape", tensor, (prod(sizes), *tensor.meta.sizes[len(sizes) :]))
