"""A copy of a tensor with one part replaced: select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter."""

from __future__ import annotations

from collections.abc import Sequence

from ...iteration.overlap import Overlap, internal_overlap
from ...tensor.tensor import Tensor
from ..invoke import apply


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
