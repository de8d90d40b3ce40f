"""Outputs of an iterator: the strides of those that it allocates, and the resizing of those that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ..core.memory_format import channels_last
from ..core.warn import warn
from ..tensor.changing import change_metadata
from ..tensor.geometry import Geometry
from ..tensor.refresh import grow_own_storage
from ..tensor.strides import channels_last_strides, default_strides, is_channels_last
from ..tensor.tensor import Tensor
from .dimensions import unpermute

Ints = tuple[int, ...]


class FastSetup(Enum):
    """Layouts that need no ordering of dims: every operand has the same one."""

    NONE = "none"
    CONTIGUOUS = "contiguous"
    CHANNELS_LAST = "channels last"
    DENSE = "non-overlapping and dense"


def fast_setup(operands: Sequence[Geometry]) -> FastSetup:
    """Which common layout the operands (of one shape) share; contiguous is preferred where several fit."""
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


def fast_strides(setup: FastSetup, first: Geometry) -> Ints:
    """Strides of an output under a fast setup."""
    if setup is FastSetup.CONTIGUOUS:
        return default_strides(first.sizes)
    if setup is FastSetup.CHANNELS_LAST:
        return channels_last_strides(first.sizes, channels_last)
    return first.strides


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


def resize_output(tensor: Tensor, geometry: Geometry, *, silent: bool = False) -> None:
    """Make `tensor` have `geometry`, growing its storage where needed; warns when it had elements, unless `silent`."""
    if not silent and tensor.geometry.numel > 0:
        warn(
            f"An output with one or more elements was resized since it had shape {list(tensor.geometry.sizes)}, which "
            f"does not match the required output shape {list(geometry.sizes)}. This behavior is deprecated: give an "
            f"output of the right shape, or resize it to zero elements first."
        )
    needed = (tensor.offset * geometry.dtype.itemsize) + geometry.nbytes
    if geometry.nbytes:
        grow_own_storage(tensor, needed)
    change_metadata(tensor, geometry, tensor.storage_impl, tensor.offset)
