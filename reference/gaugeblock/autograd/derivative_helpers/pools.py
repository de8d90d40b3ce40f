"""Gradients of pooling over the last n dims."""

from __future__ import annotations

from typing import Any

from ..public import gb

Tensor = Any
Sizes = tuple[int, ...]


def _spread(values: Any, count: int) -> list[int]:
    given: list[int] = [values] if isinstance(values, int) else list(values)
    return given * count if len(given) == 1 else given


def picked_back(grad: Tensor, shape: Sizes, indices: Tensor, n: int) -> Tensor:
    """`grad` added where the indices, into the last n dims flattened, say, in zeros of `shape`."""
    lead = len(shape) - n
    flat = grad.new_zeros((*shape[:lead], _product(shape[lead:])))
    return flat.scatter_add(-1, indices.flatten(lead), grad.flatten(lead)).reshape(tuple(shape))


def _product(sizes: Sizes) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def max_pool_back(
    grad: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, n: int
) -> Tensor:
    """`grad` where each window has its maximum."""
    functions = gb.nn.functional
    pool = (functions.max_pool1d, functions.max_pool2d, functions.max_pool3d)[n - 1]
    step = stride if stride or isinstance(stride, int) else None
    indices = pool(self.detach(), kernel_size, step, padding, dilation, ceil_mode, True)[1]
    return picked_back(grad, tuple(self.shape), indices, n)


def avg_pool_back(
    grad: Tensor,
    shape: Sizes,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    count_include_pad: bool,
    divisor_override: int | None,
    n: int,
) -> Tensor:
    """`grad`, divided by the places of each window that count, added to all places of its window."""
    lead = len(shape) - n
    kernel, padded = _spread(kernel_size, n), _spread(padding, n)
    steps = _spread(stride, n) or kernel
    for k in range(n):
        grad = grad.movedim(lead + k, -1)
        covered = _windows(
            grad.shape[-1], shape[lead + k], kernel[k], steps[k], padded[k], count_include_pad, divisor_override is None
        )
        grad = grad.matmul(covered.to(grad.dtype).to(grad.device)).movedim(-1, lead + k)
    return grad / divisor_override if divisor_override is not None else grad


def _windows(count: int, size: int, kernel: int, step: int, padding: int, include: bool, divide: bool) -> Tensor:
    """A matrix [windows, places]: 1 where a window covers a place, divided by the places of the window that count."""
    start = gb.arange(count) * step - padding
    end = (start + kernel).clamp_max(size + padding)
    places = gb.arange(size)
    inside = ((places >= start.unsqueeze(1)) & (places < end.unsqueeze(1))).to(gb.float64)
    if not divide:
        return inside
    counted = end - start if include else end.clamp_max(size) - start.clamp_min(0)
    return inside / counted.unsqueeze(1)


def adaptive_avg_pool_back(grad: Tensor, shape: Sizes, n: int) -> Tensor:
    """`grad`, divided by the sizes of the windows, added to all places of its window."""
    lead = len(shape) - n
    for k in range(n):
        size, count = shape[lead + k], grad.shape[lead + k]
        number = gb.arange(count)
        start = (number * size).div(max(count, 1), rounding_mode="floor")
        end = ((number + 1) * size + count - 1).div(max(count, 1), rounding_mode="floor")
        places = gb.arange(size)
        inside = ((places >= start.unsqueeze(1)) & (places < end.unsqueeze(1))).to(gb.float64)
        covered = (inside / (end - start).unsqueeze(1)).to(grad.dtype).to(grad.device)
        grad = grad.movedim(lead + k, -1).matmul(covered).movedim(-1, lead + k)
    return grad


def unpool_back(grad: Tensor, shape: Sizes, indices: Tensor, n: int) -> Tensor:
    """What lies in `grad` where the indices, into its last n dims flattened, say."""
    lead = len(shape) - n
    return grad.flatten(lead).gather(-1, indices.flatten(lead)).reshape(tuple(shape))


HELPERS: dict[str, Any] = {
    "picked_back": picked_back,
    "max_pool_back": max_pool_back,
    "avg_pool_back": avg_pool_back,
    "adaptive_avg_pool_back": adaptive_avg_pool_back,
    "unpool_back": unpool_back,
}
