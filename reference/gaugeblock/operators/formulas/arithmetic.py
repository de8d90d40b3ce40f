"""Formulas of arithmetic: sums, products, the division family, powers, signs, roots and rounding; and those on bits."""

from __future__ import annotations

from collections.abc import Callable

from ...kernels import division, elementary, functions
from ...kernels.expression import BOOL, UINT, Complex, Expr, Value, constant, select, while_loop
from ...kernels.functions import cast, fabs, fused, sqrt, truncate
from ...kernels.trigonometry import hypot
from .table import Formula


def add(self: Value, other: Value) -> Value:
    """Sum; OR for bool."""
    return self + other


def add_alpha(self: Value, other: Value, alpha: Value) -> Value:
    """self + alpha * other, fused for floats."""
    if isinstance(self, Expr) and isinstance(other, Expr) and isinstance(alpha, Expr) and self.type.is_float:
        return fused(other, alpha, self)
    return self + alpha * other


def sub_alpha(self: Value, other: Value, alpha: Value) -> Value:
    """self - alpha * other, fused for floats."""
    return add_alpha(self, other, -alpha)


def true_divide(self: Value, other: Value) -> Value:
    """Quotient of floats or complex numbers."""
    return elementary.divide(self, other)


def trunc_divide(self: Expr, other: Expr) -> Expr:
    """Quotient rounded toward zero."""
    if self.type.is_float:
        return truncate(self / other)
    return division.trunc_divide_int(self, other)


def floor_divide(self: Expr, other: Expr) -> Expr:
    """Quotient rounded toward minus infinity, as Python's // for infinities and NaN too."""
    return division.floor_divide(self, other) if self.type.is_float else division.floor_divide_int(self, other)


def remainder(self: Expr, other: Expr) -> Expr:
    """Remainder with the divisor's sign."""
    return division.remainder(self, other) if self.type.is_float else division.remainder_int(self, other)


def fmod(self: Expr, other: Expr) -> Expr:
    """Remainder with the dividend's sign."""
    if self.type.is_float:
        return division.fmod(self, other)
    return self - division.trunc_divide_int(self, other) * other


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


def frac(self: Expr) -> Expr:
    """self - trunc(self)."""
    return self - functions.truncate(self)


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


FORMULAS = (
    Formula("add", lambda a, b: a + b, 2),
    Formula("add.alpha", add_alpha, 3),
    Formula("sub", lambda a, b: a - b, 2),
    Formula("sub.alpha", sub_alpha, 3),
    Formula("mul", lambda a, b: a * b, 2),
    Formula("div", true_divide, 2, compute="float"),
    Formula("div.floor", floor_divide, 2),
    Formula("div.trunc", trunc_divide, 2),
    Formula("floor_divide", floor_divide, 2),
    Formula("remainder", remainder, 2),
    Formula("fmod", fmod, 2),
    Formula("pow", power, 2),
    Formula("pow.square", lambda a, exponent: a * a, 2),
    Formula("neg", lambda a: -a, 1),
    Formula("abs", absolute, 1, result="real"),
    Formula("sign", sign, 1),
    Formula("sgn", sgn, 1),
    Formula("reciprocal", reciprocal, 1, compute="float"),
    Formula("square", lambda a: a * a, 1),
    Formula("sqrt", square_root, 1, compute="float"),
    Formula("rsqrt", reciprocal_root, 1, compute="float"),
    Formula("conj_physical", conjugate, 1),
    Formula("neg_conj", lambda a: -conjugate(a), 1),
    Formula("floor", _on_floats(functions.floor), 1),
    Formula("ceil", _on_floats(functions.ceil), 1),
    Formula("round", _on_floats(functions.rint), 1),
    Formula("round.decimals", round_decimals, 2),
    Formula("round.tens", round_tens, 2),
    Formula("trunc", _on_floats(functions.truncate), 1),
    Formula("frac", frac, 1),
    Formula("bitwise_and", lambda a, b: a & b, 2),
    Formula("bitwise_or", lambda a, b: a | b, 2),
    Formula("bitwise_xor", lambda a, b: a ^ b, 2),
    Formula("bitwise_not", lambda a: ~a, 1),
    Formula("bitwise_left_shift", left_shift, 2),
    Formula("bitwise_right_shift", right_shift, 2),
)
