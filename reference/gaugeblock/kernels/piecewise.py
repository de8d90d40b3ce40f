"""Functions of float lanes by intervals, a polynomial each: the coefficients are looked up by the interval.

A row holds the value at the centre of its interval in two parts, then the coefficients, lowest first, of a polynomial
P; at the distance t from the centre the function is value + t P(t), or value + t + t P(t) where a slope of 1 is left
out.
"""

from __future__ import annotations

from .double_word import Pair, ordered_sum
from .expression import Lane
from .formats import format_of
from .functions import bits_of, lookup, mul_add

Rows = tuple[tuple[float, ...], ...]


def _columns(rows: Rows, index: Lane, x: Lane) -> list[Lane]:
    return [lookup(column, index, x.type) for column in zip(*rows, strict=True)]


def _slope(t: Lane, coefficients: list[Lane]) -> Lane:
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = mul_add(value, t, coefficient)
    return value


def equal_steps(x: Lane, step: float, rows: Rows) -> Pair:
    """The function with centres j * step for j = 0, 1, ..., its rows without a slope of 1, in two terms."""
    format = format_of(x)
    k, index = format.nearest(x, 1.0 / step)
    t = mul_add(k, format.number(-step), x)
    high, low, *coefficients = _columns(rows, index, x)
    return high, t + mul_add(t, _slope(t, coefficients), low)


def by_octaves(x: Lane, parts: int, rows: Rows) -> Pair:
    """The function of 0 <= x < 30 with 2**parts intervals for each octave of 2 + x, in two terms.

    The rows begin with the centres of the intervals.
    """
    index = bits_of(x + 2.0) >> (format_of(x).mantissa - parts)
    centre, high, low, *coefficients = _columns(rows, index, x)
    t = x - centre
    return ordered_sum(high, mul_add(t, _slope(t, coefficients), low))
