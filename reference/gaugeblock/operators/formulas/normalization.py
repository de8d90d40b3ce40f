"""Formulas of normalization: centred, divided by the deviation, scaled and shifted."""

from __future__ import annotations

from ...kernels.expression import Lane
from ...kernels.functions import mul_add
from .table import Formula, table


def normalized(self: Lane, mean: Lane, deviation: Lane) -> Lane:
    """(self - mean) * deviation, which is the inverse of the standard deviation."""
    return (self - mean) * deviation


def normalized_weight(self: Lane, mean: Lane, deviation: Lane, weight: Lane) -> Lane:
    """normalized, times weight."""
    return normalized(self, mean, deviation) * weight


def normalized_bias(self: Lane, mean: Lane, deviation: Lane, bias: Lane) -> Lane:
    """normalized, plus bias."""
    return mul_add(self - mean, deviation, bias)


def normalized_both(self: Lane, mean: Lane, deviation: Lane, weight: Lane, bias: Lane) -> Lane:
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
