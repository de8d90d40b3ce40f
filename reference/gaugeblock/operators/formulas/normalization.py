"""Formulas of normalization: centred, divided by the deviation, scaled and shifted."""

from __future__ import annotations

from ...kernels.expression import Expr
from ...kernels.functions import mul_add
from .table import Formula, table


def normalized(self: Expr, mean: Expr, deviation: Expr) -> Expr:
    """(self - mean) * deviation, which is the inverse of the standard deviation."""
    return (self - mean) * deviation


def normalized_weight(self: Expr, mean: Expr, deviation: Expr, weight: Expr) -> Expr:
    """normalized, times weight."""
    return normalized(self, mean, deviation) * weight


def normalized_bias(self: Expr, mean: Expr, deviation: Expr, bias: Expr) -> Expr:
    """normalized, plus bias."""
    return mul_add(self - mean, deviation, bias)


def normalized_both(self: Expr, mean: Expr, deviation: Expr, weight: Expr, bias: Expr) -> Expr:
    """normalized, times weight plus bias."""
    return mul_add(normalized(self, mean, deviation), weight, bias)


FORMULAS = table(
    (
        Formula("normalized", normalized, 3),
        Formula("normalized.weight", normalized_weight, 4),
        Formula("normalized.bias", normalized_bias, 4),
        Formula("normalized.weight.bias", normalized_both, 5),
    )
)
