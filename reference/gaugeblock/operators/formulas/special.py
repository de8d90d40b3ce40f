"""Formulas of the special functions, number theory, tolerance tests, and numbers taken apart and put together."""

from __future__ import annotations

import functools
import math

from ...core.dtype import DType, bfloat16, float16
from ...kernels import elementary, exponential, logarithm, special
from ...kernels.conversion import from_storage, to_storage
from ...kernels.division import trunc_divide_int
from ...kernels.expression import F64, UINT, Complex, Expr, Value, choose, constant, select
from ...kernels.functions import call, cast, copysign, fabs, isnan
from ...kernels.trigonometry import hypot
from . import comparison
from .comparison import truth
from .table import Formula, table


def _real(name: str, operands: int, compute: str = "float") -> Formula:
    function = functools.partial(special.in_double, getattr(special, name))
    return Formula(name, function, operands, compute=compute)


def logit_eps(self: Expr, eps: Expr) -> Expr:
    """logit of self kept within [eps, 1 - eps]."""
    low = select(self < eps, eps, self)
    top = constant(1.0, self.type) - eps
    return logarithm.logit(select(low > top, top, low))


def logaddexp(self: Value, other: Value) -> Value:
    """log(exp(self) + exp(other))."""
    if isinstance(self, Complex) and isinstance(other, Complex):
        swap = other.re > self.re
        top, low = choose(swap, other, self), choose(swap, self, other)
        return top + elementary.function(elementary.function(low - top, "exp"), "log1p")
    assert isinstance(self, Expr) and isinstance(other, Expr)
    return special.in_double(special.logaddexp, self, other)


def sinc(self: Value) -> Value:
    """sin(pi self) / (pi self)."""
    if isinstance(self, Complex):
        scaled = self * math.pi
        return choose(~truth(self), self.lift(1.0), elementary.function(scaled, "sin") / scaled)
    return special.in_double(special.sinc, self)


def heaviside(self: Expr, values: Expr) -> Expr:
    """0 below 0 and for NaN, 1 above, `values` at 0."""
    return select(self == constant(0, self.type), values, cast(self > constant(0, self.type), self.type))


def ldexp(self: Value, other: Value) -> Value:
    """self * 2**other."""
    if isinstance(self, Expr) and isinstance(other, Expr):
        return exponential.times_exp2(self, other)
    return self * elementary.function(other, "exp2")


def _absolute_int(x: Expr) -> Expr:
    return select(x < 0, -x, x) if x.type.kind == "int" else x


def gcd(self: Expr, other: Expr) -> Expr:
    """Greatest common divisor, not negative (but for int_min)."""
    wide = [cast(cast(_absolute_int(x), UINT[x.type.bits]), UINT[64]) for x in (self, other)]
    return cast(call("gb_gcd", *wide), self.type)


def lcm(self: Expr, other: Expr) -> Expr:
    """Least common multiple, not negative."""
    divisor = gcd(self, other)
    zero = divisor == 0
    quotient = trunc_divide_int(self, select(zero, constant(1, divisor.type), divisor))
    return _absolute_int(select(zero, constant(0, self.type), quotient * other))


def next_after(self: Expr, other: Expr, compute: DType) -> Expr:
    """The number of dtype `compute` next to self in the direction of other."""
    if compute not in (float16, bfloat16):
        return special.next_after(self, other)
    bits = to_storage(self, compute, False)[0]
    moved = from_storage((special.next_bits(self, bits, other > self),), compute, False)
    smallest = from_storage((constant(1, UINT[16]),), compute, False)
    assert isinstance(moved, Expr) and isinstance(smallest, Expr)
    moved = select(self == 0.0, copysign(smallest, other), moved)
    return select(isnan(self) | isnan(other), self + other, select(self == other, other, moved))


next_after.takes_dtype = True  # type: ignore[attr-defined]


def isclose(self: Value, other: Value, rtol: Value, atol: Value, *, equal_nan: bool) -> Expr:
    """Equal, or finite with |self - other| <= atol + |rtol * other|."""
    same = self == other
    if equal_nan:
        same = same | (comparison.isnan(self) & comparison.isnan(other))
    relative, absolute = (t.re if isinstance(t, Complex) else t for t in (rtol, atol))
    if isinstance(self, Complex) and isinstance(other, Complex):
        distance = hypot(self.re - other.re, self.im - other.im)
        scale = hypot(other.re, other.im)
    else:
        assert isinstance(self, Expr) and isinstance(other, Expr)
        distance, scale = fabs(self - other), fabs(other)
    return same | ((distance <= absolute + fabs(relative * scale)) & (distance < float("inf")))


def nan_to_num(self: Value, nan: Value, posinf: Value, neginf: Value) -> Value:
    """NaN and infinities replaced, component by component."""
    numbers = [n.re if isinstance(n, Complex) else n for n in (nan, posinf, neginf)]

    def replaced(x: Expr) -> Expr:
        finite = select(x == float("inf"), numbers[1], select(x == -float("inf"), numbers[2], x))
        return select(isnan(x), numbers[0], finite)

    return Complex(replaced(self.re), replaced(self.im)) if isinstance(self, Complex) else replaced(self)


def softmax(self: Expr, largest: Expr, total: Expr) -> Expr:
    """exp(self - largest) / total."""
    return special.in_double(lambda library, x, m, s: library("exp", x - m) / s, self, largest, total)


def log_softmax(self: Expr, largest: Expr, total: Expr) -> Expr:
    """self - largest - logarithm.log(total)."""
    return cast(cast(self, F64) - cast(largest, F64) - logarithm.log(total), self.type)


FORMULAS = table(
    (
        _real("xlogy", 2),
        Formula("logit", logarithm.logit, 1, compute="float"),
        Formula("logit.eps", logit_eps, 2, compute="float"),
        Formula("logaddexp", logaddexp, 2),
        _real("logaddexp2", 2, "common"),
        Formula("sinc", sinc, 1, compute="float"),
        Formula("heaviside", heaviside, 2),
        Formula("ldexp", ldexp, 2, compute="float"),
        Formula("gcd", gcd, 2),
        Formula("lcm", lcm, 2),
        Formula("nextafter", next_after, 2),
        Formula("deg2rad", lambda self: self * (math.pi / 180.0), 1, compute="float"),
        Formula("rad2deg", lambda self: self * (180.0 / math.pi), 1, compute="float"),
        Formula("frexp", special.frexp, 1),
        Formula("complex", Complex, 2),
        Formula("polar", special.polar, 2),
        Formula("isclose", functools.partial(isclose, equal_nan=False), 4, result="bool"),
        Formula("isclose.equal_nan", functools.partial(isclose, equal_nan=True), 4, result="bool"),
        Formula("nan_to_num", nan_to_num, 4),
        Formula("softmax", softmax, 3, raw=(0, 1, 2)),
        Formula("log_softmax", log_softmax, 3, raw=(0, 1, 2)),
    )
)
