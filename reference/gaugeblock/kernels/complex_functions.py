"""C99's complex functions in float64, with its results at zeros, infinities and branch cuts.

Signs of zero are kept, so the side of a branch cut is that of the argument's zero. The inverses are Kahan's ("Branch
cuts for complex elementary functions", 1987), from square roots of 1 + z and 1 - z.
"""

from __future__ import annotations

from collections.abc import Callable

from .exponential import exp as real_exp
from .exponential import expm1 as real_expm1
from .exponential import sinh as real_sinh
from .expression import F64, Complex, Expr, constant, select
from .expression import divide as divide
from .functions import copysign, exact_product, exact_sum, fabs, fused, isnan, sign_bit
from .functions import sqrt as real_sqrt
from .logarithm import asinh as real_asinh
from .logarithm import log as real_log
from .logarithm import log1p as real_log1p
from .trigonometry import atan2, hypot, sin_cos
from .trigonometry import sin as real_sin
from .trigonometry import tan as real_tan

INFINITY = float("inf")
NAN = float("nan")
LOG_TWO, LOG_TEN = 0.6931471805599453, 2.302585092994046
_LARGE = 709.0
"""Below it e**x is finite."""


def number(value: float) -> Expr:
    """A constant."""
    return constant(value, F64)


def turned(z: Complex) -> Complex:
    """i z."""
    return Complex(-z.im, z.re)


def turned_back(z: Complex) -> Complex:
    """z / i."""
    return Complex(z.im, -z.re)


def _scaled_parts(x: Expr) -> tuple[Expr, Expr]:
    """Two factors whose product is e**x, though it may overflow."""
    large = x > _LARGE
    half = real_exp(select(large, x * 0.5, x))
    return half, select(large, half, 1.0)


def exp(z: Complex) -> Complex:
    """e**z."""
    first, second = _scaled_parts(z.re)
    gone = z.re == -INFINITY
    endless = ~(fabs(z.im) < INFINITY)
    sine, cosine = sin_cos(z.im)
    re = first * cosine * second
    im = select(z.im == 0.0, z.im, first * sine * second)
    re = select(endless & gone, 0.0, select(endless & (z.re == INFINITY), INFINITY, re))
    re = select((z.im == 0.0) & (z.re == z.re), first * second, re)
    return Complex(re, select(endless & gone, 0.0, im))


def log_of_size(z: Complex) -> Expr:
    """log |z|, near 1 from |z|**2 - 1 in two terms."""
    a, b = fabs(z.re), fabs(z.im)
    large, small = select(a > b, a, b), select(a > b, b, a)
    square, lost = exact_product(large, large)
    other, missing = exact_product(small, small)
    total, rest = exact_sum(square - 1.0, other)
    near = real_log1p(total + (rest + (lost + missing))) * 0.5
    size = hypot(z.re, z.im)
    close = (large > 0.7) & (large < 1.5) & (size < 1.5)
    tiny = large < 2.0**-1000
    huge = (large > 2.0**1000) & (large < INFINITY)
    factor = select(tiny, number(2.0**60), select(huge, number(2.0**-60), 1.0))
    back = select(tiny, number(-60.0 * LOG_TWO), select(huge, number(60.0 * LOG_TWO), 0.0))
    return select(close, near, real_log(hypot(z.re * factor, z.im * factor)) + back)


def log(z: Complex) -> Complex:
    """log z; the imaginary part lies in [-pi, pi]."""
    return Complex(log_of_size(z), atan2(z.im, z.re))


def sqrt(z: Complex) -> Complex:
    """The square root with a real part that is not negative."""
    a, b = fabs(z.re), fabs(z.im)
    large = select(a > b, a, b)
    tiny, huge = large < 2.0**-500, large > 2.0**1000
    factor = select(tiny, number(2.0**540), select(huge, number(2.0**-40), 1.0))
    back = select(tiny, number(2.0**-270), select(huge, number(2.0**20), 1.0))
    x, y = a * factor, b * factor
    size = real_sqrt((x + hypot(x, y)) * 0.5)
    other = select(size == 0.0, 0.0, y / (size + size))
    size, other = size * back, other * back
    right = ~(z.re < 0.0)
    re, im = select(right, size, other), select(right, other, size)
    endless = b == INFINITY
    level = (a == INFINITY) & ~endless
    vague = level & isnan(b)
    re = select(endless, INFINITY, select(level, select(right, number(INFINITY), select(vague, b, 0.0)), re))
    im = select(endless, INFINITY, select(level, select(right, select(vague, b, 0.0), number(INFINITY)), im))
    return Complex(re, copysign(im, z.im))


def _hyperbolic(z: Complex) -> tuple[Expr, Expr, Expr, Expr]:
    """sinh x cos y, cosh x sin y, cosh x cos y, sinh x sin y."""
    x, y = z.re, z.im
    sine, cosine = sin_cos(y)
    first, second = _scaled_parts(fabs(x))
    large = fabs(x) > 20.0
    size = real_sinh(fabs(x))
    odd = select(large, first * 0.5, size)
    even = select(large, first * 0.5, real_sqrt(size * size + 1.0))
    more = select(large, second, 1.0)
    odd = copysign(odd, x)
    level, upright = y == 0.0, x == 0.0
    signs = x * select(level, copysign(number(1.0), y), sine)
    none = select(isnan(signs), 0.0, copysign(number(0.0), signs))
    return (
        select(level, odd * more, select(upright & isnan(cosine), x, odd * cosine * more)),
        select(level, y, even * sine * more),
        select(level, even * more, even * cosine * more),
        select(level | upright, none, odd * sine * more),
    )


def sinh(z: Complex) -> Complex:
    """Hyperbolic sine."""
    re, im, _, _ = _hyperbolic(z)
    both = (fabs(z.re) == INFINITY) & ~(fabs(z.im) < INFINITY)
    return Complex(select(both, z.re, re), im)


def cosh(z: Complex) -> Complex:
    """Hyperbolic cosine."""
    _, _, re, im = _hyperbolic(z)
    both = (fabs(z.re) == INFINITY) & ~(fabs(z.im) < INFINITY)
    return Complex(select(both, number(INFINITY), re), im)


def tanh(z: Complex) -> Complex:
    """Hyperbolic tangent."""
    x, y = z.re, z.im
    far = fabs(x) > 22.0
    size = select(far, number(0.0), x)
    slope = real_tan(y)
    sine = real_sinh(size)
    stretch = slope * slope + 1.0
    even = real_sqrt(sine * sine + 1.0)
    below = stretch * sine * sine + 1.0
    re, im = stretch * even * sine / below, slope / below
    steep = fabs(slope) > 1e150
    re = select(steep, even / sine, re)
    im = select(steep, 1.0 / slope / (sine * sine), im)
    falling = real_exp(fabs(x) * -2.0)
    sine, cosine = sin_cos(y)
    small = sine * cosine * 4.0 * falling
    small = select(fabs(y) < INFINITY, small, copysign(number(0.0), y))
    re = select(x == 0.0, x, select(far, copysign(number(1.0), x), re))
    im = select(y == 0.0, y, select(far, small, im))
    vague = (fabs(x) < INFINITY) & ~(fabs(y) < INFINITY) & (x != 0.0)
    return Complex(select(vague, NAN, re), select(vague, NAN, im))


def _across(function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """The function of i z, over i."""
    return lambda z: turned_back(function(turned(z)))


sin, tan = _across(sinh), _across(tanh)


def cos(z: Complex) -> Complex:
    """Cosine."""
    return cosh(turned(z))


def _scaled(z: Complex, factor: float) -> Complex:
    return Complex(z.re * factor, z.im * factor)


def exp2(z: Complex) -> Complex:
    """2**z."""
    return exp(_scaled(z, LOG_TWO))


def log2(z: Complex) -> Complex:
    """Logarithm to base 2."""
    return _scaled(log(z), 1.0 / LOG_TWO)


def log10(z: Complex) -> Complex:
    """Logarithm to base 10."""
    return _scaled(log(z), 1.0 / LOG_TEN)


def expm1(z: Complex) -> Complex:
    """e**z - 1."""
    half = real_sin(z.im * 0.5)
    sine, cosine = sin_cos(z.im)
    return Complex(real_expm1(z.re) * cosine - half * half * 2.0, real_exp(z.re) * sine)


def log1p(z: Complex) -> Complex:
    """log(1 + z)."""
    near = real_log1p(fused(z.im, z.im, z.re * (z.re + 2.0))) * 0.5
    far = log(Complex(z.re + 1.0, z.im))
    small = (fabs(z.re) < 0.5) & (fabs(z.im) < 0.5)
    return Complex(select(small, near, far.re), far.im)


def pow(base: Complex, exponent: Complex) -> Complex:
    """base**exponent by the logarithm."""
    return exp(exponent * log(base))


QUARTER = 1.5707963267948966
"""A quarter turn."""


def _roots(z: Complex) -> tuple[Complex, Complex]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    return sqrt(Complex(1.0 - z.re, -z.im)), sqrt(Complex(z.re + 1.0, z.im))


def _huge(z: Complex) -> Expr:
    """Return where 1 is nothing beside z, and the products of the roots could overflow."""
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


def atanh(z: Complex) -> Complex:
    """Inverse hyperbolic tangent."""
    x, y = z.re, z.im
    away = 1.0 - fabs(x)
    square = y * y
    distance = hypot(away, y)
    pole = (LOG_TWO - real_log(distance)) * 0.5
    re = select(distance < 2.0**-400, pole, real_log1p(fabs(x) * 4.0 / (away * away + square)) * 0.25)
    im = atan2(y * 2.0, away * (fabs(x) + 1.0) - square) * 0.5
    huge = _huge(z)
    a, b = fabs(x) * 2.0**-600, fabs(y) * 2.0**-600
    far = select((fabs(x) == INFINITY) | (fabs(y) == INFINITY), 0.0, a / (a * a + b * b) * 2.0**-600)
    re = select(x == 0.0, x, copysign(select(huge, far, re), x))
    vague = isnan(y) | (isnan(x) & (fabs(y) < INFINITY))
    return Complex(re, select(huge, select(vague, NAN, copysign(number(QUARTER), y)), im))


asinh, atan = _across(asin), _across(atanh)
