"""Convolutions as matrix products: windows are copied into columns block by block, so that no temporary gets large."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from ...core.away import away
from ...core.device import cpu
from ...core.dtype import DType, float32
from ...core.memory_format import MemoryFormat, contiguous_format
from ...iteration.dimensions import loop_dimensions
from ...kernels.windows import products_kernel
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, meta_of, remember, suggested_format
from ..arrays import Array, values, widened
from ..copy import format_strides
from ..invoke import apply
from ..launch import Launch
from ..plan import Planned, plannable
from .columns import BLOCK, column_blocks
from .convolution_checks import Convolution, Options, planned
from .layouts import empty_row_major
from .small_convolution import Runner, small_convolution
from .windows import Ints, at_offset, offsets, padded, trailing

MOST_PLACES = 32
"""Windows of more places are not summed in one loop."""
MOST_OF_A_VOLUME = 20480
"""Elements of a small volume, the last dim aside; results of larger ones may be channels last."""


@plannable
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor | Planned[Tensor]:
    """Cross-correlation of [batch, channels, spatial...] with [out channels, channels / groups, kernel...].

    `transposed` takes [channels, out channels / groups, kernel...] and adds up the spread windows instead. Half
    precision is computed in float32 and rounded once. Raises RuntimeError for sizes, options and dtypes that do not
    fit, NotImplementedError for bool.
    """
    options = (tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups)
    key = ("convolution", weight.meta, None if bias is None else bias.meta, options)
    ready: _Ready | None = input.meta.plans.get(key)
    if ready is None:
        ready = remember(input.meta.plans, key, _ready(input, weight, bias, options))
    plan, small = ready.plan, ready.small
    if small is not None:
        return Planned(small(input, weight, bias), small)
    result = new_like(ready.result)
    sizes = result.meta.sizes
    if result.meta.device is not cpu or not result.meta.numel:
        return result
    dtype = input.meta.dtype
    target = array_of(result)
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind == 2 else target.dtype
    into: Array = target if wide == target.dtype and result.meta.contiguous else np.empty(sizes, wide)
    filters = np.ascontiguousarray(widened(values(weight), dtype))
    work = (input if transposed else result).meta.numel * weight.meta.numel // weight.meta.sizes[0]
    if _is_depthwise(plan, weight) and result.meta.contiguous:
        _depthwise(target, values(input), np.ascontiguousarray(values(weight)), plan, dtype)
        if bias is not None:
            column = apply("reshape", bias, (-1, *(1,) * (len(sizes) - 2)))
            apply("add_.Tensor", result, column)
        return result
    with np.errstate(all="ignore"):
        away(work, _spread if transposed else _correlate, into, values(input), filters, plan)
        if bias is not None:
            into += widened(values(bias), dtype).reshape(-1, *(1,) * (len(sizes) - 2))
        if into is not target:
            target[...] = into
    return result


class _Ready(NamedTuple):
    """What follows from the metas and options of a call."""

    plan: Convolution
    result: TensorMeta
    small: Runner | None


def _ready(input: Tensor, weight: Tensor, bias: Tensor | None, options: Options) -> _Ready:
    plan, sizes = planned(input, weight, bias, options)
    result = _empty(input, weight, sizes).meta
    added = None if bias is None else bias.meta
    return _Ready(plan, result, small_convolution(input.meta, weight.meta, added, result, plan))


def _empty(input: Tensor, weight: Tensor, sizes: Ints) -> Tensor:
    """Channels last when input or weight is, else row-major; one small volume always is."""
    meta = input.meta
    if meta.ndim == 5 and meta.sizes[0] == 1 and prod(meta.sizes[:4]) <= MOST_OF_A_VOLUME:
        return empty_row_major(meta, sizes)
    strides = format_strides(meta_of(sizes, sizes, meta.dtype, meta.device), _format(input, weight))
    return new_like(meta_of(sizes, strides, meta.dtype, meta.device))


def _format(*tensors: Tensor) -> MemoryFormat:
    for tensor in tensors:
        meta = tensor.meta
        format = suggested_format(meta.sizes, meta.strides) if meta.dtype.kind == 2 else None
        if format is not None:
            return format
    return contiguous_format


def _is_depthwise(plan: Convolution, weight: Tensor) -> bool:
    """Return whether each channel is by itself, and its windows have few places."""
    sizes = weight.meta.sizes
    return not plan.transposed and sizes[1] == 1 and plan.groups > 1 and 1 < prod(sizes[2:]) <= MOST_PLACES


def _depthwise(into: Array, input: Array, weight: Array, plan: Convolution, dtype: DType) -> None:
    batch, counts, window = into.shape[0], into.shape[2:], weight.shape[2:]
    shape = (batch, plan.groups, into.shape[1] // plan.groups, *counts)
    source = padded(input, plan.padding, plan.padding)[:, :, None]
    columns = weight.reshape(1, plan.groups, shape[2], *window)
    parts, weights = [], []
    for place in offsets(window):
        part = source[trailing(at_offset(place, plan.stride, plan.dilation, counts))]
        parts.append(np.broadcast_to(part, shape))
        weights.append(np.broadcast_to(columns[trailing(place)][(..., *(None,) * len(counts))], shape))
    wide = float32 if dtype.kind == 2 and dtype.itemsize == 2 else dtype
    operands = [into.reshape(shape), *parts, *weights]
    loop, strides = loop_dimensions(shape, [one.strides for one in operands])
    itemsizes, kernel = [one.itemsize for one in operands], products_kernel(len(parts), dtype, wide)
    launch = Launch(kernel, loop, strides, itemsizes, range(len(operands)))
    launch.run([one.ctypes.data for one in operands])


def _correlate(into: Array, input: Array, weight: Array, plan: Convolution) -> None:
    batch, counts, kernel = into.shape[0], into.shape[2:], weight.shape[2:]
    groups, length = plan.groups, prod(kernel) * weight.shape[1]
    rows = weight.reshape(groups, weight.shape[0] // groups, length)
    source = padded(input, plan.padding, plan.padding)
    total = prod(counts)
    out = into.reshape(batch, groups, rows.shape[1], total)
    if prod(kernel) == 1 and max(plan.stride) == 1 and source.flags.c_contiguous and source.dtype == into.dtype:
        np.matmul(rows, source.reshape(batch, groups, length, total), out=out)
        return
    for samples, places, block in column_blocks(source, kernel, plan.stride, plan.dilation, counts, groups, into.dtype):
        np.matmul(rows, block, out=out[samples, :, :, places])


def _spread(into: Array, input: Array, weight: Array, plan: Convolution) -> None:
    batch, counts, kernel = input.shape[0], input.shape[2:], weight.shape[2:]
    groups, channels = plan.groups, into.shape[1]
    rows = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    grown = tuple(n + 2 * p for n, p in zip(into.shape[2:], plan.padding, strict=True))
    inner = tuple(slice(p, p + n) for n, p in zip(into.shape[2:], plan.padding, strict=True))
    per_sample = channels * prod(kernel) * prod(counts)
    samples = max(1, min(batch, BLOCK // max(per_sample, 1)))
    for first in range(0, batch, samples):
        last = min(first + samples, batch)
        part = input[first:last].astype(into.dtype, copy=False)
        columns = np.matmul(rows, part.reshape(last - first, groups, rows.shape[2], prod(counts)))
        columns = columns.reshape(last - first, channels, *kernel, *counts)
        total = np.zeros((last - first, channels, *grown), into.dtype)
        for place in offsets(kernel):
            reached = trailing(at_offset(place, plan.stride, plan.dilation, counts))
            total[reached] += columns[(slice(None), slice(None), *place)]
        into[first:last] = total[trailing(inner)]
