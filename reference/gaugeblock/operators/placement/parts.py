"""A copy of a tensor with one part replaced: select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter."""

from __future__ import annotations

from collections.abc import Sequence

from ...tensor.tensor import Tensor
from ..invoke import apply


def _replaced(operator: str, copy: Tensor, part: Tensor, src: Tensor) -> Tensor:
    if part.geometry.sizes != src.geometry.sizes:
        raise RuntimeError(
            f"{operator}(): expected src to have a size equal to the slice of self. src size = "
            f"{list(src.geometry.sizes)}, slice size = {list(part.geometry.sizes)}"
        )
    apply("copy_", part, src)
    return copy


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """`self` with ``select(dim, index)`` replaced by `src`. Raises RuntimeError for other sizes, IndexError."""
    copy = apply("clone", self)
    return _replaced("select_scatter", copy, apply("select.int", copy, dim, index), src)


def slice_scatter(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`self` with a slice along `dim` replaced by `src`. Raises RuntimeError for other sizes, IndexError."""
    copy = apply("clone", self)
    return _replaced("slice_scatter", copy, apply("slice.Tensor", copy, dim, start, end, step), src)


def diagonal_scatter(self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`self` with a diagonal replaced by `src`. Raises RuntimeError for other sizes, IndexError."""
    copy = apply("clone", self)
    return _replaced("diagonal_scatter", copy, apply("diagonal", copy, offset, dim1, dim2), src)


def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """`self` with the elements of ``as_strided(size, stride, storage_offset)`` replaced. Raises RuntimeError."""
    copy = apply("clone", self)
    return _replaced("as_strided_scatter", copy, apply("as_strided", copy, size, stride, storage_offset), src)
