"""Gradients of averages and resampling: what is linear and works dim by dim is transposed dim by dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..public import gb

Tensor = Any
Sizes = tuple[int, ...]


def separable_back(grad: Tensor, shape: Sizes, lead: int, along: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Return `grad` times, along each dim from `lead` on, the transpose of a linear map of sizes `shape`.

    ``along(units, k)`` maps the units of the k-th of these dims, which stand in the first dim of a tensor that has one
    channel and size 1 in all other dims.
    """
    count = len(shape) - lead
    for k in range(count):
        size, wanted = shape[lead + k], grad.shape[lead + k]
        units = gb.eye(size, dtype=grad.dtype, device=grad.device)
        weights = along(units.reshape((size, 1, *one_dim(count, k, size))), k).reshape((size, wanted))
        grad = grad.movedim(lead + k, -1).matmul(weights.t()).movedim(-1, lead + k)
    return grad


def one_dim(count: int, k: int, value: Any, other: Any = 1) -> list[Any]:
    """Return options for `count` dims: `value` for the k-th, `other` for the rest."""
    return [value if dim == k else other for dim in range(count)]


def resampled_back(
    grad: Tensor, operator: str, shape: Sizes, align_corners: bool | None, scales: tuple[float | None, ...]
) -> Tensor:
    """Return the gradient of what `operator` resamples behind the channels."""
    resample, count = getattr(gb.ops.aten, operator), len(scales)
    aligned = () if align_corners is None else (align_corners,)

    def along(units: Tensor, k: int) -> Tensor:
        sizes = one_dim(count, k, grad.shape[2 + k])
        return resample(units, sizes, *aligned, *one_dim(count, k, scales[k], None))

    return separable_back(grad, shape, 2, along)


def avg_pool_back(
    grad: Tensor,
    shape: Sizes,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    n: int,
) -> Tensor:
    """Return `grad`, divided by the places of each window that count, added to all places of its window."""
    kernel, steps, around = (_each(values, n) for values in (kernel_size, stride or kernel_size, padding))
    pool, by = getattr(gb.nn.functional, f"avg_pool{n}d"), () if divisor_override is None else (1,)

    def along(units: Tensor, k: int) -> Tensor:
        options = [one_dim(n, k, *pair) for pair in ((kernel[k],), (steps[k],), (around[k], 0))]
        return pool(units, *options, ceil_mode, count_include_pad, *by)

    grad = separable_back(grad, shape, len(shape) - n, along)
    return grad / divisor_override if divisor_override is not None else grad


def _each(values: Any, count: int) -> list[int]:
    given: list[int] = [values] if isinstance(values, int) else list(values)
    return given * count if len(given) == 1 else given


def adaptive_avg_pool_back(grad: Tensor, shape: Sizes, n: int) -> Tensor:
    """Return `grad`, divided by the sizes of the windows, added to all places of its window."""
    pool, wanted = getattr(gb.nn.functional, f"adaptive_avg_pool{n}d"), tuple(grad.shape[-n:])
    return separable_back(grad, shape, len(shape) - n, lambda units, k: pool(units, one_dim(n, k, wanted[k])))


HELPERS: dict[str, Any] = {
    "resampled_back": resampled_back,
    "avg_pool_back": avg_pool_back,
    "adaptive_avg_pool_back": adaptive_avg_pool_back,
}
