"""Slopes of smooth activations, and gradients of those with parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..public import gb

Tensor = Any
ROOT_HALF = 0.7071067811865476
DENSITY = 0.3989422804014327
"""1/sqrt(2) and 1/sqrt(2 pi)."""
TANH_SCALE, TANH_CUBE = 0.7978845608028654, 0.044715
"""sqrt(2/pi), and the share of the cube, in the approximation of gelu by tanh."""


def rounded_once(slope: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return `slope` computed in float32 for half floats: terms that cancel would leave nothing but their roundings."""

    @wraps(slope)
    def run(self: Tensor, *rest: Any) -> Tensor:
        if self.dtype in (gb.float16, gb.bfloat16):
            return slope(self.float(), *rest).to(self.dtype)
        return slope(self, *rest)

    return run


@rounded_once
def gelu_slope(self: Tensor, approximate: str) -> Tensor:
    """The derivative of gelu, exact or of its approximation by tanh."""
    if approximate == "none":
        below = (self * ROOT_HALF).erf() * 0.5 + 0.5
        return below + self * (self * self * -0.5).exp() * DENSITY
    square = self * self
    bent = ((self + square * self * TANH_CUBE) * TANH_SCALE).tanh()
    inner = (square * (3 * TANH_CUBE) + 1) * TANH_SCALE
    return (bent + 1) * 0.5 + self * (1 - bent * bent) * inner * 0.5


@rounded_once
def silu_slope(self: Tensor) -> Tensor:
    """The derivative of x * sigmoid(x)."""
    share = self.sigmoid()
    return share * (self * (1 - share) + 1)


@rounded_once
def mish_slope(self: Tensor) -> Tensor:
    """The derivative of x * tanh(softplus(x))."""
    bent = gb.nn.functional.softplus(self).tanh()
    return bent + self * self.sigmoid() * (1 - bent * bent)


def per_channel(weight: Tensor, ndim: int) -> Tensor:
    """One weight, or one for each place of dim 1, so that it broadcasts to a tensor of `ndim` dims."""
    if weight.numel() == 1:
        return weight.reshape(())
    return weight.reshape((1, -1, *(1,) * (ndim - 2)) if ndim > 1 else (-1,))


def summed_per_channel(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`grad` summed over all dims but dim 1, or over all for a weight with one element."""
    count = 1
    for size in shape:
        count *= size
    if count == 1 or grad.ndim < 2:
        return grad.sum().reshape(tuple(shape)) if count == 1 else grad
    return grad.sum([dim for dim in range(grad.ndim) if dim != 1]).reshape(tuple(shape))


def rrelu_back(grad: Tensor, self: Tensor, result: Tensor, lower: float, upper: float, training: bool) -> Tensor:
    """`grad` times the slope that was drawn, or the middle of the range outside of training and where self is 0."""
    middle = (lower + upper) / 2
    if not training:
        return gb.where(self > 0, grad, grad * middle)
    slope = gb.where(self < 0, result / self, gb.where(self == 0, middle, 1)).detach()
    return grad * slope


def glu_back(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradients of both halves along a dim, of which the second gates the first."""
    first, second = self.chunk(2, dim)
    gate = second.sigmoid()
    return gb.cat([grad * gate, grad * first * gate * (1 - gate)], dim)


HELPERS: dict[str, Any] = {
    "gelu_slope": gelu_slope,
    "silu_slope": silu_slope,
    "mish_slope": mish_slope,
    "per_channel": per_channel,
    "summed_per_channel": summed_per_channel,
    "rrelu_back": rrelu_back,
    "glu_back": glu_back,
}
