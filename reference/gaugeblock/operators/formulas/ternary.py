"""Formulas of three and more operands, and copies."""

from __future__ import annotations

from ...kernels import elementary
from ...kernels.expression import Complex, Expr, Value, choose, select
from ...kernels.functions import fabs, fused, maximum, minimum
from .comparison import truth
from .table import Formula, table


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


FORMULAS = table(
    (
        Formula("identity", identity, 1),
        Formula("where", where, 3, raw=(0,)),
        Formula("clamp", clamp, 3),
        Formula("clamp_min", maximum, 2),
        Formula("clamp_max", minimum, 2),
        Formula("lerp", lerp, 3),
        Formula("addcmul", addcmul, 4),
        Formula("addcdiv", addcdiv, 4),
    )
)
