"""Max pooling: the largest element of each window, and where it stands; of several NaN the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ...core.device import cpu
from ...core.dtype import DType, int64
from ...kernels.windows import largest_kernel
from ...tensor.array_view import array_of
from ...tensor.geometry import geometry_of
from ...tensor.tensor import Tensor, new_like
from ..arrays import Array, values
from .calls import apply, apply_for_many, check_dtype
from .layouts import empty_in_suggested_format
from .pool_shapes import Pool, lowest, pool_of
from .window_loops import MOST_PLACES, run_over
from .windows import at_offset, offsets, padded, trailing

Ints = Sequence[int]


def pooled_places(array: Array, pool: Pool, dtype: DType) -> tuple[Array, Array]:
    """(largest elements, their places in the row-major last dims)."""
    own = array.shape[-pool.dims :]
    source = padded(array, pool.padding, pool.reach(own), lowest(array.dtype))
    parts = [
        source[trailing(at_offset(at, pool.stride, pool.dilation, pool.counts))] for at in offsets(pool.kernel)
    ]
    best, number = np.empty(parts[0].shape, array.dtype), np.empty(parts[0].shape, np.int64)
    if len(parts) <= MOST_PLACES:
        run_over(largest_kernel(len(parts), dtype), [best, number], parts)
    else:
        _compare_in_turn(best, number, parts)
    # The padding is named by no window that has an element above it.
    outside = any(pool.padding) and bool((best == lowest(array.dtype)).any())
    return best, _places_of(number, pool, own) if outside else _inner_places(number, pool, own)


def _compare_in_turn(best: Array, number: Array, parts: list[Array]) -> None:
    best[...], number[...] = parts[0], 0
    floating = best.dtype.kind not in "iub"
    for k, found in enumerate(parts[1:], 1):
        better = found > best
        better = better | np.isnan(found) if floating else better
        np.copyto(best, found, where=better)
        np.copyto(number, k, where=better)


def _inner_places(number: Array, pool: Pool, own: tuple[int, ...]) -> Array:
    """Where the elements with these numbers in their windows stand; all of them inside."""
    steps = [prod(own[d + 1 :]) for d in range(pool.dims)]
    offsets: Array = np.zeros((), np.int64)
    begins: Array = np.zeros((), np.int64)
    for size, count, step, apart, start, wide in zip(
        pool.kernel, pool.counts, pool.stride, pool.dilation, pool.padding, steps, strict=True
    ):
        offsets = offsets[..., None] + np.arange(size) * (apart * wide)
        begins = begins[..., None] + (np.arange(count) * step - start) * wide
    places: Array = offsets.reshape(-1).take(number)
    places += begins
    return places


def _places_of(number: Array, pool: Pool, own: tuple[int, ...]) -> Array:
    """Where the elements with these numbers in their windows stand; for a number in the padding the first inside.

    Only windows whose elements are all the lowest possible name the padding.
    """
    places: Array = np.zeros(number.shape, np.int64)
    rest = number
    for d in reversed(range(pool.dims)):
        rest, inside = np.divmod(rest, pool.kernel[d]) if d else (rest, rest)
        step = pool.dilation[d]
        start = np.arange(pool.counts[d])[:, None] * pool.stride[d] - pool.padding[d]
        lines = start + np.arange(pool.kernel[d]) * step
        lines = np.where(lines < 0, lines + (-lines + step - 1) // step * step, lines) * prod(own[d + 1 :])
        column = np.arange(pool.counts[d]).reshape(-1, *(1,) * (pool.dims - 1 - d))
        places += lines[column, inside]
    return places


def pooled(array: Array, pool: Pool) -> Array:
    """The largest elements: dim after dim, so that a window costs the sum, not the product, of its sizes."""
    own = array.shape[-pool.dims :]
    result = padded(array, pool.padding, pool.reach(own), lowest(array.dtype))
    for d in reversed(range(pool.dims)):
        axis = result.ndim - pool.dims + d
        lead = (slice(None),) * axis
        best: Array | None = None
        for k in range(pool.kernel[d]):
            start = k * pool.dilation[d]
            cut = slice(start, start + pool.stride[d] * (pool.counts[d] - 1) + 1, pool.stride[d])
            found = result[(*lead, cut)]
            best = found if best is None else np.maximum(best, found, out=best if k > 1 else None)
        assert best is not None
        result = best
    return result


def _with_places(dims: int) -> Callable[..., tuple[Tensor, Tensor]]:
    name = f"max_pool{dims}d"

    def max_pool_with_indices(
        self: Tensor,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        geometry = self.geometry
        pool = pool_of(name, geometry, dims, kernel_size, stride, padding, dilation, ceil_mode)
        check_dtype(f"{name}_with_indices", self)
        result = empty_in_suggested_format(geometry, (*geometry.sizes[:-dims], *pool.counts))
        found = result.geometry
        places = new_like(geometry_of(found.sizes, found.strides, int64, found.device))
        if geometry.device is cpu and result.geometry.numel:
            array_of(result)[...], array_of(places)[...] = pooled_places(values(self), pool, geometry.dtype)
        return result, places

    max_pool_with_indices.__name__ = max_pool_with_indices.__qualname__ = f"{name}_with_indices"
    return max_pool_with_indices


max_pool2d_with_indices, max_pool3d_with_indices = (_with_places(dims) for dims in (2, 3))


def _plain(dims: int) -> Callable[..., Tensor]:
    name = f"max_pool{dims}d"

    def max_pool(
        self: Tensor,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: bool = False,
    ) -> Tensor:
        geometry = self.geometry
        pool = pool_of(name, geometry, dims, kernel_size, stride, padding, dilation, ceil_mode)
        check_dtype(name, self)
        result = empty_in_suggested_format(geometry, (*geometry.sizes[:-dims], *pool.counts))
        if geometry.device is cpu and result.geometry.numel:
            array_of(result)[...] = pooled(values(self), pool)
        return result

    max_pool.__name__ = max_pool.__qualname__ = name
    return max_pool


max_pool1d, max_pool2d, max_pool3d = (_plain(dims) for dims in (1, 2, 3))


def max_pool1d_with_indices(
    self: Tensor,
    kernel_size: Ints,
    stride: Ints = (),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest elements along the last dim and their places. Raises RuntimeError as the other poolings."""
    pool_of("max_pool1d", self.geometry, 1, kernel_size, stride, padding, dilation, ceil_mode)
    options = [(1, *value) if value else value for value in (kernel_size, stride)]
    found = apply_for_many(
        "max_pool2d_with_indices", apply("unsqueeze", self, -2), *options, (0, *padding), (1, *dilation), ceil_mode
    )
    first, second = (apply("squeeze.dim", part, -2) for part in found)
    return first, second
