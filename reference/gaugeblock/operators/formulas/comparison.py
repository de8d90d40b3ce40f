"""Formulas of comparison, logic and classification; smaller and larger of two."""

from __future__ import annotations

from ...kernels import functions
from ...kernels.expression import BOOL, Complex, Expr, Value, constant, select
from .table import Formula, table

INFINITY = float("inf")


def truth(x: Value) -> Expr:
    """x != 0; True for NaN."""
    return x != constant(0, x.type) if isinstance(x, Expr) else (x.re != 0.0) | (x.im != 0.0)


def isnan(x: Value) -> Expr:
    """NaN in any component."""
    if isinstance(x, Complex):
        return functions.isnan(x.re) | functions.isnan(x.im)
    return functions.isnan(x) if x.type.is_float else constant(False, BOOL)


def isinf(x: Value) -> Expr:
    """Infinite in any component."""
    if isinstance(x, Complex):
        return functions.isinf(x.re) | functions.isinf(x.im)
    return functions.isinf(x) if x.type.is_float else constant(False, BOOL)


def isfinite(x: Value) -> Expr:
    """Finite in all components."""
    if isinstance(x, Complex):
        return functions.isfinite(x.re) & functions.isfinite(x.im)
    return functions.isfinite(x) if x.type.is_float else constant(True, BOOL)


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


FORMULAS = table(
    (
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
    )
)
