"""Activations that are no plain formula (gates, slopes per channel, random slopes), and the dropout family."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.device import cpu
from ...core.dtype import bool_
from ...core.errors import wrap_dim
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number
from ...kernels.bound_call import Fresh
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import meta_like
from ..composition import Part, composite
from ..generator import stream_of
from ..invoke import apply
from ..plan import Filling, Planned, plannable
from ..pointwise_operators import SELU_ALPHA, SELU_SCALE
from ..random_choices import drawn
from ..random_numbers import drawing
from ..registration import write_out
from .calls import evaluated, made


@composite
def glu(part: Part, self: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dim times the sigmoid of the second. Raises RuntimeError for 0-dim and odd sizes."""
    if not self.meta.ndim:
        raise RuntimeError("glu(): glu does not support 0-dimensional tensors")
    place = wrap_dim("glu", dim, self.meta.ndim)
    size = self.meta.sizes[place]
    if size % 2:
        raise RuntimeError(f"glu(): Halving dimension must be even, but dimension {place} is size {size}")
    first, second = (part("narrow", self, place, start, size // 2) for start in (0, size // 2))
    return part.plan(evaluated, "glu", "glu", (first, second))


@composite
def prelu(part: Part, self: Tensor, weight: Tensor) -> Tensor:
    """self above 0, else weight * self, with one weight or one per channel (dim 1). Raises RuntimeError for two dtypes
    and for another number of weights."""
    own, given = self.meta, weight.meta
    if own.dtype is not given.dtype:
        mine, its = (UPSTREAM_NAMES.get(dtype.name, dtype.name) for dtype in (own.dtype, given.dtype))
        raise RuntimeError(f"prelu(): prelu: Type promoting not supported. Got {mine} and {its}")
    if given.numel != 1:
        if not own.ndim:
            raise RuntimeError("prelu(): Not allow zero-dim input tensor.")
        channels = own.sizes[1] if own.ndim > 1 else 1
        if channels != given.numel:
            raise RuntimeError(
                f"prelu(): Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{given.numel} and channel size = {channels}."
            )
    if given.ndim > 1:
        raise RuntimeError(
            f"prelu(): prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {given.ndim}"
        )
    sizes = tuple(given.numel if d == 1 else 1 for d in range(own.ndim))
    return part("_prelu_kernel", self, part("reshape", weight, sizes))


@composite
def rrelu(
    part: Part,
    self: Tensor, lower: Number = 1 / 8, upper: Number = 1 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """rrelu_with_noise, the slopes forgotten. Raises RuntimeError for lower above upper."""
    return part("rrelu_with_noise", self, part("empty_like", self), lower, upper, training, generator)


@composite
def rrelu_with_noise(
    part: Part, self: Tensor, noise: Tensor, lower: Number = 1 / 8, upper: Number = 1 / 3, training: bool = False,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """leaky_relu with a slope drawn for each element not above 0 in training, else with the mean of the limits. The
    slopes are left in `noise`, 1 where self is positive. Raises RuntimeError for lower above upper."""
    if lower.real > upper.real:
        raise RuntimeError(
            f"rrelu(): Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    if not training:
        return part("leaky_relu", self, (lower + upper) / 2)
    if self.meta.sizes != noise.meta.sizes:
        raise RuntimeError(
            f"rrelu_with_noise(): noise tensor shape must match self tensor shape. Got self.shape = "
            f"{list(self.meta.sizes)} noise.shape = {list(noise.meta.sizes)}"
        )
    drawn = part("uniform_", part("empty_like", self), lower, upper, generator=generator)
    slopes = part("where.ScalarSelf", part("gt.Scalar", self, 0), 1, drawn)
    part.run(write_out, noise, slopes)
    return part("mul.Tensor", self, slopes)


SATURATION = SELU_ALPHA * SELU_SCALE
"""Minus what alpha dropout puts in place of an element, before mean and variance are put right."""


def _family(operator: str) -> Callable[..., Tensor]:
    whole_channels, alpha = "feature" in operator, "alpha" in operator

    @composite
    def drop(part: Part, input: Tensor, p: float, train: bool) -> Tensor:
        if p < 0 or p > 1:
            raise RuntimeError(f"{operator}(): dropout probability has to be between 0 and 1, but got {p}")
        if p == 0 or not train or not input.meta.numel:
            return input
        if p == 1:
            return part("mul.Tensor", input, part("zeros_like", input))
        if whole_channels and input.meta.ndim < 2:
            raise RuntimeError(
                f"{operator}(): Feature dropout requires at least 2 dimensions in the input, got {input.meta.ndim}"
            )
        one_each = (*input.meta.sizes[:2], *(1,) * (input.meta.ndim - 2))
        fresh = part("new_empty", input, one_each) if whole_channels else part("empty_like", input)
        noise = part("bernoulli_.float", fresh, 1 - p)
        if not alpha:
            return part("mul.Tensor", input, part("div.Scalar", noise, 1 - p))
        factor = 1.0 / math.sqrt((SATURATION**2 * p + 1) * (1 - p))
        shift = part("mul.Scalar", part("sub.Scalar", noise, 1), SATURATION * factor)
        shift = part("add.Scalar", shift, SATURATION * factor * p)
        return part("add.Tensor", part("mul.Tensor", input, part("mul.Scalar", noise, factor)), shift)

    return drop


dropout, feature_dropout = _family("dropout"), _family("feature_dropout")
alpha_dropout, feature_alpha_dropout = _family("alpha_dropout"), _family("feature_alpha_dropout")


@plannable
def _kept(input: Tensor, share: float) -> Tensor | Filling | Planned[Tensor]:
    """Return the mask of the elements that dropout keeps."""
    mask, stream = meta_like(input.meta, bool_), stream_of("native_dropout", None)
    if mask.device is cpu and mask.numel and 0 <= share <= 1:
        fresh = Fresh(drawing("bernoulli", bool_), (mask,), (stream.address, mask.numel))
        return Planned.unrun(fresh, (share,), fresh.native(), (share,))
    return drawn(mask, lambda out: apply("bernoulli_.float", out, share))


@composite
def native_dropout(part: Part, input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """(dropout of the input, which elements are kept); without `train` (False) all are."""
    if train is False or not input.meta.numel:
        return part("clone", input), part("fill.Scalar", part("empty_like", input, dtype=bool_), True)
    kept, scale = part.plan(_kept, input, 1 - p), 0.0 if p == 1 else 1.0 / (1.0 - p)
    if input.meta.dtype.kind < 2 or input.meta.lazy:
        return part("mul.Scalar", part("mul.Tensor", input, kept), scale), kept
    return made(part, "dropout", [meta_like(input.meta)], [input, kept], input.meta.dtype, (scale,)), kept
