"""Formulas of comparison, logic and classification, of bounds and mixtures, and of copies."""

from __future__ import annotations

import operator
from collections.abc import Callable
from operator import and_, or_
from typing import Any

from ...kernels import elementary, functions
from ...kernels.expression import BOOL, Complex, Expr, Value, choose, constant, guard, select
from ...kernels.functions import fabs, fused, maximum, minimum

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


def finite(self: Value) -> Value:
    """self; what is not finite is refused."""
    fault = ~isfinite(self)
    return Complex(guard(self.re, fault), self.im) if isinstance(self, Complex) else guard(self, fault)


def within(self: Expr, low: Expr, high: Expr) -> Expr:
    """self; what is outside of [low, high] is refused."""
    return guard(self, (self < low) | (self > high))


def normal(drawn: Expr, mean: Expr, std: Expr) -> Expr:
    """A normal number of mean 0 and deviation 1 scaled to others; a negative deviation is refused."""
    return guard(drawn * std + mean, ~(std >= 0.0))


def bernoulli(uniform: Expr, chance: Expr) -> Expr:
    """1 where a number below 1 is smaller than the chance, else 0; a chance outside [0, 1] is refused."""
    drawn = select(uniform < chance, constant(1.0, uniform.type), 0.0)
    return guard(drawn, ~((chance >= 0.0) & (chance <= 1.0)))


isposinf = _of_parts(lambda x: x == INFINITY, or_, False)
isneginf = _of_parts(lambda x: x == -INFINITY, or_, False)


def _extreme(wins: Callable[[Expr, Expr], Expr], of_ints: Callable[[Expr, Expr], Expr]) -> Callable[..., Expr]:
    """The operand that wins; NaN only when both are."""

    def chosen(a: Expr, b: Expr) -> Expr:
        return select(wins(a, b) | functions.isnan(b), a, b) if a.type.is_float else of_ints(a, b)

    return chosen


def where(condition: Value, self: Value, other: Value) -> Value:
    """self where the condition is nonzero, else other."""
    return choose(truth(condition), self, other)


def filled(self: Value, mask: Value, value: Value) -> Value:
    """value where the mask is nonzero, else self."""
    return where(mask, value, self)


def pivoted(self: Value, pivot: Expr, place: Expr) -> Value:
    """self where a row was not swapped with another, else -self: the factor of a determinant."""
    return choose(pivot == place, self, -self)


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


FORMULAS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "logical_and": lambda a, b: truth(a) & truth(b), "logical_or": lambda a, b: truth(a) | truth(b),
    "logical_xor": lambda a, b: truth(a) ^ truth(b), "logical_not": lambda a: ~truth(a),
    "isnan": isnan, "isinf": isinf, "isfinite": isfinite, "isposinf": isposinf, "isneginf": isneginf,
    "signbit": functions.sign_bit,
    "maximum": maximum, "minimum": minimum, "fmax": _extreme(operator.ge, maximum),
    "fmin": _extreme(operator.le, minimum),
    "identity": lambda self: self, "finite": finite, "within": within, "bernoulli": bernoulli, "normal": normal,
    "where": where, "where.filled": filled, "pivoted": pivoted,
    "clamp": clamp, "clamp_min": maximum, "clamp_max": minimum,
    "lerp": lerp, "addcmul": addcmul, "addcdiv": addcdiv,
}  # fmt: skip
