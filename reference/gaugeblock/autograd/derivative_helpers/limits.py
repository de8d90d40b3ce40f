"""Gradients of clamp, by the clamped value and by tensors that are its limits, and of logit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

Limit = Tensor | int | float | None


def within_limits(grad: Tensor, self: Tensor, low: Limit, high: Limit) -> Tensor:
    """`grad` where `self` is within the limits that there are, themselves included; else 0."""
    if low is None:
        return grad if high is None else gb.where(self <= high, grad, 0)
    return gb.where(self >= low if high is None else (self >= low) & (self <= high), grad, 0)


def below_limit(grad: Tensor, self: Tensor, low: Tensor, high: Tensor | None) -> Tensor:
    """`grad` where the result is the lower limit: `self` is below it, and it below the upper one; else 0."""
    return gb.where(self < low if high is None else (low < high) & (self < low), grad, 0)


def above_limit(grad: Tensor, self: Tensor, low: Tensor | None, high: Tensor) -> Tensor:
    """`grad` where the result is the upper limit: `self` or the lower limit is above it; else 0."""
    return gb.where(self > high if low is None else (self > high) | (high < low), grad, 0)


def finite_back(grad: Tensor, self: Tensor) -> Tensor:
    """`grad` where `self` is finite, each part of a complex number by itself; else 0."""
    if not self.is_complex():
        return gb.where(self.isfinite(), grad, 0)
    return gb.complex(finite_back(grad.real, self.real), finite_back(grad.imag, self.imag))


def logit_back(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """``grad / (x (1 - x))``, which outside of [0, 1] is nan, or, with an `eps`, outside of [eps, 1 - eps] is 0."""
    slope = grad / ((self + 0) * (1 - self))
    if eps is None or eps < 0:
        return slope.masked_fill((self < 0) | (self > 1), gb.nan)
    return slope.masked_fill((self < eps) | (self > 1 - eps), 0)


HELPERS: dict[str, Callable[..., Any]] = {
    "within_limits": within_limits,
    "below_limit": below_limit,
    "above_limit": above_limit,
    "finite_back": finite_back,
    "logit_back": logit_back,
}
