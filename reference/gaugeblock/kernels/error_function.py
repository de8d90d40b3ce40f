"""Error function and its complement on float32 and float64 lanes, for results of the same type.

erf is piecewise polynomial. erfc x = e**(-x**2) E(x) for x >= 0 with E piecewise polynomial; x**2, the exponential and
E are taken with what their rounding loses.
"""

from __future__ import annotations

from .double_word import exact_product
from .exponential import falling_parts
from .expression import F32, F64, Lane, select
from .formats import format_of
from .functions import copysign, fabs, mul_add
from .piecewise import by_octaves, equal_steps
from .piecewise_tables import ERF_DOUBLE, ERF_SINGLE, ERFCX_DOUBLE, ERFCX_SINGLE

_ERF = {F32: (0.125, ERF_SINGLE), F64: (25.0 / 64.0, ERF_DOUBLE)}
_ERFCX = {F32: (3, ERFCX_SINGLE), F64: (2, ERFCX_DOUBLE)}
# Beyond these erf is 1, erfc is 0.
_ERF_END = {F32: 3.93, F64: 6.0}
_ERFC_END = {F32: 10.2, F64: 27.3}


def erf(x: Lane) -> Lane:
    """Error function."""
    size, end = fabs(x), _ERF_END[x.type]
    high, low = equal_steps(select(size > end, end, size), *_ERF[x.type])
    return copysign(high + low, x)


def erfc(x: Lane) -> Lane:
    """1 - erf x, accurate in the tail."""
    size, end = fabs(x), _ERFC_END[x.type]
    size = select(size > end, end, size)
    square, lost = exact_product(size, size)
    (one, tail), scaled = falling_parts(square)
    high, low = by_octaves(size, *_ERFCX[x.type])
    first, exact = exact_product(one, high)
    positive = scaled(first + mul_add(one, low, mul_add(tail - lost * one, high, exact)))
    return select(x < 0.0, format_of(x).number(2.0) - positive, positive)
