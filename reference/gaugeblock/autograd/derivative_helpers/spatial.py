"""Gradients of convolutions, pooling, padding, resampling and sampling on a grid."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, cast

from ...calls.functions import tensor_ops as ops
from ...dispatch.dispatcher import REGISTRY, call
from ...kernels.sampling import NEAREST
from ...operators.networks.convolution import weight_gradient
from ...operators.networks.grids import corners, taps_of_grid
from . import Tensor
from .indexing import collected

Sizes = tuple[int, ...]


def _per_dim(count: int, *settings: int | Sizes) -> list[Sizes]:
    """Each setting with a value for every one of `count` dims."""
    given = [(values,) if isinstance(values, int) else tuple(values) for values in settings]
    return [values * count if len(values) == 1 else values for values in given]


def convolution_input_back(
    grad: Tensor, weight: Tensor, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, transposed: bool,
    groups: int,
) -> Tensor:  # fmt: skip
    """The convolution of `grad` that goes the other way, for an input of `shape`."""
    count = len(shape) - 2
    stride, padding, dilation = _per_dim(count, stride, padding, dilation)
    if transposed:
        found = ops.convolution(grad, weight.conj(), None, stride, padding, dilation, False, [0] * count, groups)
        return _cut(found, shape)
    least = [
        (grad.shape[2 + k] - 1) * stride[k] - 2 * padding[k] + dilation[k] * (weight.shape[2 + k] - 1) + 1
        for k in range(count)
    ]
    extra = [shape[2 + k] - least[k] for k in range(count)]
    return ops.convolution(grad, weight.conj(), None, stride, padding, dilation, True, extra, groups)


def convolution_weight_back(
    grad: Tensor, input: Tensor, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, transposed: bool,
    groups: int,
) -> Tensor:  # fmt: skip
    """The convolution of the input with `grad` over all samples, cut to the kernel's `shape`."""
    stride, padding, dilation = _per_dim(len(shape) - 2, stride, padding, dilation)
    pair: tuple[Any, Any] = (input, grad) if transposed else (grad, input)
    summed: Any = weight_gradient(*pair, shape, stride, padding, dilation, groups=groups)
    if summed is not None:
        return cast("Tensor", summed)
    wide, small = (grad, input.conj()) if transposed else (input.conj(), grad)
    images, kernel = wide.unflatten(1, (groups, shape[1])).transpose(0, 2), small.transpose(0, 1)
    # Samples act as channels, and dilations as strides.
    none = [0] * len(stride)
    found = ops.convolution(images.flatten(1, 2), kernel, None, dilation, padding, stride, False, none, groups)
    return _cut(found.transpose(0, 1), shape)


def _cut(found: Tensor, shape: Sizes) -> Tensor:
    """Return the part within `shape`; uneven strides and output padding leave elements beyond it."""
    for dim in range(2, len(shape)):
        if found.shape[dim] != shape[dim]:
            found = found.narrow(dim, 0, shape[dim])
    return found


def picked_back(grad: Tensor, shape: Sizes, indices: Tensor, n: int) -> Tensor:
    """`grad` added where the indices, into the last n dims flattened, say, in zeros of `shape`."""
    lead = len(shape) - n
    flat = grad.new_zeros((*shape[:lead], prod(shape[lead:])))
    return flat.scatter_add(-1, indices.flatten(lead), grad.flatten(lead)).reshape(tuple(shape))


def max_pool_back(
    grad: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, n: int
) -> Tensor:
    """`grad` where each window has its maximum."""
    pool = getattr(ops, f"max_pool{n}d_with_indices")
    step = stride if stride or isinstance(stride, int) else None
    indices = pool(self.detach(), kernel_size, step, padding, dilation, ceil_mode)[1]
    return picked_back(grad, tuple(self.shape), indices, n)


def padded_back(grad: Tensor, shape: Sizes, pad: Sizes, mode: str) -> Tensor:
    """The sum, for each element of a tensor of `shape`, over the places of `grad` that it was copied to. `pad` has the
    numbers of places before and behind, from the last dim on; `mode` is one of pad's."""
    if mode == "constant":
        return ops.constant_pad_nd(grad, [-count for count in pad])
    for k, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        dim = len(shape) - 1 - k
        last = shape[dim] - 1
        if before or after:
            places = ops.arange(-before, shape[dim] + after, device=grad.device)
            if mode == "circular":
                first = max(-before, 0)
                index = first + (places - first).remainder(max(shape[dim] - first - max(-after, 0), 1))
            else:
                index = places.clamp(0, last) if mode == "replicate" else last - (last - places.abs()).abs()
            grad = collected((*grad.shape[:dim], shape[dim], *grad.shape[dim + 1 :]), dim, index, grad)
    return grad


def _separable_back(grad: Tensor, shape: Sizes, lead: int, along: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Return `grad` times, along each dim from `lead` on, the transpose of a linear map of sizes `shape`.

    ``along(units, k)`` maps the units of the k-th of these dims, which stand in the first dim of a tensor that has one
    channel and size 1 in all other dims.
    """
    count = len(shape) - lead
    for k in range(count):
        size, wanted = shape[lead + k], grad.shape[lead + k]
        units = ops.eye(size, dtype=grad.dtype, device=grad.device)
        weights = along(units.reshape((size, 1, *_one_dim(count, k, size))), k).reshape((size, wanted))
        grad = grad.movedim(lead + k, -1).matmul(weights.t()).movedim(-1, lead + k)
    return grad


def _one_dim(count: int, k: int, value: Any, other: Any = 1) -> list[Any]:
    """Return options for `count` dims: `value` for the k-th, `other` for the rest."""
    return [value if dim == k else other for dim in range(count)]


def resampled_back(
    grad: Tensor, operator: str, shape: Sizes, align_corners: bool | None, scales: tuple[float | None, ...]
) -> Tensor:
    """Return the gradient of what `operator` resamples behind the channels."""
    resample, count = REGISTRY.find(operator), len(scales)
    aligned = () if align_corners is None else (align_corners,)

    def along(units: Tensor, k: int) -> Any:
        sizes = _one_dim(count, k, grad.shape[2 + k])
        return call(resample, units, sizes, *aligned, *_one_dim(count, k, scales[k], None))

    return _separable_back(grad, shape, 2, along)


def avg_pool_back(
    grad: Tensor, shape: Sizes, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None, n: int,
) -> Tensor:  # fmt: skip
    """Return `grad`, divided by the places of each window that count, added to all places of its window."""
    kernel, steps, around = _per_dim(n, kernel_size, stride or kernel_size, padding)
    pool, by = getattr(ops, f"avg_pool{n}d"), () if divisor_override is None else (1,)

    def along(units: Tensor, k: int) -> Any:
        options = [_one_dim(n, k, *pair) for pair in ((kernel[k],), (steps[k],), (around[k], 0))]
        return pool(units, *options, ceil_mode, count_include_pad, *by)

    grad = _separable_back(grad, shape, len(shape) - n, along)
    return grad / divisor_override if divisor_override is not None else grad


def adaptive_avg_pool_back(grad: Tensor, shape: Sizes, n: int) -> Tensor:
    """Return `grad`, divided by the sizes of the windows, added to all places of its window."""
    pool, wanted = REGISTRY.find(f"adaptive_avg_pool{n}d"), tuple(grad.shape[-n:])
    if set(wanted) == {1}:
        return (grad / prod(shape[-n:])).expand(shape)
    return _separable_back(grad, shape, len(shape) - n, lambda units, k: call(pool, units, _one_dim(n, k, wanted[k])))


def grid_back(
    grad: Tensor, input: Tensor, grid: Tensor, mode: int, padding: int, align: bool, needed: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the image and of the grid."""
    sizes = input.shape[2:]
    flat, back = input.flatten(2), grad.flatten(2)
    found = taps_of_grid(grid, sizes, mode, padding, align)
    image, slopes = ops.zeros_like(flat), [ops.zeros_like(taps[0].places) for taps, _ in found]
    for taps, index, known in corners(found, sizes):
        spread = index.expand(back.shape)
        if needed[0]:
            weight = prod((tap.weight for tap in taps[1:]), start=taps[0].weight).unsqueeze(1) * known
            image = image.scatter_add(2, spread, back * weight)
        if needed[1] and mode != NEAREST:
            along = (back * flat.gather(2, spread) * known).sum(1)
            for k, tap in enumerate(taps):
                rest = prod((other.weight for j, other in enumerate(taps) if j != k), start=tap.slope)
                slopes[k] = slopes[k] + along * rest
    moved = [slope * factor for slope, (_, factor) in zip(slopes, found, strict=True)]
    places = ops.stack(moved[::-1], -1).reshape(grid.shape)
    return (image.reshape(input.shape) if needed[0] else None), (places if needed[1] else None)
