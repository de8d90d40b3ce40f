"""Elementary functions of lanes, real and complex.

Real lanes have our own functions, within 1 ULP, for float32 and for float64, but for lgamma, which goes through C's, in
extended precision where the processor has it. Functions of complex lanes are computed in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from . import (
    arctangent,
    complex_functions,
    complex_inverses,
    error_function,
    exponential,
    logarithm,
    powers,
    remainders,
    trigonometry,
)
from .complex_lanes import Complex, Value, choose
from .complex_lanes import divide as smith_divide
from .expression import F64, Lane, constant, select
from .formats import format_of
from .functions import OWN, call, convert_lane, fabs, floor, fused, libm, mul_add, sqrt
from .isa import has_extended_precision
from .runtime import EXTENDED

FUNCTIONS: dict[str, Callable[..., Lane]] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1, "sigmoid": exponential.sigmoid,
    "sinh": exponential.sinh, "cosh": exponential.cosh, "tanh": exponential.tanh, "log": logarithm.log,
    "log2": logarithm.log2, "log10": logarithm.log10, "log1p": logarithm.log1p, "asinh": logarithm.asinh,
    "acosh": logarithm.acosh, "atanh": logarithm.atanh, "logit": logarithm.logit, "pow": powers.pow,
    "sin": trigonometry.sin, "cos": trigonometry.cos, "tan": trigonometry.tan, "asin": arctangent.asin,
    "acos": arctangent.acos, "atan": arctangent.atan, "atan2": arctangent.atan2, "erf": error_function.erf,
    "erfc": error_function.erfc, "erfinv": error_function.erfinv,
}  # fmt: skip
"""Functions of float32 or float64 lanes for results of the same type, by their C names."""

COMPLEX: dict[str, Callable[..., Complex]] = {
    "exp": complex_functions.exponential, "log": complex_functions.logarithm, "sqrt": complex_functions.root,
    "pow": complex_functions.power, "sin": complex_functions.sin, "cos": complex_functions.cos,
    "tan": complex_functions.tan, "sinh": complex_functions.sinh, "cosh": complex_functions.cosh,
    "tanh": complex_functions.tanh, "asin": complex_inverses.asin, "acos": complex_inverses.acos,
    "atan": complex_inverses.atan, "asinh": complex_inverses.asinh, "acosh": complex_inverses.acosh,
    "atanh": complex_inverses.atanh,
}  # fmt: skip
"""Functions of complex float64 lanes."""

OWN.update(FUNCTIONS)


def one_like(x: Value) -> Value:
    """1 of the type of x."""
    one = constant(1, x.type)
    return Complex(one, constant(0, x.type)) if isinstance(x, Complex) else one


def complex_function(name: str, *arguments: Value) -> Complex:
    """Return C99's complex function of this name without its c, evaluated in double precision."""
    first = next(z for z in arguments if isinstance(z, Complex))
    wide = COMPLEX[name](*(_widened(first.lift(z)) for z in arguments))
    return Complex(convert_lane(wide.re, first.type), convert_lane(wide.im, first.type))


def function(self: Value, name: str) -> Value:
    """The elementary function `name` of a real or complex lane."""
    if isinstance(self, Complex):
        return complex_function(name, self)
    return evaluated(name, self)


def evaluated(name: str, *arguments: Lane) -> Lane:
    """The real function `name`."""
    if arguments[0].type is F64 and name in EXTENDED and has_extended_precision():
        return call(f"gb_extended_{name}", *arguments)
    return libm(name, *arguments)


def _widened(z: Complex) -> Complex:
    return Complex(convert_lane(z.re, F64), convert_lane(z.im, F64))


def _in_double(self: Complex, compute: Callable[[Complex], Complex]) -> Complex:
    wide = compute(_widened(self))
    return Complex(convert_lane(wide.re, self.type), convert_lane(wide.im, self.type))


def _scaled(z: Complex, factor: float) -> Complex:
    return Complex(z.re * factor, z.im * factor)


def exp2(self: Value) -> Value:
    """2**self."""
    if isinstance(self, Complex):
        return _in_double(self, lambda z: complex_function("exp", _scaled(z, math.log(2.0))))
    return function(self, "exp2")


def log2(self: Value) -> Value:
    """Logarithm to base 2."""
    if isinstance(self, Complex):
        return _in_double(self, lambda z: _scaled(complex_function("log", z), 1.0 / math.log(2.0)))
    return function(self, "log2")


def log10(self: Value) -> Value:
    """Logarithm to base 10."""
    if isinstance(self, Complex):
        return _in_double(self, lambda z: _scaled(complex_function("log", z), 1.0 / math.log(10.0)))
    return function(self, "log10")


def _complex_expm1(z: Complex) -> Complex:
    half = trigonometry.sin(z.im * 0.5)
    sine, cosine = trigonometry.sin_cos(z.im)
    re = exponential.expm1(z.re) * cosine - half * half * 2.0
    return Complex(re, exponential.exp(z.re) * sine)


def expm1(self: Value) -> Value:
    """e**self - 1."""
    return _in_double(self, _complex_expm1) if isinstance(self, Complex) else function(self, "expm1")


def _complex_log1p(z: Complex) -> Complex:
    square = fused(z.im, z.im, z.re * (z.re + 2.0))
    near = libm("log1p", square) * 0.5
    far = complex_function("log", z + 1.0)
    small = (fabs(z.re) < 0.5) & (fabs(z.im) < 0.5)
    return Complex(select(small, near, far.re), far.im)


def log1p(self: Value) -> Value:
    """log(1 + self)."""
    return _in_double(self, _complex_log1p) if isinstance(self, Complex) else function(self, "log1p")


def sigmoid(self: Value) -> Value:
    """1 / (1 + e**-self)."""
    if isinstance(self, Complex):
        return smith_divide(self.lift(1.0), complex_function("exp", -self) + 1.0)
    return evaluated("sigmoid", self)


def power(self: Value, exponent: Value) -> Value:
    """C's pow; complex powers by the logarithm, with z**0 = 1."""
    if isinstance(self, Complex) or isinstance(exponent, Complex):
        first = self if isinstance(self, Complex) else exponent
        assert isinstance(first, Complex)
        base, wanted = first.lift(self), first.lift(exponent)
        zero = (wanted.re == 0.0) & (wanted.im == 0.0)
        return choose(zero, first.lift(1.0), complex_function("pow", base, wanted))
    return evaluated("pow", self, exponent)


def divide(self: Value, other: Value) -> Value:
    """Quotient; complex64 is divided in double precision."""
    if isinstance(self, Lane) and isinstance(other, Lane):
        return self / other
    first = self if isinstance(self, Complex) else other
    assert isinstance(first, Complex)
    divisor = first.lift(other)
    return _in_double(first.lift(self), lambda z: smith_divide(z, _widened(divisor)))


def reciprocal_root(x: Lane) -> Lane:
    """1 / sqrt(x), with what both roundings lose."""
    format = format_of(x)
    tiny = x < 2.0 ** (-format.bias + 2 * format.mantissa)
    scaled = select(tiny, x * 2.0 ** (4 * format.mantissa), x)
    root = sqrt(scaled)
    inverse = 1.0 / root
    missing = fused(-root, root, scaled) * (inverse * 0.5)
    rest = fused(-inverse, root, format.number(1.0)) - inverse * missing
    near = mul_add(inverse, rest, inverse) * select(tiny, format.number(2.0 ** (2 * format.mantissa)), 1.0)
    return select((x == 0.0) | (x == float("inf")), inverse, near)


def atan2(y: Lane, x: Lane) -> Lane:
    """Angle of the point (x, y)."""
    return evaluated("atan2", y, x)


def fmod(a: Lane, b: Lane) -> Lane:
    """Remainder with the sign of a."""
    return convert_lane(remainders.fmod(convert_lane(a, F64), convert_lane(b, F64)), a.type)


def remainder(a: Lane, b: Lane) -> Lane:
    """Remainder with the sign of b."""
    rest = fmod(a, b)
    return select((rest != 0.0) & ((b < 0.0) ^ (rest < 0.0)), rest + b, rest)


def floor_divide(a: Lane, b: Lane) -> Lane:
    """floor(a / b) as Python defines it: from the exact remainder, NaN for infinite a, a / b for zero b."""
    rest = fmod(a, b)
    exact = (a - rest) / b
    quotient = select((rest != 0.0) & ((b < 0.0) ^ (rest < 0.0)), exact - 1.0, exact)
    below = floor(quotient)
    nearest = select(quotient - below > 0.5, below + 1.0, below)
    zero = Lane("intrinsic", a.type, (constant(0.0, a.type), a / b), "copysign")
    return select(b == 0.0, a / b, select(quotient != 0.0, nearest, zero))
