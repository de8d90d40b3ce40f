"""Error function, its complement and its inverse on float32 and float64 expressions, for results of the same type.

For float32 all are computed in float64: erf x = x P(x**2), erfc x = e**(-x**2) Q((x - 4) / (x + 4)) / (x + 4).

For float64, erfc x = e**(-x**2) E(x) for x >= 0 with E piecewise polynomial; x**2, the exponential and E are taken with
what their rounding loses. erf x is x + x P(x**2) for small x and the rest of erfc beyond. erfinv x is x times a
piecewise polynomial in w = -log(1 - x**2).
"""

from __future__ import annotations

from . import approximation
from .exponential import falling_parts
from .expression import F32, F64, Expr, constant, select
from .functions import cast, copysign, exact_product, fabs, format_of, mul_add, ordered_sum, polynomial
from .logarithm import precise_log
from .piecewise import ERFCX, ERFINV, by_octaves

# erf x / x in x**2 / 8 - 1 to 2**-33; e**(x**2) erfc x (x + 4) in (x - 4) / (x + 4) to 2**-30.
_SHORT_ERF = (
    -3.671410208775849e-05, 9.735200507674453e-05, -7.231684146846917e-05, 0.00015834105341817537,
    -0.0006730865484744391, 0.001438018248864867, -0.002530356530716061, 0.0047468294006373455, -0.0086300377496573,
    0.014397568196491002, -0.02246618342540271, 0.03304758579765117, -0.04576648194937769, 0.059888935444079985,
    -0.07472772607116117, 0.09020883404928404, -0.10771044904000053, 0.1316751217802348, -0.17657623321207172,
    0.3535309956188321,
)  # fmt: skip
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
_ERF_END, _ERFC_END = 4.0, {F32: 10.2, F64: 27.3}


def erf(x: Expr) -> Expr:
    """Error function."""
    size = fabs(x)
    if x.type is F32:
        wide = cast(select(size > _ERF_END, _ERF_END, size), F64)
        value = cast(wide * polynomial(mul_add(wide, wide * 0.125, constant(-1.0, F64)), _SHORT_ERF), F32)
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
    size = fabs(x)
    square, square_low = exact_product(x, x)
    rest, lost = ordered_sum(constant(1.0, F64), -square)
    log_high, log_low = precise_log(rest)
    high, low = by_octaves(-log_high, -(log_low + (lost - square_low) / rest), 4, ERFINV)
    first, exact = exact_product(x, high)
    value = first + mul_add(x, low, exact)
    value = copysign(select(size == 1.0, float("inf"), value), x)
    return select(size > 1.0, float("nan"), value)
