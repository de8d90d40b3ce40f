"""Gradients of pointwise operators: powers, signs and angles, limits, special functions, polynomials, activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from math import nan
from typing import Any, NoReturn

from ...calls.functions import tensor_ops as ops
from ...core.dtype import bfloat16, complex128, float16
from ...operators.networks.calls import fused
from ..forward_mode import is_differentiated
from . import Tensor

Number = int | float | complex


def pow_base(grad: Tensor, base: Tensor, exponent: Tensor | Number) -> Tensor:
    """The gradient of ``base ** exponent`` by the base: 0 where the exponent is 0."""
    if not isinstance(exponent, Tensor):
        if exponent == 0:
            return ops.zeros_like(grad)
        if exponent == 1:
            return grad
        return grad * ((base if exponent == 2 else base.pow(exponent - 1)) * exponent).conj()
    slope = exponent * base.pow(exponent + -1)
    return ops.where(exponent == 0, 0, grad * slope.conj())


def pow_exponent(grad: Tensor, base: Tensor | Number, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of ``base ** exponent`` by the exponent; 0 for a base 0 and exponents 0 or of positive real part."""
    upward = (exponent.real > 0) | (exponent == 0) if exponent.is_complex() else exponent >= 0
    if isinstance(base, Tensor):
        still = (base == 0) & upward
        return grad * (result * base.to(result.dtype).masked_fill(still, 1).log()).conj()
    if base == 0:
        return grad * (result * ops.where(upward, 0.0, -math.inf)).conj()
    if result.is_complex():
        logarithm: Number = ops.tensor(complex(base), dtype=complex128).log().item()
    else:
        assert not isinstance(base, complex)
        logarithm = math.log(base) if base > 0 else math.nan
    return grad * (result * logarithm).conj()


def sgn_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The part of `grad` across the direction of `self`, over its size; 0 where that is 0, and for real numbers."""
    if not self.is_complex():
        return ops.zeros_like(grad)
    across: Tensor = grad - (grad * result.conj()).real * result
    back: Tensor = (across / self.abs()).masked_fill(self == 0, 0)
    return back


def angle_back(grad: Tensor, self: Tensor) -> Tensor:
    """``grad * i z / |z|**2``, 0 where z is 0, and for real numbers."""
    if not self.is_complex():
        return ops.zeros_like(grad)
    turned: Tensor = self * 1j / (self * self.conj()).real
    return grad * turned.masked_fill(self == 0, 0)


def over_squares(value: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """``value / (self**2 + other**2)``, 0 where that is 0."""
    squares = self * self + other * other
    return value / squares.masked_fill(squares == 0, math.inf)


Limit = Tensor | int | float | None


def within_limits(grad: Tensor, self: Tensor, low: Limit, high: Limit) -> Tensor:
    """`grad` where `self` is within the limits that there are, themselves included; else 0."""
    if low is None:
        return grad if high is None else ops.where(self <= high, grad, 0)
    return ops.where(self >= low if high is None else (self >= low) & (self <= high), grad, 0)


def finite_back(grad: Tensor, self: Tensor) -> Tensor:
    """`grad` where `self` is finite, each part of a complex number by itself; else 0."""
    if not self.is_complex():
        return ops.where(self.isfinite(), grad, 0)
    return ops.complex(finite_back(grad.real, self.real), finite_back(grad.imag, self.imag))


def logit_back(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """``grad / (x (1 - x))``, which outside of [0, 1] is nan, or, with an `eps`, outside of [eps, 1 - eps] is 0."""
    slope = grad / ((self + 0) * (1 - self))
    if eps is None or eps < 0:
        return slope.masked_fill((self < 0) | (self > 1), nan)
    return slope.masked_fill((self < eps) | (self > 1 - eps), 0)


def no_derivative(operator: str, argument: str) -> NoReturn:
    """Raises NotImplementedError: the operator cannot be differentiated by this argument."""
    raise NotImplementedError(f"the derivative for '{operator}: {argument}' is not implemented.")


def ratio_at_zero(value: Tensor, self: Tensor, limit: float) -> Tensor:
    """``value / self``, and `limit` where `self` is 0."""
    zero = self == 0
    return (value / self.masked_fill(zero, 1)).masked_fill(zero, limit)


def acosh_slope(self: Tensor) -> Tensor:
    """Return 1 / sqrt(self**2 - 1), computed from two factors to avoid cancellation; even in real `self`."""
    of = self if self.is_complex() else self.abs()
    slope: Tensor = (of - 1).rsqrt() * (of + 1).rsqrt()
    return slope


def sinc_slope(self: Tensor) -> Tensor:
    """The derivative of sin(pi x) / (pi x), 0 at 0."""
    phase = self * math.pi
    slope = (phase * phase.cos() - phase.sin()) / (self * self * math.pi)
    return slope.masked_fill(self * self * math.pi == 0, 0)


def spherical_slope(x: Tensor) -> Tensor:
    """The derivative of sin(x) / x, near 0 by its series."""
    near = x.abs() < 1e-2
    far = x.masked_fill(near, 1)
    squared = x * x
    series = x / -3 * (1 - squared / 10 * (1 - squared / 28))
    return ops.where(near, series, (far.cos() - far.sin() / far) / far)


ROOT_HALF = 0.7071067811865476
DENSITY = 0.3989422804014327
"""1/sqrt(2) and 1/sqrt(2 pi)."""
TANH_SCALE, TANH_CUBE = 0.7978845608028654, 0.044715
"""sqrt(2/pi), and the share of the cube, in the approximation of gelu by tanh."""


def _rounded_once(slope: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return `slope` computed in float32 for half floats: terms that cancel would leave nothing but their roundings."""

    @wraps(slope)
    def run(self: Tensor, *rest: Any) -> Tensor:
        return slope(self.float(), *rest).to(self.dtype) if self.dtype in (float16, bfloat16) else slope(self, *rest)

    return run


def gelu_back(grad: Tensor, self: Tensor, approximate: str) -> Tensor:
    """`grad` times the derivative of gelu."""
    exact = approximate == "none" and not is_differentiated()
    found = fused("gelu.gradient", self, grad) if exact else None
    return grad * gelu_slope(self, approximate) if found is None else found


@_rounded_once
def gelu_slope(self: Tensor, approximate: str) -> Tensor:
    """The derivative of gelu, exact or of its approximation by tanh."""
    if approximate == "none":
        below = (self * ROOT_HALF).erf() * 0.5 + 0.5
        return below + self * (self * self * -0.5).exp() * DENSITY
    square = self * self
    bent = ((self + square * self * TANH_CUBE) * TANH_SCALE).tanh()
    inner = (square * (3 * TANH_CUBE) + 1) * TANH_SCALE
    return (bent + 1) * 0.5 + self * (1 - bent * bent) * inner * 0.5


@_rounded_once
def silu_slope(self: Tensor) -> Tensor:
    """The derivative of x * sigmoid(x)."""
    share = self.sigmoid()
    return share * (self * (1 - share) + 1)


@_rounded_once
def mish_slope(self: Tensor) -> Tensor:
    """The derivative of x * tanh(softplus(x))."""
    bent: Tensor = ops.softplus(self).tanh()
    return bent + self * self.sigmoid() * (1 - bent * bent)


def rrelu_back(grad: Tensor, self: Tensor, result: Tensor, lower: float, upper: float, training: bool) -> Tensor:
    """`grad` times the slope that was drawn, or the middle of the range outside of training and where self is 0."""
    middle = (lower + upper) / 2
    if not training:
        return ops.where(self > 0, grad, grad * middle)
    slope = ops.where(self < 0, result / self, ops.where(self == 0, middle, 1)).detach()
    return grad * slope


def glu_back(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradients of both halves along a dim, of which the second gates the first."""
    first, second = self.chunk(2, dim)
    gate = second.sigmoid()
    return ops.cat([grad * gate, grad * first * gate * (1 - gate)], dim)


# Name: p1 = a x + b, and (a, b, c) of k for p(k + 1) = (a x + b) p(k) - c p(k - 1).
_CHEBYSHEV = {"t": (1, 0), "u": (2, 0), "v": (2, -1), "w": (2, 1)}
_OTHERS: dict[str, tuple[tuple[int, int], Callable[[int], tuple[float, float, float]]]] = {
    "hermite_polynomial_h": ((2, 0), lambda k: (2, 0, 2 * k)),
    "hermite_polynomial_he": ((1, 0), lambda k: (1, 0, k)),
    "laguerre_polynomial_l": ((-1, 1), lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))),
    "legendre_polynomial_p": ((1, 0), lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1))),
}


SLOPE_LIMIT = 1 << 14
"""The highest degree whose derivative is computed; the recurrence takes too long beyond it."""


def polynomial_slope(name: str, x: Tensor, n: Tensor | float) -> Tensor:
    """Return the derivative with respect to x of the polynomial of degree n, an integer or a tensor of integers. 0
    below degree 1, NaN above SLOPE_LIMIT."""
    shifted = name.startswith("shifted")
    point = x * 2 - 1 if shifted else x
    degree = n.trunc() if isinstance(n, Tensor) and n.is_floating_point() else n
    largest: Any = degree
    if isinstance(degree, Tensor):
        largest = degree.max().item() if degree.numel() else 0
    top = int(largest)
    (slope, intercept), step = _OTHERS[name] if name in _OTHERS else (_CHEBYSHEV[name[-1]], lambda k: (2, 0, 1))
    before, value = ops.ones_like(point), point * slope + intercept
    before_slope, value_slope = ops.zeros_like(point), ops.full_like(point, slope)
    found = _chosen(ops.zeros_like(point), value_slope, degree, 1)
    for k in range(1, min(top, SLOPE_LIMIT)):
        a, b, c = step(k)
        factor = point * a + b
        before, value, before_slope, value_slope = (
            value,
            factor * value - before * c,
            value_slope,
            value * a + factor * value_slope - before_slope * c,
        )
        found = _chosen(found, value_slope, degree, k + 1)
    if top > SLOPE_LIMIT:
        unknown = ops.full_like(point, float("nan"))
        found = ops.where(degree > SLOPE_LIMIT, unknown, found) if isinstance(degree, Tensor) else unknown
    return found * 2 if shifted else found


def _chosen(found: Tensor, value: Tensor, degree: Tensor | float, k: int) -> Tensor:
    if isinstance(degree, Tensor):
        return ops.where(degree == k, value, found)
    return value if int(degree) == k else found
