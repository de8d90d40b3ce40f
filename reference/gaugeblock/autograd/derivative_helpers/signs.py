"""Gradients of sgn, angle and atan2."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor


def sgn_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The part of `grad` across the direction of `self`, over its size; 0 where that is 0, and for real numbers."""
    if not self.is_complex():
        return gb.zeros_like(grad)
    across: Tensor = grad - (grad * result.conj()).real * result
    back: Tensor = (across / self.abs()).masked_fill(self == 0, 0)
    return back


def angle_back(grad: Tensor, self: Tensor) -> Tensor:
    """``grad * i z / |z|**2``, 0 where z is 0, and for real numbers."""
    if not self.is_complex():
        return gb.zeros_like(grad)
    turned: Tensor = self * 1j / (self * self.conj()).real
    return grad * turned.masked_fill(self == 0, 0)


def angle_forward(tangent: Tensor, self: Tensor) -> Tensor:
    """``Im(conj(z) t) / |z|**2``, 0 where z is 0, and for real numbers."""
    if not self.is_complex():
        return gb.zeros_like(tangent)
    turned: Tensor = (tangent * self.conj()).imag / (self * self.conj()).real
    return turned.masked_fill(self == 0, 0)


def over_squares(value: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """``value / (self**2 + other**2)``, 0 where that is 0."""
    squares = self * self + other * other
    return value / squares.masked_fill(squares == 0, math.inf)


HELPERS: dict[str, Callable[..., Any]] = {
    "sgn_back": sgn_back,
    "angle_back": angle_back,
    "angle_forward": angle_forward,
    "over_squares": over_squares,
}
