"""Formulas of whole windows: every place of the window is an operand, so that one loop does it all."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

from ..core.dtype import DType
from .expression import Lane, select
from .functions import convert_lane, isnan, maximum, mul_add
from .pointwise import PointwiseKernel, pointwise_kernel


@functools.cache
def _sum_of_products(count: int) -> Callable[..., Lane]:
    def total(*lanes: Lane) -> Lane:
        """The first `count` lanes times the others, added up."""
        found = lanes[0] * lanes[count]
        for x, weight in zip(lanes[1:count], lanes[count + 1 :], strict=True):
            found = mul_add(x, weight, found) if x.type.is_float else found + x * weight
        return found

    return total


def total(*lanes: Lane) -> Lane:
    """The sum of the lanes."""
    return functools.reduce(operator.add, lanes)


def largest(*lanes: Lane) -> Lane:
    """The largest lane; NaN wins."""
    return functools.reduce(maximum, lanes)


@functools.cache
def first_largest(begin: int, end: int, *, placed: bool) -> Callable[..., tuple[Lane, Lane]]:
    """(the largest of a window's elements `begin` to `end`, its place); of equal ones the first, of NaN the last.

    The lanes: the result of the elements before `begin`, if there are any; the elements; if they are `placed`, the
    place of each, which is added; where the window begins; the step from one element to the next.
    """
    count, before = end - begin, 2 if begin else 0

    def first_largest(*lanes: Lane) -> tuple[Lane, Lane]:
        *given, start, step = lanes
        best, at = given[0], convert_lane(given[1], start.type) if begin else start
        at = at + given[count] if placed and not begin else at
        for k in range(0 if begin else 1, count):
            lane, place = given[before + k], start + step * (begin + k)
            place = place + given[before + count + k] if placed else place
            if placed:
                better = _comes_before(lane, place, best, at)
            else:
                better = (lane > best) | isnan(lane) if lane.type.is_float else lane > best
            best, at = select(better, lane, best), select(better, place, at)
        return best, at

    return first_largest


def _comes_before(lane: Lane, place: Lane, best: Lane, at: Lane) -> Lane:
    tied = (lane == best) & (place < at)
    if not lane.type.is_float:
        return (lane > best) | tied
    return (lane > best) | tied | (isnan(lane) & (~isnan(best) | (place > at)))


def at_padding(lowest: Lane, *begins: Lane) -> tuple[Lane, Lane]:
    """(the lowest value, the sum of where a window begins along each dim)."""
    return lowest, total(*begins)


def quotient(value: Lane, *divisors: Lane) -> Lane:
    """The value divided by the product of the divisors; an int is divided as float64 and cut off."""
    product = functools.reduce(operator.mul, divisors)
    found = convert_lane(value, product.type) / product
    return convert_lane(found, value.type)


def products_kernel(count: int, dtype: DType, compute: DType, result: DType | None = None) -> PointwiseKernel:
    """The sum of `count` products: the windows' elements first, then the weights, in the dtype computed in for another
    `result`."""
    weights = dtype if result is None else compute
    kinds = [*[dtype] * count, *[weights] * count]
    return pointwise_kernel("window sum", _sum_of_products(count), kinds, compute, (result or dtype,))
