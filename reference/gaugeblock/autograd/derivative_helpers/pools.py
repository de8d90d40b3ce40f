"""Gradients of pooling that picks elements, over the last n dims, and of its reverse."""

from __future__ import annotations

from math import prod
from typing import Any

from ..public import gb

Tensor = Any
Sizes = tuple[int, ...]


def picked_back(grad: Tensor, shape: Sizes, indices: Tensor, n: int) -> Tensor:
    """`grad` added where the indices, into the last n dims flattened, say, in zeros of `shape`."""
    lead = len(shape) - n
    flat = grad.new_zeros((*shape[:lead], prod(shape[lead:])))
    return flat.scatter_add(-1, indices.flatten(lead), grad.flatten(lead)).reshape(tuple(shape))


def max_pool_back(
    grad: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, n: int
) -> Tensor:
    """`grad` where each window has its maximum."""
    functions = gb.nn.functional
    pool = (functions.max_pool1d, functions.max_pool2d, functions.max_pool3d)[n - 1]
    step = stride if stride or isinstance(stride, int) else None
    indices = pool(self.detach(), kernel_size, step, padding, dilation, ceil_mode, True)[1]
    return picked_back(grad, tuple(self.shape), indices, n)


def unpool_back(grad: Tensor, shape: Sizes, indices: Tensor, n: int) -> Tensor:
    """What lies in `grad` where the indices, into its last n dims flattened, say."""
    lead = len(shape) - n
    return grad.flatten(lead).gather(-1, indices.flatten(lead)).reshape(tuple(shape))


HELPERS: dict[str, Any] = {
    "picked_back": picked_back,
    "max_pool_back": max_pool_back,
    "unpool_back": unpool_back,
}
