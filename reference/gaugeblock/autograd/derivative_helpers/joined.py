"""Gradients of tensors joined, repeated and spread over a grid."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .places import collected
from .view_parts import slice_back

Sizes = Sequence[int]
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
        return gb.cat(tuple(grads), dim)
    ends = [*indices, shape[dim]]
    total = grads[0].new_zeros(shape)
    for grad, start, end in zip(grads, [0, *indices], ends, strict=True):
        total = total + slice_back(grad, shape, dim, start, end, 1)
    return total


def stacked_back(grad: Tensor, shapes: Sequence[Sizes], dim: int, ndim: int) -> Parts:
    """cat_back of tensors that got at least `ndim` dims first: 1 for hstack, 2 for vstack, 3 for dstack."""
    wide = tuple(_at_least(tuple(shape), ndim) for shape in shapes)
    place = 0 if dim == 1 and grad.ndim == 1 else dim
    parts = cat_back(grad, wide, place)
    return tuple(part.reshape(tuple(shape)) for part, shape in zip(parts, shapes, strict=True))


def _at_least(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    if len(shape) >= ndim:
        return shape
    if ndim == 3:
        return (1, *shape, 1) if len(shape) == 1 else (*shape, 1) if shape else (1, 1, 1)
    return (1,) * (ndim - len(shape)) + shape


def block_diag_back(grad: Tensor, shapes: Sequence[Sizes]) -> Parts:
    """The blocks of `grad` on the diagonal, in the sizes of the tensors that they came from."""
    parts, row, column = [], 0, 0
    for shape in shapes:
        height, width = (1,) * (2 - len(shape)) + tuple(shape)
        parts.append(grad.narrow(0, row, height).narrow(1, column, width).reshape(tuple(shape)))
        row, column = row + height, column + width
    return tuple(parts)


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


def repeat_interleave_back(grad: Tensor, shape: Sizes, repeats: int | Tensor, dim: int | None) -> Tensor:
    """The sum over the copies of each part along `dim`, or of each element when there is no dim."""
    flat = dim is None
    place = 0 if dim is None else dim % max(len(shape), 1)
    sizes = (prod(shape),) if flat or not shape else tuple(shape)
    if isinstance(repeats, Tensor):
        counts = repeats.expand((sizes[place],)) if repeats.numel() == 1 else repeats
        index = gb.repeat_interleave(gb.arange(sizes[place], device=counts.device), counts.reshape((-1,)))
        return collected(sizes, place, index, grad).reshape(tuple(shape))
    split = (*sizes[:place], sizes[place], repeats, *sizes[place + 1 :])
    return grad.reshape(split).sum(place + 1).reshape(tuple(shape))


def roll_back(grad: Tensor, shifts: int | Sizes, dims: int | Sizes) -> Tensor:
    """`grad` rolled the other way."""
    shifts = (shifts,) if isinstance(shifts, int) else shifts
    return gb.roll(grad, tuple(-shift for shift in shifts), dims)


def diff_back(
    grad: Tensor, shape: Sizes, n: int, dim: int, prepend: Sizes | None, append: Sizes | None
) -> tuple[Tensor | None, ...]:
    """The gradients of the tensor, of what was put before it and of what was put behind it (their sizes given)."""
    if not n:
        return grad, None, None
    place = dim % max(len(shape), 1)
    sizes = [0 if part is None else part[place] for part in (prepend, shape, append)]
    pad = (0, 0) * (grad.ndim - 1 - place) + (1, 1)
    for _ in range(min(n, sum(sizes))):
        grad = -gb.diff(gb.constant_pad_nd(grad, pad), 1, place)
    before, own, after = (grad.narrow(place, sum(sizes[:k]), sizes[k]) for k in range(3))
    return own, None if prepend is None else before, None if append is None else after


def combinations_back(grad: Tensor, shape: Sizes, r: int, with_replacement: bool) -> Tensor:
    """The sum for each element over the places at which it was chosen."""
    chosen = gb.combinations(gb.arange(shape[0]), r, with_replacement).to(grad.device)
    return collected(shape, 0, chosen.reshape((-1,)), grad.reshape((-1,)))


def kron_back(grad: Tensor, self: Tensor, other: Tensor, needed: tuple[bool, bool]) -> tuple[Tensor | None, ...]:
    """Sums of `grad` times the conjugate of the other factor, over the elements of that factor."""
    ndim = max(self.ndim, other.ndim)
    a = (1,) * (ndim - self.ndim) + tuple(self.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    split = tuple(n for pair in zip(a, b, strict=True) for n in pair)
    even, odd = tuple(range(0, 2 * ndim, 2)), tuple(range(1, 2 * ndim, 2))
    blocks = grad.reshape(split).permute(even + odd).reshape((prod(a), prod(b)))
    mine = blocks.mv(other.reshape((-1,)).to(grad.dtype).conj()).reshape(self.shape) if needed[0] else None
    theirs = blocks.t().mv(self.reshape((-1,)).to(grad.dtype).conj()).reshape(other.shape) if needed[1] else None
    return mine, theirs


HELPERS: dict[str, Any] = {
    "cat_back": cat_back,
    "split_back": split_back,
    "stacked_back": stacked_back,
    "block_diag_back": block_diag_back,
    "repeat_back": repeat_back,
    "repeat_interleave_back": repeat_interleave_back,
    "roll_back": roll_back,
    "diff_back": diff_back,
    "combinations_back": combinations_back,
    "kron_back": kron_back,
}
