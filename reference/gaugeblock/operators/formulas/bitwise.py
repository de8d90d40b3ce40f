"""Formulas on bits of ints and bools."""

from __future__ import annotations

from ...kernels.expression import Expr, constant, select
from .table import Formula, table


def _in_range(count: Expr) -> Expr:
    bits = constant(count.type.bits, count.type)
    return count < bits if count.type.kind == "uint" else (count >= 0) & (count < bits)


def left_shift(self: Expr, other: Expr) -> Expr:
    """self << other; 0 for counts that are negative or reach the width."""
    return select(_in_range(other), self << (other & (self.type.bits - 1)), 0)


def right_shift(self: Expr, other: Expr) -> Expr:
    """self >> other with sign fill; counts that are negative or reach the width leave only the sign."""
    last = self.type.bits - 1
    count = select(_in_range(other), other & last, last)
    shifted = self >> count
    return select(_in_range(other), shifted, 0) if self.type.kind == "uint" else shifted


FORMULAS = table(
    (
        Formula("bitwise_and", lambda a, b: a & b, 2),
        Formula("bitwise_or", lambda a, b: a | b, 2),
        Formula("bitwise_xor", lambda a, b: a ^ b, 2),
        Formula("bitwise_not", lambda a: ~a, 1),
        Formula("bitwise_left_shift", left_shift, 2),
        Formula("bitwise_right_shift", right_shift, 2),
    )
)
