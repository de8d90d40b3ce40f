"""Activation functions with torch.nn.functional's signatures."""

from __future__ import annotations

from typing import Any

from ..bindings.functions import ops
from ..core.dtype import DType
from ..core.errors import type_error
from ..core.warn import warn
from ..tensor.tensor import Tensor
from .checked import either


def relu(input: Tensor, inplace: bool = False) -> Any:
    """max(input, 0)."""
    return either("relu", False, input) if not inplace else ops.relu_(input)


def relu6(input: Tensor, inplace: bool = False) -> Any:
    """input within [0, 6]."""
    return either("relu6", inplace, input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """input within the limits. Raises ValueError for limits in the wrong order."""
    for name, limit in (("min_val", min_val), ("max_val", max_val)):
        if not isinstance(limit, int | float):
            type_error("hardtanh", name, limit, "a number")
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val cannot be greater than max_val, got {min_val} and {max_val}")
    return either("hardtanh", inplace, input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    """input above 0, else alpha * (e**input - 1)."""
    return either("elu", inplace, input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    """input above 0, else alpha * (e**(input / alpha) - 1)."""
    return either("celu", inplace, input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Any:
    """elu with the constants that keep mean 0 and variance 1."""
    return either("selu", inplace, input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """input above 0, else negative_slope * input."""
    return either("leaky_relu", inplace, input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """leaky_relu with random slopes in training."""
    return either("rrelu", inplace, input, lower, upper, training)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Any:
    """input above the threshold, else value."""
    return either("threshold", inplace, input, threshold, value)


def silu(input: Tensor, inplace: bool = False) -> Any:
    """input * sigmoid(input)."""
    return either("silu", inplace, input)


def mish(input: Tensor, inplace: bool = False) -> Any:
    """input * tanh(softplus(input))."""
    return either("mish", inplace, input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Any:
    """input + 3 within [0, 6], divided by 6."""
    return either("hardsigmoid", inplace, input)


def hardswish(input: Tensor, inplace: bool = False) -> Any:
    """input * hardsigmoid(input)."""
    return either("hardswish", inplace, input)


def tanhshrink(input: Tensor) -> Any:
    """input - tanh(input)."""
    return ops.sub(input, ops.tanh(input))


def softsign(input: Tensor) -> Any:
    """input / (1 + |input|)."""
    return ops.div(input, ops.abs(input) + 1)


def glu(input: Tensor, dim: int = -1) -> Any:
    """The first half along a dim times the sigmoid of the second. Raises RuntimeError for a 0-dim input."""
    if input.ndim == 0:
        raise RuntimeError("glu(): glu does not support scalars because halving size must be even")
    return ops.glu(input, dim)


def _softmax_dim(name: str, input: Tensor) -> int:
    if not isinstance(input, Tensor):
        type_error(name, "input", input, "Tensor")
    ndim = input.ndim
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Any:
    """e**input divided by its sum along a dim."""
    return ops.softmax(input, _softmax_dim("softmax", input) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Any:
    """softmax of -input."""
    chosen = _softmax_dim("softmin", input) if dim is None else dim
    return ops.softmax(ops.neg(input), chosen, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Any:
    """Logarithm of softmax."""
    return ops.log_softmax(input, _softmax_dim("log_softmax", input) if dim is None else dim, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """softmax of (logits + Gumbel noise) / tau; with `hard` 1 at the largest place and 0 elsewhere."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = ops.empty_like(logits).exponential_().log()
    soft = ops.softmax(ops.div(ops.sub(logits, noise), tau), dim)
    if not hard:
        return soft
    place = soft.max(dim, keepdim=True)[1]
    return ops.zeros_like(logits).scatter_(dim, place, 1.0) - soft.detach() + soft
