"""Views that move, drop, add or repeat dims; named as the operators' schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import check_int, check_ints, wrap_dim, wrap_dims
from ..core.warn import warn_once
from .tensor import Tensor, make_view, view_at_same_place
from .tensor_meta import TensorMeta, broadcast_strides, extent, meta_with, only_ints, permuted, remember


def t(self: Tensor) -> Tensor:
    """A matrix with its dims swapped; tensors of fewer dims as a view. Raises RuntimeError above two dims."""
    meta = self.meta
    other = meta.transposed
    if other is None:
        if meta.ndim > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {meta.ndim}D")
        other = meta_with(meta, meta.sizes[::-1], meta.strides[::-1])
        meta.transposed = other
    return view_at_same_place(self, other)


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Dims `dim0` and `dim1` swapped. Raises IndexError for a dim out of range."""
    meta = self.meta
    if dim0.__class__ is not int or dim1.__class__ is not int:
        dim0, dim1 = check_int("transpose", "dim0", dim0), check_int("transpose", "dim1", dim1)
    first = wrap_dim("transpose", dim0, meta.ndim, "dim0")
    second = wrap_dim("transpose", dim1, meta.ndim, "dim1")
    order = list(range(meta.ndim))
    if order:
        order[first], order[second] = second, first
    return view_at_same_place(self, _permuted_meta(meta, tuple(order)))


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Dim k of the result is dim ``dims[k]``. Raises RuntimeError unless `dims` names every dim once."""
    meta = self.meta
    dims = check_ints("permute", "dims", dims)
    if len(dims) != meta.ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {meta.ndim} is not equal to len(dims) = {len(dims)}"
        )
    return view_at_same_place(self, _permuted_meta(meta, wrap_dims("permute", dims, meta.ndim)))


def _permuted_meta(meta: TensorMeta, order: tuple[int, ...]) -> TensorMeta:
    return meta_with(meta, permuted(meta.sizes, order), permuted(meta.strides, order))


def movedim(self: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """The dims `source` moved to the places `destination`, the others in order. Raises RuntimeError, IndexError."""
    return view_at_same_place(self, _permuted_meta(self.meta, moved_order(self.meta.ndim, source, destination)))


def moved_order(ndim: int, source: int | Sequence[int], destination: int | Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that moves the dims `source` to the places `destination`. Raises RuntimeError,
    IndexError."""
    sources, targets = check_ints("movedim", "source", source), check_ints("movedim", "destination", destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same "
            f"number of dims as destination ({list(targets)} dims)"
        )
    wrapped = wrap_dims("movedim", targets, ndim, "destination")
    places = dict(zip(wrapped, wrap_dims("movedim", sources, ndim, "source"), strict=True))
    rest = iter([dim for dim in range(ndim) if dim not in places.values()])
    return tuple([places[place] if place in places else next(rest) for place in range(ndim)])


def numpy_t(self: Tensor) -> Tensor:
    """``x.T``: all dims reversed."""
    meta = self.meta
    if meta.ndim == 2:
        return t(self)
    warn_once(f"x.T of {meta.ndim} dims is deprecated; use x.mT for matrices, or x.permute(...) to reverse all dims")
    return view_at_same_place(self, meta_with(meta, meta.sizes[::-1], meta.strides[::-1]))


def matrix_transpose(self: Tensor) -> Tensor:
    """``x.mT``: the last two dims swapped. Raises RuntimeError for one dim."""
    if self.meta.ndim == 0:
        return self
    if self.meta.ndim == 1:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.meta.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


def expand(self: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    """Size-1 dims repeated, and new leading dims added, with stride 0; -1 keeps a size.

    Raises RuntimeError for fewer dims, for a size other than the old one where that is not 1, and for -1 on a
    new dim.
    """
    meta = self.meta
    if not isinstance(size, tuple) or not only_ints(size):
        size = check_ints("expand", "size", size)
    other = meta.views.get(size)
    if other is None:
        sizes = tuple(size)
        other = meta_with(meta, *_expanded(meta, sizes))
        remember(meta.views, sizes, other)
    return view_at_same_place(self, other)


def _expanded(meta: TensorMeta, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    lead = len(sizes) - meta.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand(): the number of sizes provided ({len(sizes)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({meta.ndim})"
        )
    result = []
    for place, new in enumerate(sizes):
        old = meta.sizes[place - lead] if place >= lead else 1
        if new == -1 and place < lead:
            raise RuntimeError(
                f"expand(): The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension "
                f"{place}"
            )
        if new < -1:
            raise RuntimeError(f"expand(): argument 'size' must not be negative, got {list(sizes)}")
        if new != -1 and new != old != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({new}) must match the existing size ({old}) at non-singleton "
                f"dimension {place}.  Target sizes: {list(sizes)}.  Tensor sizes: {list(meta.sizes)}"
            )
        result.append(old if new == -1 else new)
    new_sizes = tuple(result)
    return new_sizes, broadcast_strides(meta.sizes, meta.strides, new_sizes)


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """expand to the sizes of `other`."""
    return expand(self, other.meta.sizes)


def squeeze(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Without its dims of size 1, or without those of them that `dim` names. Raises IndexError out of range."""
    meta = self.meta
    ndim = meta.ndim
    if dim is None:
        dims: Sequence[int] = range(ndim)
    else:
        dims = wrap_dims("squeeze", check_ints("squeeze", "dim", dim), ndim, "dim")
    kept = tuple([place for place in range(ndim) if meta.sizes[place] != 1 or place not in dims])
    return view_at_same_place(self, _permuted_meta(meta, kept))


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """With a dim of size 1 added at `dim`, in [-(ndim + 1), ndim]. Raises IndexError outside."""
    meta = self.meta
    if dim.__class__ is not int:
        dim = check_int("unsqueeze", "dim", dim)
    sizes, strides = meta.sizes, meta.strides
    place = wrap_dim("unsqueeze", dim, meta.ndim + 1)
    stride = sizes[place] * strides[place] if place < meta.ndim else 1
    other = meta_with(meta, (*sizes[:place], 1, *sizes[place:]), (*strides[:place], stride, *strides[place:]))
    return view_at_same_place(self, other)


def select(self: Tensor, dim: int, index: int) -> Tensor:
    """The part at `index` along `dim`, which is dropped. Raises IndexError out of range and for 0-dim tensors."""
    meta = self.meta
    if not meta.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    place = wrap_dim("select", dim, meta.ndim)
    size = meta.sizes[place]
    index = check_int("select", "index", index)
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(meta.sizes)} at dimension {place}"
        )
    key = ("select", place)
    other = meta.views.get(key)
    if other is None:
        kept = tuple([other_dim for other_dim in range(meta.ndim) if other_dim != place])
        other = _permuted_meta(meta, kept)
        remember(meta.views, key, other)
    return make_view(self, other, self.offset + (index if index >= 0 else index + size) * meta.strides[place])


def slice_dim(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Every `step`-th part from `start` to before `end` along `dim`, clamped. Raises RuntimeError for step <= 0."""
    meta = self.meta
    if not meta.ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError(f"slice step must be positive, got {step}")
    place = wrap_dim("slice", dim, meta.ndim)
    first, last, _ = slice(start, end, step).indices(meta.sizes[place])
    return sliced(self, place, first, max(0, (last - first + step - 1) // step), step)


def sliced(self: Tensor, place: int, start: int, length: int, step: int) -> Tensor:
    """`length` parts from `start` with `step` along dim `place`, all of them in range."""
    meta = self.meta
    key = ("slice", place, length, step)
    other = meta.views.get(key)
    if other is None:
        sizes, strides = list(meta.sizes), list(meta.strides)
        sizes[place] = length
        strides[place] *= step
        other = meta_with(meta, tuple(sizes), tuple(strides))
        remember(meta.views, key, other)
    return make_view(self, other, self.offset + start * meta.strides[place])


def narrow(self: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` parts from `start` along `dim`. Raises IndexError for start, RuntimeError for length out of range."""
    meta = self.meta
    if not meta.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    place = wrap_dim("narrow", dim, meta.ndim)
    size = meta.sizes[place]
    if isinstance(start, Tensor) and (start.meta.ndim or start.meta.dtype.kind != 1):
        raise RuntimeError("narrow(): start must be an 0-dim integral Tensor.")
    start = check_int("narrow", "start", start)
    length = check_int("narrow", "length", length)
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}")
    if not -size <= start <= size:
        raise IndexError(
            f"narrow(): start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    first = start + size if start < 0 else start
    if first + length > size:
        raise RuntimeError(f"narrow(): start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return sliced(self, place, first, length, 1)


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size`, `step` apart, along `dimension`; the window is a new last dim. Raises RuntimeError."""
    meta = self.meta
    place = wrap_dim("unfold", dimension, meta.ndim, "dimension")
    size, step = check_int("unfold", "size", size), check_int("unfold", "step", step)
    available, stride = (meta.sizes[place], meta.strides[place]) if meta.ndim else (1, 1)
    if size < 0:
        raise RuntimeError(f"unfold(): size is {size} but must be >= 0")
    if size > available:
        raise RuntimeError(f"unfold(): maximum size for tensor at dimension {place} is {available} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"unfold(): step is {step} but must be > 0")
    sizes, strides = [*meta.sizes, size], [*meta.strides, stride]
    if meta.ndim:
        sizes[place] = (available - size) // step + 1
        strides[place] = stride * step
    return view_at_same_place(self, meta_with(meta, tuple(sizes), tuple(strides)))


def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal over `dim1` and `dim2`, `offset` above the main one, as a new last dim. Raises RuntimeError."""
    meta = self.meta
    if not only_ints((offset, dim1, dim2)):
        dim1, dim2 = check_int("diagonal", "dim1", dim1), check_int("diagonal", "dim2", dim2)
        offset = check_int("diagonal", "offset", offset)
    key = ("diagonal", offset, dim1, dim2)
    known = meta.views.get(key)
    if known is None:
        known = remember(meta.views, key, _diagonal(meta, offset, dim1, dim2))
    return make_view(self, known[0], self.offset + known[1])


def _diagonal(meta: TensorMeta, offset: int, dim1: int, dim2: int) -> tuple[TensorMeta, int]:
    first = wrap_dim("diagonal", dim1, meta.ndim, "dim1")
    second = wrap_dim("diagonal", dim2, meta.ndim, "dim2")
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    sizes, strides = meta.sizes, meta.strides
    rows, columns = sizes[first] + min(offset, 0), sizes[second] - max(offset, 0)
    length = max(min(rows, columns), 0)
    skip = (offset * strides[second] if offset >= 0 else -offset * strides[first]) if length else 0
    kept = tuple([dim for dim in range(meta.ndim) if dim not in (first, second)])
    other = meta_with(
        meta,
        (*permuted(sizes, kept), length),
        (*permuted(strides, kept), strides[first] + strides[second]),
    )
    return other, skip


def as_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Any view inside the storage; without `storage_offset` it starts where `self` does. Raises RuntimeError for other
    lengths, negative members, and elements outside the storage."""
    meta = self.meta
    key = ("as_strided", size, stride)
    try:
        known = meta.views.get(key)
    except TypeError:
        known = None
    if known is None or not only_ints(size) or not only_ints(stride):
        other, offset = strided_meta("as_strided", self, size, stride, storage_offset)
        needed = extent(other.sizes, other.strides)
        if type(size) is type(stride) is tuple and only_ints(size) and only_ints(stride):
            remember(meta.views, key, (other, needed * other.dtype.itemsize))
        return make_view(self, other, offset)
    other, nbytes = known
    offset = self.offset if storage_offset is None else storage_offset
    limit = self.storage_impl.nbytes - nbytes
    if offset.__class__ is not int or offset < 0 or offset * meta.dtype.itemsize > limit:
        other, offset = strided_meta("as_strided", self, size, stride, storage_offset)
    return make_view(self, other, offset)


def strided_meta(
    operator: str, self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> tuple[TensorMeta, int]:
    """The checked meta and offset of as_strided."""
    sizes, strides = check_ints(operator, "size", size), check_ints(operator, "stride", stride)
    offset = self.offset if storage_offset is None else check_int(operator, "storage_offset", storage_offset)
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {operator}() got {len(sizes)} sizes and {len(strides)} strides"
        )
    if any(item < 0 for item in sizes):
        raise RuntimeError(f"{operator}(): argument 'size' must not be negative, got {list(sizes)}")
    if any(item < 0 for item in strides):
        raise RuntimeError(
            f"{operator}(): Negative strides are not supported at the moment, got strides: {list(strides)}"
        )
    if offset < 0:
        raise RuntimeError(f"{operator}(): Tensor: invalid storage offset {offset}")
    meta = self.meta
    needed = extent(sizes, strides)
    nbytes = (offset + needed) * meta.dtype.itemsize
    if needed and nbytes > self.storage_impl.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {offset}, and itemsize "
            f"{meta.dtype.itemsize} requiring a storage size of {nbytes} are out of bounds for storage of size "
            f"{self.storage_impl.nbytes}"
        )
    return meta_with(meta, sizes, strides), offset


def alias(self: Tensor) -> Tensor:
    """A view with the same metadata."""
    return view_at_same_place(self, self.meta)
