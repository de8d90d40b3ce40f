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
from .expression import F32, F64, Expr, constant, select, when
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
    polynomial_by_pairs,
    sqrt,
)
from .logarithm import precise_log
from .piecewise import ERFCX, ERFINV, by_octaves

# erf at 17/32 j in two parts, a rough slope s there, then at the distance t from there the polynomial
# (erf - that) / t - s, highest first.
_SHORT_ERF = (
    (0.0, 0.54752845, 0.8670583, 0.9757977, 0.997346, 0.9998277, 0.99999344, 0.9999999),
    (0.0, -3.2112796e-10, -7.695174e-09, 7.787205e-09, -1.3341569e-08, 1.40427305e-08, 6.3601493e-09,
     -2.5547603e-08),
    (1.0, 1.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.009250197, -0.0053714644, -0.0010494804, 0.0013596518, 8.209744e-06, -9.641834e-05, -1.3516417e-05),
    (-0.026140368, 0.007430645, 0.012362379, -0.005751821, -0.0019134847, 0.00066365494, 0.00021866722,
     2.03982e-05),
    (0.0, -0.048592273, 0.010667561, 0.015752532, -0.0018198206, -0.002098216, -0.00034737415, -2.311624e-05),
    (0.11280607, -0.0019109437, -0.06627137, -0.0049758507, 0.01249778, 0.0038116993, 0.00042751295, 2.227913e-05),
    (0.0, 0.18349768, 0.04795935, -0.049167693, -0.026360871, -0.004787409, -0.00040161482, -1.7013188e-05),
    (-0.37612593, -0.12353803, 0.15299296, 0.12102587, 0.03303736, 0.00425346, 0.00028109606, 9.892648e-06),
    (0.0, -0.452048, -0.38770932, -0.14182419, -0.026224243, -0.0025851638, -0.00013912508, -4.139507e-06),
    (0.12837917, -0.14908609, 0.11490289, 0.08898772, 0.01234082, 0.0009732381, 4.3647087e-05, 1.113147e-06),
)  # fmt: skip
_STEP = 17.0 / 32.0
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
# erfinv x / x for w = -log(1 - x**2), highest power first: in w - 5/2 for w up to 5, in sqrt(w) - 4.043 for w up to 34.
_SHORT_ERFINV = (
    4.3091980487973107e-13, -3.3598268288063424e-13, -2.995662366843854e-11, 1.2976544644903763e-10,
    9.010648467292279e-10, -1.0906193506588463e-08, 1.3435347691528012e-08, 4.788352024086522e-07,
    -3.4166493476144987e-06, -4.996219579082339e-06, 0.00021825028771289585, -0.0012527078285750255,
    -0.004177317731364479, 0.24664027673112085, 1.5014093511111337,
)  # fmt: skip
_SHORT_ERFINV_TAIL = (
    -1.149004231790768e-10, 3.918215518175552e-10, 1.3154679861122223e-09, -7.190571790160543e-09,
    4.065489493046445e-09, 3.028435852869499e-08, -8.957880149849139e-08, 1.5820652573260913e-07,
    -1.4205685924093498e-07, -4.866517034431777e-07, 2.771473374901143e-06, -7.665051674377686e-06,
    1.549462115328074e-05, -2.6669383626435494e-05, 4.6781093682639295e-05, -0.00010469101271739896,
    0.0002970733244759942, -0.0008158812342356034, 0.001151216933574819, 1.0095968798833106, 3.883194268749641,
)  # fmt: skip
# Beyond these erf is 1, erfc is 0.
_ERF_END, _ERFC_END = 3.95, {F32: 10.2, F64: 27.3}


def erf(x: Expr) -> Expr:
    """Error function."""
    size = fabs(x)
    if x.type is F32:
        size = select(size > _ERF_END, _ERF_END, size)
        k, index = SINGLE.nearest(size, 1.0 / _STEP)
        high, low, rough, slope, *rest = [lookup(column, index, F32) for column in _SHORT_ERF]
        t = mul_add(k, SINGLE.number(-_STEP), size)
        for coefficient in rest:
            slope = mul_add(slope, t, coefficient)
        value, lost = ordered_sum(high, rough * t)
        value = value + (lost + mul_add(t, slope, low))
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
    """Inverse of erf."""
    size = fabs(x)
    if x.type is F32:
        wide = cast(x, F64)
        rest = select(size < 1.0, mul_add(-wide, wide, constant(1.0, F64)), 1.0)
        value = cast(wide * short_inverse_ratio(-approximation.log_of_normal(rest)), F32)
    else:
        square, square_low = exact_product(x, x)
        rest, lost = ordered_sum(constant(1.0, F64), -square)
        high, low = inverse_ratio(rest, lost - square_low)
        first, exact = exact_product(x, high)
        value = first + mul_add(x, low, exact)
    value = copysign(select(size == 1.0, float("inf"), value), x)
    return select(size > 1.0, float("nan"), value)


def short_inverse_ratio(w: Expr) -> Expr:
    """erfinv x / x for float64 w = -log(1 - x**2) up to 34, for a result that is rounded to float32."""
    t = w - 2.5
    near = polynomial_by_pairs(t, t * t, _SHORT_ERFINV)

    def tail() -> Expr:
        t = sqrt(w) - 4.043
        return polynomial_by_pairs(t, t * t, _SHORT_ERFINV_TAIL)

    return when(w > 5.0, tail, near)


def inverse_ratio(rest: Expr, low: Expr) -> Pair:
    """erfinv x / x, in two terms, for 1 - x**2 = rest + low, which is at least 2**-60."""
    log_high, log_low = precise_log(rest)
    return by_octaves(-log_high, -(log_low + low / rest), 4, ERFINV)
