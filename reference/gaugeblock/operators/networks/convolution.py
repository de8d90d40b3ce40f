"""Convolutions as matrix products over blocks of windows, so that no temporary gets large; small ones by one loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...core.away import away
from ...core.device import cpu
from ...core.dtype import DType, float32, float64, int64
from ...core.promotion import UPSTREAM_NAMES
from ...dispatch.keys import any_autograd
from ...iteration.dimensions import loop_dimensions
from ...kernels.pointwise import Launch
from ...kernels.windows import convolution_kernel, products_kernel
from ...tensor.array_view import array_of
from ...tensor.hooks import SPECIAL
from ...tensor.tensor import Tensor, empty_tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, remember, suggested_format
from ..arrays import Array, check_same_device, values, widened
from ..invoke import apply
from ..operand_checks import check_scalar_type
from ..plan import Planned, plannable
from .calls import suggested
from .windows import BLOCK, Ints, at_offset, column_blocks, padded, repeated, spans, window_counts

OPERATOR = "convolution"
Options = tuple[Ints, Ints, Ints, bool, Ints, int]
"""stride, padding, dilation, transposed, output_padding, groups."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """Options for each spatial dim."""

    stride: Ints
    padding: Ints
    dilation: Ints
    transposed: bool
    output_padding: Ints
    groups: int

    def output_sizes(self, input: Ints, weight: Ints) -> Ints:
        """[batch, channels, spatial...] of the result."""
        kernel = weight[2:]
        if not self.transposed:
            counts = window_counts(input[2:], kernel, self.stride, self.padding, self.dilation)
            return (input[0], weight[0], *counts)
        reach = spans(kernel, self.dilation)
        grown = zip(input[2:], self.stride, self.padding, reach, self.output_padding, strict=True)
        return (input[0], weight[1] * self.groups, *((n - 1) * s - 2 * p + r + o for n, s, p, r, o in grown))


def planned(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    options: Options,
) -> tuple[Convolution, Ints]:
    """The options for each dim and the sizes of the result. Raises RuntimeError for what does not fit."""
    stride, padding, dilation, transposed, output_padding, groups = options
    check_same_device(OPERATOR, input, weight, *(() if bias is None else (bias,)))
    dims = weight.meta.ndim - 2
    if dims <= 0:
        raise RuntimeError(
            f"{OPERATOR}(): weight should have at least three dimensions, got {weight.meta.ndim}"
        )
    plan = Convolution(
        repeated(OPERATOR, "stride", stride, dims),
        repeated(OPERATOR, "padding", padding, dims),
        repeated(OPERATOR, "dilation", dilation, dims),
        transposed,
        repeated(OPERATOR, "output_padding", output_padding, dims),
        groups,
    )
    _check_options(plan)
    _check_sizes(plan, input.meta, weight.meta, bias)
    _check_dtypes(plan, input, weight, bias)
    sizes = plan.output_sizes(input.meta.sizes, weight.meta.sizes)
    _check_room(plan, input.meta.sizes, weight.meta.sizes, sizes)
    return plan, sizes


def _check_options(plan: Convolution) -> None:
    if plan.groups <= 0:
        raise RuntimeError(f"{OPERATOR}(): non-positive groups is not supported, got groups={plan.groups}")
    for name, given, least, message in (
        ("padding", plan.padding, 0, "negative padding is not supported"),
        ("output_padding", plan.output_padding, 0, "negative output_padding is not supported"),
        ("stride", plan.stride, 1, "non-positive stride is not supported"),
        ("dilation", plan.dilation, 1, f"dilation should be greater than zero, but got {list(plan.dilation)}"),
    ):
        if min(given) < least:
            raise RuntimeError(f"{OPERATOR}(): {message}, got {name}={list(given)}")
    if plan.transposed:
        for extra, step, spread in zip(plan.output_padding, plan.stride, plan.dilation, strict=True):
            if extra >= step and extra >= spread:
                raise RuntimeError(
                    f"{OPERATOR}(): output padding must be smaller than either stride or dilation, but got "
                    f"output_padding: {list(plan.output_padding)} stride: {list(plan.stride)} dilation: "
                    f"{list(plan.dilation)}"
                )


def _check_sizes(plan: Convolution, input: TensorMeta, weight: TensorMeta, bias: Tensor | None) -> None:
    groups, sizes, own = plan.groups, list(weight.sizes), list(input.sizes)
    label = f"transposed={int(plan.transposed)}" if plan.transposed else f"groups={groups}"
    if weight.ndim != input.ndim:
        raise RuntimeError(
            f"{OPERATOR}(): Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {sizes}, but "
            f"got {input.ndim}-dimensional input of size {own} instead"
        )
    if sizes[0] < groups:
        raise RuntimeError(
            f"{OPERATOR}(): Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
            f"weight of size {sizes} instead"
        )
    if sizes[0] % groups:
        raise RuntimeError(
            f"{OPERATOR}(): Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
            f"weight of size [{sizes}] instead"
        )
    wanted = sizes[0] if plan.transposed else sizes[1] * groups
    if own[1] != wanted:
        raise RuntimeError(
            f"{OPERATOR}(): Given {label}, weight of size {sizes}, expected input{own} to have {wanted} channels, but "
            f"got {own[1]} channels instead"
        )
    channels = sizes[1] * groups if plan.transposed else sizes[0]
    if bias is not None and bias.meta.sizes != (channels,):
        prefix = f"{label}, " if plan.transposed else ""
        raise RuntimeError(
            f"{OPERATOR}(): Given {prefix}weight of size {sizes}, expected bias to be 1-dimensional with {channels} "
            f"elements, but got bias of size {list(bias.meta.sizes)} instead"
        )


def _check_dtypes(plan: Convolution, input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    own = input.meta.dtype
    check_scalar_type(f"{OPERATOR}()", own, weight.meta.dtype, " for weight")
    if bias is not None and bias.meta.dtype is not own:
        raise RuntimeError(
            f"{OPERATOR}(): Input type ({own.name}) and bias type ({bias.meta.dtype.name}) should be the same"
        )
    if own.kind in (0, 3) or (plan.transposed and own.kind == 1 and own is not int64):
        raise NotImplementedError(f"\"{OPERATOR}\" not implemented for '{UPSTREAM_NAMES[own.name]}'")


def _check_room(plan: Convolution, input: Ints, weight: Ints, result: Ints) -> None:
    def across(sizes: tuple[int, ...]) -> str:
        return "(" + " x ".join(map(str, sizes)) + ")"

    if not plan.transposed:
        grown = tuple(n + 2 * p for n, p in zip(input[2:], plan.padding, strict=True))
        reach = spans(weight[2:], plan.dilation)
        if any(n < r for n, r in zip(grown, reach, strict=True)):
            raise RuntimeError(
                f"{OPERATOR}(): Calculated padded input size per channel: {across(grown)}. Kernel size: "
                f"{across(reach)}. Kernel size can't be greater than actual input size"
            )
    elif min(result[2:]) < 1:
        raise RuntimeError(
            f"{OPERATOR}(): Given input size per channel: {across(input[2:])}. Calculated output size per channel: "
            f"{across(result[2:])}. Output size is too small"
        )


MOST_PRODUCTS = 1 << 14
"""Beyond these a product of matrices is quicker, whatever it takes to prepare it."""
Runner = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def small_convolution(
    input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None, out: TensorMeta, plan: Convolution
) -> Runner | None:
    """Return the function that convolves tensors of these metas; None if they are large, or are not row-major."""
    operands = [one for one in (input, weight, bias, out) if one is not None]
    plain = all(one.contiguous and not one.lazy and one.device is cpu and one.dtype is out.dtype for one in operands)
    if not plain or out.dtype not in (float32, float64) or plan.transposed or not 0 < out.numel <= MOST_PRODUCTS:
        return None
    if not 0 < out.numel * prod(weight.sizes[1:]) <= MOST_PRODUCTS:
        return None
    channels = (out.sizes[0], plan.groups, out.sizes[1] // plan.groups, weight.sizes[1])
    spatial = [(out.sizes[2:], 1), (input.sizes[2:], 1), (weight.sizes[2:], 1), (plan.stride, 1), (plan.padding, 0),
               (plan.dilation, 1)]  # fmt: skip
    shape = [size for sizes, filler in spatial for size in (*(filler,) * (3 - len(sizes)), *sizes)]
    tail = (*channels, *shape, int(bias is not None), 1)
    kernel = convolution_kernel(out.dtype)

    def run(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        result = new_like(out)
        added = weight if bias is None else bias
        kernel(result.pointer, input.pointer, weight.pointer, added.pointer, *tail)
        return result

    return run


MOST_PLACES = 32
"""Windows of more places are not summed in one loop, where each channel is by itself."""
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
    ready: tuple[Convolution, TensorMeta, Runner | None] | None = input.meta.plans.get(key)
    if ready is None:
        plan, sizes = planned(input, weight, bias, options)
        made, added = _result(input.meta, weight.meta, sizes), None if bias is None else bias.meta
        small = small_convolution(input.meta, weight.meta, added, made, plan)
        ready = remember(input.meta.plans, key, (plan, made, small))
    plan, made, small = ready
    if small is not None:
        return Planned(small(input, weight, bias), small)
    result, sizes = new_like(made), made.sizes
    if result.meta.device is not cpu or not result.meta.numel:
        return result
    dtype = input.meta.dtype
    target = array_of(result)
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind == 2 else target.dtype
    into: Array = target if wide == target.dtype and result.meta.contiguous else np.empty(sizes, wide)
    filters = np.ascontiguousarray(widened(values(weight), dtype))
    work = (input if transposed else result).meta.numel * weight.meta.numel // weight.meta.sizes[0]
    places = prod(weight.meta.sizes[2:]) if weight.meta.sizes[1] == 1 and plan.groups > 1 else 0
    if 1 < places <= MOST_PLACES and not transposed and result.meta.contiguous:
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


def _result(input: TensorMeta, weight: TensorMeta, sizes: Ints) -> TensorMeta:
    """Channels last when input or weight is, else row-major; one small volume always is."""
    small_volume = input.ndim == 5 and input.sizes[0] == 1 and prod(input.sizes[:4]) <= MOST_OF_A_VOLUME
    if small_volume or input.dtype.kind != 2:
        return contiguous_meta(sizes, input.dtype, input.device)
    return suggested(input if suggested_format(input.sizes, input.strides) else weight, sizes)


def _depthwise(into: Array, input: Array, weight: Array, plan: Convolution, dtype: DType) -> None:
    batch, counts, window = into.shape[0], into.shape[2:], weight.shape[2:]
    shape = (batch, plan.groups, into.shape[1] // plan.groups, *counts)
    source = padded(input, plan.padding)[:, :, None]
    columns = weight.reshape(1, plan.groups, shape[2], *window)
    parts, weights = [], []
    for place in product(*map(range, window)):
        part = source[at_offset(place, plan.stride, plan.dilation, counts)]
        parts.append(np.broadcast_to(part, shape))
        weights.append(np.broadcast_to(columns[(slice(None),) * 3 + place][(..., *(None,) * len(counts))], shape))
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
    source = padded(input, plan.padding)
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
    inner: list[Any] = [slice(p, p + n) for n, p in zip(into.shape[2:], plan.padding, strict=True)]
    per_sample = channels * prod(kernel) * prod(counts)
    samples = max(1, min(batch, BLOCK // max(per_sample, 1)))
    for first in range(0, batch, samples):
        last = min(first + samples, batch)
        part = input[first:last].astype(into.dtype, copy=False)
        columns = np.matmul(rows, part.reshape(last - first, groups, rows.shape[2], prod(counts)))
        columns = columns.reshape(last - first, channels, *kernel, *counts)
        total = np.zeros((last - first, channels, *grown), into.dtype)
        for place in product(*map(range, kernel)):
            reached = at_offset(place, plan.stride, plan.dilation, counts)
            total[reached] += columns[(slice(None), slice(None), *place)]
        into[first:last] = total[(..., *inner)]


def weight_gradient(
    small: Tensor,
    wide: Tensor,
    sizes: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor | None:
    """Return what each element of a weight of `sizes` [small's channels, wide's channels / groups, kernel...] saw.

    That is the sum of the products of `small` [batch, channels, windows...] with the window elements of `wide` [batch,
    channels, spatial...].

    None for what is recorded, watched by modes, on other devices, or of other dtypes than float32 and float64.
    """
    dtype = small.meta.dtype
    plain = all(
        one.__class__ is Tensor and one.meta.device is cpu and not one.meta.lazy and one.meta.dtype is dtype
        for one in (small, wide)
    )
    if not plain or dtype not in (float32, float64) or SPECIAL or any_autograd((small, wide), {}):
        return None
    result = empty_tensor(tuple(sizes), dtype, cpu)
    target = array_of(result)
    target[...] = 0
    if small.meta.numel and wide.meta.numel and result.meta.numel:
        setting = (tuple(stride), tuple(dilation), groups)
        work = small.meta.numel * prod(sizes[1:])
        away(work, _add_products, target, values(small), padded(values(wide), tuple(padding)), *setting)
    return result


def _add_products(into: Array, small: Array, source: Array, stride: Ints, dilation: Ints, groups: int) -> None:
    counts, kernel = small.shape[2:], into.shape[2:]
    given = np.ascontiguousarray(small).reshape(small.shape[0], groups, small.shape[1] // groups, -1)
    total = into.reshape(groups, given.shape[2], -1)
    with np.errstate(all="ignore"):
        for samples, places, block in column_blocks(source, kernel, stride, dilation, counts, groups, into.dtype):
            total += np.matmul(given[samples, :, :, places], block.swapaxes(-1, -2)).sum(0)
