"""Activations by their definitions, on widened operands (see :mod:`.sums`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .special import erf
from .totals import below_top


def sigmoid(x: Array) -> Array:
    return np.asarray(np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))))


def softplus(x: Array, beta: Any = 1, threshold: Any = 20) -> Array:
    scaled = x * np.longdouble(beta)
    smooth = (np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / np.longdouble(beta)
    return np.asarray(np.where(scaled > threshold, x, smooth))


def elu(x: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Array:
    """scale * x above zero, scale * alpha * (exp(x * input_scale) - 1) below."""
    below = np.longdouble(alpha) * np.expm1(np.minimum(x, 0) * np.longdouble(input_scale))
    return np.asarray(np.where(x > 0, x, below) * np.longdouble(scale))


def celu(x: Array, alpha: Any) -> Array:
    wide = np.longdouble(alpha)
    return np.asarray(np.maximum(x, 0) + np.minimum(0, wide * np.expm1(x / wide)))


def gelu(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        inner = np.sqrt(2 / np.longdouble(np.pi)) * (x + np.longdouble("0.044715") * x**3)
        return np.asarray(x / 2 * (1 + np.tanh(inner)))
    return np.asarray(x / 2 * (1 + erf(x / np.sqrt(np.longdouble(2)))))


def clipped(x: Array, low: Any, high: Any) -> Array:
    return np.asarray(np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high)))


def glu(x: Array, dim: int) -> Array:
    left, right = np.split(x, 2, dim)
    return np.asarray(left * sigmoid(right))


def prelu(x: Array, weight: Array) -> Array:
    """Of the weight one element for each place along the second dim of ``x``, or its only one for all."""
    along = weight.reshape(-1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape(())
    return np.asarray(np.where(x > 0, x, x * along))


def log_shares(x: Array, dim: int) -> Array:
    off = below_top(x, dim)
    return np.asarray(off - np.log(np.exp(off).sum(axis=dim, keepdims=True)))


_SELU_ALPHA = np.longdouble("1.6732632423543772848170429916717")
_SELU_SCALE = np.longdouble("1.0507009873554804934193349852946")

ACTIVATIONS: dict[str, Oracle] = {
    "relu6": lambda x: clipped(x, 0, 6),
    "hardtanh": clipped,
    "elu": elu,
    "celu": celu,
    "selu": lambda x: elu(x, _SELU_ALPHA, _SELU_SCALE),
    "leaky_relu": lambda x, slope: np.where(x > 0, x, x * np.longdouble(slope)),
    "_prelu_kernel": lambda x, weight: np.where(x > 0, x, x * weight),
    "prelu": prelu,
    "gelu": gelu,
    "silu": lambda x: x * sigmoid(x) if x.dtype.kind != "c" else x / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "softplus": softplus,
    "softshrink": lambda x, by: np.where(x > by, x - np.longdouble(by), np.where(x < -by, x + np.longdouble(by), 0)),
    "hardshrink": lambda x, by: np.where((x > by) | (x < -by), x, 0),
    "hardsigmoid": lambda x: clipped(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * clipped(x + 3, 0, 6) / 6,
    "log_sigmoid": lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    "threshold": lambda x, below, value: np.where(x > below, x, x.dtype.type(value)),
    "glu": glu,
}
