"""Elements added around the last dims: a constant, reflections, the outermost repeated, or the other end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.device import cpu
from ...core.dtype import int64
from ...iteration.operand import Number
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor
from ...tensor.views import sliced
from ..arrays import Array, filled, number_as, values
from ..copy import copy_values
from ..fill import fill_scalar
from .calls import apply, check_dtype
from .layouts import empty_in_suggested_format

Ints = tuple[int, ...]
NATIVE = {
    ("reflect", 2): "reflection_pad1d", ("reflect", 4): "reflection_pad2d", ("reflect", 6): "reflection_pad3d",
    ("replicate", 2): "replication_pad1d", ("replicate", 4): "replication_pad2d", ("replicate", 6): "replication_pad3d",
    ("circular", 2): "_pad_circular", ("circular", 4): "_pad_circular", ("circular", 6): "_pad_circular",
}  # fmt: skip
"""(mode, how many numbers) -> operator."""


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


def constant_pad_nd(self: Tensor, pad: Sequence[int], value: Number = 0) -> Tensor:
    """`value` before and after the last dims, last dim first; negative numbers take elements away.

    Raises RuntimeError for lengths that do not fit and sizes below 0.
    """
    own = self.geometry.sizes
    amounts = pairs("constant_pad_nd", pad, len(own))
    for d, (size, (before, after)) in enumerate(zip(own, amounts, strict=True)):
        if size + before + after < 0:
            raise RuntimeError(
                f"constant_pad_nd(): The input size {size}, plus negative padding {before} and {after}, resulted in a "
                f"negative output size, which is invalid. Check dimension {d} of your input."
            )
    sizes = tuple(size + before + after for size, (before, after) in zip(own, amounts, strict=True))
    result = empty_in_suggested_format(self.geometry, sizes)
    if result.geometry.device is cpu and result.geometry.numel:
        fill_scalar(result, number_as("constant_pad_nd", self.geometry.dtype, value).item())
        inner, source = result, self
        for d, (before, after) in enumerate(amounts):
            kept = max(own[d] + min(before, 0) + min(after, 0), 0)
            if before or after:
                inner = sliced(inner, d, max(before, 0), min(kept, sizes[d]), 1)
                source = sliced(source, d, max(-before, 0), min(kept, sizes[d]), 1)
        if inner.geometry.numel:
            copy_values(inner, source)
    return result


def _inside(sizes: Ints, amounts: list[tuple[int, int]], sign: int) -> tuple[slice, ...]:
    """What the padding leaves, of the result (sign 1) or of the input (sign -1)."""
    cuts = [(max(sign * before, 0), max(sign * after, 0)) for before, after in amounts]
    return tuple(slice(before, max(size - after, 0)) for size, (before, after) in zip(sizes, cuts, strict=True))


def reflected(size: int, before: int, after: int) -> Array:
    """Which elements stand along a dim that is mirrored at its ends."""
    places = np.arange(-before, size + after)
    places = np.where(places < 0, -places, places)
    return np.where(places >= size, 2 * (size - 1) - places, places)


def repeated_ends(size: int, before: int, after: int) -> Array:
    """Which elements stand along a dim whose outermost are repeated."""
    return np.clip(np.arange(-before, size + after), 0, size - 1)


def _copy_with_own(
    target: Array, source: Array, amounts: list[tuple[int, int]], dims: int, places: Callable[[int, int, int], Array]
) -> None:
    """The source into the middle, then the sides, dim after dim, from what is there already."""
    padded = range(source.ndim - dims, source.ndim)
    if min(amount for d in padded for amount in amounts[d]) < 0:
        for d in padded:
            source = np.take(source, places(source.shape[d], *amounts[d]), axis=d)
        target[...] = source
        return
    target[_inside(target.shape, amounts, 1)] = source
    for d in padded:
        size, (before, after) = source.shape[d], amounts[d]
        found = places(size, before, after) + before
        lead: tuple[Any, ...] = (slice(None),) * d
        for place in (*range(before), *range(before + size, before + size + after)):
            target[(*lead, place)] = target[(*lead, int(found[place]))]


def _indexed(operator: str, dims: int, places: Callable[[int, int, int], Array], mirror: bool) -> Callable[..., Tensor]:
    def pad_with_own(self: Tensor, padding: Sequence[int]) -> Tensor:
        own = self.geometry.sizes
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
        result = empty_in_suggested_format(self.geometry, sizes)
        if result.geometry.device is cpu and result.geometry.numel:
            _copy_with_own(array_of(result), values(self), amounts, dims, places)
        return result

    pad_with_own.__name__ = pad_with_own.__qualname__ = operator
    return pad_with_own


reflection_pad1d, reflection_pad2d, reflection_pad3d = (
    _indexed(f"reflection_pad{dims}d", dims, reflected, True) for dims in (1, 2, 3)
)
replication_pad1d, replication_pad2d, replication_pad3d = (
    _indexed(f"replication_pad{dims}d", dims, repeated_ends, False) for dims in (1, 2, 3)
)


def _pad_circular(self: Tensor, pad: Sequence[int]) -> Tensor:
    """Each dim continued by its other end. Raises RuntimeError where that would go round more than once."""
    own = self.geometry.sizes
    amounts = pairs("_pad_circular", pad, len(own))
    result = self
    for d, (before, after) in enumerate(amounts):
        if max(before, after) > own[d]:
            raise RuntimeError("_pad_circular(): Padding value causes wrapping around more than once.")
        if own[d] + before + after < 0:
            raise RuntimeError("_pad_circular(): Negative padding value is resulting in an empty dimension")
        if before or after:
            kept = np.arange(max(-before, 0), own[d] - max(-after, 0))
            places = kept[np.arange(-max(before, 0), kept.size + max(after, 0)) % max(kept.size, 1)]
            index = filled(places.shape, int64, places)
            if self.geometry.device is not cpu:
                index = apply("to.device", index, self.geometry.device, int64)
            result = apply("index_select", result, d, index)
    return result if result is not self else apply("clone", self)


def pad(self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Padding of the last dims, last dim first, by the mode's operator.

    Raises RuntimeError for a value that the mode does not take, NotImplementedError for a mode that there is not, or
    not for this number of dims.
    """
    if len(pad) % 2:
        raise RuntimeError(f"pad(): Padding length must be divisible by 2, got {len(pad)}")
    if mode == "constant":
        return apply("constant_pad_nd", self, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'pad(): Padding mode "{mode}" doesn\'t take in value argument, got {value}')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"pad(): Unrecognised padding mode {mode}")
    name = NATIVE.get((mode, len(pad)))
    if name is None or self.geometry.ndim not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(
            f"pad(): Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got {len(pad)} "
            f"numbers for {self.geometry.ndim} dims"
        )
    return apply(name, self, pad)
