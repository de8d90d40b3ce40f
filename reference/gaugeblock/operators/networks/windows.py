"""Sliding windows over the last dims: options for each dim, how many there are, and their elements in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from ...core.device import cpu
from ...core.dtype import float32
from ...kernels.pointwise import pointwise_kernel
from ...kernels.windows import total
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import contiguous_meta
from ..loop_plan import LoopPlan, View, planned_loops
from ..operand_checks import check_implemented
from ..plan import Planned, plannable

Ints = tuple[int, ...]


def repeated(operator: str, name: str, value: Sequence[int], count: int, what: str = "convolution") -> Ints:
    """`value` for each of `count` dims. Raises RuntimeError for another number of values."""
    if len(value) == count:
        return tuple(value)
    if len(value) == 1:
        return (value[0],) * count
    raise RuntimeError(
        f"{operator}(): expected {name} to be a single integer value or a list of {count} values to match the {what} "
        f"dimensions, but got {name}={list(value)}"
    )


def spans(kernel: Ints, dilation: Ints) -> Ints:
    """Return how many places a window reaches over in each dim."""
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def window_counts(sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """Return how many windows fit in each dim; may be below 1."""
    reach = spans(kernel, dilation)
    return tuple((n + 2 * p - r) // s + 1 for n, p, r, s in zip(sizes, padding, reach, stride, strict=True))


def _options(operator: str, *given: Sequence[int]) -> list[Ints]:
    """Return kernel size, dilation, padding and stride of two dims. Raise RuntimeError for those that do not fit."""
    found = []
    for name, value, least in zip(("kernel size", "dilation", "padding", "stride"), given, (1, 1, 0, 1), strict=True):
        pair = repeated(operator, name, value, 2, "image")
        if min(pair) < least:
            rule = "greater than zero" if least else "non-negative"
            words = name.split()[0]
            raise RuntimeError(
                f"{operator}(): {name} should be {rule}, but got {words}_height: {pair[0]} {words}_width: {pair[1]}"
            )
        found.append(pair)
    return found


@plannable
def im2col(self: Tensor, *options: Sequence[int]) -> Planned[Any]:
    """[batch, channels * kernel, windows] from [batch, channels, height, width]; the batch may be missing. Raises
    RuntimeError for windows that do not fit and empty images, IndexError for another number of dims."""
    kernel, spread, around, step = _options("im2col", *options)
    sizes = self.meta.sizes
    if len(sizes) < 3:
        raise IndexError(
            f"im2col(): Dimension out of range (expected to be in range of [{-len(sizes)}, {len(sizes) - 1}], but got "
            f"2): the input has {len(sizes)} dims"
        )
    if len(sizes) > 4 or 0 in sizes[-3:]:
        raise RuntimeError(
            f"im2col(): Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(sizes)}"
        )
    counts = window_counts(sizes[-2:], kernel, step, around, spread)
    if min(counts) < 1:
        raise RuntimeError(
            f"im2col(): Given input with spatial size {sizes[-2:]}, kernel_size={kernel}, dilation={spread}, "
            f"padding={around}, calculated shape of the array of sliding blocks as {counts}, but its components must "
            f"be at least one."
        )
    check_implemented("im2col", self.meta.dtype, self.meta.dtype.kind != 1 and self.meta.dtype.computes)
    lead, channels = sizes[:-3], sizes[-3]

    def build() -> LoopPlan:
        meta, windows = self.meta, (*lead, channels, *kernel, *counts)
        result = contiguous_meta((*lead, channels * prod(kernel), prod(counts)), meta.dtype, meta.device)
        plan = LoopPlan([meta], [result])
        if meta.device is cpu and result.numel:
            source = plan.inputs[0]
            if any(around):
                reached = [size + 2 * p for size, p in zip(sizes[-2:], around, strict=True)]
                grown = plan.fill(plan.temporary(contiguous_meta((*sizes[:-2], *reached), meta.dtype)), 0)
                plan.copy(_inner(grown, around, sizes[-2:]), source)
                source = grown
            *outer, row, column = source.strides
            inner = row * spread[0], column * spread[1], row * step[0], column * step[1]
            plan.copy(_columns(plan.results[0], windows), source._replace(sizes=windows, strides=(*outer, *inner)))
        return plan

    return planned_loops(self, ("im2col", kernel, spread, around, step), build)


@plannable
def col2im(self: Tensor, output_size: Sequence[int], *options: Sequence[int]) -> Planned[Any]:
    """The reverse of im2col, where windows overlap their sum. Raises RuntimeError for sizes that do not fit."""
    kernel, spread, around, step = _options("col2im", *options)
    wanted = repeated("col2im", "output_size", output_size, 2, "image")
    sizes = self.meta.sizes
    if len(sizes) not in (2, 3) or 0 in sizes[-2:]:
        raise RuntimeError(
            f"col2im(): Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
            f"dimensions for input, but got: {list(sizes)}"
        )
    area = prod(kernel)
    if sizes[-2] % area:
        raise RuntimeError(
            f"col2im(): Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={sizes[-2]} and kernel_size={kernel}."
        )
    counts = window_counts(wanted, kernel, step, around, spread)
    if prod(counts) != sizes[-1] or min(counts) < 1:
        raise RuntimeError(
            f"col2im(): Given output_size={wanted}, kernel_size={kernel}, dilation={spread}, padding={around}, "
            f"stride={step}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{counts[0]} * {counts[1]} = {prod(counts)}, but got input.size(2)={sizes[-1]}."
        )
    check_implemented("col2im", self.meta.dtype, self.meta.dtype.kind != 1)
    lead, channels = sizes[:-2], sizes[-2] // area

    def build() -> LoopPlan:
        meta = self.meta
        result = contiguous_meta((*lead, channels, *wanted), meta.dtype, meta.device)
        plan = LoopPlan([meta], [result])
        if meta.device is cpu and result.numel:
            wide = float32 if meta.dtype.itemsize == 2 else meta.dtype
            reached = [size + 2 * p for size, p in zip(wanted, around, strict=True)]
            grown = plan.temporary(contiguous_meta((*lead, channels, *reached), wide))
            plan.fill(grown, 0)
            columns = _columns(plan.inputs[0], (*lead, channels, *kernel, *counts))
            add = pointwise_kernel("col2im", total, [wide, meta.dtype], wide, (wide,))
            for k, j in product(*map(range, kernel)):
                place = grown.narrow(-2, k * spread[0], counts[0], step[0])
                place = place.narrow(-1, j * spread[1], counts[1], step[1])
                plan.loop(add, [place], [place, columns.select(-4, k).select(-3, j)])
            plan.copy(plan.results[0], _inner(grown, around, wanted))
        return plan

    return planned_loops(self, ("col2im", wanted, kernel, spread, around, step), build)


def _inner(grown: View, around: Ints, sizes: Ints) -> View:
    """Return what lies within the padding of the last two dims."""
    return grown.narrow(-2, around[0], sizes[0]).narrow(-1, around[1], sizes[1])


def _columns(given: View, shape: Ints) -> View:
    """Return columns [..., channels * kernel, windows] in sizes `shape`, their last two dims taken apart."""
    *lead, row, column = given.strides
    kernel, counts = shape[-4:-2], shape[-2:]
    return given._replace(
        sizes=shape,
        strides=(*lead, row * prod(kernel), row * kernel[1], row, column * counts[1], column),
    )
