"""Complex numbers as pairs of real lanes."""

from __future__ import annotations

from typing import Union

from .expression import Lane, LaneType, constant, select
from .functions import fabs

ComplexOperand = Union["Complex", Lane, complex, float, int]


class Complex:
    """A complex lane: `re` and `im` are float lanes of one type."""

    __slots__ = ("im", "re")

    def __init__(self, re: Lane, im: Lane) -> None:
        self.re = re
        self.im = im

    @property
    def type(self) -> LaneType:
        """Lane type of the components."""
        return self.re.type

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"complex({self.re!r}, {self.im!r})"

    def lift(self, other: ComplexOperand) -> Complex:
        """`other` as a complex lane of this type."""
        if isinstance(other, Complex):
            return other
        if isinstance(other, Lane):
            return Complex(other, constant(0.0, self.type))
        number = complex(other)
        return Complex(constant(number.real, self.type), constant(number.imag, self.type))

    def __add__(self, other: ComplexOperand) -> Complex:
        other = self.lift(other)
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: ComplexOperand) -> Complex:
        other = self.lift(other)
        return Complex(self.re - other.re, self.im - other.im)

    def __rsub__(self, other: ComplexOperand) -> Complex:
        return self.lift(other) - self

    def __mul__(self, other: ComplexOperand) -> Complex:
        other = self.lift(other)
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: ComplexOperand) -> Complex:
        return divide(self, self.lift(other))

    def __rtruediv__(self, other: ComplexOperand) -> Complex:
        return divide(self.lift(other), self)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __eq__(self, other: ComplexOperand) -> Lane:  # type: ignore[override]
        other = self.lift(other)
        return (self.re == other.re) & (self.im == other.im)

    def __ne__(self, other: ComplexOperand) -> Lane:  # type: ignore[override]
        other = self.lift(other)
        return (self.re != other.re) | (self.im != other.im)


Value = Union[Lane, Complex]  # noqa: UP007


def divide(a: Complex, b: Complex) -> Complex:
    """a / b by Smith's scaling; division by zero gives infinities and NaN as the components' division does."""
    wide = fabs(b.re) >= fabs(b.im)
    big, small = select(wide, b.re, b.im), select(wide, b.im, b.re)
    both_zero = (b.re == 0.0) & (b.im == 0.0)
    ratio = small / big
    scale = big + small * ratio
    re = select(wide, a.re + a.im * ratio, a.re * ratio + a.im) / scale
    im = select(wide, a.im - a.re * ratio, a.im * ratio - a.re) / scale
    return Complex(select(both_zero, a.re / fabs(b.re), re), select(both_zero, a.im / fabs(b.re), im))


def choose(condition: Lane, a: Value, b: Value) -> Value:
    """select for real or complex lanes."""
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(select(condition, a.re, b.re), select(condition, a.im, b.im))
    if isinstance(a, Lane) and isinstance(b, Lane):
        return select(condition, a, b)
    raise TypeError(f"expected two real or two complex lanes, got {a!r} and {b!r}")
