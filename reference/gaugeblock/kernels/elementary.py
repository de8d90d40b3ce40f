"""The elementary functions by their C names, of real and of complex expressions.

Real expressions have our own functions, within 1 ULP, for float32 and for float64. Functions of complex ones are
computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable

from . import complex_functions, error_function, exponential, log_gamma, logarithm, trigonometry
from .expression import F64, Complex, Expr, Value, choose, constant, select
from .functions import cast, format_of, fused, mul_add, sqrt

FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1, "sigmoid": exponential.sigmoid,
    "sinh": exponential.sinh, "cosh": exponential.cosh, "tanh": exponential.tanh, "log": logarithm.log,
    "log2": logarithm.log2, "log10": logarithm.log10, "log1p": logarithm.log1p, "asinh": logarithm.asinh,
    "acosh": logarithm.acosh, "atanh": logarithm.atanh, "logit": logarithm.logit, "pow": logarithm.pow,
    "sin": trigonometry.sin, "cos": trigonometry.cos, "tan": trigonometry.tan, "asin": trigonometry.asin,
    "acos": trigonometry.acos, "atan": trigonometry.atan, "atan2": trigonometry.atan2, "erf": error_function.erf,
    "erfc": error_function.erfc, "erfinv": error_function.erfinv, "lgamma": log_gamma.lgamma,
}  # fmt: skip
"""Functions of float32 or float64 expressions for results of the same type."""


def one_like(x: Value) -> Value:
    """1 of the type of x."""
    one = constant(1, x.type)
    return Complex(one, constant(0, x.type)) if isinstance(x, Complex) else one


def complex_function(name: str, *arguments: Value) -> Complex:
    """Return C99's complex function of this name without its c, or "divide", evaluated in double precision."""
    first = next(z for z in arguments if isinstance(z, Complex))
    parts = ((z.re, z.im) for z in map(first.lift, arguments))
    wide = getattr(complex_functions, name)(*(Complex(cast(re, F64), cast(im, F64)) for re, im in parts))
    return Complex(cast(wide.re, first.type), cast(wide.im, first.type))


def function(self: Value, name: str) -> Value:
    """The elementary function `name` of a real or complex expression."""
    return complex_function(name, self) if isinstance(self, Complex) else FUNCTIONS[name](self)


def sigmoid(self: Value) -> Value:
    """1 / (1 + e**-self)."""
    if isinstance(self, Complex):
        return complex_functions.divide(self.lift(1.0), complex_function("exp", -self) + 1.0)
    return exponential.sigmoid(self)


def power(self: Value, exponent: Value) -> Value:
    """C's pow; complex powers by the logarithm, with z**0 = 1."""
    if isinstance(self, Expr) and isinstance(exponent, Expr):
        return logarithm.pow(self, exponent)
    found = complex_function("pow", self, exponent)
    wanted = found.lift(exponent)
    return choose((wanted.re == 0.0) & (wanted.im == 0.0), found.lift(1.0), found)


def divide(self: Value, other: Value) -> Value:
    """Quotient; complex64 is divided in double precision."""
    if isinstance(self, Expr) and isinstance(other, Expr):
        return self / other
    return complex_function("divide", self, other)


def reciprocal_root(x: Expr) -> Expr:
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
