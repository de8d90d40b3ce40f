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


def by_octaves(x: Lane, low_part: Lane | None, offset: int, parts: int, rows: Rows) -> Pair:
    """The function of x + low_part for 0 <= x < 15 * offset, in two terms.

    There are 2**parts intervals for each of the four octaves of offset + x; the rows begin with their centres. The
    offset is a power of two.
    """
    format = format_of(x)
    index = bits_of(x + float(offset)) >> (format.mantissa - parts)
    turn = -((format.bias + offset.bit_length() - 1) % 4 << parts)
    centre, high, low, *coefficients = _columns(rows[turn:] + rows[:turn], index, x)
    t = x - centre if low_part is None else (x - centre) + low_part
    return ordered_sum(high, mul_add(t, _slope(t, coefficients), low))
