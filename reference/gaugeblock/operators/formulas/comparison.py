"""Formulas of comparison, logic and classification, of bounds and mixtures, and of copies."""

from __future__ import annotations

from collections.abc import Callable
from operator import and_, or_

from ...kernels import elementary, functions
from ...kernels.expression import BOOL, Complex, Expr, Value, choose, constant, select
from ...kernels.functions import fabs, fused, maximum, minimum
from .table import Formula

INFINITY = float("inf")


def truth(x: Value) -> Expr:
    """x != 0; True for NaN."""
    return x != constant(0, x.type) if isinstance(x, Expr) else (x.re != 0.0) | (x.im != 0.0)


def _of_parts(test: Callable[[Expr], Expr], join: Callable[[Expr, Expr], Expr], whole: bool) -> Callable[[Value], Expr]:
    """The test of a float, joined for the components of a complex number; of whole numbers it is known."""

    def classified(x: Value) -> Expr:
        if isinstance(x, Complex):
            return join(test(x.re), test(x.im))
        return test(x) if x.type.is_float else constant(whole, BOOL)

    return classified


isnan = _of_parts(functions.isnan, or_, False)
isinf = _of_parts(functions.isinf, or_, False)
isfinite = _of_parts(functions.isfinite, and_, True)


def isposinf(x: Expr) -> Expr:
    """Equal to +inf."""
    return x == INFINITY if x.type.is_float else constant(False, BOOL)


def isneginf(x: Expr) -> Expr:
    """Equal to -inf."""
    return x == -INFINITY if x.type.is_float else constant(False, BOOL)


def fmax(a: Expr, b: Expr) -> Expr:
    """Larger of two; NaN only when both are."""
    if not a.type.is_float:
        return functions.maximum(a, b)
    return select((a >= b) | functions.isnan(b), a, b)


def fmin(a: Expr, b: Expr) -> Expr:
    """Smaller of two; NaN only when both are."""
    if not a.type.is_float:
        return functions.minimum(a, b)
    return select((a <= b) | functions.isnan(b), a, b)


def identity(self: Value) -> Value:
    """The operand itself: copies, casts and fills."""
    return self


def where(condition: Value, self: Value, other: Value) -> Value:
    """self where the condition is nonzero, else other."""
    return choose(truth(condition), self, other)


def clamp(self: Expr, min: Expr, max: Expr) -> Expr:
    """self within bounds; NaN in any operand gives NaN; max wins over min."""
    return minimum(maximum(self, min), max)


def lerp(self: Value, end: Value, weight: Value) -> Value:
    """self + weight * (end - self), computed from the nearer end."""
    if isinstance(self, Complex) or isinstance(end, Complex) or isinstance(weight, Complex):
        return self + weight * (end - self)
    span = end - self
    return select(fabs(weight) < 0.5, fused(weight, span, self), fused(weight - 1.0, span, end))


def addcmul(self: Value, tensor1: Value, tensor2: Value, value: Value) -> Value:
    """self + value * tensor1 * tensor2."""
    scaled = value * tensor1
    if isinstance(self, Expr) and isinstance(scaled, Expr) and isinstance(tensor2, Expr) and self.type.is_float:
        return fused(scaled, tensor2, self)
    return self + scaled * tensor2


def addcdiv(self: Value, tensor1: Value, tensor2: Value, value: Value) -> Value:
    """self + value * tensor1 / tensor2."""
    return self + elementary.divide(value * tensor1, tensor2)


FORMULAS = (
    Formula("eq", lambda a, b: a == b, 2, result="bool"),
    Formula("ne", lambda a, b: a != b, 2, result="bool"),
    Formula("lt", lambda a, b: a < b, 2, result="bool"),
    Formula("le", lambda a, b: a <= b, 2, result="bool"),
    Formula("gt", lambda a, b: a > b, 2, result="bool"),
    Formula("ge", lambda a, b: a >= b, 2, result="bool"),
    Formula("logical_and", lambda a, b: truth(a) & truth(b), 2, result="bool"),
    Formula("logical_or", lambda a, b: truth(a) | truth(b), 2, result="bool"),
    Formula("logical_xor", lambda a, b: truth(a) ^ truth(b), 2, result="bool"),
    Formula("logical_not", lambda a: ~truth(a), 1, result="bool"),
    Formula("isnan", isnan, 1, result="bool"),
    Formula("isinf", isinf, 1, result="bool"),
    Formula("isfinite", isfinite, 1, result="bool"),
    Formula("isposinf", isposinf, 1, result="bool"),
    Formula("isneginf", isneginf, 1, result="bool"),
    Formula("signbit", functions.sign_bit, 1, result="bool"),
    Formula("maximum", functions.maximum, 2),
    Formula("minimum", functions.minimum, 2),
    Formula("fmax", fmax, 2),
    Formula("fmin", fmin, 2),
    Formula("identity", identity, 1),
    Formula("where", where, 3, raw=(0,)),
    Formula("clamp", clamp, 3),
    Formula("clamp_min", maximum, 2),
    Formula("clamp_max", minimum, 2),
    Formula("lerp", lerp, 3),
    Formula("addcmul", addcmul, 4),
    Formula("addcdiv", addcdiv, 4),
)
