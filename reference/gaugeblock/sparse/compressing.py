"""From coordinate form, and from the strided layout, to compressed rows and columns, of elements and of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..core import lazy_numpy as np
from ..core.dtype import DType, int64
from ..core.errors import check_ints
from ..core.layout import UPSTREAM_NAMES, Layout, sparse_coo, strided
from ..operators.arrays import from_array
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from .coalescing import coalesced
from .compressed_tensor import FORMS, CompressedParts, parts_of, to_coo
from .conversion import check_dim, coo_to_dense, dense_to_coo
from .coo_tensor import columns, dense_sizes, index_tensor, is_coo, sparse_sizes, zeros
from .coo_tensor import parts_of as coo_parts_of


def compress(self: Tensor, layout: Layout, blocksize: Sequence[int] | None = None) -> Tensor:
    """Return a tensor in coordinate form in a compressed layout, its first sparse dims but two as batch dims. Raises
    RuntimeError for fewer than two sparse dims, batches with different numbers of entries, and sizes that blocks do not
    divide."""
    form = FORMS[layout]
    one = coalesced(self)
    sizes, dense = sparse_sizes(one), dense_sizes(one)
    if len(sizes) < 2:
        raise RuntimeError(f"to_sparse_{form.name}(): at least two sparse dims are expected, got {len(sizes)}")
    if len(sizes) == 2 and form.rows and not form.blocks:
        return rows_of(one, layout)
    batch, (height, width) = sizes[:-2], check_block(form.name, sizes[-2:], blocksize if form.blocks else (1, 1))
    *lead, rows, cols = columns(one)
    count = prod(batch)
    batches = np.ravel_multi_index(lead, batch) if batch else np.zeros(rows.size, np.int64)
    grid = sizes[-2] // height, sizes[-1] // width
    major, minor = (rows // height, cols // width) if form.rows else (cols // width, rows // height)
    length, across = grid if form.rows else grid[::-1]
    places = (batches * length + major) * max(across, 1) + minor
    found, slots = np.unique(places, return_inverse=True)
    owners, plain = np.divmod(found, max(across, 1))
    per_batch = np.bincount(owners // max(length, 1), minlength=count) if count else np.zeros(0, np.int64)
    nnz = int(per_batch[0]) if count else 0
    if (per_batch != nnz).any():
        raise RuntimeError("Expect the same number of specified elements per batch.")
    steps = np.bincount(owners, minlength=count * length).reshape(count, length)
    pointers = np.concatenate([np.zeros((count, 1), np.int64), np.cumsum(steps, 1)], 1)
    inside = (rows % height) * width + cols % width
    flat = zeros((found.size * height * width, *dense), one.meta.dtype)
    flat = apply("index_copy_", flat, 0, index_tensor(slots * (height * width) + inside), coo_parts_of(one).values)
    block = (height, width) if form.blocks else ()
    parts = CompressedParts(
        layout, from_array(pointers.reshape(*batch, length + 1), int64), from_array(plain.reshape(*batch, nnz), int64),
        apply("reshape", flat, (*batch, nnz, *block, *dense)),
    )  # fmt: skip
    return parts.tensor(one.meta.sizes)


def rows_of(self: Tensor, layout: Layout) -> Tensor:
    """Return a coalesced matrix with compressed rows: the columns and the values are those that it has."""
    rows, cols = columns(self)
    count, across = sparse_sizes(self)
    ends = rows[[0, -1]] if rows.size else rows  # the rows are in order
    for dim, found, size in ((0, ends, count), (1, cols, across)):
        check_dim(dim, found, size)
    pointers = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=pointers[1:])
    values = apply("clone", coo_parts_of(self).values)
    return CompressedParts(layout, index_tensor(pointers), index_tensor(cols), values).tensor(self.meta.sizes)


def check_block(name: str, sizes: Sequence[int], blocksize: Sequence[int] | None) -> tuple[int, int]:
    """Return the two sizes of a block. Raises RuntimeError unless they are positive and divide the sizes."""
    if blocksize is None:
        raise RuntimeError(f"to_sparse_{name}(): blocksize is needed, two positive ints")
    given = check_ints(f"to_sparse_{name}", "blocksize", blocksize)
    pair = given * 2 if len(given) == 1 else given
    if len(pair) != 2 or min(pair) <= 0:
        raise RuntimeError(f"to_sparse_{name}(): blocksize needs to be positive, but got {list(given)}")
    if sizes[0] % pair[0] or sizes[1] % pair[1]:
        raise RuntimeError(
            f"to_sparse_{name}(): tensor sparse size ({sizes[0]},{sizes[1]}) must be divisible by given blocksize "
            f"({pair[0]},{pair[1]})"
        )
    return pair[0], pair[1]


def to_sparse(
    self: Tensor, *, layout: Layout | None = None, blocksize: Sequence[int] | None = None,
    dense_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor of any layout in another: coordinate form if none is named, with `dense_dim` dense dims. A tensor
    that is in the layout already is returned itself. Raises RuntimeError for what the layout does not have."""
    wanted = sparse_coo if layout is None else layout
    if wanted is not strided and wanted not in FORMS and wanted is not sparse_coo:
        raise RuntimeError(f"to_sparse(): layout {wanted!r} is no sparse layout")
    if blocksize is not None and not (wanted in FORMS and FORMS[wanted].blocks):
        raise RuntimeError(
            f"to_sparse(): conversion from {UPSTREAM_NAMES[self.layout]} to {UPSTREAM_NAMES[wanted]} with blocksize "
            f"argument given is not supported"
        )
    if self.layout is wanted and (blocksize is None or tuple(blocksize) == parts_of(self).block):
        return self
    if self.layout is strided:
        found = dense_to_coo(self, self.meta.ndim - (dense_dim or 0))
    else:
        found = self if is_coo(self) else to_coo(self)
        if dense_dim is not None and dense_dim != found.meta.ndim - coo_parts_of(found).sparse_dim:
            raise RuntimeError(
                f"to_sparse(): conversion from {UPSTREAM_NAMES[self.layout]} with another dense_dim, {dense_dim}, is "
                f"not supported"
            )
    if wanted is sparse_coo:
        return found
    return coo_to_dense(found) if wanted is strided else compress(found, wanted, blocksize)


def to_sparse_dim(self: Tensor, sparse_dim: int) -> Tensor:
    """Return a sparse tensor in coordinate form. Raises RuntimeError for another number of sparse dims than it has."""
    found = self if is_coo(self) else to_coo(self)
    if coo_parts_of(found).sparse_dim != sparse_dim:
        raise RuntimeError(
            f"to_sparse: conversion from {UPSTREAM_NAMES[self.layout]} to Sparse with sparse_dim argument "
            f"!=self.sparse_dim() is not supported"
        )
    return found


def to_dense(self: Tensor, dtype: DType | None = None, masked_grad: bool | None = None) -> Tensor:
    """Return a compressed tensor with strides. Raises RuntimeError for a dtype, and IndexError for an index outside of
    the sizes."""
    if dtype is not None:
        raise RuntimeError("to_dense(): dtype argument is not supported by sparse_to_dense")
    return coo_to_dense(to_coo(self))
