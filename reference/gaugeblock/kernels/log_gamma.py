"""The logarithm of |gamma| in float64, nearly everything in two terms.

log gamma(2 + d) = (1 - euler) d + sum over k >= 2 of (-d)**k (zeta(k) - 1) / k, which for |d| <= 1/2 falls as 4**-k;
products shift to it, and Stirling's series takes over from 12.5 on. Positive numbers come out within one unit in the
last place; below 0, where zeros are near, the error is absolute, some 2**-60.
"""

from __future__ import annotations

from . import approximation
from .expression import F32, F64, Expr, constant, select, when
from .functions import Pair, cast, exact_product, exact_sum, fabs, isnan, mul_add, ordered_sum, polynomial, rint, times
from .logarithm import precise_log
from .trigonometry import half_turns, size_of_sine

# 1 - euler, (zeta(2) - 1) / 2 and the logarithm of pi in two parts.
_SLOPE = (0.42278433509846713, 4.942915152430645e-18)
_CURVE = (0.3224670334241132, 1.520336175199238e-17)
_LOG_PI = (1.1447298858494002, 1.0265951162707826e-17)
_SERIES = (
    1.330476437424449e-10, -2.7595228851242334e-10, 5.731367241678862e-10, -1.1921401405860912e-09,
    2.4836745438024785e-09, -5.183475041970047e-09, 1.0838659214896955e-08, -2.2711094608943164e-08,
    4.7698101693639804e-08, -1.0043224823968099e-07, 2.1207184805554665e-07, -4.492469198764566e-07,
    9.55141213040742e-07, -2.039215753801366e-06, 4.374866789907488e-06, -9.439488275268397e-06,
    2.050721277567069e-05, -4.492623673813314e-05, 9.945751278180853e-05, -0.00022315475845357939,
    0.0005096695247430425, -0.001192753911703261, 0.0028905103307415234, -0.007385551028673986,
    0.020580808427784546, -0.0673523010531981,
)  # fmt: skip
_STIRLING = (
    -3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12,
)  # fmt: skip
_HALF_LOG_TWO_PI_E = 0.4189385332046727
_STEPS = 10
_FAR = 12.5
_SHORT_STEPS, _SHORT_FAR = 3, 5.5


def _added(a: Pair, b: Pair) -> Pair:
    high, low = exact_sum(a[0], b[0])
    return high, low + (a[1] + b[1])


def _about_two(d: Expr) -> Pair:
    """Return log gamma(2 + d) for |d| <= 1/2."""
    value: Pair = (polynomial(d, _SERIES), constant(0.0, F64))
    for high, low in (_CURVE, _SLOPE):
        product, rest = exact_product(d, value[0])
        total, lost = ordered_sum(constant(high, F64), product)
        value = total, lost + mul_add(d, value[1], rest + low)
    product, rest = exact_product(d, value[0])
    return product, mul_add(d, value[1], rest)


def about_two(d: Expr) -> Expr:
    """Return log gamma(2 + d) for |d| <= 1/2."""
    high, low = _about_two(d)
    return high + low


def _log(x: Pair) -> Pair:
    high, low = precise_log(x[0])
    return high, low + x[1] / x[0]


def _of_positive(x: Expr) -> Pair:
    """For finite x > 0."""
    one, zero = constant(1.0, F64), constant(0.0, F64)
    n = rint(x - 2.0)
    n = select(n > float(_STEPS), float(_STEPS), n)
    shift: Pair = (one, zero)
    for k in range(1, _STEPS + 1):
        factor = select(n >= float(k), x - float(k), one)
        shift = times(shift, (factor, zero))
    above = exact_sum(x, one)
    rising = times((x, zero), (select(n == -2.0, above[0], one), select(n == -2.0, above[1], zero)))
    far = x > _FAR
    high = select(far, x, select(n < 0.0, rising[0], shift[0]))
    low = select(far, zero, select(n < 0.0, rising[1], shift[1]))
    log_high, log_low = _log((high, low))
    sign = select(n < 0.0, constant(-1.0, F64), one)
    near = _added(_about_two(x - (n + 2.0)), (log_high * sign, log_low * sign))
    inverse = 1.0 / x
    tail = mul_add(inverse, polynomial(inverse * inverse, _STIRLING), constant(_HALF_LOG_TWO_PI_E, F64))
    less, lost = ordered_sum(log_high, constant(-1.0, F64))
    product, rest = times(exact_sum(x, constant(-0.5, F64)), (less, lost + log_low))
    rest = select(product < float("inf"), rest, zero)
    return select(far, product, near[0]), select(far, rest + tail, near[1])


def _short_of_positive(x: Expr) -> Expr:
    """For x >= 0 and results rounded to float32: relative error 2**-40."""
    n = rint(x - 2.0)
    n = select(n > float(_SHORT_STEPS), float(_SHORT_STEPS), n)
    shift = constant(1.0, F64)
    for k in range(1, _SHORT_STEPS + 1):
        shift = select(n >= float(k), shift * (x - float(k)), shift)
    shift = select(n < 0.0, select(n == -2.0, x * (x + 1.0), x), shift)
    far = x > _SHORT_FAR
    log = approximation.log(select(far, x, shift))
    d = x - (n + 2.0)
    tail = d * polynomial(d, (*_SERIES[9:], _CURVE[0], _SLOPE[0]))
    inverse = 1.0 / x
    stirling = (x - 0.5) * (log - 1.0) + mul_add(
        inverse, polynomial(inverse * inverse, _STIRLING), constant(_HALF_LOG_TWO_PI_E, F64)
    )
    return select(far, stirling, tail + select(n < 0.0, -log, log))


def lgamma(x: Expr) -> Expr:
    """C's lgamma; of float32 expressions by way of float64."""
    if x.type is F32:
        wide = cast(x, F64)
        return cast(when(wide < 0.0, lambda: lgamma(wide), _short_of_positive(wide)), F32)
    size = fabs(x)
    value = _of_positive(size)
    high, low = _log(times(size_of_sine(half_turns(x)), (size, constant(0.0, F64))))
    pi = constant(_LOG_PI[0], F64), constant(_LOG_PI[1], F64)
    mirrored = _added(_added(pi, (-high, -low)), (-value[0], -value[1]))
    reflected = (x < 0.0) & (size >= 2.0**-60)
    result = select(reflected, mirrored[0] + mirrored[1], value[0] + value[1])
    pole = (size == float("inf")) | ((x <= 0.0) & (rint(x) == x))
    return select(isnan(x), x, select(pole, float("inf"), result))
