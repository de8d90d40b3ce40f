"""Formulas of activations, losses and normalization; those with exponentials, gelu apart, in double precision."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...kernels import elementary, error_function, exponential
from ...kernels.expression import F64, Complex, Expr, Value, constant, select
from ...kernels.expression import divide as complex_divide
from ...kernels.functions import fabs, maximum, minimum, mul_add, sqrt
from ...kernels.special import Function, in_double
from .comparison import clamp

SATURATED = 40.0
"""From here on tanh(log(1 + e**x)) is 1 in float64."""
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
TANH_SCALE = math.sqrt(2.0 / math.pi)
TANH_CUBE = 0.044715


def _undefined_below(self: Expr, result: Expr) -> Expr:
    """`result`, but NaN for -inf, where a product of -inf and 0 stands."""
    return select(self == -math.inf, math.nan, result)


def elu(library: Function, self: Expr, alpha: Expr, scale: Expr, input_scale: Expr) -> Expr:
    """scale * self above 0, else scale * alpha * (e**(input_scale * self) - 1)."""
    return select(self < 0.0, library("expm1", self * input_scale) * (alpha * scale), self * scale)


def leaky_relu(self: Expr, slope: Expr) -> Expr:
    """self above 0, else slope * self."""
    return select(self > 0.0, self, self * slope)


def gelu(self: Expr) -> Expr:
    """self times the probability that a standard normal variable is below it; in float64 exact in the tail too."""
    half = self * 0.5
    if self.type is F64:
        return _undefined_below(self, half * error_function.erfc(self * -math.sqrt(0.5)))
    return _undefined_below(self, half * error_function.erf(self * math.sqrt(0.5)) + half)


def gelu_tanh(self: Expr) -> Expr:
    """The approximation of gelu by tanh: 0.5 self (1 + tanh(u)), written as self / (1 + e**(-2u))."""
    inner = (self + self * self * self * TANH_CUBE) * (-2.0 * TANH_SCALE)
    return _undefined_below(self, self / (exponential.exp(inner) + 1.0))


def silu(self: Value) -> Value:
    """self * sigmoid(self)."""
    if isinstance(self, Complex):
        return complex_divide(self, elementary.complex_function("exp", -self) + 1.0)
    return exponential.times_sigmoid(self)


def mish(library: Function, self: Expr) -> Expr:
    """self * tanh(log(1 + e**self)), with tanh(log(1 + e)) = n / (n + 2) for n = e (e + 2)."""
    grown = library("exp", minimum(self, constant(SATURATED, self.type)))
    ratio = grown * (grown + 2.0)
    return _undefined_below(self, self * (ratio / (ratio + 2.0)))


def softplus(library: Function, self: Expr, beta: Expr, threshold: Expr) -> Expr:
    """log(1 + e**(beta self)) / beta; self itself where beta * self is above the threshold."""
    scaled = self * beta
    return select(scaled > threshold, self, library("log1p", library("exp", scaled)) / beta)


def log_sigmoid(library: Function, self: Expr) -> Expr:
    """log(sigmoid(self))."""
    low = minimum(self, constant(0.0, self.type))
    return low - library("log1p", library("exp", -fabs(self)))


def softshrink(self: Expr, bound: Expr) -> Expr:
    """self moved by `bound` towards 0, 0 within it; NaN kept."""
    return select(self > bound, self - bound, select(self < -bound, self + bound, self * 0.0))


def hardshrink(self: Expr, bound: Expr) -> Expr:
    """0 within [-bound, bound], else self; NaN kept."""
    return select((self >= -bound) & (self <= bound), 0.0, self)


def _ramp(self: Expr) -> Expr:
    return clamp(self + 3.0, constant(0.0, self.type), constant(6.0, self.type))


def hardsigmoid(self: Expr) -> Expr:
    """self + 3 within [0, 6], divided by 6."""
    return _ramp(self) / 6.0


def hardswish(self: Expr) -> Expr:
    """self * hardsigmoid(self)."""
    return self * _ramp(self) / 6.0


def threshold(self: Expr, bound: Expr, value: Expr) -> Expr:
    """self above `bound`, else `value`; NaN kept."""
    return select(self <= bound, value, self)


def gated(library: Function, self: Expr, gate: Expr) -> Expr:
    """self * sigmoid(gate)."""
    return self / (library("exp", -gate) + 1.0)


LOWEST_LOGARITHM = -100.0
"""Logarithms of probabilities are not let below this."""


def squared_difference(self: Expr, target: Expr) -> Expr:
    """(self - target)**2."""
    distance = self - target
    return distance * distance


def smooth_l1(self: Expr, target: Expr, beta: Expr) -> Expr:
    """Half the squared distance over beta within beta, else the distance less half of beta."""
    distance = fabs(self - target)
    return select(distance < beta, distance * distance * 0.5 / beta, distance - beta * 0.5)


def huber(self: Expr, target: Expr, delta: Expr) -> Expr:
    """Half the squared distance within delta, else delta times the distance less half of delta."""
    distance = fabs(self - target)
    return select(distance <= delta, distance * distance * 0.5, delta * (distance - delta * 0.5))


def cross_entropy(library: Function, self: Expr, target: Expr) -> Expr:
    """-(target log(self) + (1 - target) log(1 - self))."""
    low = constant(LOWEST_LOGARITHM, self.type)
    positive = maximum(library("log", self), low)
    negative = maximum(library("log1p", -self), low)
    return (target - 1.0) * negative - target * positive


def cross_entropy_of_logits(library: Function, self: Expr, target: Expr) -> Expr:
    """cross_entropy of the sigmoid of self."""
    return (1.0 - target) * self - log_sigmoid(library, self)


def weighted_cross_entropy_of_logits(library: Function, self: Expr, target: Expr, positive: Expr) -> Expr:
    """The same with a weight for the positive part."""
    return (1.0 - target) * self - (target * (positive - 1.0) + 1.0) * log_sigmoid(library, self)


def soft_margin(library: Function, self: Expr, target: Expr) -> Expr:
    """log(1 + e**(-self target))."""
    return -log_sigmoid(library, self * target)


def normalized(self: Expr, mean: Expr, deviation: Expr) -> Expr:
    """(self - mean) * deviation, which is the inverse of the standard deviation."""
    return (self - mean) * deviation


def normalized_weight(self: Expr, mean: Expr, deviation: Expr, weight: Expr) -> Expr:
    """normalized, times weight."""
    return normalized(self, mean, deviation) * weight


def normalized_bias(self: Expr, mean: Expr, deviation: Expr, bias: Expr) -> Expr:
    """normalized, plus bias."""
    return mul_add(self - mean, deviation, bias)


def normalized_both(self: Expr, mean: Expr, deviation: Expr, weight: Expr, bias: Expr) -> Expr:
    """normalized, times weight plus bias."""
    return mul_add(normalized(self, mean, deviation), weight, bias)


def gelu_gradient(self: Expr, grad: Expr) -> Expr:
    """A gradient times the derivative of gelu: Phi(self) + self phi(self), of the normal distribution."""
    below = error_function.erf(self * math.sqrt(0.5)) * 0.5 + 0.5
    return grad * (below + self * exponential.exp(self * self * -0.5) * DENSITY)


def log_softmax_gradient(self: Expr, grad: Expr, total: Expr) -> Expr:
    """The gradient of what log_softmax is of; `self` is its result, `total` the sum of the gradient."""
    return grad - exponential.exp(self) * total


def dropout(self: Expr, kept: Expr, scale: Expr) -> Expr:
    """self times `scale` where `kept` is 1, 0 where it is 0."""
    return self * kept * scale


def batch_statistics(variance: Expr, mean: Expr, weight: Expr, eps: Expr) -> tuple[Expr, ...]:
    """Return the scale of a channel, its mean, and the mean and the inverse deviation again."""
    inverse = 1.0 / sqrt(variance + eps)
    return inverse * weight, mean, mean, inverse


def batch_scale(variance: Expr, mean: Expr, weight: Expr, eps: Expr) -> tuple[Expr, ...]:
    """Return the scale of a channel and its mean."""
    return batch_statistics(variance, mean, weight, eps)[:2]


def running_statistics(
    running_mean: Expr, running_var: Expr, mean: Expr, variance: Expr, momentum: Expr, unbiased: Expr
) -> tuple[Expr, ...]:
    """Return the new running mean and variance of a channel."""
    rest = 1.0 - momentum
    return running_mean * rest + mean * momentum, running_var * rest + variance * unbiased * momentum


def normalized_gradient(
    self: Expr, mean: Expr, deviation: Expr, grad: Expr, level: Expr, aligned: Expr, factor: Expr
) -> Expr:
    """The gradient of what was normalized: `level` is the mean of `grad`, `aligned` that of `grad` times normalized."""
    return (grad - level - normalized(self, mean, deviation) * aligned) * factor


_IN_DOUBLE: dict[str, Function] = {
    "elu": elu, "mish": mish, "softplus": softplus, "log_sigmoid": log_sigmoid, "glu": gated,
    "cross_entropy": cross_entropy, "cross_entropy_of_logits": cross_entropy_of_logits,
    "cross_entropy_of_logits.weighted": weighted_cross_entropy_of_logits, "soft_margin": soft_margin,
}  # fmt: skip
FORMULAS: dict[str, Callable[..., Any]] = {
    **{name: functools.partial(in_double, function) for name, function in _IN_DOUBLE.items()},
    "hardtanh": clamp, "leaky_relu": leaky_relu, "gelu": gelu, "gelu.tanh": gelu_tanh, "silu": silu,
    "softshrink": softshrink, "hardshrink": hardshrink, "hardsigmoid": hardsigmoid, "hardswish": hardswish,
    "threshold": threshold, "squared_difference": squared_difference, "smooth_l1": smooth_l1, "huber": huber,
    "normalized": normalized, "normalized.weight": normalized_weight, "normalized.bias": normalized_bias,
    "normalized.weight.bias": normalized_both, "normalized.product": normalized_weight,
    "normalized.gradient": normalized_gradient, "gelu.gradient": gelu_gradient,
    "log_softmax.gradient": log_softmax_gradient, "batch_statistics": batch_statistics,
    "batch_scale": batch_scale, "dropout": dropout, "running_statistics": running_statistics,
}  # fmt: skip
