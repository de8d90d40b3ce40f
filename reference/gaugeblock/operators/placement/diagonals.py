"""Tensors made of diagonals, index sets of triangles, and copies of a tensor with one part replaced."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.dtype import DType, int64
from ...core.errors import INT64_MAX, wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.overlap import Overlap, internal_overlap
from ...iteration.tensor_iterator import Number
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor
from ...tensor.views import as_strided
from ..arrays import outline, values
from ..invoke import apply
from ..ranges import Plan


def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the rows of the last dim on a diagonal, zeros elsewhere; they span `dim1` and `dim2`.

    Raises IndexError for dims out of range, RuntimeError when they are one.
    """
    meta = self.meta
    if not meta.ndim:
        raise IndexError("diag_embed(): Dimension out of range: the input must have at least one dim")
    first, second = (wrap_dim("diag_embed", dim, meta.ndim + 1) for dim in (dim1, dim2))
    if first == second:
        raise RuntimeError(f"diag_embed(): diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = meta.sizes[-1] + abs(offset)
    sizes = list(meta.sizes[:-1])
    for dim in sorted((first, second)):
        sizes.insert(dim, length)
    result = _zeros(sizes, self)
    apply("copy_", apply("diagonal", result, offset, first, second), self)
    return result


def _zeros(sizes: list[int], like: Tensor) -> Tensor:
    """Zeros of the dtype and on the device of another tensor."""
    result, target = outline(sizes, like.meta.dtype, like.meta.device)
    if target is not None:
        target[...] = 0
    return result


def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on a diagonal."""
    return apply("diag", apply("reshape", self, (-1,)), offset)


def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal; `wrap` goes on below the square part of a tall matrix.

    Raises RuntimeError for fewer than two dims, and for more unless all sizes are equal.
    """
    sizes, strides = self.meta.sizes, self.meta.strides
    if len(sizes) < 2:
        raise RuntimeError(f"fill_diagonal_(): dimensions must larger than 1, got {len(sizes)}")
    if len(sizes) > 2 and len(set(sizes)) > 1:
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, got {list(sizes)}")
    step = sum(strides)
    count = min(sizes)
    apply("fill_.Scalar", as_strided(self, (count,), (step,), self.offset), fill_value)
    rows, columns = sizes[0], sizes[1]
    if wrap and len(sizes) == 2 and rows > columns + 1 and columns:
        full = (rows + columns) // (columns + 1)
        rest = -(-(rows * columns - (columns + 1) * columns) // (columns + 1)) if full > 1 else 0
        for k in range(columns, columns + rest):
            flat = k * (columns + 1)
            place = self.offset + flat // columns * strides[0] + flat % columns * strides[1]
            apply("fill_.Scalar", as_strided(self, (1,), (1,), place), fill_value)
    return self


def lower_triangle(dtype: DType, row: int, col: int, offset: int = 0) -> Plan:
    """Rows and columns of the places on and below a diagonal, row by row, as two rows. Raises RuntimeError."""
    return _triangle("tril_indices", dtype, row, col, offset, True)


def upper_triangle(dtype: DType, row: int, col: int, offset: int = 0) -> Plan:
    """Rows and columns of the places on and above a diagonal, row by row, as two rows. Raises RuntimeError."""
    return _triangle("triu_indices", dtype, row, col, offset, False)


def _triangle(operator: str, dtype: DType, row: int, col: int, offset: int, lower: bool) -> Plan:
    for name, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{operator}(): {name} must be non-negative, got {size}")
    if dtype.kind != 1:
        raise NotImplementedError(f"\"{operator}\" not implemented for '{UPSTREAM_NAMES[dtype.name]}'")
    if max(row, col, offset, -offset - 1) > INT64_MAX:
        raise RuntimeError(f"{operator}(): the numbers of a triangle must fit 64 bits, got {row}, {col} and {offset}")
    if lower:
        col = min(col, max(0, row + offset))  # no row reaches further
    offset = max(-row, min(offset, col))
    first, last = (max(0, -offset), row) if lower else (0, min(row, col - offset))
    last = last if col else first
    places = _places(first, last, col, offset, lower)
    if places > INT64_MAX:
        raise RuntimeError(f"{operator}(): the triangle's {places} places do not fit 64 bits")

    def fill(result: Tensor) -> None:
        target = array_of(result)
        rows = np.arange(first, last)
        starts = np.zeros_like(rows) if lower else np.maximum(rows + offset, 0)
        counts = (np.minimum(rows + offset + 1, col) if lower else col) - starts
        target[0] = np.repeat(rows, counts)
        target[1] = np.arange(places) - np.repeat(np.cumsum(counts) - counts - starts, counts)

    return Plan((2, places), fill)


def _places(first: int, last: int, col: int, offset: int, lower: bool) -> int:
    """Return how many places the rows from `first` to `last` of a triangle hold; as an exact int it cannot wrap."""
    turn = min(max(col - offset if lower else -offset, first), last)
    if lower:  # row r holds r + offset + 1 places before the turn
        return (turn - first) * (first + turn + 2 * offset + 1) // 2 + (last - turn) * col
    return (turn - first) * col + (last - turn) * (2 * (col - offset) - turn - last + 1) // 2


def nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of nonzero, filled up with `fill_value`. Raises RuntimeError for a negative size."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    result, target = outline((size, self.meta.ndim), int64, self.meta.device)
    if target is not None:
        found = np.argwhere(values(self))[:size]
        target[...] = fill_value
        target[: len(found)] = found
    return result


def _copy(self: Tensor, whole: bool = False) -> Tensor:
    """A copy with the strides of `self`, the gaps between elements included; with `whole`, of all its storage."""
    meta = self.meta
    if meta.lazy or internal_overlap(meta.sizes, meta.strides) is Overlap.YES:
        return apply("clone", self)
    if whole:
        count, start = self.storage_impl.nbytes // meta.dtype.itemsize, 0
    elif meta.dense or not meta.numel:
        return apply("clone", self)
    else:
        count = 1 + sum((size - 1) * step for size, step in zip(meta.sizes, meta.strides, strict=True))
        start = self.offset
    copy = apply("clone", apply("as_strided", self, (count,), (1,), start))
    return apply("as_strided_", copy, meta.sizes, meta.strides, self.offset - start)


def _replaced(operator: str, copy: Tensor, part: Tensor, src: Tensor) -> Tensor:
    if part.meta.sizes != src.meta.sizes:
        raise RuntimeError(
            f"{operator}(): expected src to have a size equal to the slice of self. src size = "
            f"{list(src.meta.sizes)}, slice size = {list(part.meta.sizes)}"
        )
    apply("copy_", part, src)
    return copy


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """`self` with ``select(dim, index)`` replaced by `src`. Raises RuntimeError for other sizes, IndexError."""
    copy = _copy(self)
    return _replaced("select_scatter", copy, apply("select.int", copy, dim, index), src)


def slice_scatter(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`self` with a slice along `dim` replaced by `src`. Raises RuntimeError for other sizes, IndexError."""
    copy = _copy(self)
    return _replaced("slice_scatter", copy, apply("slice.Tensor", copy, dim, start, end, step), src)


def diagonal_scatter(self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`self` with a diagonal replaced by `src`. Raises RuntimeError for other sizes, IndexError."""
    copy = _copy(self)
    return _replaced("diagonal_scatter", copy, apply("diagonal", copy, offset, dim1, dim2), src)


def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """`self` with the elements of ``as_strided(size, stride, storage_offset)`` replaced. Raises RuntimeError."""
    copy = _copy(self, whole=True)
    return _replaced("as_strided_scatter", copy, apply("as_strided", copy, size, stride, storage_offset), src)
