"""Formulas of whole windows, with every place of the window as an operand."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

from .expression import Expr, select
from .functions import cast, isnan, maximum


def total(*exprs: Expr) -> Expr:
    """The sum of the expressions."""
    return functools.reduce(operator.add, exprs)


def largest(*exprs: Expr) -> Expr:
    """The largest expression; NaN wins."""
    return functools.reduce(maximum, exprs)


@functools.cache
def first_largest(begin: int, end: int, *, placed: bool) -> Callable[..., tuple[Expr, Expr]]:
    """(the largest of a window's elements `begin` to `end`, its place); of equal ones the first, of NaN the last.

    Its arguments: the result of the elements before `begin`, if there are any; the elements; if they are `placed`, the
    place of each, which is added; where the window begins; the step from one element to the next.
    """
    count, before = end - begin, 2 if begin else 0

    def first_largest(*exprs: Expr) -> tuple[Expr, Expr]:
        *given, start, step = exprs
        best, at = given[0], cast(given[1], start.type) if begin else start
        at = at + given[count] if placed and not begin else at
        for k in range(0 if begin else 1, count):
            expr, place = given[before + k], start + step * (begin + k)
            place = place + given[before + count + k] if placed else place
            better = expr > best
            if placed:
                better = better | ((expr == best) & (place < at))
            if expr.type.is_float:
                better = better | (isnan(expr) & (~isnan(best) | (place > at)) if placed else isnan(expr))
            best, at = select(better, expr, best), select(better, place, at)
        return best, at

    return first_largest


def at_padding(lowest: Expr, *begins: Expr) -> tuple[Expr, Expr]:
    """(the lowest value, the sum of where a window begins along each dim)."""
    return lowest, total(*begins)


def quotient(value: Expr, *divisors: Expr) -> Expr:
    """The value divided by the product of the divisors; an int is divided as float64 and cut off."""
    product = functools.reduce(operator.mul, divisors)
    found = cast(value, product.type) / product
    return cast(found, value.type)
