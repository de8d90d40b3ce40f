"""Gradients of views: zeros of the input's sizes with the gradient written through the view, for any strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from ...dispatch.registry import any_watched
from ...operators.invoke import invoke
from .places import collected

Sizes = Sequence[int]


def _written(grad: Tensor, shape: Sizes, part: Callable[[Tensor], Tensor]) -> Tensor:
    """Zeros of `shape` with `grad`, which nothing is recorded for, written through a view of them."""
    zeros = grad.new_zeros(shape)
    part(zeros).copy_(grad)
    return zeros


def select_back(grad: Tensor, shape: Sizes, dim: int, index: int) -> Tensor:
    """Zeros of `shape` with `grad` at `index` along `dim`."""
    if not any_watched((grad,), {}):
        return _written(grad, shape, lambda zeros: zeros.select(dim, index))
    return slice_back(grad.unsqueeze(dim), shape, dim, index, index + 1 or None, 1)


def slice_back(grad: Tensor, shape: Sizes, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """Zeros of `shape` with `grad` at every `step`-th place from `start` to before `end` along `dim`."""
    place = dim % len(shape)
    size, length = shape[place], grad.shape[place]
    if length == size:
        return grad
    before = slice(start, end).indices(size)[0] if length else 0
    if not any_watched((grad,), {}):
        key = (slice(None),) * place + (slice(start, end, step),)
        return _written(grad, shape, lambda zeros: zeros[key])
    if step != 1:
        return grad.new_zeros(shape).slice_scatter(grad, dim, start, end, step)
    pad = (0, 0) * (len(shape) - 1 - place) + (before, size - before - length)
    found: Tensor = invoke("constant_pad_nd", grad, pad)
    return found


def narrow_back(grad: Tensor, shape: Sizes, dim: int, start: Any) -> Tensor:
    """Zeros of `shape` with `grad` from `start`, a number or a 0-dim tensor, along `dim`."""
    first = int(start.tolist()) if isinstance(start, Tensor) else start
    place = dim % len(shape)
    first += shape[place] if first < 0 else 0
    return slice_back(grad, shape, dim, first, first + grad.shape[place], 1)


def diagonal_back(grad: Tensor, shape: Sizes, offset: int, dim1: int, dim2: int) -> Tensor:
    """Zeros of `shape` with `grad`, whose last dim runs along it, on a diagonal."""
    if not any_watched((grad,), {}):
        return _written(grad, shape, lambda zeros: zeros.diagonal(offset, dim1, dim2))
    return grad.new_zeros(shape).diagonal_scatter(grad, offset, dim1, dim2)


def permute_back(grad: Tensor, dims: Sizes) -> Tensor:
    """`grad` with dim k moved to place ``dims[k]``."""
    order = [0] * len(dims)
    for place, dim in enumerate(dims):
        order[dim] = place
    return grad.permute(order)


def fill_diagonal_back(grad: Tensor, wrap: bool) -> Tensor:
    """`grad` with zeros on the main diagonal, which with `wrap` goes on below the square part of a tall matrix."""
    kept = gb.ones(grad.shape, dtype=gb.bool, device=grad.device)
    return grad.masked_fill(~kept.fill_diagonal_(False, wrap), 0)


def unfold_back(grad: Tensor, shape: Sizes, dimension: int, size: int, step: int) -> Tensor:
    """The sum over windows: element j of window i along `dimension` is added at place ``i * step + j``."""
    if not shape:
        return grad.sum()
    place = dimension % len(shape)
    windows = grad.shape[place]
    places = (gb.arange(windows).unsqueeze(1) * step + gb.arange(size)).reshape((-1,))
    source = grad.movedim(-1, place + 1).flatten(place, place + 1)
    return collected(shape, place, places.to(grad.device), source)


def as_strided_back(
    grad: Tensor, shape: Sizes, strides: Sizes, start: int, size: Sizes, stride: Sizes, storage_offset: int | None
) -> Tensor:
    """What reaches a tensor of `shape`, `strides` and offset `start` from a view of its storage.

    Contributions to one element of storage are added; where elements of the tensor share one, each has an equal part.
    """
    offset = start if storage_offset is None else storage_offset
    lowest = min(start, offset)
    seen, own = _places(size, stride, offset - lowest), _places(shape, strides, start - lowest)
    repeated = gb.unique(own).numel() != own.numel()
    seen, own = seen.to(grad.device), own.to(grad.device)
    count = max(_extent(size, stride) + offset, _extent(shape, strides) + start) - lowest
    flat = collected((count,), 0, seen, grad.reshape((-1,)))
    if repeated:
        times = collected((count,), 0, own, gb.ones_like(own))
        flat = flat / times.clamp_min(1)
    return flat.index_select(0, own).reshape(tuple(shape))


def _extent(size: Sizes, stride: Sizes) -> int:
    """How far the elements reach from the first."""
    return 0 if 0 in size else 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))


def _places(size: Sizes, stride: Sizes, offset: int) -> Tensor:
    """Where in the storage the elements lie, in row-major order."""
    places = gb.full((), offset, dtype=gb.int64)
    for length, step in zip(size, stride, strict=True):
        places = places.unsqueeze(-1) + gb.arange(length) * step
    return places.reshape((-1,))


def as_strided_scatter_self_back(
    grad: Tensor, strides: Sizes, size: Sizes, stride: Sizes, storage_offset: int | None
) -> Tensor:
    """`grad` with zeros where a tensor of its sizes and of `strides` is seen through the view."""
    own, written = _places(grad.shape, strides, 0), _places(size, stride, storage_offset or 0)
    return grad.masked_fill(gb.isin(own, written).reshape(grad.shape).to(grad.device), 0)


def as_strided_scatter_src_back(
    grad: Tensor, strides: Sizes, size: Sizes, stride: Sizes, storage_offset: int | None
) -> Tensor:
    """What the view shows of `grad`, laid out in `strides`; zeros outside of it."""
    own, written = _places(grad.shape, strides, 0), _places(size, stride, storage_offset or 0)
    count = max(_extent(grad.shape, strides), _extent(size, stride) + (storage_offset or 0))
    flat = grad.new_zeros((count,)).index_copy(0, own.to(grad.device), grad.reshape((-1,)))
    return flat.index_select(0, written.to(grad.device)).reshape(tuple(size))


HELPERS: dict[str, Any] = {
    "select_back": select_back,
    "slice_back": slice_back,
    "narrow_back": narrow_back,
    "diagonal_back": diagonal_back,
    "permute_back": permute_back,
    "fill_diagonal_back": fill_diagonal_back,
    "unfold_back": unfold_back,
    "as_strided_back": as_strided_back,
    "as_strided_scatter_self_back": as_strided_scatter_self_back,
    "as_strided_scatter_src_back": as_strided_scatter_src_back,
}
