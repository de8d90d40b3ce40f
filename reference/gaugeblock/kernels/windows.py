"""Formulas of whole windows, with every place of the window as an operand."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from itertools import product
from math import prod

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


@functools.cache
def first_in_window(taps: tuple[int, ...]) -> Callable[..., tuple[Expr, Expr]]:
    """first_largest of windows of so many elements along each dim. Its arguments: the elements, the last dim's first;
    where the window begins along each dim; the steps along each dim from one element to the next."""
    count, dims = prod(taps), len(taps)

    def first_in_window(*exprs: Expr) -> tuple[Expr, Expr]:
        elements, begins, steps = exprs[:count], exprs[count : count + dims], exprs[count + dims :]
        start = total(*begins)
        best, at = elements[0], start
        for expr, places in list(zip(elements, product(*map(range, taps)), strict=True))[1:]:
            place = total(start, *[step * k if k > 1 else step for step, k in zip(steps, places, strict=True) if k])
            better = (expr > best) | isnan(expr) if expr.type.is_float else expr > best
            best, at = select(better, expr, best), select(better, place, at)
        return best, at

    return first_in_window


def at_padding(lowest: Expr, *begins: Expr) -> tuple[Expr, Expr]:
    """(the lowest value, the sum of where a window begins along each dim)."""
    return lowest, total(*begins)


def quotient(value: Expr, *divisors: Expr) -> Expr:
    """The value divided by the product of the divisors; an int is divided as float64 and cut off."""
    product = functools.reduce(operator.mul, divisors)
    found = cast(value, product.type) / product
    return cast(found, value.type)
