"""Sums of two lanes hi + lo that stand for one number of about twice the precision (Dekker 1971)."""

from __future__ import annotations

from .expression import Lane
from .functions import fused, mul_add

Pair = tuple[Lane, Lane]


def ordered_sum(a: Lane, b: Lane) -> Pair:
    """a + b exactly, for |a| >= |b| or a = 0."""
    total = a + b
    return total, b - (total - a)


def exact_sum(a: Lane, b: Lane) -> Pair:
    """a + b exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def exact_product(a: Lane, b: Lane) -> Pair:
    """a * b exactly, but for underflow."""
    product = a * b
    return product, fused(a, b, -product)


def times(a: Pair, b: Pair) -> Pair:
    """Product of two pairs, its terms not renormalised: relative error about 2**-2p for p-bit lanes."""
    high, low = exact_product(a[0], b[0])
    return high, mul_add(a[0], b[1], mul_add(a[1], b[0], low))


def quotient(a: Pair, b: Pair) -> Pair:
    """a / b, the second term to a few units in its last place."""
    high = a[0] / b[0]
    rest = fused(-high, b[0], a[0])
    return high, (rest + mul_add(-high, b[1], a[1])) / b[0]
