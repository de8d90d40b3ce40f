"""Gradients of reads and writes at places: index tensors, masks, scatter and gather, tables of rows and their bags."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from ...calls.functions import tensor_ops as ops
from ...core.dtype import bool_, int32, int64
from ...dispatch.keys import any_autograd
from ...operators.composites import broadcast_shapes
from ...operators.invoke import invoke
from . import Tensor
from .reductions import norm_back

Sizes = Sequence[int]
Indices = Sequence[Tensor | None]


def collected(shape: Sizes, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Zeros of `shape` with the parts of `source` added at `index` along `dim`; in place where nothing is recorded."""
    zeros = source.new_zeros(shape)
    return zeros.index_add(dim, index, source) if any_autograd((source,), {}) else zeros.index_add_(dim, index, source)


def index_back(grad: Tensor, shape: Sizes, indices: Indices) -> Tensor:
    """Zeros of `shape` with `grad` added at the indexed places; places that repeat get the sum."""
    chosen = [index for index in indices if index is not None]
    if len(chosen) == 1 and chosen[0].dtype in (int64, int32):
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


def masked_select_back(grad: Tensor, shape: Sizes, mask: Tensor) -> Tensor:
    """Zeros with the elements of `grad` in order where `mask` is true, both broadcast."""
    sizes = broadcast_shapes(tuple(shape), mask.shape)
    return grad.new_zeros(sizes).masked_scatter(mask, grad)


def masked_scatter_back(grad: Tensor, mask: Tensor, shape: Sizes) -> Tensor:
    """The elements of `grad` where `mask` is true in order, then zeros, in sizes `shape`."""
    chosen = grad.masked_select(mask)
    missing = math.prod(shape) - chosen.numel()
    return ops.cat((chosen, grad.new_zeros((missing,)))).reshape(tuple(shape))


def gathered(grad: Tensor, dim: int, index: Tensor, shape: Sizes) -> Tensor:
    """The elements of `grad` at `index` along `dim`, filled up with zeros to `shape` where that is larger."""
    return _filled_up(grad.gather(dim, index), shape)


def _filled_up(tensor: Tensor, shape: Sizes) -> Tensor:
    """A tensor with zeros behind its elements along each dim, up to `shape`."""
    if tensor.shape == tuple(shape):
        return tensor
    pad = [n for own, wanted in zip(tensor.shape[::-1], shape[::-1], strict=True) for n in (0, wanted - own)]
    return ops.constant_pad_nd(tensor, pad)


def index_fill_value_back(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    """The sum of `grad` over the parts at `index` along `dim`, each counted once."""
    if not grad.ndim:
        return grad if index.numel() else ops.zeros_like(grad)
    places = ops.unique(index.remainder(grad.shape[dim])) if grad.shape[dim] else index
    return grad.index_select(dim, places).sum()


def scatter_back(grad: Tensor, dim: int, index: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zeros of `shape` with the elements of `grad` added at the places `index` along `dim`."""
    if not shape:
        return grad.sum()
    zeros = grad.new_zeros(shape)
    return zeros.scatter_add(dim, index, grad) if index.numel() else zeros


def pick_back(grad: Tensor, dim: int, index: Tensor, shape: tuple[int, ...], keepdim: bool) -> Tensor:
    """As scatter_back for one place along `dim`, which `grad` and `index` lack unless `keepdim`."""
    if keepdim or not shape:
        return scatter_back(grad, dim, index, shape)
    return scatter_back(grad.unsqueeze(dim), dim, index.unsqueeze(dim), shape)


def pick(value: Tensor, dim: int, index: Tensor, keepdim: bool) -> Tensor:
    """The elements of `value` at the places `index` along `dim`, which `index` lacks unless `keepdim`."""
    if not value.ndim:
        return value
    return value.gather(dim, index) if keepdim else value.gather(dim, index.unsqueeze(dim)).squeeze(dim)


def embedding_back(
    grad: Tensor, indices: Tensor, shape: tuple[int, ...], padding_idx: int, scale_grad_by_freq: bool,
    sparse: bool,
) -> Tensor:  # fmt: skip
    """The sum, for each row, of what reaches its copies; none for the row of padding, and by frequency on demand. A
    `sparse` one has the copies of rows as they are. Raises RuntimeError for that by frequency."""
    places = indices.reshape((-1,)).to(int64)
    rows = grad.reshape((places.numel(), shape[1]))
    if sparse:
        return _sparse_rows(places, rows, shape, padding_idx, scale_grad_by_freq)
    if padding_idx >= 0:
        rows = rows.masked_fill((places == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        counts = ops.bincount(places, minlength=shape[0]).index_select(0, places)
        rows = rows / counts.unsqueeze(1)
    return collected(shape, 0, places, rows)


def _sparse_rows(
    places: Tensor, rows: Tensor, shape: tuple[int, ...], padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The rows as a sparse tensor, those of padding left out."""
    from ...sparse.construction import rows_of_matrix

    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    if padding_idx >= 0:
        kept = (places != padding_idx).nonzero().reshape((-1,))
        places, rows = places.index_select(0, kept), rows.index_select(0, kept)
    return cast("Tensor", rows_of_matrix(cast("Any", places), cast("Any", rows), shape))


def _norm_back(grad: Tensor, difference: Tensor, p: float, distance: Tensor) -> Tensor:
    """The gradient of the p-norm of differences (last dim); for p inf all largest ones have the whole."""
    grad, distance = grad.unsqueeze(-1), distance.unsqueeze(-1)
    if p == float("inf"):
        return grad * difference.sign() * (difference.abs() == distance)
    return norm_back(grad, difference, distance, p, -1, True)


def cdist_back(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """Return the gradient of the rows of x1, given that of their distances to all rows of x2."""
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _norm_back(grad, difference, p, result).sum(-2)


def pdist_back(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    """Return the gradient of the rows, given that of the distances of all pairs."""
    first, second = ops.triu_indices(self.shape[0], self.shape[0], 1, device=self.device)
    difference = self.index_select(0, first) - self.index_select(0, second)
    part = _norm_back(grad, difference, p, result)
    return grad.new_zeros(tuple(self.shape)).index_add(0, first, part).index_add(0, second, -part)


Pair = tuple[Tensor, Tensor]


def scatter_reduce_back(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> Pair:
    """The gradients of `self` and `src` where `src` was reduced into `self` at `index` along `dim`. amax and amin share
    a gradient evenly among all that equal the result."""
    used = src[tuple(slice(0, size) for size in index.shape)]
    mine, theirs = _REDUCTIONS[reduce](grad, self, dim, index, used, include_self, result)
    if not include_self:
        mine = mine.scatter(dim, index, 0)
    return mine, _filled_up(theirs, src.shape)


def index_reduce_back(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor
) -> Pair:
    """As scatter_reduce_back, for whole parts along `dim`."""
    sizes = [1] * source.ndim
    if sizes:
        sizes[dim] = -1
    places = index.reshape(sizes).expand(source.shape)
    return scatter_reduce_back(grad, self, dim, places, source, reduce, include_self, result)


def _sum(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    return grad, grad.gather(dim, index)


def _mean(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    count = ops.full_like(grad, 1 if include else 0).scatter_add(dim, index, ops.ones_like(src))
    share = grad / count.masked_fill(count == 0, 1)
    return share, share.gather(dim, index)


def _prod(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    """The product of all others is that of all, divided by the own factor, or made without it where it is zero."""
    ones = ops.ones_like(self)
    start = self if include else ones
    zero = src == 0
    alone = zero & (ops.zeros_like(self).scatter_add(dim, index, zero.to(src.dtype)).gather(dim, index) == 1)
    product = start.scatter_reduce(dim, index, src, "prod").conj()
    without = start.scatter_reduce(dim, index, src.masked_fill(alone, 1), "prod").conj()
    divided = (grad * product).gather(dim, index) / src.masked_fill(zero, 1).conj()
    mine = grad * ones.scatter_reduce(dim, index, src, "prod").conj()
    return mine, ops.where(alone, (grad * without).gather(dim, index), divided)


def _extreme(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include: bool, result: Tensor) -> Pair:
    mine = self == result
    if not include:
        mine = mine & ~ops.zeros_like(self, dtype=bool_).scatter(dim, index, True)
    theirs = (src == result.gather(dim, index)).to(grad.dtype)
    count = mine.to(grad.dtype).scatter_add(dim, index, theirs)
    share = grad / count.masked_fill(count == 0, 1)
    return share.masked_fill(~mine, 0), share.gather(dim, index) * theirs


_REDUCTIONS = {
    "sum": _sum, "add": _sum, "prod": _prod, "multiply": _prod, "mean": _mean, "amax": _extreme, "amin": _extreme,
}  # fmt: skip


MEAN, MAX = 1, 2


def bag_back(
    grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, by_frequency: bool, mode: int, scale: Tensor | None,
    last: bool, padding: int | None, picked: Tensor, needed: tuple[bool, bool], sparse: bool,
) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of the table, which may be `sparse` but for maxima, and of the weights of single rows.

    A bag is what lies from its offset to the next; with `last` the last offset is an end. `picked` are the rows of the
    maxima. Rows equal to `padding` do not count. By frequency, a row's gradient is divided by how often it is read.
    """
    table = ops.zeros_like(weight)
    bags, count = grad.shape[0], indices.numel()
    if not bags or not count:
        if sparse:
            none = grad.new_zeros((0, weight.shape[1]))
            table = _sparse_rows(indices.new_zeros((0,), dtype=int64), none, weight.shape, -1, by_frequency)
        return table, (None if scale is None else ops.zeros_like(scale))
    rows, starts = indices.to(int64), offsets.narrow(0, 0, bags).to(int64)
    place = ops.arange(count, device=grad.device)
    owner = ops.searchsorted(starts, place, right=True) - 1
    counted = place < offsets[-1] if last else ops.ones_like(place, dtype=bool_)
    if padding is not None:
        counted = counted & (rows != padding % weight.shape[0])
    sizes = ops.zeros_like(starts).index_add(0, owner, counted.to(int64))
    if mode == MAX:
        return table.scatter_add(0, picked.to(int64), grad * (sizes > 0).unsqueeze(1)), None
    reached = grad.index_select(0, owner) * counted.unsqueeze(1)
    if mode == MEAN:
        reached = reached / sizes.clamp_min(1).index_select(0, owner).unsqueeze(1)
    scaled = reached if scale is None else reached * scale.unsqueeze(1)
    if by_frequency and not sparse:
        scaled = scaled / ops.bincount(rows, minlength=weight.shape[0]).index_select(0, rows).unsqueeze(1)
    shares = (weight.index_select(0, rows) * reached).sum(1) if scale is not None and needed[1] else None
    if sparse and needed[0]:
        kept = counted.nonzero().reshape((-1,))
        found = _sparse_rows(rows.index_select(0, kept), scaled.index_select(0, kept), weight.shape, -1, by_frequency)
        return found, shares
    return (table.index_add(0, rows, scaled) if needed[0] else None), shares
