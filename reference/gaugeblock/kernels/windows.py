"""Formulas of whole windows: every place of the window is an operand, so that one loop does it all."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..core.dtype import DType, int64
from .expression import INT, Lane, constant, select
from .functions import isnan, mul_add
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


@functools.cache
def _largest(count: int) -> Callable[..., tuple[Lane, Lane]]:
    def largest(*lanes: Lane) -> tuple[Lane, Lane]:
        """The largest lane and its number; of equal ones the first, of NaN the last."""
        best, place = lanes[0], constant(0, INT[64])
        for number, lane in enumerate(lanes[1:], 1):
            better = (lane > best) | isnan(lane) if lane.type.is_float else lane > best
            best, place = select(better, lane, best), select(better, constant(number, INT[64]), place)
        return best, place

    return largest


def products_kernel(count: int, dtype: DType, compute: DType) -> PointwiseKernel:
    """The sum of `count` products: the windows' elements first, then the weights."""
    return pointwise_kernel("window sum", _sum_of_products(count), [dtype] * (2 * count), compute, (dtype,))


def largest_kernel(count: int, dtype: DType) -> PointwiseKernel:
    """(the largest of `count` elements, its number as int64)."""
    return pointwise_kernel("window maximum", _largest(count), [dtype] * count, dtype, (dtype, int64))
