"""Tensors in coordinate form: indices of shape [sparse_dim, nnz] and values of shape [nnz, *dense sizes].

An element is the sum of the values whose column of indices names it, 0 if there is none. A tensor is *coalesced* when
its columns are distinct and in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from ..core import lazy_numpy as np
from ..core.device import Device, cpu
from ..core.dtype import DType, int64
from ..core.layout import Layout, sparse_coo
from ..dispatch.keys import layout_keys
from ..operators.arrays import Array, from_array, values
from ..operators.fill import full_of
from ..operators.invoke import apply
from ..tensor.sparse_tensor import SparseTensor, sparse_meta, sparse_tensor
from ..tensor.tensor import Tensor, empty_tensor, view_at_same_place
from ..tensor.tensor_meta import contiguous_meta


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

    def unspecified(self) -> CooParts:
        """Return the parts of a tensor without specified elements, otherwise like this one."""
        indices = apply("new_empty", self.indices, (self.sparse_dim, 0))
        return CooParts(indices, apply("new_empty", self.values, (0, *self.values.meta.sizes[1:])), True)

    def take(self, other: CooParts) -> None:
        """Become what other parts are."""
        self.indices, self.values, self.coalesced = other.indices, other.values, other.coalesced

    def tensor(self, sizes: Sequence[int]) -> SparseTensor:
        """Return the tensor of these sizes with the parts."""
        return coo(self.indices, self.values, sizes, coalesced=self.coalesced)


def coo(indices: Tensor, values: Tensor, sizes: Sequence[int], *, coalesced: bool = False) -> SparseTensor:
    """Return the tensor with these parts, which it shares. One with fewer than two columns is coalesced."""
    device = values.meta.device
    meta = sparse_meta(tuple(sizes), values.meta.dtype, device, layout_keys(sparse_coo, device))
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


def empty_coo(sizes: Sequence[int], sparse_dim: int, dtype: DType, device: Device = cpu) -> SparseTensor:
    """Return a tensor without specified elements."""
    indices = empty_tensor((sparse_dim, 0), int64, device)
    return coo(indices, empty_tensor((0, *sizes[sparse_dim:]), dtype, device), sizes, coalesced=True)


def alias(tensor: Tensor) -> Tensor:
    """Return another tensor object on the same storage, which is no view for autograd."""
    made = view_at_same_place(tensor, tensor.meta)
    made.base = None
    return made


def columns(tensor: Tensor) -> Array:
    """Return the indices as an array of shape [sparse_dim, nnz]."""
    return host_array(parts_of(tensor).indices)


def host_array(tensor: Tensor) -> Array:
    """Return the elements of a strided tensor as an array in host memory. Raises NotImplementedError for a meta
    tensor."""
    if tensor.meta.device is cpu:
        return values(tensor)
    copied = apply("to.device", tensor, cpu)
    return values(copied).copy()


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
    for dim in range(len(sizes) - 1, 0, -1):
        size = max(sizes[dim], 1)
        quotient = rest // size
        np.subtract(rest, quotient * size, out=found[dim])
        rest = quotient
    if sizes:
        found[0] = rest
    return cast("Array", found)


def index_tensor(array: Array, device: Device = cpu) -> Tensor:
    """Return an array of indices as an int64 tensor."""
    made = from_array(np.ascontiguousarray(array), int64)
    return made if device is cpu else apply("to.device", made, device)


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
