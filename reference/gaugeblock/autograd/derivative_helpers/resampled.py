"""Gradients of resampling: what is linear and works dim by dim is transposed dim by dim."""

from __future__ import annotations

from typing import Any

from ..public import gb

Tensor = Any


def resampled_back(
    grad: Tensor, operator: str, shape: tuple[int, ...], align_corners: bool | None, scales: tuple[float | None, ...]
) -> Tensor:
    """`grad` times, along each dim behind the channels, the transpose of what `operator` does to single places."""
    resample = getattr(gb.ops.aten, operator)
    count = len(scales)
    aligned = () if align_corners is None else (align_corners,)
    for dim in range(count):
        size, wanted = shape[2 + dim], grad.shape[2 + dim]
        places = [size if other == dim else 1 for other in range(count)]
        units = gb.eye(size, dtype=grad.dtype, device=grad.device).reshape((size, 1, *places))
        sizes = [wanted if other == dim else 1 for other in range(count)]
        steps = [scale if other == dim else None for other, scale in enumerate(scales)]
        weights = resample(units, sizes, *aligned, *steps).reshape((size, wanted))
        grad = grad.movedim(2 + dim, -1).matmul(weights.t()).movedim(-1, 2 + dim)
    return grad


HELPERS: dict[str, Any] = {"resampled_back": resampled_back}
