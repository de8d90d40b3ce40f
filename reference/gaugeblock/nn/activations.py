"""Activation functions with torch.nn.functional's signatures."""

from __future__ import annotations

from typing import Any

from ..calls.functions import ops
from ..core.dtype import DType
from ..core.errors import type_error
from ..core.warn import warn
from ..tensor.tensor import Tensor
from .checked import with_inplace


def _check_limits(name: str, min_val: float, max_val: float) -> None:
    for argument, limit in (("min_val", min_val), ("max_val", max_val)):
        if not isinstance(limit, int | float):
            type_error(name, argument, limit, "a number")
    if min_val > max_val:
        raise ValueError(f"{name}(): min_val cannot be greater than max_val, got {min_val} and {max_val}")


relu = with_inplace("relu", "max(input, 0).")
relu6 = with_inplace("relu6", "input within [0, 6].")
hardtanh = with_inplace(
    "hardtanh", "input within the limits. Raises ValueError for limits in the wrong order.", _check_limits,
    min_val=-1.0, max_val=1.0,
)  # fmt: skip
elu = with_inplace("elu", "input above 0, else alpha * (e**input - 1).", alpha=1.0)
celu = with_inplace("celu", "input above 0, else alpha * (e**(input / alpha) - 1).", alpha=1.0)
selu = with_inplace("selu", "elu with the constants that keep mean 0 and variance 1.")
leaky_relu = with_inplace("leaky_relu", "input above 0, else negative_slope * input.", negative_slope=0.01)
rrelu = with_inplace(
    "rrelu", "leaky_relu with random slopes in training.", lower=1.0 / 8, upper=1.0 / 3, training=False
)
threshold = with_inplace("threshold", "input above the threshold, else value.", threshold=..., value=...)
silu = with_inplace("silu", "input * sigmoid(input).")
mish = with_inplace("mish", "input * tanh(softplus(input)).")
hardsigmoid = with_inplace("hardsigmoid", "input + 3 within [0, 6], divided by 6.")
hardswish = with_inplace("hardswish", "input * hardsigmoid(input).")


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
