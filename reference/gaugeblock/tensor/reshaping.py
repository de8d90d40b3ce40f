"""view and reshape: other sizes for the same elements in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..core.errors import check_ints, wrap_dim
from ..core.memory_format import (
    MemoryFormat,
    channels_last,
    channels_last_3d,
    check_memory_format,
    contiguous_format,
    preserve_format,
)
from .hooks import hooks
from .tensor import Tensor, new_like, view_at_same_place
from .tensor_meta import (
    contiguous_meta,
    format_strides,
    is_channels_last,
    meta_of,
    meta_with,
    only_ints,
    remember,
    view_strides,
)


def inferred_sizes(operator: str, size: Sequence[int], numel: int) -> tuple[int, ...]:
    """`size` with its -1 replaced. Raises RuntimeError for two -1, another negative size or a wrong product."""
    sizes = check_ints(operator, "size", size)
    known = 1
    unknown = -1
    for place, item in enumerate(sizes):
        if item >= 0:
            known *= item
        elif item == -1 and unknown < 0:
            unknown = place
        elif item == -1:
            raise RuntimeError(f"{operator}(): only one dimension can be inferred")
        else:
            raise RuntimeError(f"{operator}(): invalid shape dimension {item} at index {place} of {list(sizes)}")
    if unknown < 0:
        if known == numel:
            return sizes
    elif known and numel % known == 0:
        return (*sizes[:unknown], numel // known, *sizes[unknown + 1 :])
    elif not known and not numel:
        raise RuntimeError(
            f"{operator}(): cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"{operator}(): shape '{list(sizes)}' is invalid for input of size {numel}")


def view(self: Tensor, size: Sequence[int]) -> Tensor:
    """Return the same elements under other sizes, without a copy; one size may be -1. Raises RuntimeError when the
    numels differ, or when no strides can express it."""
    meta = self.meta
    if size.__class__ is not tuple or not only_ints(size):
        size = check_ints("view", "size", size)
    key = ("view", size)
    other = meta.views.get(key)
    if other is None:
        sizes = inferred_sizes("view", size, meta.numel)
        strides = view_strides(meta.sizes, meta.strides, sizes)
        if strides is None:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans "
                f"across two contiguous subspaces): view() got size {list(sizes)} for sizes {list(meta.sizes)}, "
                f"strides {list(meta.strides)}. Use .reshape(...) instead."
            )
        other = meta_with(meta, sizes, strides)
        remember(meta.views, key, other)
    return view_at_same_place(self, other)


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """view with the sizes of `other`."""
    return view(self, other.meta.sizes)


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """A view where view is possible, else a row-major copy with the new sizes. Raises RuntimeError as view."""
    meta = self.meta
    if shape.__class__ is not tuple or not only_ints(shape):
        shape = check_ints("reshape", "shape", shape)
    key = ("view", shape)
    other = meta.views.get(key)
    if other is not None:
        return view_at_same_place(self, other)
    sizes = inferred_sizes("reshape", shape, meta.numel)
    strides = view_strides(meta.sizes, meta.strides, sizes)
    if strides is not None:
        return view_at_same_place(self, remember(meta.views, key, meta_with(meta, sizes, strides)))
    packed = copy_of(self, contiguous_format)
    packed._meta = contiguous_meta(sizes, meta.dtype, meta.device)
    return packed


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """reshape with the sizes of `other`."""
    return reshape(self, other.meta.sizes)


def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dims `start_dim` to `end_dim` as one, by reshape; `self` when that changes nothing. Raises RuntimeError."""
    meta = self.meta
    sizes = meta.sizes
    if start_dim.__class__ is int and start_dim == 0 and end_dim == -1 and len(sizes) > 1:
        return reshape(self, (meta.numel,))
    first = wrap_dim("flatten", start_dim, len(sizes), "start_dim")
    last = wrap_dim("flatten", end_dim, len(sizes), "end_dim")
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not sizes:
        return reshape(self, (1,))
    return self if first == last else reshape(self, (*sizes[:first], prod(sizes[first : last + 1]), *sizes[last + 1 :]))


def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dim `dim` split into `sizes`, one of which may be -1, as a view. Raises RuntimeError for a wrong product."""
    old = self.meta.sizes
    place = wrap_dim("unflatten", dim, len(old))
    parts = check_ints("unflatten", "sizes", sizes)
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not old:
        raise IndexError("unflatten(): a 0-dim tensor has no dim to split")
    return view(self, (*old[:place], *inferred_sizes("unflatten", parts, old[place]), *old[place + 1 :]))


def ravel(self: Tensor) -> Tensor:
    """One dim with all elements; a view when they are contiguous."""
    return view(contiguous(self), (-1 if self.meta.numel else 0,))


def contiguous(self: Tensor, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """`self` when it already has the layout, else a fresh copy with it. Raises RuntimeError for preserve_format."""
    if has_memory_format(self, memory_format):
        return self
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return copy_of(self, memory_format)


def has_memory_format(self: Tensor, memory_format: MemoryFormat) -> bool:
    """Return whether the strides are those of `memory_format`."""
    meta = self.meta
    if memory_format is contiguous_format:
        return meta.contiguous
    if memory_format is channels_last or memory_format is channels_last_3d:
        return is_channels_last(meta.sizes, meta.strides, memory_format)
    check_memory_format("contiguous", memory_format)
    return meta.contiguous


def copy_of(self: Tensor, memory_format: MemoryFormat) -> Tensor:
    """A fresh tensor with the values of `self`, lazy bits resolved, strided as `memory_format` says. Raises
    RuntimeError when the rank does not go with the format."""
    meta = self.meta
    if meta.dtype.quantized:
        return hooks.dispatched["quantized clone"](self, memory_format=memory_format)  # type: ignore[no-any-return]
    strides = format_strides("contiguous", meta.sizes, meta.strides, memory_format)
    result = new_like(meta_of(meta.sizes, strides, meta.dtype, meta.device))
    if meta.numel:
        hooks.copy_into(result, self)
    return result
