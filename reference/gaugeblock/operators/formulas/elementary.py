"""Formulas of the elementary functions: float32 and float64 within 1 ULP, complex in double precision."""

from __future__ import annotations

import functools

from ...kernels import elementary as e
from ...kernels import trigonometry
from ...kernels.expression import Complex, Expr, Value, constant, select
from ...kernels.functions import copysign, maximum
from .table import Formula, table


def relu(self: Expr) -> Expr:
    """max(self, 0), NaN kept."""
    return maximum(self, constant(0, self.type))


def angle(self: Value) -> Expr:
    """Argument of a complex number; 0 or pi for reals, NaN kept."""
    if isinstance(self, Complex):
        return trigonometry.atan2(self.im, self.re)
    return select(self != self, self, select(self < 0.0, constant(3.141592653589793, self.type), 0.0))


def _named(name: str) -> Formula:
    return Formula(name, functools.partial(e.function, name=name), 1, compute="float")


_NAMED = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv "
    "lgamma"
)

FORMULAS = table(
    (
        *map(_named, _NAMED.split()),
        Formula("sigmoid", e.sigmoid, 1, compute="float"),
        Formula("relu", relu, 1),
        Formula("angle", angle, 1, compute="float", result="real"),
        Formula("atan2", trigonometry.atan2, 2, compute="float"),
        Formula("hypot", trigonometry.hypot, 2),
        Formula("copysign", copysign, 2, compute="float"),
    )
)
