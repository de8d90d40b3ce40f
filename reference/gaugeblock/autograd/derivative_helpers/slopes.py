"""Derivatives of special functions that need care at single points, and those that nobody knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import gaugeblock as gb
from gaugeblock import Tensor


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
    return gb.where(near, series, (far.cos() - far.sin() / far) / far)


HELPERS: dict[str, Callable[..., Any]] = {
    "no_derivative": no_derivative,
    "ratio_at_zero": ratio_at_zero,
    "acosh_slope": acosh_slope,
    "sinc_slope": sinc_slope,
    "spherical_slope": spherical_slope,
}
