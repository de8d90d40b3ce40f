"""Gradients of tables of rows, of distances of rows, and of dropout."""

from __future__ import annotations

from typing import Any

from ..public import gb

Tensor = Any


def embedding_back(
    grad: Tensor, indices: Tensor, shape: tuple[int, ...], padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The sum, for each row, of what reaches its copies; none for the row of padding, and by frequency on demand."""
    places = indices.reshape((-1,)).to(gb.int64)
    rows = grad.reshape((places.numel(), shape[1]))
    if padding_idx >= 0:
        rows = rows.masked_fill((places == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        counts = gb.bincount(places, minlength=shape[0]).index_select(0, places)
        rows = rows / counts.unsqueeze(1)
    return grad.new_zeros(tuple(shape)).index_add(0, places, rows)


def _slopes(difference: Tensor, p: float, distance: Tensor) -> Tensor:
    """The derivative of the p-norm of differences (last dim) by each of them; 0 where the distance is 0."""
    if p == 0:
        return difference * 0
    if p == 1:
        return difference.sign()
    if p == float("inf"):
        return difference.sign() * (difference.abs() == distance)
    apart = distance == 0
    safe = distance.masked_fill(apart, 1)
    if p == 2:
        return (difference / safe).masked_fill(apart, 0)
    size = difference.abs()
    part = size.masked_fill(size == 0, 1).pow(p - 1).masked_fill(size == 0, 0)
    return (difference.sign() * part / safe.pow(p - 1)).masked_fill(apart, 0)


def cdist_back(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """What reaches the rows of x1 from their distances to all rows of x2."""
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return (grad.unsqueeze(-1) * _slopes(difference, p, result.unsqueeze(-1))).sum(-2)


def pdist_back(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    """What reaches the rows from the distances of all pairs."""
    first, second = gb.triu_indices(self.shape[0], self.shape[0], 1, device=self.device)
    difference = self.index_select(0, first) - self.index_select(0, second)
    part = grad.unsqueeze(-1) * _slopes(difference, p, result.unsqueeze(-1))
    return grad.new_zeros(tuple(self.shape)).index_add(0, first, part).index_add(0, second, -part)


def dropout_back(grad: Tensor, mask: Tensor, p: float, train: bool | None) -> Tensor:
    """`grad` where elements were kept, scaled as they were."""
    if train is False:
        return grad
    return grad * mask * (0.0 if p == 1 else 1 / (1 - p))


HELPERS: dict[str, Any] = {
    "embedding_back": embedding_back,
    "cdist_back": cdist_back,
    "pdist_back": pdist_back,
    "dropout_back": dropout_back,
}
