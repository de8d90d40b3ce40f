"""Gradients of reads and writes at places that index tensors and masks name."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from ...dispatch.registry import any_watched
from ...operators.invoke import invoke

Sizes = Sequence[int]
Indices = Sequence[Tensor | None]


def collected(shape: Sizes, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Zeros of `shape` with the parts of `source` added at `index` along `dim`; in place where nothing is recorded."""
    zeros = source.new_zeros(shape)
    if any_watched((source,), {}):
        return zeros.index_add(dim, index, source)
    return zeros.index_add_(dim, index, source)


def index_back(grad: Tensor, shape: Sizes, indices: Indices) -> Tensor:
    """Zeros of `shape` with `grad` added at the indexed places; places that repeat get the sum."""
    chosen = [index for index in indices if index is not None]
    if len(chosen) == 1 and chosen[0].dtype in (gb.int64, gb.int32):
        dim = next(place for place, index in enumerate(indices) if index is not None)
        places = chosen[0].reshape((-1,)).remainder(max(shape[dim], 1))
        source = grad.reshape((*shape[:dim], places.numel(), *shape[dim + 1 :]))
        return collected(shape, dim, places, source)
    found: Tensor = invoke("index_put", grad.new_zeros(shape), indices, grad, True)
    return found


def index_zeroed(grad: Tensor, indices: Indices) -> Tensor:
    """`grad` with zeros at the indexed places."""
    found: Tensor = invoke("index_put", grad, indices, grad.new_zeros(()), False)
    return found


def index_at(grad: Tensor, indices: Indices) -> Tensor:
    """The elements of `grad` at the indexed places."""
    found: Tensor = invoke("index.Tensor", grad, indices)
    return found


def take_back(grad: Tensor, shape: Sizes, index: Tensor) -> Tensor:
    """Zeros of `shape` with `grad` added at the flat places `index`."""
    return grad.new_zeros(shape).put(index, grad, True)


def take_along_dim_back(grad: Tensor, shape: Sizes, indices: Tensor, dim: int | None) -> Tensor:
    """Zeros of `shape`, broadcast with the indices in all other dims, with `grad` added at `indices` along `dim`."""
    if dim is None:
        return take_back(grad.reshape((-1,)), shape, indices.reshape((-1,)))
    sizes = list(grad.shape)
    sizes[dim] = shape[dim]
    return grad.new_zeros(sizes).scatter_add(dim, indices.expand(grad.shape).remainder(shape[dim]), grad)


def masked_select_back(grad: Tensor, shape: Sizes, mask: Tensor) -> Tensor:
    """Zeros with the elements of `grad` in order where `mask` is true, both broadcast."""
    sizes = gb.broadcast_shapes(tuple(shape), mask.shape)
    return grad.new_zeros(sizes).masked_scatter(mask, grad)


def masked_scatter_back(grad: Tensor, mask: Tensor, shape: Sizes) -> Tensor:
    """The elements of `grad` where `mask` is true in order, then zeros, in sizes `shape`."""
    chosen = grad.masked_select(mask)
    missing = prod(shape) - chosen.numel()
    return gb.cat((chosen, grad.new_zeros((missing,)))).reshape(tuple(shape))


def gathered(grad: Tensor, dim: int, index: Tensor, shape: Sizes) -> Tensor:
    """The elements of `grad` at `index` along `dim`, filled up with zeros to `shape` where that is larger."""
    return filled_up(grad.gather(dim, index), shape)


def filled_up(tensor: Tensor, shape: Sizes) -> Tensor:
    """A tensor with zeros behind its elements along each dim, up to `shape`."""
    if tensor.shape == tuple(shape):
        return tensor
    pad = [n for own, wanted in zip(tensor.shape[::-1], shape[::-1], strict=True) for n in (0, wanted - own)]
    return gb.constant_pad_nd(tensor, pad)


def source_back(grad: Tensor, dim: int, index: Tensor, shape: Sizes) -> Tensor:
    """The parts of `grad` at `index` along `dim`, in the sizes of the source that was written there."""
    return grad.index_select(dim, index).reshape(tuple(shape))


def index_fill_value_back(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    """The sum of `grad` over the parts at `index` along `dim`, each counted once."""
    if not grad.ndim:
        return grad if index.numel() else gb.zeros_like(grad)
    places = gb.unique(index.remainder(grad.shape[dim])) if grad.shape[dim] else index
    return grad.index_select(dim, places).sum()


def zeroed_at(grad: Tensor, index: Tensor) -> Tensor:
    """`grad` with zeros at the flat places `index`."""
    return grad.put(index, grad.new_zeros(index.shape), False)


HELPERS: dict[str, Any] = {
    "collected": collected,
    "index_back": index_back,
    "index_zeroed": index_zeroed,
    "index_at": index_at,
    "take_back": take_back,
    "take_along_dim_back": take_along_dim_back,
    "masked_select_back": masked_select_back,
    "masked_scatter_back": masked_scatter_back,
    "gathered": gathered,
    "source_back": source_back,
    "index_fill_value_back": index_fill_value_back,
    "zeroed_at": zeroed_at,
}
