"""The inverses of the complex trigonometric and hyperbolic functions in float64 lanes, with C99's edges and cuts.

They are Kahan's ("Branch cuts for complex elementary functions", 1987), from square roots of 1 + z and 1 - z.
"""

from __future__ import annotations

from .arctangent import atan2, hypot
from .complex_functions import INFINITY, LOG_TWO, NAN, log_of_size, number, root, turned, turned_back
from .complex_lanes import Complex
from .expression import Lane, select
from .functions import copysign, fabs, isnan, sign_bit
from .logarithm import asinh as real_asinh
from .logarithm import log as real_log
from .logarithm import log1p

QUARTER = 1.5707963267948966
"""A quarter turn."""


def _roots(z: Complex) -> tuple[Complex, Complex]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    return root(Complex(1.0 - z.re, -z.im)), root(Complex(z.re + 1.0, z.im))


def _huge(z: Complex) -> Lane:
    """Where 1 is nothing beside z, and the products of the roots could overflow."""
    return (fabs(z.re) > 1e100) | (fabs(z.im) > 1e100)


def asin(z: Complex) -> Complex:
    """Inverse sine."""
    left, right = _roots(z)
    across = left.re * right.re - left.im * right.im
    im = real_asinh(left.re * right.im - left.im * right.re)
    huge = _huge(z)
    far = copysign(log_of_size(z) + LOG_TWO, z.im)
    re = select(huge, atan2(z.re, fabs(z.im)), atan2(z.re, across))
    return Complex(select(z.re == 0.0, z.re, re), select(huge, far, im))


def acos(z: Complex) -> Complex:
    """Inverse cosine."""
    left, right = _roots(z)
    im = real_asinh(right.re * left.im - right.im * left.re)
    huge = _huge(z)
    far = -copysign(log_of_size(z) + LOG_TWO, z.im)
    re = select(huge, atan2(fabs(z.im), z.re), atan2(left.re, right.re) * 2.0)
    return Complex(select(z.re == 0.0, QUARTER, re), select(huge, far, im))


def acosh(z: Complex) -> Complex:
    """Inverse hyperbolic cosine: a quarter turn from the inverse cosine."""
    value = acos(z)
    below = sign_bit(z.im)
    return Complex(select(below, value.im, -value.im), select(below, -value.re, value.re))


def asinh(z: Complex) -> Complex:
    """Inverse hyperbolic sine."""
    return turned_back(asin(turned(z)))


def atanh(z: Complex) -> Complex:
    """Inverse hyperbolic tangent."""
    x, y = z.re, z.im
    away = 1.0 - fabs(x)
    square = y * y
    distance = hypot(away, y)
    pole = (LOG_TWO - real_log(distance)) * 0.5
    re = select(distance < 2.0**-400, pole, log1p(fabs(x) * 4.0 / (away * away + square)) * 0.25)
    im = atan2(y * 2.0, away * (fabs(x) + 1.0) - square) * 0.5
    huge = _huge(z)
    a, b = fabs(x) * 2.0**-600, fabs(y) * 2.0**-600
    far = select((fabs(x) == INFINITY) | (fabs(y) == INFINITY), 0.0, a / (a * a + b * b) * 2.0**-600)
    re = select(x == 0.0, x, copysign(select(huge, far, re), x))
    vague = isnan(y) | (isnan(x) & (fabs(y) < INFINITY))
    return Complex(re, select(huge, select(vague, NAN, copysign(number(QUARTER), y)), im))


def atan(z: Complex) -> Complex:
    """Inverse tangent."""
    return turned_back(atanh(turned(z)))
