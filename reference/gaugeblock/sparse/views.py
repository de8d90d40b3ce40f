"""Dims of sparse tensors exchanged, added and taken apart; the values are shared where nothing is chosen of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import lazy_numpy as np
from ..core.errors import wrap_dim
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from ..tensor.views import moved_order
from .coo_tensor import alias, columns, coo, index_tensor, is_coo, parts_of
from .copying import become


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the tensor with dim k from ``dims[k]``; sparse dims stay before dense ones. Raises RuntimeError for dims
    that are no permutation, or that mix the two kinds."""
    ndim, split = self.meta.ndim, parts_of(self).sparse_dim
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim("permute", one, ndim) for one in dims]
    if len(set(order)) < ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if any(one >= split for one in order[:split]):
        raise RuntimeError("transpose(): transposed dimensions must be sparse, or must both be dense")
    parts = parts_of(self)
    kept = order[:split] == sorted(order[:split])
    rows = alias(parts.indices)
    if not kept:
        rows = apply("stack", [apply("select.int", rows, 0, one) for one in order[:split]])
    dense = [0, *[one - split + 1 for one in order[split:]]]
    values = alias(parts.values) if dense == sorted(dense) else apply("permute", parts.values, dense)
    sizes = [self.meta.sizes[one] for one in order]
    return coo(rows, values, sizes, coalesced=parts.coalesced and kept)


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return the tensor with two dims exchanged: two sparse ones, or two dense ones. Raises RuntimeError for one of
    each, IndexError out of range."""
    ndim, split = self.meta.ndim, parts_of(self).sparse_dim
    first, second = wrap_dim("transpose", dim0, ndim), wrap_dim("transpose", dim1, ndim)
    if (first < split) is not (second < split):
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {split}, d0: {first}, d1: {second}"
        )
    order = list(range(ndim))
    if ndim:
        order[first], order[second] = second, first
    return permute(self, order)


def swapaxes(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Return the tensor with two dims exchanged, as `transpose`."""
    return apply("transpose.int", self, axis0, axis1)


def movedim(self: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Return the tensor with the dims `source` at the places `destination`, as `permute`."""
    return apply("permute", self, moved_order(self.meta.ndim, source, destination))


def adjoint(self: Tensor) -> Tensor:
    """Return the conjugate of the tensor with its last two dims exchanged. Raises RuntimeError for fewer dims."""
    if self.meta.ndim < 2:
        raise RuntimeError(f"adjoint(): a sparse tensor must have at least two dims, got {self.meta.ndim}")
    return apply("conj", apply("transpose.int", self, -2, -1))


def t(self: Tensor) -> Tensor:
    """Return a matrix with its dims exchanged. Raises RuntimeError for more than two sparse dims and for dense ones."""
    split = parts_of(self).sparse_dim
    if split > 2 or self.meta.ndim > split:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {split} sparse and "
            f"{self.meta.ndim - split} dense dimensions"
        )
    return transpose(self, 0, 1) if split == 2 else permute(self, range(split))


def select(self: Tensor, dim: int, index: int) -> Tensor:
    """Return the part of a dim at an index: sparse, but for the only sparse dim, of which parts are strided. Raises
    IndexError out of range."""
    place = wrap_dim("select", dim, self.meta.ndim)
    size = self.meta.sizes[place]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.meta.sizes)} at dimension {place}"
        )
    parts = parts_of(self)
    split, sizes = parts.sparse_dim, (*self.meta.sizes[:place], *self.meta.sizes[place + 1 :])
    index %= size
    if place >= split:
        return coo(
            alias(parts.indices), apply("select.int", parts.values, place - split + 1, index), sizes,
            coalesced=parts.coalesced,
        )  # fmt: skip
    indices = columns(self)
    chosen = np.flatnonzero(indices[place] == index)
    values = apply("index_select", parts.values, 0, index_tensor(chosen))
    if split == 1:
        return apply("to.dtype", apply("sum.dim_IntList", values, (0,)), self.meta.dtype)
    rest = np.delete(indices[:, chosen], place, 0)
    return coo(index_tensor(rest), values, sizes, coalesced=parts.coalesced)


def unbind(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the parts of a dim."""
    place = wrap_dim("unbind", dim, self.meta.ndim)
    return tuple(apply("select.int", self, place, index) for index in range(self.meta.sizes[place]))


def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a copy of `length` places of a dim from `start` on. Raises RuntimeError for a range outside of the dim,
    IndexError for a dim out of range."""
    place = wrap_dim("narrow_copy", dim, self.meta.ndim)
    size = self.meta.sizes[place]
    if length < 0 or not 0 <= start <= size - length:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {size}), got start "
            f"{start} and length {length}"
        )
    parts, sizes = parts_of(self), (*self.meta.sizes[:place], length, *self.meta.sizes[place + 1 :])
    if place >= parts.sparse_dim:
        values = apply("narrow_copy", parts.values, place - parts.sparse_dim + 1, start, length)
        return coo(apply("clone", parts.indices), values, sizes, coalesced=parts.coalesced)
    indices = columns(self)
    chosen = np.flatnonzero((indices[place] >= start) & (indices[place] < start + length))
    rows = indices[:, chosen]
    rows[place] -= start
    values = apply("index_select", parts.values, 0, index_tensor(chosen))
    return coo(index_tensor(rows), values, sizes, coalesced=parts.coalesced)


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """Return the tensor with a dim of size 1 more, sparse where it comes before the end of the sparse dims. Raises
    IndexError out of range."""
    parts = parts_of(self)
    place, split = wrap_dim("unsqueeze", dim, self.meta.ndim + 1), parts.sparse_dim
    sizes = (*self.meta.sizes[:place], 1, *self.meta.sizes[place:])
    if place > split:
        return coo(
            alias(parts.indices), apply("unsqueeze", parts.values, place - split + 1), sizes,
            coalesced=parts.coalesced,
        )  # fmt: skip
    rows = np.insert(columns(self), place, 0, 0)
    return coo(index_tensor(rows), alias(parts.values), sizes, coalesced=parts.coalesced)


def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the parts of a dim at a vector of indices, sparse and in order of the specified elements of each. Raises
    IndexError out of range."""
    place = wrap_dim("index_select", dim, self.meta.ndim)
    parts = parts_of(self)
    wanted = [int(one) for one in index.tolist()]  # type: ignore[attr-defined]
    size = self.meta.sizes[place]
    for one in wanted:
        if not -size <= one < size:
            raise IndexError(f"index_select(): index contains {one} that is out of range for tensor of size {size}")
    sizes = (*self.meta.sizes[:place], len(wanted), *self.meta.sizes[place + 1 :])
    if place >= parts.sparse_dim:
        chosen_rows = index_tensor(np.asarray([one % size for one in wanted], np.int64))
        chosen = apply("index_select", parts.values, place - parts.sparse_dim + 1, chosen_rows)
        return coo(alias(parts.indices), chosen, sizes, coalesced=parts.coalesced)
    indices = columns(self)
    order, along = None, indices[place]
    if not (parts.coalesced and place == 0):  # else they are in order
        order = np.argsort(along, kind="stable")
        along = along[order]
    places = np.asarray(wanted, np.int64) % max(size, 1)
    begin = np.searchsorted(along, places, "left")
    count = np.searchsorted(along, places, "right") - begin
    taken = np.arange(count.sum()) + np.repeat(begin - np.cumsum(count) + count, count)
    taken = taken if order is None else order[taken]
    rows = indices[:, taken]
    rows[place] = np.repeat(np.arange(len(wanted)), count)
    return coo(index_tensor(rows), apply("index_select", parts.values, 0, index_tensor(taken)), sizes)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Return the rows of a table at a vector of indices. Raises RuntimeError for indices of other dims."""
    if indices.meta.ndim != 1:
        raise RuntimeError(f"embedding(): a sparse table takes a vector of indices, got {indices.meta.ndim} dims")
    return apply("index_select", weight, 0, indices)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Return sparse tensors one behind the other along a dim. Raises RuntimeError for a strided one among them and for
    sizes that do not fit."""
    strange = next((place for place, one in enumerate(tensors) if not is_coo(one)), None)
    if strange is not None:
        raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {strange}.")
    first, *others = tensors
    place, split = wrap_dim("cat", dim, first.meta.ndim), parts_of(first).sparse_dim
    _check_fit(first, others, place)
    if place >= split:
        raise RuntimeError(f"cat(): sparse tensors are joined along sparse dims, and dim {place} is dense")
    rows = np.empty((split, sum(parts_of(one).nnz for one in tensors)), np.int64)
    length = begin = 0
    for one in tensors:
        mine = rows[:, begin : begin + parts_of(one).nnz]
        mine[...] = columns(one)
        mine[place] += length
        begin += parts_of(one).nnz
        length += one.meta.sizes[place]
    sizes = (*first.meta.sizes[:place], length, *first.meta.sizes[place + 1 :])
    values = apply("cat", [parts_of(one).values for one in tensors], 0)
    ordered = place == 0 and all(parts_of(one).coalesced for one in tensors)
    return coo(index_tensor(rows), values, sizes, coalesced=ordered)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Return sparse tensors of equal sizes along a new dim. Raises RuntimeError for what `cat` refuses."""
    place = wrap_dim("stack", dim, tensors[0].meta.ndim + 1)
    return apply("cat", [apply("unsqueeze", one, place) if is_coo(one) else one for one in tensors], place)


def _check_fit(first: Tensor, others: Sequence[Tensor], place: int) -> None:
    for one in others:
        same = [size for dim, size in enumerate(one.meta.sizes) if dim != place]
        wanted = [size for dim, size in enumerate(first.meta.sizes) if dim != place]
        if same != wanted or parts_of(one).sparse_dim != parts_of(first).sparse_dim:
            raise RuntimeError(
                f"cat(): Sizes of tensors must match except in dimension {place}, and their sparse dims, got "
                f"{list(first.meta.sizes)} and {list(one.meta.sizes)}"
            )


def changed(name: str, view: Any) -> Any:
    """Return the in-place form of an operator that exchanges dims."""

    def kernel(self: Any, *args: Any) -> Tensor:
        return become(self, view(self, *args))

    kernel.__name__ = kernel.__qualname__ = name
    return kernel
