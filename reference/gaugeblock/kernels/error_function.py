"""Error function, its complement and its inverse on float32 and float64 expressions, for results of the same type.

For float32, erf is a polynomial for each interval; erfc x = e**(-x**2) Q((x - 4) / (x + 4)) / (x + 4) and erfinv are
computed in float64.

For float64, erfc x = e**(-x**2) E(x) for x >= 0 with E piecewise polynomial; x**2, the exponential and E are taken with
what their rounding loses. erf x is x + x P(x**2) for small x and the rest of erfc beyond. erfinv x is x times a
piecewise polynomial in w = -log(1 - x**2).
"""

from __future__ import annotations

from . import approximation
from .exponential import falling_parts
from .expression import F32, F64, Expr, constant, select
from .functions import (
    SINGLE,
    Pair,
    cast,
    copysign,
    exact_product,
    fabs,
    format_of,
    lookup,
    mul_add,
    ordered_sum,
    polynomial,
)
from .logarithm import precise_log
from .piecewise import ERFCX, ERFINV, by_octaves

# erf at 17/64 j in two parts, then at the distance t from there the polynomial (erf - that) / t - 1, highest first.
_SHORT_ERF = (
    (0.0, 0.29282326, 0.54752845, 0.740237, 0.8670583, 0.93965334, 0.9757977, 0.9914503, 0.997346, 0.9992774,
     0.9998277, 0.99996406, 0.99999344, 0.999999, 0.9999999, 1.0),
    (0.0, -1.4000726e-08, -3.2112796e-10, -1.3486891e-08, -7.695174e-09, 1.6409523e-08, 7.787205e-09, -2.1510873e-08,
     -1.3341569e-08, -2.1381947e-08, 1.40427305e-08, 3.8467487e-09, 6.3601493e-09, -2.9144134e-08, -2.5547603e-08,
     -1.753052e-08),
    (-0.025254542, -0.013456362, 0.0015565488, 0.02364766, -0.0068536703, 0.017057939, 0.009818817, -0.00033062432,
     -0.021775927, 0.0075149396, 0.012271175, -0.017770655, 0.014442251, 0.025380025, -0.016670061, 0.021270974),
    (0.0, -0.041944798, -0.048274234, -0.020687094, 0.0105369035, 0.022176944, 0.015736489, 0.004719342,
     -0.0017743646, -0.0030765873, -0.0020970688, -0.0009799069, -0.00035077814, -0.00010054197, -2.361503e-05,
     -4.6063874e-06),
    (0.11279007, 0.076122105, -0.0017119966, -0.060107414, -0.065595314, -0.037470568, -0.005521572, 0.010883712,
     0.013199814, 0.007806833, 0.0034003938, 0.0020620418, -7.5803575e-05, -0.0007888191, 0.00061302574, -0.0007487531),
    (0.0, 0.13308246, 0.18349421, 0.13738924, 0.04795959, -0.022591393, -0.049167838, -0.043140687, -0.026361302,
     -0.012491903, -0.0047874427, -0.0015158805, -0.00040157858, -8.973243e-05, -1.7007214e-05, -2.7453098e-06),
    (-0.37612596, -0.30104163, -0.12353998, 0.053822316, 0.15298581, 0.16294457, 0.1210316, 0.070111796, 0.033029865,
     0.012932652, 0.004257873, 0.0011781764, 0.00028648216, 6.655587e-05, 3.5680455e-06, 9.5322075e-06),
    (0.0, -0.2793069, -0.452048, -0.47650123, -0.38770932, -0.25682366, -0.14182419, -0.06612206, -0.026224243,
     -0.0088906875, -0.0025851636, -0.0006462362, -0.0001391252, -2.5829106e-05, -4.139531e-06, -5.7317453e-07),
    (0.12837917, 0.051508285, -0.14908609, -0.40203768, -0.6350971, -0.8066269, -0.9110123, -0.96443856, -0.98765916,
     -0.996281, -0.9990268, -0.9997788, -0.99995637, -0.99999255, -0.99999887, -0.9999999),
)  # fmt: skip
_STEP = 17.0 / 64.0
# e**(x**2) erfc x (x + 4) in (x - 4) / (x + 4) to 2**-30.
_SHORT_ERFCX = (
    2.251868217656411e-06, -1.4144981721073182e-05, -1.1559029238187144e-07, 0.00017004627124010858,
    -0.0004578550121774223, -0.0002759060311339275, 0.006113322367330667, -0.026372092158206333, 0.07638120013245972,
    -0.17401051301813375, 0.3308516265604382, -0.5408538703344232, 0.7732087004464392, -0.9765487280408456,
    1.0959956610145618,
)  # fmt: skip
# erf x / x - 1 in x**2.
_SMALL = (
    -8.92927240195422e-10, 1.4223998928263829e-08, -1.6306039599041771e-07, 1.6458179961912446e-06,
    -1.4925478409920986e-05, 0.00012055327952364109, -0.0008548326926418525, 0.00522397762425391, -0.026866170645045317,
    0.11283791670954804, -0.3761263890318375, 0.1283791670955126,
)  # fmt: skip
_TURN = 0.83
"""From here on erf is computed as 1 - erfc."""
# Beyond these erf is 1, erfc is 0.
_ERF_END, _ERFC_END = 3.95, {F32: 10.2, F64: 27.3}


def erf(x: Expr) -> Expr:
    """Error function."""
    size = fabs(x)
    if x.type is F32:
        size = select(size > _ERF_END, _ERF_END, size)
        k, index = SINGLE.nearest(size, 1.0 / _STEP)
        high, low, slope, *rest = [lookup(column, index, F32) for column in _SHORT_ERF]
        t = mul_add(k, SINGLE.number(-_STEP), size)
        for coefficient in rest:
            slope = mul_add(slope, t, coefficient)
        value = high + (t + mul_add(t, slope, low))
    else:
        near = select(size > _TURN, 0.0, size)
        value = mul_add(near, polynomial(near * near, _SMALL), near)
        value = select(size > _TURN, 1.0 - _falling(size), select(x != x, x, value))
    return copysign(value, x)


def erfc(x: Expr) -> Expr:
    """1 - erf x, accurate in the tail."""
    positive = _falling(fabs(x))
    return select(x < 0.0, format_of(x).number(2.0) - positive, positive)


def _falling(size: Expr) -> Expr:
    """1 - erf of what is not negative."""
    end = _ERFC_END[size.type]
    size = select(size > end, end, size)
    if size.type is F32:
        wide = cast(size, F64)
        inverse = 1.0 / (wide + 4.0)
        return cast(approximation.exp(-wide * wide) * polynomial((wide - 4.0) * inverse, _SHORT_ERFCX) * inverse, F32)
    square, lost = exact_product(size, size)
    (one, tail), scaled = falling_parts(square)
    high, low = by_octaves(size, None, 2, ERFCX)
    first, exact = exact_product(one, high)
    return scaled(first + mul_add(one, low, mul_add(tail - lost * one, high, exact)))


def erfinv(x: Expr) -> Expr:
    """Inverse of erf; float32 expressions by way of float64."""
    if x.type is F32:
        return cast(erfinv(cast(x, F64)), F32)
    square, square_low = exact_product(x, x)
    rest, lost = ordered_sum(constant(1.0, F64), -square)
    high, low = inverse_ratio(rest, lost - square_low)
    first, exact = exact_product(x, high)
    value = first + mul_add(x, low, exact)
    size = fabs(x)
    value = copysign(select(size == 1.0, float("inf"), value), x)
    return select(size > 1.0, float("nan"), value)


def inverse_ratio(rest: Expr, low: Expr) -> Pair:
    """erfinv x / x, in two terms, for 1 - x**2 = rest + low, which is at least 2**-60."""
    log_high, log_low = precise_log(rest)
    return by_octaves(-log_high, -(log_low + low / rest), 4, ERFINV)
