"""Resampling of images: nearest elements, or weighted sums of 2 or 4 neighbours in each dim, dim after dim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.device import cpu
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor
from ..arrays import Array, values, widened
from .calls import apply, check_dtype
from .dense_weights import mixed
from .layouts import empty_in_suggested_format

Sizes = Sequence[int]
Taps = list[tuple[Array, Array]]
CUBIC = -0.75
"""The parameter of the cubic convolution kernel."""


def _step(size: int, wanted: int, scale: float | None) -> float:
    """How far one place of the result goes in the input."""
    return 1.0 / scale if scale is not None and scale > 0.0 else size / wanted


def nearest_places(size: int, wanted: int, scale: float | None, exact: bool) -> Array:
    """The element that stands nearest to each place; not `exact` is the floor of the place itself."""
    step = np.float32(_step(size, wanted, scale))
    places = np.arange(wanted, dtype=np.float32)
    found = np.floor((places + np.float32(0.5)) * step) if exact else np.floor(places * step)
    clipped: Array = np.minimum(found.astype(np.int64), size - 1)
    return clipped


def _real_places(size: int, wanted: int, align: bool, scale: float | None, kind: Any) -> Any:
    places = np.arange(wanted, dtype=kind)
    if align:
        return places * kind.type((size - 1) / (wanted - 1) if wanted > 1 else 0.0)
    step = kind.type(_step(size, wanted, scale))
    return step * (places + kind.type(0.5)) - kind.type(0.5)


def linear_taps(size: int, wanted: int, align: bool, scale: float | None, kind: Any) -> Taps:
    """Two neighbours of each place with their weights."""
    real = np.maximum(_real_places(size, wanted, align, scale, kind), 0)
    low = np.minimum(real.astype(np.int64), size - 1)
    share = np.clip(real - low.astype(kind), 0, 1)
    return [(low, 1 - share), (np.minimum(low + 1, size - 1), share)]


def cubic_taps(size: int, wanted: int, align: bool, scale: float | None, kind: Any) -> Taps:
    """Four neighbours of each place, those outside replaced by the outermost, with their weights."""
    real = _real_places(size, wanted, align, scale, kind)
    low = np.floor(real)
    weights = cubic_weights(real - low)
    start = low.astype(np.int64) - 1
    return [(np.clip(start + k, 0, size - 1), weight) for k, weight in enumerate(weights)]


def cubic_weights(share: Any) -> tuple[Any, Any, Any, Any]:
    """What the four neighbours count of a place that lies `share` behind the second."""
    a = share.dtype.type(CUBIC)

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(share + 1), near(share), near(1 - share), far(2 - share)


def checked(operator: str, self: Tensor, output_size: Sizes, dims: int) -> Tensor:
    own = self.geometry.sizes
    if len(output_size) != dims:
        raise RuntimeError(
            f"{operator}(): It is expected output_size equals to {dims}, but got size {len(output_size)}"
        )
    if len(own) != dims + 2:
        raise RuntimeError(f"{operator}(): It is expected input_size equals to {dims + 2}, but got size {len(own)}")
    if min(*own[2:], *output_size) <= 0:
        raise RuntimeError(
            f"{operator}(): Input and output sizes should be greater than 0, but got input {list(own[2:])} and output "
            f"{list(output_size)}"
        )
    if 0 in own[1:]:
        raise RuntimeError(
            f"{operator}(): Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(own)}"
        )
    check_dtype(operator, self)
    return empty_in_suggested_format(self.geometry, (*own[:2], *output_size))


def _repeats(places: Array, size: int) -> bool:
    """Whether each element is taken equally often, in order."""
    return len(places) % size == 0 and np.array_equal(places, np.arange(len(places)) // (len(places) // size))


def _repeat(target: Array, array: Array) -> None:
    """Each element of the last dims, after batch and channels, as often as the target has room for."""
    times = target.shape[-1] // array.shape[-1]
    lines = np.empty((*array.shape[:-1], target.shape[-1]), array.dtype)
    for k in range(times):
        lines[..., k::times] = array
    apart = [part for size, total in zip(lines.shape, target.shape, strict=True) for part in (size, total // size)]
    target.reshape(apart)[...] = lines.reshape([part for size in lines.shape for part in (size, 1)])


def _nearest(operator: str, dims: int, exact: bool) -> Callable[..., Tensor]:
    def upsample(self: Tensor, output_size: Sizes, *scales: float | None) -> Tensor:
        result = checked(operator, self, output_size, dims)
        if result.geometry.device is cpu and result.geometry.numel:
            array = values(self)
            given = scales or (None,) * dims
            taken = [nearest_places(array.shape[d + 2], output_size[d], given[d], exact) for d in range(dims)]
            target = array_of(result)
            if target.flags.c_contiguous and all(map(_repeats, taken, array.shape[2:])):
                _repeat(target, array)
                return result
            for d, places in enumerate(taken):
                array = np.take(array, places, axis=d + 2)
            target[...] = array
        return result

    upsample.__name__ = upsample.__qualname__ = operator
    return upsample


def _weighted(operator: str, dims: int, taps_of: Callable[..., Taps]) -> Callable[..., Tensor]:
    def upsample(self: Tensor, output_size: Sizes, align_corners: bool, *scales: float | None) -> Tensor:
        result = checked(operator, self, output_size, dims)
        if result.geometry.device is cpu and result.geometry.numel:
            dtype = self.geometry.dtype
            array = widened(values(self), dtype) if dtype.kind == 2 else values(self)
            kind = array.dtype if dtype.kind == 2 else np.dtype(np.float64)
            given = scales or (None,) * dims
            for d in reversed(range(dims)):
                size, wanted = array.shape[d + 2], output_size[d]
                if size == wanted and (taps_of is linear_taps or dtype.kind != 2):
                    continue
                taps = taps_of(size, wanted, align_corners, given[d], kind)
                array = _combined(array, taps, d + 2) if dtype.kind == 2 else mixed(array, _dense(taps, size), d + 2)
            array_of(result)[...] = array
        return result

    upsample.__name__ = upsample.__qualname__ = operator
    return upsample


def _dense(taps: Taps, size: int) -> Array:
    """The weights as a matrix [result, elements]."""
    weights = np.zeros((len(taps[0][0]), size))
    rows = np.arange(len(weights))
    for places, share in taps:
        np.add.at(weights, (rows, places), share)
    return weights


def _combined(array: Array, taps: Taps, axis: int) -> Array:
    column = (-1, *(1,) * (array.ndim - 1 - axis))
    total: Array | None = None
    for places, weights in taps:
        term = np.take(array, places, axis=axis)
        term *= weights.reshape(column)
        total = term if total is None else np.add(total, term, out=total)
    assert total is not None
    return total


upsample_nearest1d, upsample_nearest2d, upsample_nearest3d = (
    _nearest(f"upsample_nearest{dims}d", dims, False) for dims in (1, 2, 3)
)
_upsample_nearest_exact1d, _upsample_nearest_exact2d, _upsample_nearest_exact3d = (
    _nearest(f"_upsample_nearest_exact{dims}d", dims, True) for dims in (1, 2, 3)
)
upsample_linear1d = _weighted("upsample_linear1d", 1, linear_taps)
upsample_bilinear2d = _weighted("upsample_bilinear2d", 2, linear_taps)
upsample_trilinear3d = _weighted("upsample_trilinear3d", 3, linear_taps)
upsample_bicubic2d = _weighted("upsample_bicubic2d", 2, cubic_taps)


def by_scales(operator: str) -> Callable[..., Tensor]:
    def upsample(input: Tensor, output_size: Sizes | None, *options: object) -> Tensor:
        factors = options[-1]
        own = input.geometry.sizes[2:]
        if (output_size is None) == (factors is None):
            raise RuntimeError(f"{operator}(): Must specify exactly one of output_size and scale_factors")
        if output_size is not None:
            return apply(operator, input, output_size, *options[:-1])
        assert isinstance(factors, tuple)
        sizes = tuple(int(size * factor) for size, factor in zip(own, factors, strict=True))
        return apply(operator, input, sizes, *options[:-1], *factors)

    upsample.__name__ = upsample.__qualname__ = f"{operator}_vec"
    return upsample


upsample_nearest1d_vec, upsample_nearest2d_vec, upsample_nearest3d_vec = (
    by_scales(f"upsample_nearest{dims}d") for dims in (1, 2, 3)
)
_upsample_nearest_exact1d_vec, _upsample_nearest_exact2d_vec, _upsample_nearest_exact3d_vec = (
    by_scales(f"_upsample_nearest_exact{dims}d") for dims in (1, 2, 3)
)
upsample_linear1d_vec = by_scales("upsample_linear1d")
upsample_bilinear2d_vec = by_scales("upsample_bilinear2d")
upsample_trilinear3d_vec = by_scales("upsample_trilinear3d")
upsample_bicubic2d_vec = by_scales("upsample_bicubic2d")
