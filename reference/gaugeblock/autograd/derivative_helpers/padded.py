"""Gradients of padding that repeats elements: reflected, replicated, circular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .places import collected

Sizes = Sequence[int]


def padded_back(grad: Tensor, shape: Sizes, pad: Sizes, mode: str) -> Tensor:
    """The sum, for each element of a tensor of `shape`, over the places of `grad` that it was copied to.

    `pad` has the numbers of places before and behind, from the last dim on; `mode` is one of pad's.
    """
    if mode == "constant":
        return gb.constant_pad_nd(grad, [-count for count in pad])
    for k in range(len(pad) // 2):
        before, after = pad[2 * k], pad[2 * k + 1]
        dim = len(shape) - 1 - k
        if before or after:
            index = sources(shape[dim], before, after, mode)
            sizes = (*grad.shape[:dim], shape[dim], *grad.shape[dim + 1 :])
            grad = collected(sizes, dim, index.to(grad.device), grad)
    return grad


def sources(size: int, before: int, after: int, mode: str) -> Tensor:
    """Which element each place along a padded dim shows."""
    places = gb.arange(-before, size + after)
    if mode == "replicate":
        return places.clamp(0, size - 1)
    if mode == "circular":
        first, kept = max(-before, 0), size - max(-before, 0) - max(-after, 0)
        return first + (places - first).remainder(max(kept, 1))
    inside = places.abs()
    return (size - 1) - ((size - 1) - inside).abs()


HELPERS: dict[str, Any] = {"padded_back": padded_back}
