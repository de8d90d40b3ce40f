"""Resampling of images: nearest elements, weighted sums of 2 or 4 neighbours, or windows where every element counts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import DType, float32, int32, int64, uint8
from ...iteration.tensor_iterator import TensorIterator
from ...kernels.resampling import resampling_kernel
from ...kernels.sampling import cubic_far, cubic_near, cubic_weights
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, recalled
from ..arrays import Array, from_array, values
from ..composition import Part, composite
from ..copy import copied
from ..loop_plan import LONG, LoopPlan, longest_first
from .calls import check_dtype, suggested

MOST_BITS, SUM_BITS = 22, 15
"""How many bits behind the point whole weights may have, and how many bits in all."""
MOST_TAPS = 8
"""Elements of a window that one loop reads; longer windows take several."""
MANY = 32
"""Images from which loops go over these, if their rows are short."""


def _whole(weights: Array) -> tuple[Array, int]:
    """Weights as whole numbers of 16 bits, and how many of those stand behind the point."""
    bits, largest = 0, float(weights.max(initial=0.0))
    while bits < MOST_BITS and int(0.5 + largest * (1 << (bits + 1))) < 1 << SUM_BITS:
        bits += 1
    scaled = weights * (1 << bits)
    return np.where(scaled < 0, scaled - 0.5, scaled + 0.5).astype(np.int32), bits


Sizes = Sequence[int]
Taps = list[tuple[Array, Array]]


def _step(size: int, wanted: int, align: bool, scale: float | None) -> float:
    """Return how far one place of the result goes in the input; `align` goes from corner to corner."""
    if align:
        return (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0.0 else size / wanted


def _real_places(size: int, wanted: int, align: bool, scale: float | None, kind: Any) -> Any:
    places, step = np.arange(wanted, dtype=kind), kind.type(_step(size, wanted, align, scale))
    return places * step if align else step * (places + kind.type(0.5)) - kind.type(0.5)


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


def checked(operator: str, self: Tensor, output_size: Sizes, dims: int) -> TensorMeta:
    """Return the meta of the result. Raises RuntimeError for sizes and dtypes that do not fit."""
    own = self.meta.sizes
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
    return suggested(self.meta, (*own[:2], *output_size))


@functools.lru_cache(maxsize=256)
def _nearest_index(size: int, wanted: int, scale: float | None, exact: bool) -> tuple[Tensor, int]:
    """Return the nearest element of each place, and how often each is taken; 0 where that varies. Not `exact` is the
    floor of the place itself."""
    step, half = np.float32(_step(size, wanted, False, scale)), np.float32(0.5 if exact else 0)
    found = np.floor((np.arange(wanted, dtype=np.float32) + half) * step)
    places, times = np.minimum(found.astype(np.int64), size - 1), wanted // size
    return from_array(places, int64), times if np.array_equal(places, np.arange(size).repeat(times)) else 0


class Tables(NamedTuple):
    """A row of indices and one of weights for each neighbour; whole weights have so many `bits` behind the point."""

    places: Tensor
    weights: Tensor
    bits: int = 0

    @classmethod
    def of(cls, taps: Taps, dtype: DType, bits: int = 0) -> Tables:
        """Return the tables of neighbours with their weights in a dtype."""
        places, weights = (np.stack(rows) for rows in zip(*taps, strict=True))
        return cls(from_array(places, int64), from_array(weights, dtype), bits)


@functools.lru_cache(maxsize=256)
def _tables(
    taps_of: Callable[..., Taps], size: int, wanted: int, align: bool, scale: float | None, dtype: DType
) -> Tables:
    if dtype is not uint8:
        return Tables.of(taps_of(size, wanted, align, scale, dtype.numpy), dtype)
    taps = taps_of(size, wanted, align, scale, np.dtype(np.float64))
    return _tables_of_rows(sum((places[:, None] == np.arange(size)) * share[:, None] for places, share in taps), dtype)


def _tables_of_rows(weights: Any, dtype: DType) -> Tables:
    """Return the tables for a row of weights for each place of the result; for bytes the weights are made whole."""
    kept, bits = _whole(weights) if dtype is uint8 else (weights, 0)
    rows, size = weights.shape
    begin, end = (weights != 0).argmax(1), size - (weights[:, ::-1] != 0).argmax(1)
    width = int((end - begin).max())
    begin = np.minimum(begin, size - width)
    taps = [(begin + k, kept[np.arange(rows), begin + k]) for k in range(width)]
    return Tables.of(taps, int32 if dtype is uint8 else dtype, bits)


def _nearest(operator: str, dims: int, exact: bool) -> Callable[..., Tensor]:
    def upsample(part: Part, self: Tensor, output_size: Sizes, *scales: float | None) -> Tensor:
        result = checked(operator, self, output_size, dims)
        if result.device is not cpu or not result.numel:
            return new_like(result)
        found, given = self, scales or (None,) * dims
        plan = recalled(self.meta.plans, (operator, result, given), _picking, self.meta, result, given, exact)
        if plan is not None:
            return part.fresh(plan.fresh, self)  # type: ignore[no-any-return]
        order = range(dims) if result.numel < self.meta.numel else reversed(range(dims))
        for d in order:
            index, times = _nearest_index(self.meta.sizes[d + 2], output_size[d], given[d], exact)
            if times > 1:
                key, meta = ("repeated", d + 2, times), found.meta
                found = part.fresh(recalled(meta.plans, key, _repeating, meta, d + 2, times).fresh, found)
            else:
                found = part("index_select", found, d + 2, part.constant(index))
        return found if found.meta is result else part.plan(copied, found, result)

    return composite(upsample)


def _picking(meta: TensorMeta, result: TensorMeta, scales: Sequence[float | None], exact: bool) -> LoopPlan | None:
    """Return the plan that reads the nearest elements of small images one by one; None for large ones."""
    plan, along = LoopPlan([meta], [result]), list[list[int]]()
    if result.sizes[-1] >= LONG:
        return None
    for size, wanted, scale in zip(meta.sizes[2:], result.sizes[2:], scales, strict=True):
        along.append(values(_nearest_index(size, wanted, scale, exact)[0]).tolist())
    return plan if plan.pick(plan.results[0], plan.inputs[0], along) else None


def _repeating(meta: TensorMeta, dim: int, times: int) -> LoopPlan:
    """Return the plan that gives each element along `dim` so many times, one after the other."""
    sizes = list(meta.sizes)
    sizes[dim] *= times
    plan = LoopPlan([meta], [suggested(meta, tuple(sizes))])
    plan.copy(plan.results[0].split(dim, times), plan.inputs[0].repeated(dim, times))
    return plan


def _weighted(operator: str, dims: int, tables_of: Callable[..., Tables], *, exact: bool) -> Callable[..., Tensor]:
    """Return the kernel that interpolates along one dim after another, rounding bytes after each. A dim that keeps its
    size is skipped for bytes and where `exact`."""

    def upsample(part: Part, self: Tensor, output_size: Sizes, align_corners: bool, *scales: float | None) -> Tensor:
        result, own = checked(operator, self, output_size, dims), self.meta
        if result.device is not cpu or not result.numel:
            return new_like(result)
        given, keeps = scales or (None,) * dims, exact or own.dtype is uint8
        used = [d for d in reversed(range(dims)) if not (keeps and own.sizes[d + 2] == output_size[d])]
        found, wide = self, float32 if own.dtype.itemsize == 2 else own.dtype
        laid: Callable[[tuple[int, ...], DType], TensorMeta] = contiguous_meta
        end = result
        if used and result.sizes[-1] < LONG and own.sizes[0] * own.sizes[1] >= MANY:
            laid, end = _planes_innermost, _planes_innermost(result.sizes, result.dtype)
            found = part.plan(copied, self, laid(own.sizes, own.dtype))
        for d in used:
            tables = tables_of(own.sizes[d + 2], output_size[d], align_corners, given[d], wide)
            sizes = list(found.meta.sizes)
            sizes[d + 2] = output_size[d]
            meta = end if d == used[-1] else laid(tuple(sizes), wide)
            key, seen = ("mixing", tables, d + 2, meta), found.meta
            found = part.fresh(recalled(seen.plans, key, _mixing, seen, tables, d + 2, meta).fresh, found)
        return found if found.meta is result and found is not self else part.plan(copied, found, result)

    return composite(upsample)


def _planes_innermost(sizes: tuple[int, ...], dtype: DType) -> TensorMeta:
    """Return the meta of many small images whose elements at one place are adjacent."""
    planes = sizes[0] * sizes[1]
    strides = [planes * step for step in contiguous_meta(sizes[2:], dtype).strides]
    return meta_of(sizes, (sizes[1], 1, *strides), dtype, cpu)


def _mixing(meta: TensorMeta, tables: Tables, dim: int, result: TensorMeta) -> LoopPlan:
    """Return the plan of the sum of the neighbours along `dim`, each times its weights."""
    plan, compute = LoopPlan([meta], [result]), tables.weights.meta.dtype
    count, size = tables.places.meta.sizes
    sums = [plan.temporary(contiguous_meta(result.sizes, compute))] if count > MOST_TAPS else []
    source, places, weights = plan.inputs[0], plan.constant(tables.places), plan.constant(tables.weights)
    walked = source._replace(sizes=result.sizes).with_dims(dim, (size, 0))
    for begin in range(0, count, MOST_TAPS):
        many, last = min(MOST_TAPS, count - begin), begin + MOST_TAPS >= count
        into, added = plan.results[0] if last else sums[0], sums if begin else []
        rows = [table.narrow(0, begin, many).select(0, 0).along(dim, result.sizes) for table in (places, weights)]
        views = [into, *added, walked, *rows]
        dims = TensorIterator.restrided(result.sizes, [one.strides for one in views], [one.dtype for one in views]).dims
        kernel = resampling_kernel(
            many, meta.dtype, compute, into.dtype, added=begin > 0, bits=tables.bits if last else 0
        )
        order = longest_first(dims or [(1, *(0 for _ in views))])
        steps = source.strides[dim], places.strides[0], weights.strides[0]
        tail = *steps, len(order), *chain.from_iterable(zip(*order, strict=True))
        plan.kernel(long_call(result.numel * many, kernel), views, tail)
    return plan


upsample_nearest1d, upsample_nearest2d, upsample_nearest3d = (
    _nearest(f"upsample_nearest{dims}d", dims, False) for dims in (1, 2, 3)
)
_upsample_nearest_exact1d, _upsample_nearest_exact2d, _upsample_nearest_exact3d = (
    _nearest(f"_upsample_nearest_exact{dims}d", dims, True) for dims in (1, 2, 3)
)
upsample_linear1d = _weighted("upsample_linear1d", 1, partial(_tables, linear_taps), exact=True)
upsample_bilinear2d = _weighted("upsample_bilinear2d", 2, partial(_tables, linear_taps), exact=True)
upsample_trilinear3d = _weighted("upsample_trilinear3d", 3, partial(_tables, linear_taps), exact=True)
upsample_bicubic2d = _weighted("upsample_bicubic2d", 2, partial(_tables, cubic_taps), exact=False)


def by_scales(operator: str) -> Callable[..., Tensor]:
    def upsample(part: Part, input: Tensor, output_size: Sizes | None, *options: Any) -> Tensor:
        factors = options[-1]
        if (output_size is None) == (factors is None):
            raise RuntimeError(f"{operator}(): Must specify exactly one of output_size and scale_factors")
        if output_size is not None:
            return part(operator, input, output_size, *options[:-1])
        sizes = tuple(int(size * factor) for size, factor in zip(input.meta.sizes[2:], factors, strict=True))
        return part(operator, input, sizes, *options[:-1], *factors)

    return composite(upsample)


def __getattr__(name: str) -> Callable[..., Tensor]:
    """Return the form that takes factors of an operator here."""
    operator, ending, _ = name.partition("_vec")
    if not ending:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return by_scales(operator)


SMOOTH_CUBIC = -0.5
"""The parameter of the cubic filter, another than that of interpolation."""


def triangle(x: Array) -> Array:
    """1 at 0, falling to 0 at 1."""
    return np.asarray(np.maximum(1 - np.abs(x), 0))


def cubic(x: Array) -> Array:
    """1 at 0, 0 at whole numbers and from 2 on."""
    x = np.abs(x)
    return np.where(x < 1, cubic_near(x, SMOOTH_CUBIC), np.where(x < 2, cubic_far(x, SMOOTH_CUBIC), 0))


def filter_weights(
    size: int, wanted: int, align: bool, scale: float | None, filter: Callable[[Array], Array], reach: int
) -> Array:
    """A row for each place of the result: how much of each element it gets; every row sums to 1."""
    step = _step(size, wanted, align, scale)
    wide = max(step, 1.0)
    weights = np.zeros((wanted, size))
    for k in range(wanted):
        middle = step * (k + 0.5)
        first = max(int(middle - reach * wide + 0.5), 0)
        last = min(int(middle + reach * wide + 0.5), size)
        share = filter((np.arange(first, last) - middle + 0.5) / wide)
        total = share.sum()
        weights[k, first:last] = share / total if total else share
    return weights


@functools.lru_cache(maxsize=256)
def _filtered(
    filter: Callable[[Array], Array], reach: int, size: int, wanted: int, align: bool, scale: float | None, dtype: DType
) -> Tables:
    return _tables_of_rows(filter_weights(size, wanted, align, scale, filter, reach), dtype)


_upsample_bilinear2d_aa = _weighted("_upsample_bilinear2d_aa", 2, partial(_filtered, triangle, 1), exact=True)
_upsample_bicubic2d_aa = _weighted("_upsample_bicubic2d_aa", 2, partial(_filtered, cubic, 2), exact=True)
