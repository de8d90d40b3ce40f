"""Average pooling: sums dim after dim, divided by how many elements a window counts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ...core.device import cpu
from ...core.dtype import int64
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor
from ..arrays import Array, values, widened
from .calls import check_dtype
from .layouts import empty_in_suggested_format, empty_row_major
from .pool_shapes import Pool, pool_of
from .windows import padded

Ints = Sequence[int]


def summed(array: Array, pool: Pool) -> Array:
    """The sums of all windows; padding counts as 0."""
    result = padded(array, pool.padding, pool.reach(array.shape[-pool.dims :]))
    for d in reversed(range(pool.dims)):
        lead = (slice(None),) * (result.ndim - pool.dims + d)
        total: Array | None = None
        for k in range(pool.kernel[d]):
            cut = slice(k, k + pool.stride[d] * (pool.counts[d] - 1) + 1, pool.stride[d])
            found = result[(*lead, cut)]
            total = found if total is None else np.add(total, found, out=total if k > 1 else None)
        assert total is not None
        result = total
    return result


@functools.lru_cache(maxsize=64)
def window_sizes(own: tuple[int, ...], pool: Pool, count_include_pad: bool) -> Array:
    """How many elements each window counts, with the padding or without it."""
    sizes: Array = np.ones((), np.int64)
    for d, size in enumerate(own):
        start = np.arange(pool.counts[d]) * pool.stride[d] - pool.padding[d]
        end = np.minimum(start + pool.kernel[d], size + pool.padding[d])
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        sizes = sizes * (end - start).reshape(-1, *(1,) * (pool.dims - 1 - d))
    sizes.flags.writeable = False
    return sizes


def _avg_pool(dims: int) -> Callable[..., Tensor]:
    name = f"avg_pool{dims}d"

    def avg_pool(
        self: Tensor,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        geometry = self.geometry
        pool = pool_of(name, geometry, dims, kernel_size, stride, padding, (1,), ceil_mode)
        if divisor_override == 0:
            raise RuntimeError(f"{name}(): divisor must be not zero, got divisor_override=0")
        check_dtype(name, self)
        empty = empty_row_major if dims == 3 else empty_in_suggested_format
        result = empty(geometry, (*geometry.sizes[:-dims], *pool.counts))
        if geometry.device is cpu and result.geometry.numel:
            with np.errstate(all="ignore"):
                total = summed(widened(values(self), geometry.dtype), pool)
                if divisor_override is not None:
                    divisor: Array = np.asarray(divisor_override)
                else:
                    divisor = window_sizes(geometry.sizes[-dims:], pool, count_include_pad)
                if geometry.dtype is int64:
                    array_of(result)[...] = np.trunc(total / divisor)
                else:
                    np.divide(total, divisor.astype(total.dtype), out=array_of(result), casting="unsafe")
        return result

    avg_pool.__name__ = avg_pool.__qualname__ = name
    return avg_pool


avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(dims) for dims in (1, 2, 3))
