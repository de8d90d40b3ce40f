"""Formulas of arithmetic: sums, products, the division family, powers, signs, roots and rounding; and those on bits."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...kernels import division, elementary, functions
from ...kernels.expression import BOOL, UINT, Complex, Expr, Value, constant, select, while_loop
from ...kernels.functions import cast, fabs, fused, sqrt, truncate
from ...kernels.trigonometry import hypot


def add_alpha(self: Value, other: Value, alpha: Value) -> Value:
    """self + alpha * other, fused for floats."""
    if isinstance(self, Expr) and isinstance(other, Expr) and isinstance(alpha, Expr) and self.type.is_float:
        return fused(other, alpha, self)
    return self + alpha * other


def _of_kind(of_floats: Callable[..., Expr], of_ints: Callable[..., Expr]) -> Callable[[Expr, Expr], Expr]:
    """Return the formula that is `of_floats` or `of_ints`, by the type of its operands."""

    def chosen(self: Expr, other: Expr) -> Expr:
        return of_floats(self, other) if self.type.is_float else of_ints(self, other)

    return chosen


floor_divide = _of_kind(division.floor_divide, division.floor_divide_int)
"""Quotient rounded toward minus infinity, as Python's // for infinities and NaN too."""
trunc_divide = _of_kind(lambda self, other: truncate(self / other), division.trunc_divide_int)
"""Quotient rounded toward zero."""
remainder = _of_kind(division.remainder, division.remainder_int)
"""Remainder with the divisor's sign."""
fmod = _of_kind(division.fmod, lambda self, other: self - division.trunc_divide_int(self, other) * other)
"""Remainder with the dividend's sign."""


def power(self: Value, exponent: Value) -> Value:
    """Power: C's pow for floats, wrapping for ints; negative int exponents give the truncated reciprocal."""
    if isinstance(self, Complex) or isinstance(exponent, Complex) or self.type.is_float:
        return elementary.power(self, exponent)
    if self.type is BOOL:
        return self | ~exponent
    one, left = constant(1, self.type), cast(exponent, UINT[self.type.bits])
    result, _, _ = while_loop(
        lambda result, square, left: left != 0,
        lambda result, square, left: (select((left & 1) == 1, result * square, result), square * square, left >> 1),
        one, self, left,
    )  # fmt: skip
    if self.type.kind == "uint":
        return result
    sign = select((exponent & 1) == 0, constant(1, self.type), -1)
    reciprocal = select(self == 1, constant(1, self.type), select(self == -1, sign, 0))
    return select(exponent < 0, reciprocal, result)


def absolute(self: Value) -> Value:
    """Magnitude; the real modulus of complex numbers; int_min stays."""
    if isinstance(self, Complex):
        return hypot(self.re, self.im)
    if self.type.is_float:
        return fabs(self)
    return select(self < 0, -self, self) if self.type.kind == "int" else self


def sign(self: Expr) -> Expr:
    """-1, 0 or 1; 0 for NaN."""
    if self.type.kind in ("bool", "uint"):
        return cast(self != constant(0, self.type), self.type)
    one = constant(1, self.type)
    return select(self > 0, one, select(self < 0, constant(-1, self.type), 0))


def sgn(self: Value) -> Value:
    """sign, and z / |z| (0 for 0) of complex numbers."""
    if not isinstance(self, Complex):
        return sign(self)
    size = hypot(self.re, self.im)
    zero = size == 0.0
    return Complex(select(zero, 0.0, self.re / size), select(zero, 0.0, self.im / size))


def reciprocal(self: Value) -> Value:
    """1 / self."""
    return elementary.divide(elementary.one_like(self), self)


def square_root(self: Value) -> Value:
    """Square root."""
    return elementary.complex_function("sqrt", self) if isinstance(self, Complex) else sqrt(self)


def reciprocal_root(self: Value) -> Value:
    """1 / sqrt(self)."""
    return reciprocal(square_root(self)) if isinstance(self, Complex) else elementary.reciprocal_root(self)


def conjugate(self: Value) -> Value:
    """Complex conjugate; real numbers are returned as they are."""
    return Complex(self.re, -self.im) if isinstance(self, Complex) else self


def _on_floats(function: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    def rounded(self: Expr) -> Expr:
        return function(self) if self.type.is_float else self

    return rounded


def round_decimals(self: Expr, scale: Expr) -> Expr:
    """self rounded to a multiple of 1 / scale."""
    return functions.rint(self * scale) / scale


def round_tens(self: Expr, scale: Expr) -> Expr:
    """self rounded to a multiple of scale."""
    return functions.rint(self / scale) * scale


def _in_range(count: Expr) -> Expr:
    bits = constant(count.type.bits, count.type)
    return count < bits if count.type.kind == "uint" else (count >= 0) & (count < bits)


def left_shift(self: Expr, other: Expr) -> Expr:
    """self << other; 0 for counts that are negative or reach the width."""
    return select(_in_range(other), self << (other & (self.type.bits - 1)), 0)


def right_shift(self: Expr, other: Expr) -> Expr:
    """self >> other with sign fill; counts that are negative or reach the width leave only the sign."""
    last = self.type.bits - 1
    count = select(_in_range(other), other & last, last)
    shifted = self >> count
    return select(_in_range(other), shifted, 0) if self.type.kind == "uint" else shifted


def cross(a0: Value, a1: Value, a2: Value, b0: Value, b1: Value, b2: Value) -> tuple[Value, Value, Value]:
    """Return the components of the product of two vectors."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


MARGIN = 1e-7
"""Added to a norm before it divides."""


def shortening(norm: Value, largest: Value) -> Expr:
    """Return what scales something of this norm down to the norm `largest` if it exceeds that, else 1."""
    length, most = (one.re if isinstance(one, Complex) else one for one in (norm, largest))
    return select(length > most, most / (length + MARGIN), 1.0)


def shortening_named(norm: Expr, named: Expr, largest: Expr) -> Expr:
    """shortening of what is named, else 1."""
    return select(named != 0, shortening(norm, largest), 1.0)


def shortened(self: Value, norm: Value, largest: Value) -> Value:
    """self, of something with this norm, scaled down so that the norm is `largest` at most."""
    factor = shortening(norm, largest)
    return Complex(self.re * factor, self.im * factor) if isinstance(self, Complex) else self * factor


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "add.alpha": add_alpha, "sub": operator.sub,
    "sub.alpha": lambda self, other, alpha: add_alpha(self, other, -alpha), "mul": operator.mul,
    "div": elementary.divide, "div.floor": floor_divide, "div.trunc": trunc_divide, "floor_divide": floor_divide,
    "remainder": remainder, "fmod": fmod,
    "pow": power, "pow.square": lambda self, exponent: self * self, "square": lambda self: self * self,
    "neg": operator.neg, "abs": absolute, "sign": sign, "sgn": sgn, "reciprocal": reciprocal,
    "sqrt": square_root, "rsqrt": reciprocal_root,
    "conj_physical": conjugate, "neg_conj": lambda self: -conjugate(self), "cross": cross,
    "floor": _on_floats(functions.floor), "ceil": _on_floats(functions.ceil), "trunc": _on_floats(functions.truncate),
    "round": _on_floats(functions.rint), "round.decimals": round_decimals, "round.tens": round_tens,
    "frac": lambda self: self - truncate(self), "shortened": shortened, "shortening": shortening,
    "shortening.named": shortening_named,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "bitwise_not": operator.inv,
    "bitwise_left_shift": left_shift, "bitwise_right_shift": right_shift,
}  # fmt: skip
