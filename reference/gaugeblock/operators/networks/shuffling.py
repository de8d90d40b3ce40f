"""Channels traded for pixels, and channels in another order: rearrangements made of views."""

from __future__ import annotations

from ...core.memory_format import contiguous_format
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import suggested_format
from ..invoke import apply


def _check(operator: str, self: Tensor, factor: int, name: str) -> None:
    if self.meta.ndim < 3:
        raise RuntimeError(
            f"{operator}(): {operator} expects input to have at least 3 dimensions, but got input with "
            f"{self.meta.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{operator}(): {operator} expects a positive {name}, but got {factor}")


def _laid_out(moved: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A fresh tensor, row-major, of these sizes."""
    return apply("view", apply("clone", moved, memory_format=contiguous_format), sizes)


def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """[..., c r r, h, w] to [..., c, h r, w r]. Raises RuntimeError for channels that do not divide."""
    _check("pixel_shuffle", self, upscale_factor, "upscale_factor")
    *lead, channels, height, width = self.meta.sizes
    r = upscale_factor
    if channels % (r * r):
        raise RuntimeError(
            f"pixel_shuffle(): pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    split = apply("reshape", self, (*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    moved = apply("permute", split, (*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return _laid_out(moved, (*lead, channels // (r * r), height * r, width * r))


def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
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
    split = apply("reshape", self, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    moved = apply("permute", split, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return _laid_out(moved, (*lead, channels * r * r, height // r, width // r))


def channel_shuffle(self: Tensor, groups: int) -> Tensor:
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
    split = apply("reshape", self, (sizes[0], groups, sizes[1] // groups, *sizes[2:]))
    dealt = _laid_out(apply("transpose.int", split, 1, 2), sizes)
    chosen = suggested_format(sizes, self.meta.strides)
    return dealt if chosen is None else apply("clone", dealt, memory_format=chosen)


native_channel_shuffle = channel_shuffle
