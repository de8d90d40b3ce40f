"""What calls of activation functions compute: formula and numbers."""

from __future__ import annotations

from typing import Any

from ..iteration.operand import Number
from ..iteration.types import UPSTREAM_NAMES
from ..tensor.tensor import Tensor
from .number_limits import whole_number
from .pointwise_call import Call

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def elu(self: Tensor, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Call:
    return Call("elu", (self,), (alpha, scale, input_scale))


def selu(self: Tensor) -> Call:
    return Call("elu", (self,), (SELU_ALPHA, SELU_SCALE, 1.0))


def celu(self: Tensor, alpha: Number = 1.0) -> Call:
    if alpha == 0:
        raise RuntimeError("celu(): ZeroDivisionError: alpha cannot be 0 for CELU; argument 'alpha' is 0")
    return Call("elu", (self,), (alpha, 1.0, 1.0 / alpha), valued=True)


def leaky_relu(self: Tensor, negative_slope: Number = 0.01) -> Call:
    return Call("leaky_relu", (self,), (negative_slope,))


def prelu(self: Tensor, weight: Tensor) -> Call:
    if weight.dtype is not self.dtype:
        raise RuntimeError(
            f"_prelu_kernel(): Found dtype {UPSTREAM_NAMES[weight.dtype.name]} but expected "
            f"{UPSTREAM_NAMES[self.dtype.name]} for argument 'weight'"
        )
    return Call("leaky_relu", (self, weight))


def gelu(self: Tensor, *, approximate: str = "none") -> Call:
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"gelu(): approximate argument must be either none or tanh, got {approximate!r}")
    return Call("gelu" if approximate == "none" else "gelu.tanh", (self,))


def softplus(self: Tensor, beta: Number = 1, threshold: Number = 20) -> Call:
    return Call("softplus", (self,), (beta, threshold))


def softshrink(self: Tensor, lambd: Number = 0.5) -> Call:
    if not isinstance(lambd, complex) and lambd < 0:
        raise RuntimeError(f"softshrink(): lambda must be greater or equal to 0, but found to be {lambd}.")
    return Call("softshrink", (self,), (lambd,), valued=True)


def hardshrink(self: Tensor, lambd: Number = 0.5) -> Call:
    return Call("hardshrink", (self,), (lambd,))


def threshold(self: Tensor, threshold: Number, value: Number) -> Call:
    return Call("threshold", (self,), (threshold, value))


def hardtanh(self: Tensor, min_val: Number = -1, max_val: Number = 1) -> Call:
    dtype = self.dtype
    if dtype.kind == 1 and not dtype.is_signed and (min_val.real < 0 or max_val.real < 0):
        raise RuntimeError(
            f"hardtanh(): cannot do hardtanh on an unsigned type with negative limits, got {min_val} and {max_val} for "
            f"{UPSTREAM_NAMES[dtype.name]}"
        )
    if dtype.kind == 1:
        min_val, max_val = (whole_number("hardtanh", limit) for limit in (min_val, max_val))
    return Call("hardtanh", (self,), (min_val, max_val))


def relu6(self: Tensor) -> Call:
    return hardtanh(self, 0, 6)


CALLS: dict[str, Any] = {
    "elu": elu, "selu": selu, "celu": celu, "leaky_relu": leaky_relu, "_prelu_kernel": prelu, "gelu": gelu,
    "softplus": softplus, "softshrink": softshrink, "hardshrink": hardshrink, "threshold": threshold,
    "hardtanh": hardtanh, "relu6": relu6,
}  # fmt: skip
"""Activation functions whose arguments are not simply the formula's operands, by row name."""
