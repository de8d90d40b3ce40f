"""Gradients of the slopes of sampled functions, taken by differences along dims: operator gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...bindings.functions import tensor_ops as ops

if TYPE_CHECKING:
    from gaugeblock import Tensor
else:
    from ...tensor.tensor import Tensor

Weights = list[tuple[int, Tensor]]
"""Which elements a slope is made of, counted from its place, and how much of each."""


def slopes_back(
    grads: Sequence[Tensor], self: Tensor, spacing: Any, dim: Any, edge_order: int, needed: tuple[bool, ...]
) -> tuple[Any, ...]:
    """The gradients of the samples and, where they are tensors, of the coordinates along each dim."""
    dims = tuple(range(self.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing]
    steps = steps * len(dims) if len(steps) == 1 and not isinstance(steps[0], Tensor) else steps
    total, places = None, []
    for grad, place, step in zip(grads, dims, steps, strict=True):
        back, moved = grad.movedim(place, -1), self.movedim(place, -1)
        points = (
            step
            if isinstance(step, Tensor)
            else ops.arange(self.shape[place], dtype=grad.real.dtype, device=grad.device) * step
        )
        distances = ops.diff(points)
        if needed[0]:
            mine = _transposed(back, distances, edge_order).movedim(-1, place)
            total = mine if total is None else total + mine
        if len(needed) > 1:
            wanted = needed[1] and isinstance(step, Tensor)
            places.append(_points_back(back, moved, distances.conj(), edge_order) if wanted else None)
    return total, tuple(places)


def _inside(h: Tensor) -> Weights:
    a, b = h[:-1], h[1:]
    return [(-1, -b / (a * (a + b))), (0, 1 / a - 1 / b), (1, a / (b * (a + b)))]


def _first(h: Tensor, edge_order: int) -> Weights:
    if edge_order == 1:
        return [(0, -1 / h[:1]), (1, 1 / h[:1])]
    a, b = h[:1], h[1:2]
    return [(0, -1 / a - 1 / (a + b)), (1, 1 / a + 1 / b), (2, -a / (b * (a + b)))]


def _last(h: Tensor, edge_order: int) -> Weights:
    return [(-offset, -weight) for offset, weight in _first(h.flip((0,)), edge_order)]


def _blocks(h: Tensor, edge_order: int) -> list[tuple[int, Weights]]:
    """The first place of each block of slopes with one rule."""
    size = h.shape[0] + 1
    ends = [(0, _first(h, edge_order)), (size - 1, _last(h, edge_order))]
    return [*ends, (1, _inside(h))] if size > 2 else ends


def _transposed(back: Tensor, h: Tensor, edge_order: int) -> Tensor:
    """The sum, for each sample, over the slopes that it is in, along the last dim."""
    total = ops.zeros_like(back)
    size = back.shape[-1]
    for start, weights in _blocks(h, edge_order):
        for offset, weight in weights:
            length = weight.shape[0]
            part = back.narrow(-1, start, length) * weight.conj()
            total = total + ops.constant_pad_nd(part, (start + offset, size - start - offset - length))
    return total


def _points_back(back: Tensor, f: Tensor, h: Tensor, edge_order: int) -> Tensor:
    """The gradient of the coordinates: through the weights to the distances between them."""

    def slope(start: int, offset: int, length: int) -> Tensor:
        product = back.narrow(-1, start, length) * f.narrow(-1, start + offset, length).conj()
        return product.sum(tuple(range(product.ndim - 1))) if product.ndim > 1 else product

    count = h.shape[0]
    reach = range(edge_order + 1)
    total = _first_back(h, [slope(0, k, 1) for k in reach], edge_order)
    turned = _first_back(h.flip((0,)), [-slope(count, -k, 1) for k in reach], edge_order)
    total = total + turned.flip((0,))
    if count > 1:
        total = total + _inside_back(h, [slope(1, offset, count - 1) for offset in (-1, 0, 1)])
    return ops.constant_pad_nd(total, (1, 0)) - ops.constant_pad_nd(total, (0, 1))


def _inside_back(h: Tensor, slopes: list[Tensor]) -> Tensor:
    a, b = h[:-1], h[1:]
    before, own, after = slopes
    square = (a + b).square()
    of_a = before * (b * (b + 2 * a) / (a.square() * square)) - own / a.square() + after / square
    of_b = -before / square + own / b.square() - after * (a * (a + 2 * b) / (b.square() * square))
    return ops.constant_pad_nd(of_a, (0, 1)) + ops.constant_pad_nd(of_b, (1, 0))


def _first_back(h: Tensor, slopes: list[Tensor], edge_order: int) -> Tensor:
    rest = h.shape[0] - edge_order
    a = h[:1]
    if edge_order == 1:
        return ops.constant_pad_nd((slopes[0] - slopes[1]) / a.square(), (0, rest))
    b = h[1:2]
    square = (a + b).square()
    of_a = slopes[0] * (1 / a.square() + 1 / square) - slopes[1] / a.square() - slopes[2] / square
    of_b = slopes[0] / square - slopes[1] / b.square() + slopes[2] * (a * (a + 2 * b) / (b.square() * square))
    return ops.constant_pad_nd(ops.cat((of_a, of_b)), (0, rest))
