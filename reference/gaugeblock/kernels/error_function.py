"""Error function, its complement and its inverse on float32 and float64 expressions, for results of the same type.

erf is piecewise polynomial. erfc x = e**(-x**2) E(x) for x >= 0 with E piecewise polynomial; x**2, the exponential and
E are taken with what their rounding loses. erfinv x is x times a piecewise polynomial in w = -log(1 - x**2).
"""

from __future__ import annotations

from .approximation import log
from .exponential import falling_parts
from .expression import F32, F64, Expr, select
from .functions import cast, copysign, exact_product, fabs, format_of, mul_add, ordered_sum
from .logarithm import precise_log
from .piecewise import (
    ERF_DOUBLE,
    ERF_SINGLE,
    ERFCX_DOUBLE,
    ERFCX_SINGLE,
    ERFINV_LONG,
    ERFINV_SHORT,
    by_octaves,
    equal_steps,
)

_ERF = {F32: (0.125, ERF_SINGLE), F64: (25.0 / 64.0, ERF_DOUBLE)}
_ERFCX = {F32: (3, ERFCX_SINGLE), F64: (2, ERFCX_DOUBLE)}
# Beyond these erf is 1, erfc is 0.
_ERF_END = {F32: 3.93, F64: 6.0}
_ERFC_END = {F32: 10.2, F64: 27.3}


def erf(x: Expr) -> Expr:
    """Error function."""
    size, end = fabs(x), _ERF_END[x.type]
    high, low = equal_steps(select(size > end, end, size), *_ERF[x.type])
    return copysign(high + low, x)


def erfc(x: Expr) -> Expr:
    """1 - erf x, accurate in the tail."""
    size, end = fabs(x), _ERFC_END[x.type]
    size = select(size > end, end, size)
    square, lost = exact_product(size, size)
    (one, tail), scaled = falling_parts(square)
    high, low = by_octaves(size, None, 2, *_ERFCX[x.type])
    first, exact = exact_product(one, high)
    positive = scaled(first + mul_add(one, low, mul_add(tail - lost * one, high, exact)))
    return select(x < 0.0, format_of(x).number(2.0) - positive, positive)


def erfinv(x: Expr) -> Expr:
    """Inverse of erf; float32 expressions by way of float64."""
    size = fabs(x)
    if x.type is F32:
        wide = cast(x, F64)
        high, low = by_octaves(-log(1.0 - wide * wide), None, 4, 2, ERFINV_SHORT)
        value = cast(wide * (high + low), F32)
    else:
        square, square_low = exact_product(x, x)
        rest, lost = ordered_sum(format_of(x).number(1.0), -square)
        log_high, log_low = precise_log(rest)
        high, low = by_octaves(-log_high, -(log_low + (lost - square_low) / rest), 4, 2, ERFINV_LONG)
        first, exact = exact_product(x, high)
        value = first + mul_add(x, low, exact)
    value = copysign(select(size == 1.0, format_of(x).number(float("inf")), value), x)
    return select(size > 1.0, format_of(x).number(float("nan")), value)
