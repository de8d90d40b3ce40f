"""Elements added around the last dims, and channels traded for pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from ...core.device import cpu
from ...core.memory_format import contiguous_format
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, suggested_format
from ..arrays import number_as
from ..composition import Part, composite
from ..invoke import apply
from ..loop_plan import LoopPlan, planned_loops
from ..plan import Planned, plannable
from .calls import check_dtype, suggested

NATIVE = {"reflect": "reflection_pad{}d", "replicate": "replication_pad{}d", "circular": "_pad_circular"}
"""Mode -> operator, by how many dims."""
LEAST_RUN = 5
"""Elements of a segment, on average, from which copying it as a whole is faster than element by element."""


def pairs(operator: str, pad: Sequence[int], ndim: int) -> list[tuple[int, int]]:
    """(before, after) for each dim, first dim first. Raises RuntimeError for an odd number of numbers, or too many."""
    if len(pad) % 2:
        raise RuntimeError(f"{operator}(): Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            f"{operator}(): Length of pad should be no more than twice the number of dimensions of the input. Pad "
            f"length is {len(pad)} while the input has {ndim} dimensions."
        )
    found = [(pad[k], pad[k + 1]) for k in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(found)) + found[::-1]


@composite
def constant_pad_nd(part: Part, self: Tensor, pad: Sequence[int], value: Number = 0) -> Tensor:
    """`value` before and after the last dims, last dim first; negative numbers take elements away. Raises RuntimeError
    for lengths that do not fit and sizes below 0."""
    own = self.meta.sizes
    amounts = pairs("constant_pad_nd", pad, len(own))
    for d, (size, (before, after)) in enumerate(zip(own, amounts, strict=True)):
        if size + before + after < 0:
            raise RuntimeError(
                f"constant_pad_nd(): The input size {size}, plus negative padding {before} and {after}, resulted in a "
                f"negative output size, which is invalid. Check dimension {d} of your input."
            )
    sizes = tuple(size + before + after for size, (before, after) in zip(own, amounts, strict=True))
    meta = self.meta
    plan = LoopPlan([meta], [suggested(meta, sizes)])
    if meta.device is cpu:
        inner, source = plan.results[0], plan.inputs[0]
        plan.fill(inner, number_as("constant_pad_nd", meta.dtype, value).item())
        for d, (before, after) in enumerate(amounts):
            kept = min(max(own[d] + min(before, 0) + min(after, 0), 0), sizes[d])
            inner, source = inner.narrow(d, max(before, 0), kept), source.narrow(d, max(-before, 0), kept)
        plan.copy(inner, source)
    result: Tensor = part.fresh(plan.fresh, self)
    return result


class Segment(NamedTuple):
    """Places of a padded dim from `first` on, and the elements that they show: from `start` on, `step` apart."""

    first: int
    places: int
    start: int
    step: int


def _segments(size: int, before: int, after: int, mirror: bool) -> list[Segment]:
    """Return a dim that is mirrored at its ends, or whose outermost elements are repeated: before, within, behind."""
    sides = [
        (-before, 0, before if mirror else 0, -1 if mirror else 0),
        (0, size, 0, 1),
        (size, size + after, size - 2 if mirror else size - 1, -1 if mirror else 0),
    ]
    found = []
    for begin, end, shown, step in sides:
        first, last = max(begin, -before), min(end, size + after)
        if last > first:
            found.append(Segment(first + before, last - first, shown + (first - begin) * step, step))
    return found


def _turns(size: int, before: int, after: int) -> list[Segment]:
    """Return a dim that is continued by its other end, once it has lost what negative numbers take away."""
    first, lead, place = max(-before, 0), max(before, 0), -max(before, 0)
    kept = max(size - first - max(-after, 0), 0)
    found = []
    while place < kept + max(after, 0):
        start = place % kept
        count = min(kept - start, kept + max(after, 0) - place)
        found.append(Segment(place + lead, count, first + start, 1))
        place += count
    return found


def _padding_plan(meta: TensorMeta, made: TensorMeta, along: Sequence[Sequence[Segment]]) -> LoopPlan:
    """Return the plan for a tensor whose last dims are made of segments."""
    plan, lead = LoopPlan([meta], [made]), meta.ndim - len(along)
    if made.device is not cpu or not made.numel:
        return plan
    (result,), (source,) = plan.results, plan.inputs
    if made.sizes[-1] <= LEAST_RUN * len(along[-1]):
        shown = [[one.start + k * one.step for one in segments for k in range(one.places)] for segments in along]
        if plan.pick(result, source, shown):
            return plan
    for block in product(*along):
        target, taken = result, source
        for d, one in enumerate(block, lead):
            target = target.narrow(d, one.first, one.places)
            taken = taken.narrow(d, one.start, one.places, one.step)
        plan.copy(target, taken)
    return plan


def _indexed(operator: str, dims: int, mirror: bool) -> Callable[..., Any]:
    def pad_with_own(self: Tensor, padding: Sequence[int]) -> Planned[Any]:
        own = self.meta.sizes
        if len(own) not in (dims + 1, dims + 2) or 0 in own[-dims - 1 :]:
            raise RuntimeError(
                f"{operator}(): Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and "
                f"other non-zero dimensions for input, but got: {list(own)}"
            )
        if len(padding) != 2 * dims:
            raise RuntimeError(f"{operator}(): padding size is expected to be {2 * dims}, but got: {len(padding)}")
        amounts = pairs(operator, padding, len(own))
        sizes = tuple(size + before + after for size, (before, after) in zip(own, amounts, strict=True))
        for d in range(len(own) - dims, len(own)):
            before, after = amounts[d]
            if mirror and max(before, after) >= own[d]:
                raise RuntimeError(
                    f"{operator}(): Argument #4: Padding size should be less than the corresponding input dimension, "
                    f"but got: padding ({before}, {after}) at dimension {d} of input {list(own)}"
                )
            if sizes[d] < 1:
                raise RuntimeError(
                    f"{operator}(): input (size: {own[d]}) is too small. Calculated output size: {sizes[d]} at "
                    f"dimension {d}"
                )
        check_dtype(operator, self)

        def build() -> LoopPlan:
            along = [_segments(own[d], *amounts[d], mirror) for d in range(len(own) - dims, len(own))]
            return _padding_plan(self.meta, suggested(self.meta, sizes), along)

        return planned_loops(self, (operator, *padding), build)

    return plannable(pad_with_own)


reflection_pad1d, reflection_pad2d, reflection_pad3d = (
    _indexed(f"reflection_pad{dims}d", dims, True) for dims in (1, 2, 3)
)
replication_pad1d, replication_pad2d, replication_pad3d = (
    _indexed(f"replication_pad{dims}d", dims, False) for dims in (1, 2, 3)
)


@plannable
def _pad_circular(self: Tensor, pad: Sequence[int]) -> Tensor | Planned[Any]:
    """Each dim continued by its other end. Raises RuntimeError where that would go round more than once."""
    own, amounts = self.meta.sizes, pairs("_pad_circular", pad, self.meta.ndim)
    for size, (before, after) in zip(own, amounts, strict=True):
        if max(before, after) > size:
            raise RuntimeError("_pad_circular(): Padding value causes wrapping around more than once.")
        kept = max(size - max(-before, 0) - max(-after, 0), 0)
        if size + before + after < 0 or (not kept and max(before, after) > 0):
            raise RuntimeError("_pad_circular(): Negative padding value is resulting in an empty dimension")
    if not any(pad):
        return apply("clone", self, memory_format=contiguous_format)

    def build() -> LoopPlan:
        sizes = [size + before + after for size, (before, after) in zip(own, amounts, strict=True)]
        lead = min([d for d, pair in enumerate(amounts) if any(pair)])
        along = [_turns(own[d], *amounts[d]) for d in range(lead, len(own))]
        return _padding_plan(self.meta, contiguous_meta(tuple(sizes), self.meta.dtype, self.meta.device), along)

    return planned_loops(self, ("_pad_circular", *pad), build)


@composite
def pad(part: Part, self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Padding of the last dims, last dim first, by the mode's operator.

    Raises RuntimeError for a value that the mode does not take, NotImplementedError for a mode that there is not, or
    not for this number of dims.
    """
    if len(pad) % 2:
        raise RuntimeError(f"pad(): Padding length must be divisible by 2, got {len(pad)}")
    if mode == "constant":
        return part("constant_pad_nd", self, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'pad(): Padding mode "{mode}" doesn\'t take in value argument, got {value}')
    if mode not in NATIVE:
        raise NotImplementedError(f"pad(): Unrecognised padding mode {mode}")
    if len(pad) not in (2, 4, 6) or self.meta.ndim not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(
            f"pad(): Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got {len(pad)} "
            f"numbers for {self.meta.ndim} dims"
        )
    return part(NATIVE[mode].format(len(pad) // 2), self, pad)


def _check(operator: str, self: Tensor, factor: int, name: str) -> None:
    if self.meta.ndim < 3:
        raise RuntimeError(
            f"{operator}(): {operator} expects input to have at least 3 dimensions, but got input with "
            f"{self.meta.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{operator}(): {operator} expects a positive {name}, but got {factor}")


def _rearranged(part: Part, self: Tensor, split: Sequence[int], order: Sequence[int], sizes: tuple[int, ...]) -> Tensor:
    """A fresh tensor, row-major, of these sizes, from dims taken apart and put in another order, the last ones."""
    lead = len(split) - len(order)
    moved = part("permute", part("reshape", self, split), (*range(lead), *(lead + k for k in order)))
    return part("view", part("clone", moved, memory_format=contiguous_format), sizes)


@composite
def pixel_shuffle(part: Part, self: Tensor, upscale_factor: int) -> Tensor:
    """[..., c r r, h, w] to [..., c, h r, w r]. Raises RuntimeError for channels that do not divide."""
    _check("pixel_shuffle", self, upscale_factor, "upscale_factor")
    *lead, channels, height, width = self.meta.sizes
    r = upscale_factor
    if channels % (r * r):
        raise RuntimeError(
            f"pixel_shuffle(): pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    left = channels // (r * r)
    split, wanted = (*lead, left, r, r, height, width), (*lead, left, height * r, width * r)
    return _rearranged(part, self, split, (2, 0, 3, 1), wanted)


@composite
def pixel_unshuffle(part: Part, self: Tensor, downscale_factor: int) -> Tensor:
    """The reverse of pixel_shuffle. Raises RuntimeError for sizes that do not divide."""
    _check("pixel_unshuffle", self, downscale_factor, "downscale_factor")
    *lead, channels, height, width = self.meta.sizes
    r = downscale_factor
    for name, size, place in (("height", height, -2), ("width", width, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle(): pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({place})={size} is not divisible by {r}"
            )
    rows, columns = height // r, width // r
    split, wanted = (*lead, channels, rows, r, columns, r), (*lead, channels * r * r, rows, columns)
    return _rearranged(part, self, split, (1, 3, 0, 2), wanted)


@composite
def channel_shuffle(part: Part, self: Tensor, groups: int) -> Tensor:
    """Channels (dim 1) dealt out to `groups` by turns. Raises RuntimeError for channels that do not divide."""
    sizes = self.meta.sizes
    if len(sizes) < 3:
        raise RuntimeError(
            f"channel_shuffle(): channel_shuffle expects input with > 2 dims, but got input with sizes {list(sizes)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"channel_shuffle(): Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if sizes[1] % groups:
        raise RuntimeError(
            f"channel_shuffle(): Number of channels must be divisible by groups. Got {sizes[1]} channels and {groups} "
            f"groups."
        )
    split = (sizes[0], groups, sizes[1] // groups, *sizes[2:])
    dealt = _rearranged(part, self, split, (0, 2, 1, *range(3, len(split))), sizes)
    chosen = suggested_format(sizes, self.meta.strides)
    return dealt if chosen is None else part("clone", dealt, memory_format=chosen)
