"""Gradients of views, and of tensors joined, repeated and spread over a grid."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...calls.functions import tensor_ops as ops
from ...core.dtype import bool_, int64
from ...dispatch.keys import any_autograd
from ...operators.invoke import invoke
from . import Tensor
from .indexing import collected

Sizes = Sequence[int]


def placed(grad: Tensor, shape: Sizes, view: str, args: tuple[Any, ...]) -> Tensor:
    """Zeros of `shape` with `grad` where a view of them lies; written in place where nothing is recorded."""
    zeros = grad.new_zeros(shape)
    if any_autograd((grad,), {}):
        recorded: Tensor = invoke(f"{view.partition('.')[0]}_scatter", zeros, grad, *args)
        return recorded
    invoke(view, zeros, *args).copy_(grad)
    return zeros


def slice_back(grad: Tensor, shape: Sizes, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """Zeros of `shape` with `grad` at every `step`-th place from `start` to before `end` along `dim`."""
    return grad if grad.shape[dim] == shape[dim] else placed(grad, shape, "slice.Tensor", (dim, start, end, step))


def narrow_back(grad: Tensor, shape: Sizes, dim: int, start: Any) -> Tensor:
    """Zeros of `shape` with `grad` from `start`, a number or a 0-dim tensor, along `dim`."""
    first = int(start.tolist()) if isinstance(start, Tensor) else start
    place = dim % len(shape)
    first += shape[place] if first < 0 else 0
    return slice_back(grad, shape, dim, first, first + grad.shape[place], 1)


def permute_back(grad: Tensor, dims: Sizes) -> Tensor:
    """`grad` with dim k moved to place ``dims[k]``."""
    order = [0] * len(dims)
    for place, dim in enumerate(dims):
        order[dim] = place
    return grad.permute(order)


def fill_diagonal_back(grad: Tensor, wrap: bool) -> Tensor:
    """`grad` with zeros on the main diagonal, which with `wrap` goes on below the square part of a tall matrix."""
    kept = ops.ones(grad.shape, dtype=bool_, device=grad.device)
    return grad.masked_fill(~kept.fill_diagonal_(False, wrap), 0)


def unfold_back(grad: Tensor, shape: Sizes, dimension: int, size: int, step: int) -> Tensor:
    """The sum over windows: element j of window i along `dimension` is added at place ``i * step + j``."""
    if not shape:
        return grad.sum()
    place = dimension % len(shape)
    windows = grad.shape[place]
    places = (ops.arange(windows).unsqueeze(1) * step + ops.arange(size)).reshape((-1,))
    source = grad.movedim(-1, place + 1).flatten(place, place + 1)
    return collected(shape, place, places.to(grad.device), source)


def as_strided_back(
    grad: Tensor, shape: Sizes, strides: Sizes, start: int, size: Sizes, stride: Sizes, storage_offset: int | None
) -> Tensor:
    """Return the gradient of a tensor of `shape`, `strides` and offset `start` from that of a view of its storage.

    Contributions to one element of storage are added; where elements of the tensor share one, each has an equal part.
    """
    offset = start if storage_offset is None else storage_offset
    lowest = min(start, offset)
    seen, own = _places(size, stride, offset - lowest), _places(shape, strides, start - lowest)
    repeated = ops.unique(own).numel() != own.numel()
    seen, own = seen.to(grad.device), own.to(grad.device)
    count = max(_extent(size, stride) + offset, _extent(shape, strides) + start) - lowest
    flat = collected((count,), 0, seen, grad.reshape((-1,)))
    if repeated:
        times = collected((count,), 0, own, ops.ones_like(own))
        flat = flat / times.clamp_min(1)
    return flat.index_select(0, own).reshape(tuple(shape))


def _extent(size: Sizes, stride: Sizes) -> int:
    """Return how far the elements reach from the first."""
    return 0 if 0 in size else 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))


def _places(size: Sizes, stride: Sizes, offset: int) -> Tensor:
    """Return the places of the elements in the storage, in row-major order."""
    places = ops.full((), offset, dtype=int64)
    for length, step in zip(size, stride, strict=True):
        places = places.unsqueeze(-1) + ops.arange(length) * step
    return places.reshape((-1,))


def as_strided_scatter_self_back(
    grad: Tensor, strides: Sizes, size: Sizes, stride: Sizes, storage_offset: int | None
) -> Tensor:
    """`grad` with zeros where a tensor of its sizes and of `strides` is seen through the view."""
    own, written = _places(grad.shape, strides, 0), _places(size, stride, storage_offset or 0)
    return grad.masked_fill(ops.isin(own, written).reshape(grad.shape).to(grad.device), 0)


def as_strided_scatter_src_back(
    grad: Tensor, strides: Sizes, size: Sizes, stride: Sizes, storage_offset: int | None
) -> Tensor:
    """Return what the view shows of `grad`, laid out in `strides`; zeros outside of it."""
    own, written = _places(grad.shape, strides, 0), _places(size, stride, storage_offset or 0)
    count = max(_extent(grad.shape, strides), _extent(size, stride) + (storage_offset or 0))
    flat = grad.new_zeros((count,)).index_copy(0, own.to(grad.device), grad.reshape((-1,)))
    return flat.index_select(0, written.to(grad.device)).reshape(tuple(size))


Parts = tuple[Tensor, ...]


def cat_back(grad: Tensor, shapes: Sequence[Sizes], dim: int) -> Parts:
    """`grad` cut along `dim` into tensors of `shapes`; vectors without elements take no part."""
    parts, start = [], 0
    for shape in shapes:
        if tuple(shape) == (0,) and grad.ndim != 1:
            parts.append(grad.new_zeros((0,)))
            continue
        length = shape[dim]
        parts.append(grad.narrow(dim, start, length))
        start += length
    return tuple(parts)


def split_back(grads: Sequence[Tensor], shape: Sizes, indices: Tensor | Sizes | int, dim: int) -> Tensor:
    """The sum of the gradients of parts that begin and end at `indices`, or that are so many of equal sizes."""
    if isinstance(indices, Tensor):
        indices = indices.tolist()
    if isinstance(indices, int):
        return ops.cat(tuple(grads), dim)
    ends = [*indices, shape[dim]]
    total = grads[0].new_zeros(shape)
    for grad, start, end in zip(grads, [0, *indices], ends, strict=True):
        total = total + slice_back(grad, shape, dim, start, end, 1)
    return total


def repeat_back(grad: Tensor, shape: Sizes, repeats: Sizes) -> Tensor:
    """The sum over all copies of a tensor of `shape` that was repeated along each dim."""
    lead = max(len(repeats) - len(shape), 0)
    sizes = (1,) * lead + tuple(shape)
    times = (1,) * (len(sizes) - len(repeats)) + tuple(repeats)
    if not prod(times):
        return grad.new_zeros(shape)
    split = tuple(n for pair in zip(times, sizes, strict=True) for n in pair)
    copies = tuple(range(0, len(split), 2))
    return (grad.reshape(split).sum(copies) if copies else grad).reshape(tuple(shape))


def roll_back(grad: Tensor, shifts: int | Sizes, dims: int | Sizes) -> Tensor:
    """`grad` rolled the other way."""
    shifts = (shifts,) if isinstance(shifts, int) else shifts
    return ops.roll(grad, tuple(-shift for shift in shifts), dims)
