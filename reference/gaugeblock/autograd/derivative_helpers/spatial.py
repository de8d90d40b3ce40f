"""Gradients of convolutions, pooling, padding, resampling and sampling on a grid."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bindings.functions import tensor_ops as ops
from ...core.dtype import bool_, int64
from ...dispatch.dispatcher import REGISTRY, call
from ...operators.networks.convolution import weight_gradient
from .indexing import collected

if TYPE_CHECKING:
    from gaugeblock import Tensor
else:
    from ...tensor.tensor import Tensor

Sizes = tuple[int, ...]


def _per_dim(count: int, *settings: Sizes) -> list[Sizes]:
    """Each setting with a value for every one of `count` dims."""
    return [tuple(values) * count if len(values) == 1 else tuple(values) for values in settings]


def convolution_input_back(
    grad: Tensor,
    weight: Tensor,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    groups: int,
) -> Tensor:
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
    grad: Tensor,
    input: Tensor,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    groups: int,
) -> Tensor:
    """The convolution of the input with `grad` over all samples, cut to the kernel's `shape`."""
    count = len(shape) - 2
    stride, padding, dilation = _per_dim(count, stride, padding, dilation)
    small, large = (input, grad) if transposed else (grad, input)
    pair: tuple[Any, Any] = small, large
    found: Any = weight_gradient(*pair, shape, stride, padding, dilation, groups)
    if found is not None:
        weight: Tensor = found
        return weight
    wide, kernel = (grad, input.conj()) if transposed else (input.conj(), grad)
    parts = [
        _correlated(one, other, shape, stride, padding, dilation)
        for one, other in zip(wide.chunk(groups, 1), kernel.chunk(groups, 1), strict=True)
    ]
    return parts[0] if groups == 1 else ops.cat(parts, 0)


def _correlated(wide: Tensor, kernel: Tensor, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Tensor:
    """Return the sums of products for each kernel element: samples act as channels, dilations as strides."""
    none = [0] * (len(shape) - 2)
    found = ops.convolution(
        wide.transpose(0, 1), kernel.transpose(0, 1), None, dilation, padding, stride, False, none, 1
    ).transpose(0, 1)
    return _cut(found, shape)


def _cut(found: Tensor, shape: Sizes) -> Tensor:
    """Return the part within `shape`; uneven strides and output padding leave elements beyond it."""
    for dim in range(2, len(shape)):
        if found.shape[dim] != shape[dim]:
            found = found.narrow(dim, 0, shape[dim])
    return found


def summed_but_dim(grad: Tensor, dim: int) -> Tensor:
    """`grad` summed over all dims but one."""
    return grad.sum([place for place in range(grad.ndim) if place != dim])


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


def unpool_back(grad: Tensor, shape: Sizes, indices: Tensor, n: int) -> Tensor:
    """Return the elements of `grad` at the indices into its last n dims flattened."""
    lead = len(shape) - n
    return grad.flatten(lead).gather(-1, indices.flatten(lead)).reshape(tuple(shape))


def padded_back(grad: Tensor, shape: Sizes, pad: Sizes, mode: str) -> Tensor:
    """The sum, for each element of a tensor of `shape`, over the places of `grad` that it was copied to.

    `pad` has the numbers of places before and behind, from the last dim on; `mode` is one of pad's.
    """
    if mode == "constant":
        return ops.constant_pad_nd(grad, [-count for count in pad])
    for k in range(len(pad) // 2):
        before, after = pad[2 * k], pad[2 * k + 1]
        dim = len(shape) - 1 - k
        if before or after:
            index = _sources(shape[dim], before, after, mode)
            sizes = (*grad.shape[:dim], shape[dim], *grad.shape[dim + 1 :])
            grad = collected(sizes, dim, index.to(grad.device), grad)
    return grad


def _sources(size: int, before: int, after: int, mode: str) -> Tensor:
    """Return the element that each place along a padded dim shows."""
    places = ops.arange(-before, size + after)
    if mode == "replicate":
        return places.clamp(0, size - 1)
    if mode == "circular":
        first, kept = max(-before, 0), size - max(-before, 0) - max(-after, 0)
        return first + (places - first).remainder(max(kept, 1))
    inside = places.abs()
    return (size - 1) - ((size - 1) - inside).abs()


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
    pool, by = getattr(ops, f"avg_pool{n}d"), () if divisor_override is None else (1,)

    def along(units: Tensor, k: int) -> Any:
        options = [_one_dim(n, k, *pair) for pair in ((kernel[k],), (steps[k],), (around[k], 0))]
        return pool(units, *options, ceil_mode, count_include_pad, *by)

    grad = _separable_back(grad, shape, len(shape) - n, along)
    return grad / divisor_override if divisor_override is not None else grad


def _each(values: Any, count: int) -> list[int]:
    given: list[int] = [values] if isinstance(values, int) else list(values)
    return given * count if len(given) == 1 else given


def adaptive_avg_pool_back(grad: Tensor, shape: Sizes, n: int) -> Tensor:
    """Return `grad`, divided by the sizes of the windows, added to all places of its window."""
    pool, wanted = REGISTRY.find(f"adaptive_avg_pool{n}d"), tuple(grad.shape[-n:])
    return _separable_back(grad, shape, len(shape) - n, lambda units, k: call(pool, units, _one_dim(n, k, wanted[k])))


NEAREST, BICUBIC = 1, 2
ZEROS, REFLECTION = 0, 2
_SHARPNESS = -0.75
"""The free coefficient of the cubic weights."""


class Tap(NamedTuple):
    """Whole places along one dim that are read, how much of each, and how that changes with the place."""

    places: Tensor
    weight: Tensor
    slope: Tensor


def _inside(places: Tensor, size: int, padding: int, align: bool) -> tuple[Tensor, Tensor]:
    """Places moved into the image, and the direction in which they move there: 0 beyond its border."""
    turn = ops.ones_like(places)
    if padding == ZEROS:
        return places, turn
    if padding == REFLECTION:
        low, span = (0.0, size - 1) if align else (-0.5, size)
        if not span:
            return ops.zeros_like(places), ops.zeros_like(places)
        off = (places - low).abs()
        extra, odd = off.fmod(span), (off / span).floor() % 2 == 1
        turn = ops.where((places < low) != odd, -1.0, turn)
        places = ops.where(odd, span - extra + low, extra + low)
    return places.clamp(0, size - 1), turn.masked_fill((places <= 0) | (places >= size - 1), 0)


def _cubic(t: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The weights of the places 1 before, at, 1 and 2 behind a place, from which it lies t away, with their slopes."""
    a = _SHARPNESS

    def near(x: Tensor) -> tuple[Tensor, Tensor]:
        return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Tensor) -> tuple[Tensor, Tensor]:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a

    (w0, s0), (w1, s1), (w2, s2), (w3, s3) = far(t + 1), near(t), near(1 - t), far(2 - t)
    return [(w0, s0), (w1, s1), (w2, -s2), (w3, -s3)]


def _taps(share: Tensor, size: int, mode: int, padding: int, align: bool) -> tuple[list[Tap], Tensor | float]:
    """Return what is read along one dim for numbers from -1 to 1, and how places change with these numbers."""
    scale = (size - 1) / 2 if align else size / 2
    real = (share + 1) * scale - (0 if align else 0.5)
    known = real.detach()
    if mode == BICUBIC:
        low = known.floor()
        moved = [_inside(low + (k - 1), size, padding, align)[0] for k in range(4)]
        return [Tap(p, w, s) for p, (w, s) in zip(moved, _cubic(real - low), strict=True)], scale
    place, turn = _inside(known, size, padding, align)
    one = ops.ones_like(place)
    if mode == NEAREST:
        return [Tap(place.round(), one, ops.zeros_like(one))], scale
    low = place.floor()
    part = place + turn * (real - known) - low
    return [Tap(low, 1 - part, -one), Tap(low + 1, part, one)], turn * scale


def grid_back(
    grad: Tensor, input: Tensor, grid: Tensor, mode: int, padding: int, align: bool, needed: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the image and of the grid."""
    batch, channels, *sizes = input.shape
    flat, back = input.reshape((batch, channels, prod(sizes))), grad.reshape((batch, channels, prod(grad.shape[2:])))
    count = back.shape[2]
    # The last of a place's numbers counts along the first dim.
    shares = [grid.select(-1, len(sizes) - 1 - k).reshape((batch, count)) for k in range(len(sizes))]
    found = [_taps(share, size, mode, padding, align) for share, size in zip(shares, sizes, strict=True)]
    image, slopes = ops.zeros_like(flat), [ops.zeros_like(share) for share in shares]
    for taps in product(*(taps for taps, _ in found)):
        known = ops.ones_like(shares[0], dtype=bool_)
        for tap, size in zip(taps, sizes, strict=True):
            known = known & (tap.places >= 0) & (tap.places < size)
        index = ops.zeros_like(shares[0], dtype=int64)
        for tap, size in zip(taps, sizes, strict=True):
            index = index * size + tap.places.masked_fill(~known, 0).to(int64)
        spread = index.unsqueeze(1).expand(back.shape)
        if needed[0]:
            weight = prod((tap.weight for tap in taps[1:]), start=taps[0].weight) * known
            image = image.scatter_add(2, spread, back * weight.unsqueeze(1))
        if needed[1] and mode != NEAREST:
            along = (back * flat.gather(2, spread)).sum(1) * known
            for k, tap in enumerate(taps):
                rest = prod((other.weight for j, other in enumerate(taps) if j != k), start=tap.slope)
                slopes[k] = slopes[k] + along * rest
    moved = [slope * factor for slope, (_, factor) in zip(slopes, found, strict=True)]
    places = ops.stack(moved[::-1], -1).reshape(grid.shape)
    return (image.reshape(input.shape) if needed[0] else None), (places if needed[1] else None)
