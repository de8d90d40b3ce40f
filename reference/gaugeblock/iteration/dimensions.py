"""The dims of a loop: broadcast to one shape, ordered, coalesced; and the layouts and sizes of outputs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from enum import Enum
from math import prod

from ..core.memory_format import channels_last
from ..core.warn import warn
from ..tensor.changing import change_metadata
from ..tensor.refresh import grow_own_storage
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import (
    TensorMeta,
    channels_last_strides,
    default_strides,
    is_channels_last,
)

Ints = tuple[int, ...]


def broadcast_shapes(shapes: Iterable[Ints]) -> Ints:
    """The shape all of `shapes` stretch to; RuntimeError names the two sizes and the dim that do not fit."""
    result: Ints = ()
    for shape in shapes:
        if shape == result:
            continue
        result = _pair(result, shape)
    return result


@functools.lru_cache
def _pair(a: Ints, b: Ints) -> Ints:
    if not a or not b:
        return a or b
    ndim = max(len(a), len(b))
    a = (1,) * (ndim - len(a)) + a
    b = (1,) * (ndim - len(b)) + b
    sizes = []
    for dim, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y and x != 1 and y != 1:
            raise RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {dim}; "
                f"shapes {list(a)} and {list(b)} do not broadcast"
            )
        sizes.append(y if x == 1 else x)
    return tuple(sizes)


def iteration_strides(sizes: Ints, strides: Ints, shape: Ints, itemsize: int) -> Ints:
    """Byte strides over `shape`: 0 on dims that the operand lacks or stretches."""
    lead = len(shape) - len(sizes)
    stretched = [
        0 if size == 1 and target != 1 else stride * itemsize
        for size, stride, target in zip(sizes, strides, shape[lead:], strict=True)
    ]
    return (0,) * lead + tuple(stretched)


def unpermute(values: Ints, order: Ints) -> Ints:
    """The inverse of `permuted`."""
    result = [0] * len(order)
    for place, dim in enumerate(order):
        result[dim] = values[place]
    return tuple(result)


def coalesce_dimensions(shape: Ints, strides: Sequence[Ints]) -> tuple[Ints, tuple[Ints, ...]]:
    """Shape and byte strides (innermost first) with all mergeable neighbours merged. Dims merge when one has size 1, or
    when size times stride of the inner equals the stride of the outer for all."""
    if len(shape) <= 1:
        return shape, tuple(strides)
    sizes = [shape[0]]
    steps = [[operand[0]] for operand in strides]
    for dim in range(1, len(shape)):
        size = shape[dim]
        if sizes[-1] == 1:
            for merged, operand in zip(steps, strides, strict=True):
                merged[-1] = operand[dim]
            sizes[-1] = size
        elif size == 1:
            continue
        elif all(sizes[-1] * merged[-1] == operand[dim] for merged, operand in zip(steps, strides, strict=True)):
            sizes[-1] *= size
        else:
            sizes.append(size)
            for merged, operand in zip(steps, strides, strict=True):
                merged.append(operand[dim])
    return tuple(sizes), tuple(tuple(merged) for merged in steps)


INT32_MAX = (1 << 31) - 1


def fits_32bit(shape: Ints, strides: Sequence[Ints]) -> bool:
    """Return whether the count and every operand's last byte offset stay within a signed 32-bit number."""
    if prod(shape) > INT32_MAX:
        return False
    return all(
        sum((size - 1) * abs(step) for size, step in zip(shape, operand, strict=True)) <= INT32_MAX
        for operand in strides
    )


class FastSetup(Enum):
    """Layouts that need no ordering of dims: every operand has the same one."""

    NONE = "none"
    CONTIGUOUS = "contiguous"
    CHANNELS_LAST = "channels last"
    DENSE = "non-overlapping and dense"


def fast_setup(operands: Sequence[TensorMeta]) -> FastSetup:
    """Return the layout that operands of one shape share; contiguous is preferred where several fit."""
    if not operands:
        return FastSetup.NONE
    first = operands[0]
    if any(operand.sizes != first.sizes for operand in operands):
        return FastSetup.NONE
    if all(operand.contiguous for operand in operands):
        return FastSetup.CONTIGUOUS
    if all(is_channels_last(operand.sizes, operand.strides) for operand in operands):
        return FastSetup.CHANNELS_LAST
    if all(operand.dense and operand.strides == first.strides for operand in operands):
        return FastSetup.DENSE
    return FastSetup.NONE


def fast_strides(setup: FastSetup, first: TensorMeta) -> Ints:
    """Strides of an output under a fast setup."""
    if setup is FastSetup.CONTIGUOUS:
        return default_strides(first.sizes)
    return channels_last_strides(first.sizes, channels_last) if setup is FastSetup.CHANNELS_LAST else first.strides


def packed_strides(shape: Ints, order: Ints) -> Ints:
    """Element strides of a dense tensor of `shape` whose dims, innermost first, are `order`."""
    if order == tuple(range(len(shape) - 1, -1, -1)):
        return default_strides(shape)
    steps = []
    step = 1
    for dim in order:
        steps.append(step)
        step *= shape[dim]
    return unpermute(tuple(steps), order)


def resize_output(tensor: Tensor, meta: TensorMeta, *, silent: bool = False) -> None:
    """Make `tensor` have `meta`, growing its storage where needed; warns when it had elements, unless `silent`."""
    if not silent and tensor.meta.numel > 0:
        warn(
            f"An output with one or more elements was resized since it had shape {list(tensor.meta.sizes)}, which "
            f"does not match the required output shape {list(meta.sizes)}. This behavior is deprecated: give an "
            f"output of the right shape, or resize it to zero elements first."
        )
    needed = (tensor.offset * meta.dtype.itemsize) + meta.nbytes
    if meta.nbytes:
        grow_own_storage(tensor, needed)
    change_metadata(tensor, meta, tensor.storage_impl, tensor.offset)
