"""Repeating elements and blocks, diagonals and differences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np

from ..core.away import away
from ..core.device import cpu
from ..core.dtype import int32, int64
from ..core.errors import wrap_dim
from ..core.promotion import common_dtype
from ..tensor.array_view import array_of
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, empty_tensor
from ..tensor.views import diagonal as diagonal_view
from ..tensor.views import narrow
from .arrays import STEPS, Array, computed, outline, outline_between, values
from .copy import clone
from .joining import cat
from .many_dims import MOST_DIMS, along, has_many_dims
from .registration import kernel


@kernel("repeat")
def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor copied ``repeats[k]`` times along each dim; additional leading repeats add dims.

    Raises RuntimeError for fewer repeats than dims or a negative one.
    """
    meta = self.meta
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    if len(repeats) < meta.ndim:
        raise RuntimeError(
            f"Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: "
            f"{len(repeats)} < {meta.ndim}"
        )
    sizes = (1,) * (len(repeats) - meta.ndim) + meta.sizes
    total = tuple([size * count for size, count in zip(sizes, repeats, strict=True)])
    if len(total) > MOST_DIMS and 0 not in total:
        kept = [(size, count) for size, count in zip(sizes, repeats, strict=True) if size * count > 1]
        if len(kept) < len(total):
            fewer = reshape(self, [size for size, _ in kept])
            return reshape(repeat(fewer, [count for _, count in kept]), total)
    result = empty_tensor(total, meta.dtype, meta.device)
    if result.meta.numel and meta.device is cpu:
        split = [part for count, size in zip(repeats, sizes, strict=True) for part in (count, size)]
        block = [part for size in sizes for part in (1, size)]
        blocks = array_of(result).reshape(split)
        away(STEPS * blocks.size, np.copyto, blocks, values(self).reshape(block))
    return result


@kernel("tile")
def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    """repeat with 1 for the leading dims that `dims` leaves out."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    return repeat(self, (1,) * (self.meta.ndim - len(dims)) + dims)


@kernel("repeat_interleave.self_int")
def repeat_interleave_int(
    self: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Every part along `dim` (of the flattened tensor without `dim`) `repeats` times in a row. RuntimeError below 0."""
    if repeats < 0:
        raise RuntimeError(f"Repeats must be non-negative, got {repeats}")
    total = _length(self, dim) * repeats
    if total >= 1 << 63:
        raise RuntimeError(f"{repeats} repeats give {total} elements, which does not fit 64 bits")
    return _interleaved(self, np.asarray(repeats), dim, total)


@kernel("repeat_interleave.self_Tensor")
def repeat_interleave_tensor(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Part k along `dim` ``repeats[k]`` times in a row.

    Raises RuntimeError for negative repeats or a wrong number of them, NotImplementedError unless they are integers.
    """
    _check_repeats(repeats)
    size, given = _length(self, dim), repeats.meta.numel
    if given not in (1, size):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {given} and "
            f"input.size({0 if dim is None else dim}) = {size}"
        )
    counts, total = _counts(repeats, size, output_size)
    return _interleaved(self, counts, dim, total)


@kernel("repeat_interleave.Tensor", derive=False)
def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """Index k ``repeats[k]`` times in a row, in the dtype of `repeats`. Raises as repeat_interleave of a tensor."""
    _check_repeats(repeats)
    size = repeats.meta.numel
    counts, total = _counts(repeats, size, output_size)
    meta = repeats.meta
    kind = np.int32 if meta.dtype is int32 else np.int64
    return computed((total,), meta.dtype, meta.device, lambda: np.repeat(np.arange(size, dtype=kind), counts))


def _length(self: Tensor, dim: int | None) -> int:
    """The number of parts along `dim`, of elements without it. Raises IndexError."""
    if dim is None:
        return self.meta.numel
    place = wrap_dim("repeat_interleave", dim, self.meta.ndim)
    if not self.meta.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return self.meta.sizes[place]


Counts = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def _check_repeats(repeats: Tensor) -> None:
    if repeats.meta.dtype not in (int32, int64):
        raise NotImplementedError(
            f'"repeat_interleave" not implemented for {repeats.meta.dtype.name} repeats; allowed: int32, int64'
        )
    if repeats.meta.ndim > 1:
        raise RuntimeError(f"repeats must be 0-dim or 1-dim tensor, got {repeats.meta.ndim} dims")


def _counts(repeats: Tensor, size: int, output_size: int | None) -> tuple[Counts, int]:
    """How often each of `size` parts is repeated, and the sum, which without data has to be given."""
    if repeats.meta.device is not cpu:
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return np.zeros(1, np.int64), output_size
    counts = values(repeats).astype(np.int64).reshape(-1)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    # Halves are summed apart: a sum of int64 would wrap, and NumPy's repeat relies on it.
    total = (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
    total *= 1 if counts.size == size else size
    if total >= 1 << 63:
        raise RuntimeError(f"the repeats add up to {total}, which does not fit 64 bits")
    return counts, total


def _interleaved(self: Tensor, repeats: Counts, dim: int | None, total: int) -> Tensor:
    meta = self.meta
    if dim is None:
        axis = 0
        sizes: tuple[int, ...] = (total,)
    else:
        axis = wrap_dim("repeat_interleave", dim, meta.ndim)
        sizes = (*meta.sizes[:axis], total, *meta.sizes[axis + 1 :])
    shape = (-1,) if dim is None else meta.sizes

    def repeated() -> Array:
        return np.repeat(values(self).reshape(shape), repeats, axis)

    return computed(sizes, meta.dtype, meta.device, repeated)


@kernel("diag")
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """A square matrix with a vector on one diagonal, or a copy of a diagonal of a matrix. RuntimeError otherwise."""
    meta = self.meta
    if meta.ndim == 2:
        view = diagonal_view(self, diagonal)
        return computed(view.meta.sizes, meta.dtype, meta.device, lambda: values(view))
    if meta.ndim != 1:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {meta.ndim}D")
    size = meta.sizes[0] + abs(diagonal)
    result, target = outline((size, size), meta.dtype, meta.device)
    if target is not None:
        target[...] = np.zeros((), meta.dtype.numpy)
        array_of(diagonal_view(result, diagonal))[...] = values(self)
    return result


@kernel("diff")
def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The n-th difference of neighbours along `dim`; booleans by exclusive or. Raises RuntimeError for a 0-dim tensor
    or a negative `n`."""
    if not self.meta.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n:
        return clone(self)
    parts = [part for part in (prepend, self, append) if part is not None]
    joined = cat(parts, dim) if len(parts) > 1 else self
    dtype = common_dtype([(part.meta.dtype, 2) for part in parts])
    place = wrap_dim("diff", dim, joined.meta.ndim)
    if has_many_dims(joined.meta):
        return cast("Tensor", along("diff", joined, dim, partial(diff, n=n, dim=1)))
    sizes = joined.meta.sizes
    kept = (*sizes[:place], max(sizes[place] - n, 0), *sizes[place + 1 :])
    result, target = outline_between(kept, dtype, joined.meta.device, (narrow(joined, place, 0, kept[place]),))
    if target is not None:
        target[...] = _differences(values(joined), n, place)
    return result


def _differences(array: Array, n: int, dim: int) -> Array:
    with np.errstate(all="ignore"):
        for _ in range(min(n, array.shape[dim])):
            upper = array[(slice(None),) * dim + (slice(1, None),)]
            lower = array[(slice(None),) * dim + (slice(None, -1),)]
            array = np.not_equal(upper, lower) if array.dtype == np.bool_ else np.subtract(upper, lower)
    return array
