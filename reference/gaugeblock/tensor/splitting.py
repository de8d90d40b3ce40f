"""Views that cut a tensor into parts along one dim."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ..core.device import cpu
from ..core.dtype import int64
from ..core.errors import check_int64, check_int64s, wrap_dim
from .array_view import array_of
from .hooks import hooks
from .tensor import Tensor
from .versions import several_views
from .views import select, sliced


def _size_along(operator: str, self: Tensor, dim: int) -> tuple[int, int]:
    meta = self.meta
    if not meta.ndim:
        raise RuntimeError(f"{operator} expects at least a 1-dimensional tensor")
    place = wrap_dim(operator, dim, meta.ndim)
    return place, meta.sizes[place]


def split(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of `split_size` along `dim`, the last one shorter, or parts of the given sizes. Raises RuntimeError."""
    if isinstance(split_size, list | tuple):
        return split_with_sizes(self, split_size, dim)
    place, size = _size_along("split", self, dim)
    step = check_int64("split", "split_size", split_size)
    if step < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
    if step == 0:
        if size:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
        return several_views(self, [sliced(self, place, 0, 0, 1)])
    starts = range(0, size, step) if size else (0,)
    return several_views(self, [sliced(self, place, start, min(step, size - start), 1) for start in starts])


def split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of the given sizes, which add up to the size of `dim`. Raises RuntimeError when they do not."""
    place, size = _size_along("split_with_sizes", self, dim)
    lengths = check_int64s("split_with_sizes", "split_sizes", split_sizes)
    if any(length < 0 for length in lengths):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(lengths)}"
        )
    if sum(lengths) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={list(lengths)}"
        )
    return several_views(self, _cut(self, place, lengths))


def _cut(self: Tensor, place: int, lengths: Sequence[int]) -> tuple[Tensor, ...]:
    """Parts of these sizes one after the other along the dim at `place`."""
    ends = accumulate(lengths)
    return tuple([sliced(self, place, end - length, length, 1) for end, length in zip(ends, lengths, strict=True)])


MOST_PARTS = 1 << 22
"""Empty parts that chunk and tensor_split make at most; upstream's memory ends at some such number."""


def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size, the last one shorter. Raises RuntimeError unless chunks > 0."""
    place, size = _size_along("chunk", self, dim)
    chunks = check_int64("chunk", "chunks", chunks)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    step = (size + chunks - 1) // chunks
    if not step:
        if chunks > MOST_PARTS:
            raise RuntimeError(f"chunk(): {chunks} parts of a dimension of size 0 are more than memory holds")
        return several_views(self, [sliced(self, place, 0, 0, 1) for _ in range(chunks)])
    return split(self, step, place)


def _places(given: Tensor) -> Any:
    meta = given.meta
    if meta.dtype is not int64:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {meta.dtype.name}"
        )
    if meta.ndim > 1:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
            f"but got a tensor with {meta.ndim} dims"
        )
    return array_of(given if meta.device is cpu else hooks.dispatched["host"](given)).tolist()


def tensor_split(self: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Exactly n parts whose sizes differ by at most one, or the parts between the given indices, clamped. Each is a
    view as one that was sliced by itself: it may be written to."""
    place, size = _size_along("tensor_split", self, dim)
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = _places(indices_or_sections)
        if isinstance(indices_or_sections, list):
            return _between(self, place, indices_or_sections)
    if isinstance(indices_or_sections, list | tuple):
        return _between(self, place, check_int64s("tensor_split", "indices", indices_or_sections))
    sections = check_int64("tensor_split", "sections", indices_or_sections)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    if sections > max(size, MOST_PARTS):
        raise RuntimeError(f"tensor_split(): {sections} parts of a dimension of size {size} are more than memory holds")
    small, larger = divmod(size, sections)
    return _cut(self, place, [small + 1] * larger + [small] * (sections - larger))


def _between(self: Tensor, place: int, cuts: Sequence[int]) -> tuple[Tensor, ...]:
    """Return the parts between cuts along the dim at `place`, negative ones counted from the end, clamped."""
    size, start, parts = self.meta.sizes[place], 0, []
    for cut in (*cuts, size):
        stop = cut + size if cut < 0 else cut
        stop = 0 if stop < 0 else size if stop > size else stop
        parts.append(sliced(self, place, start, stop - start if stop > start else 0, 1))
        start = stop
    return tuple(parts)


def _split_along(operator: str, self: Tensor, parts: int | Sequence[int], dim: int, least: int) -> tuple[Tensor, ...]:
    if self.meta.ndim < least:
        raise RuntimeError(
            f"{operator} requires a tensor with at least {least} dimension, but got a tensor with "
            f"{self.meta.ndim} dimensions!"
        )
    if isinstance(parts, int) and check_int64(operator, "sections", parts) > 0 and self.meta.sizes[dim] % parts:
        raise RuntimeError(
            f"{operator} attempted to split along dimension {dim}, but the size of the dimension "
            f"{self.meta.sizes[dim]} is not divisible by the split_size {parts}!"
        )
    return tensor_split(self, parts, dim)


def hsplit(self: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """tensor_split by columns: along dim 1, or dim 0 of a 1-D tensor. Raises RuntimeError when not divisible."""
    return _split_along("hsplit", self, indices_or_sections, 0 if self.meta.ndim == 1 else 1, 1)


def vsplit(self: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """tensor_split by rows: along dim 0 of at least two. Raises RuntimeError when not divisible."""
    return _split_along("vsplit", self, indices_or_sections, 0, 2)


def dsplit(self: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """tensor_split along dim 2 of at least three. Raises RuntimeError when not divisible."""
    return _split_along("dsplit", self, indices_or_sections, 2, 3)


def unbind(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All parts along `dim`, which is dropped. Raises IndexError for a 0-dim tensor."""
    if not self.meta.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    place = wrap_dim("unbind", dim, self.meta.ndim)
    return several_views(self, [select(self, place, index) for index in range(self.meta.sizes[place])])
