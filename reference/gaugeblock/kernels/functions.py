"""Functions of real expressions: conversions, rounding, signs and NaN, polynomials, and exact sums and products.

Sums of two expressions hi + lo stand for one number of about twice the precision (Dekker 1971). A Format is what
elementary functions need to know of float32 and float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from itertools import zip_longest
from typing import NamedTuple

from .expression import BOOL, F32, F64, INT, UINT, Expr, ScalarType, constant, select


def cast(x: Expr, type: ScalarType) -> Expr:
    """x as another scalar type: ints wrap, floats truncate toward zero (to anything out of range), bool is x != 0."""
    source = x.type
    if source is type:
        return x
    if type is BOOL:
        return x != 0
    if source is BOOL:
        return Expr("uitofp" if type.is_float else "zext", type, (x,))
    if source.is_float:
        return _float_to(x, type)
    if type.is_float:
        return Expr("sitofp" if source.kind == "int" else "uitofp", type, (x,))
    if source.bits == type.bits:
        return Expr("retype", type, (x,))
    if source.bits > type.bits:
        return Expr("trunc", type, (x,))
    return Expr("sext" if source.kind == "int" else "zext", type, (x,))


def _float_to(x: Expr, type: ScalarType) -> Expr:
    if type.is_float:
        return Expr("fpext" if type.bits > x.type.bits else "fptrunc", type, (x,))
    if type is UINT[64]:
        half = constant(2.0**63, x.type)
        high = x >= half
        low_part = Expr("fptosi", INT[64], (select(high, x - half, x),))
        return cast(low_part ^ select(high, constant(-(2**63), INT[64]), 0), type)
    wide = INT[32] if type.bits < 32 or type is INT[32] else INT[64]
    return cast(Expr("fptosi", wide, (x,)), type)


def bits_of(x: Expr) -> Expr:
    """The bit pattern of a float expression as an unsigned expression of its width."""
    return Expr("bitcast", UINT[x.type.bits], (x,))


def float_of_bits(x: Expr) -> Expr:
    """The float expression with the given 32 or 64 bits."""
    return Expr("bitcast", F32 if x.type.bits == 32 else F64, (x,))


def intrinsic(name: str, x: Expr, *more: Expr) -> Expr:
    """Call of an LLVM intrinsic whose overload is the type of `x`."""
    return Expr("intrinsic", x.type, (x, *more), name)


def rare(fast: Expr, condition: Expr, formula: Callable[..., Expr], *arguments: Expr) -> Expr:
    """`fast`, but where the condition holds `formula` of the arguments, a function of its own; meant to hold seldom."""
    return Expr("rare", fast.type, (fast, condition, *arguments), formula)


def floor(x: Expr) -> Expr:
    """Largest integer not above x."""
    return intrinsic("floor", x)


def ceil(x: Expr) -> Expr:
    """Smallest integer not below x."""
    return intrinsic("ceil", x)


def rint(x: Expr) -> Expr:
    """Nearest integer, halves to even."""
    return intrinsic("rint", x)


def nearest_int(x: Expr) -> Expr:
    """Nearest int32, halves to even; anything for what is out of range."""
    return Expr("lrint", INT[32], (x,))


def truncate(x: Expr) -> Expr:
    """The integer part of x."""
    return intrinsic("trunc", x)


def is_even(x: Expr) -> Expr:
    """True for even numbers."""
    half = x * 0.5
    return truncate(half) == half


def sqrt(x: Expr) -> Expr:
    """Correctly rounded square root."""
    return intrinsic("sqrt", x)


def fabs(x: Expr) -> Expr:
    """Magnitude of a float expression (sign bit cleared)."""
    return intrinsic("fabs", x)


def copysign(x: Expr, sign: Expr) -> Expr:
    """Magnitude of x with the sign bit of `sign`."""
    return intrinsic("copysign", x, sign)


def fused(a: Expr, b: Expr, c: Expr) -> Expr:
    """a * b + c rounded once."""
    return intrinsic("fma", a, b, c)


def mul_add(a: Expr, b: Expr, c: Expr) -> Expr:
    """a * b + c, fused where the processor can; for approximations only."""
    return intrinsic("fmuladd", a, b, c)


def isnan(x: Expr) -> Expr:
    """True for NaN."""
    return Expr("fcmp", BOOL, (x, x), "uno")


def isinf(x: Expr) -> Expr:
    """True for both infinities."""
    return fabs(x) == float("inf")


def isfinite(x: Expr) -> Expr:
    """False for infinities and NaN."""
    return fabs(x) < float("inf")


def sign_bit(x: Expr) -> Expr:
    """True when the sign is negative, also for -0.0 and negative NaN."""
    if x.type.is_float:
        return bits_of(x) >= (1 << (x.type.bits - 1))
    return x < 0 if x.type.kind == "int" else constant(False, BOOL)


def minimum(a: Expr, b: Expr) -> Expr:
    """Smaller of two expressions; NaN wins; of equal values the first is kept."""
    if a.type is BOOL:
        return a & b
    return _or_nan(select(b < a, b, a), b)


def maximum(a: Expr, b: Expr) -> Expr:
    """Larger of two expressions; NaN wins; of equal values the first is kept."""
    if a.type is BOOL:
        return a | b
    return _or_nan(select(b > a, b, a), b)


def _or_nan(value: Expr, other: Expr) -> Expr:
    """`value`, but `other` if that is NaN."""
    sure = not other.type.is_float or (other.opcode == "constant" and other.attribute == other.attribute)
    return value if sure else select(isnan(other), other, value)


def polynomial(x: Expr, coefficients: tuple[float, ...]) -> Expr:
    """Horner evaluation, highest power first."""
    result = constant(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        result = mul_add(result, x, constant(coefficient, x.type))
    return result


def polynomial_by_pairs(x: Expr, square: Expr, coefficients: tuple[float, ...]) -> Expr:
    """Evaluation by the square of x, highest power first: as many operations, in a chain of half the length."""
    numbers = [constant(coefficient, x.type) for coefficient in coefficients]
    odd = len(numbers) % 2
    result = numbers[0] if odd else mul_add(x, numbers[0], numbers[1])
    for first, second in zip(numbers[2 - odd :: 2], numbers[3 - odd :: 2], strict=True):
        result = mul_add(result, square, mul_add(x, first, second))
    return result


def chebyshev_series(t: Expr, coefficients: tuple[float, ...]) -> Expr:
    """The sum of ``coefficients[k] * T_k(t)`` for t in [-1, 1], by Clenshaw's recurrence."""
    twice = t + t
    last, before = constant(coefficients[-1], t.type), constant(0.0, t.type)
    for coefficient in reversed(coefficients[1:-1]):
        last, before = mul_add(twice, last, -before) + coefficient, last
    return mul_add(t, last, -before) + coefficients[0]


@functools.cache
def powers_of_series(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """Return the coefficients of a Chebyshev series by powers, the highest first."""
    before, last = [Fraction(1)], [Fraction(0), Fraction(1)]
    total = [Fraction(0)] * len(coefficients)
    for coefficient in coefficients:
        for power, factor in enumerate(before):
            total[power] += factor * Fraction(coefficient)
        twice = [Fraction(0), *(2 * factor for factor in last)]
        before, last = last, [one - two for one, two in zip_longest(twice, before, fillvalue=Fraction(0))]
    return tuple(map(float, reversed(total)))


def lookup(table: tuple[float, ...], index: Expr, type: ScalarType) -> Expr:
    """table[index modulo its length, a power of two], as a float expression."""
    return Expr("lookup", type, (index,), table)


class Format(NamedTuple):
    """A float scalar type: mantissa bits, exponent bias, and the number (with its bits) whose addition rounds."""

    type: ScalarType
    mantissa: int
    bias: int
    shift: float
    shift_bits: int

    def number(self, value: float) -> Expr:
        """A constant."""
        return constant(value, self.type)

    def power_of_two(self, exponent: Expr) -> Expr:
        """2**n for the unsigned expression n, whose bits above those of an exponent do not matter."""
        return float_of_bits((exponent + self.bias) << self.mantissa)

    def nearest(self, x: Expr, factor: float) -> tuple[Expr, Expr]:
        """k = x * factor rounded to an integer: as a float, and as the low bits of an unsigned expression."""
        moved = mul_add(x, self.number(factor), self.number(self.shift))
        return moved - self.shift, bits_of(moved)


SINGLE = Format(F32, 23, 127, 1.5 * 2.0**23, 0x4B400000)
DOUBLE = Format(F64, 52, 1023, 1.5 * 2.0**52, 0x4338000000000000)


def format_of(x: Expr) -> Format:
    """The format of a float expression."""
    return SINGLE if x.type is F32 else DOUBLE


Pair = tuple[Expr, Expr]


def ordered_sum(a: Expr, b: Expr) -> Pair:
    """a + b exactly, for |a| >= |b| or a = 0."""
    total = a + b
    return total, b - (total - a)


def exact_sum(a: Expr, b: Expr) -> Pair:
    """a + b exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def exact_product(a: Expr, b: Expr) -> Pair:
    """a * b exactly, but for underflow."""
    product = a * b
    return product, fused(a, b, -product)


def times(a: Pair, b: Pair) -> Pair:
    """Product of two pairs, its terms not renormalised: relative error about 2**-2p for p-bit expressions."""
    high, low = exact_product(a[0], b[0])
    return high, mul_add(a[0], b[1], mul_add(a[1], b[0], low))
