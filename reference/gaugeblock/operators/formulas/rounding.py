"""Formulas that round; ints pass through."""

from __future__ import annotations

from collections.abc import Callable

from ...kernels import functions
from ...kernels.expression import Expr
from .table import Formula, table


def _on_floats(function: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    def rounded(self: Expr) -> Expr:
        return function(self) if self.type.is_float else self

    return rounded


def frac(self: Expr) -> Expr:
    """self - trunc(self)."""
    return self - functions.truncate(self)


def round_decimals(self: Expr, scale: Expr) -> Expr:
    """self rounded to a multiple of 1 / scale."""
    return functions.rint(self * scale) / scale


def round_tens(self: Expr, scale: Expr) -> Expr:
    """self rounded to a multiple of scale."""
    return functions.rint(self / scale) * scale


FORMULAS = table(
    (
        Formula("floor", _on_floats(functions.floor), 1),
        Formula("ceil", _on_floats(functions.ceil), 1),
        Formula("round", _on_floats(functions.rint), 1),
        Formula("round.decimals", round_decimals, 2),
        Formula("round.tens", round_tens, 2),
        Formula("trunc", _on_floats(functions.truncate), 1),
        Formula("frac", frac, 1),
    )
)
