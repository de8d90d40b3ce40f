"""Tensors with compressed rows or columns, of elements or of blocks.

Along the compressed dim a pointer says where the entries of each row (or column) begin and end; the plain indices say
which column (or row) each entry is in. Entries are elements in CSR and CSC, blocks in BSR and BSC. Leading batch dims
belong to all three parts, dense dims to the values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, cast

from ..core import lazy_numpy as np
from ..core.layout import Layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..dispatch.keys import layout_keys
from ..operators.arrays import Array
from ..operators.invoke import apply
from ..tensor.sparse_tensor import SparseTensor, sparse_meta, sparse_tensor
from ..tensor.tensor import Tensor
from .conversion import check_dim, check_inside
from .coo_tensor import alias, coo, host_array, index_tensor, places_of


class Form(NamedTuple):
    """What a compressed layout is called, whether rows are compressed, and whether entries are blocks."""

    name: str
    rows: bool
    blocks: bool
    transposed: Layout

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of the parts."""
        return ("crow_indices", "col_indices", "values") if self.rows else ("ccol_indices", "row_indices", "values")


FORMS = {
    sparse_csr: Form("csr", True, False, sparse_csc), sparse_csc: Form("csc", False, False, sparse_csr),
    sparse_bsr: Form("bsr", True, True, sparse_bsc), sparse_bsc: Form("bsc", False, True, sparse_bsr),
}  # fmt: skip
"""Compressed layout -> its form."""


class CompressedParts:
    """Pointers, plain indices and values, all strided and not watched by autograd."""

    __slots__ = ("compressed", "layout", "plain", "values")

    def __init__(self, layout: Layout, compressed: Tensor, plain: Tensor, values: Tensor) -> None:
        self.layout = layout
        self.compressed = compressed
        self.plain = plain
        self.values = values

    @property
    def form(self) -> Form:
        """What is special about the layout."""
        return FORMS[self.layout]

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of the parts."""
        return self.form.names

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The parts, the values last."""
        return self.compressed, self.plain, self.values

    @property
    def nnz(self) -> int:
        """The number of entries, of each batch."""
        return self.plain.meta.sizes[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        """The sizes of the batch dims."""
        return self.plain.meta.sizes[:-1]

    @property
    def block(self) -> tuple[int, int]:
        """The sizes of a block, (1, 1) for elements."""
        lead = self.plain.meta.ndim
        return cast("tuple[int, int]", self.values.meta.sizes[lead : lead + 2]) if self.form.blocks else (1, 1)

    @property
    def dense_dim(self) -> int:
        """The number of dense dims."""
        return self.values.meta.ndim - self.plain.meta.ndim - 2 * self.form.blocks

    def remade(self, compressed: Tensor, plain: Tensor, values: Tensor) -> CompressedParts:
        """Return other tensors in the same layout."""
        return CompressedParts(self.layout, compressed, plain, values)

    def unspecified(self) -> CompressedParts:
        """Return the parts of a tensor without entries, otherwise like this one."""
        inner = self.values.meta.sizes[self.plain.meta.ndim :]
        return self.remade(
            apply("zeros_like", self.compressed), apply("new_empty", self.plain, (*self.batch, 0)),
            apply("new_empty", self.values, (*self.batch, 0, *inner)),
        )  # fmt: skip

    def take(self, other: CompressedParts) -> None:
        """Become what other parts are."""
        self.layout, self.compressed, self.plain, self.values = other.layout, *other.tensors

    def tensor(self, sizes: Sequence[int]) -> SparseTensor:
        """Return the tensor of these sizes with the parts."""
        device = self.values.meta.device
        meta = sparse_meta(tuple(sizes), self.values.meta.dtype, device, layout_keys(self.layout, device))
        return sparse_tensor(meta, self)


def is_compressed(tensor: Any) -> bool:
    """Return whether something is a compressed tensor."""
    return isinstance(tensor, SparseTensor) and tensor.parts.layout is not sparse_coo


def parts_of(tensor: Tensor) -> CompressedParts:
    """Return the parts of a compressed tensor."""
    return cast("CompressedParts", tensor.parts)  # type: ignore[attr-defined]


def entries(tensor: Tensor) -> tuple[Array, Array, Array]:
    """Return the batch, the row and the column of every entry, in blocks, batch by batch. Raises RuntimeError where the
    pointers do not count the entries."""
    parts = parts_of(tensor)
    count, nnz = prod(parts.batch), parts.nnz
    pointers = host_array(parts.compressed).reshape(count, -1).astype(np.int64)
    steps = np.diff(pointers, axis=1)
    if (steps < 0).any() or (pointers[:, :1] != 0).any() or (pointers[:, -1:] != nnz).any():
        raise RuntimeError(
            f"{parts.names[0]} must begin with 0, end with nnz (={nnz}) and not decrease: the tensor was made with "
            f"wrong pointers, which check_invariants=True would tell"
        )
    each = np.arange(steps.shape[1])
    owners = np.repeat(each if count == 1 else np.tile(each, count), steps.reshape(-1))
    batches = np.zeros(nnz, np.int64) if count == 1 else np.repeat(np.arange(count), nnz)
    plain = host_array(parts.plain).reshape(-1).astype(np.int64, copy=False)
    return (batches, owners, plain) if parts.form.rows else (batches, plain, owners)


def element_indices(tensor: Tensor) -> Array:
    """Return the indices of all specified elements, those of batch dims first, in the order of the values."""
    parts = parts_of(tensor)
    batches, rows, cols = entries(tensor)
    height, width = parts.block
    if parts.form.blocks:
        shape = (batches.size, height, width)
        rows = np.broadcast_to((rows * height)[:, None, None] + np.arange(height)[:, None], shape).reshape(-1)
        cols = np.broadcast_to((cols * width)[:, None, None] + np.arange(width), shape).reshape(-1)
        batches = np.repeat(batches, height * width)
    lead = np.unravel_index(batches, parts.batch) if parts.batch else ()
    return cast("Array", np.stack([*lead, rows, cols]).astype(np.int64, copy=False))


def flat_values(tensor: Tensor) -> Tensor:
    """Return the values of the specified elements, one behind the other."""
    parts = parts_of(tensor)
    given = parts.values.meta.sizes
    dense = given[len(given) - parts.dense_dim :]
    return apply("reshape", parts.values, (prod(given[: len(given) - parts.dense_dim]), *dense))


def to_coo(tensor: Tensor) -> Tensor:
    """Return a compressed tensor in coordinate form, in order: batch dims are sparse dims, and all elements of a block
    are specified. Raises RuntimeError for wrong pointers, IndexError for a plain index outside of the sizes."""
    parts, indices, flat = parts_of(tensor), element_indices(tensor), flat_values(tensor)
    sizes = tensor.meta.sizes
    if parts.form.rows and not parts.form.blocks and not parts.batch:
        rows, across = indices
        check_dim(1, across, sizes[1])
        sorted_ = bool(((across[1:] > across[:-1]) | (rows[1:] > rows[:-1])).all())
        return coo(index_tensor(indices), alias(flat), sizes, coalesced=sorted_)
    check_inside(indices, sizes[: indices.shape[0]])
    places = places_of(indices, sizes[: indices.shape[0]])
    if not parts.form.rows or parts.form.blocks:
        order = np.argsort(places, kind="stable")
        indices, places = indices[:, order], places[order]
        flat = apply("index_select", flat, 0, index_tensor(order))
    return coo(index_tensor(indices), alias(flat), sizes, coalesced=bool((np.diff(places) > 0).all()))
