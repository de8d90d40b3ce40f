"""C99's complex functions in float64 lanes, with its results at zeros, infinities and branch cuts.

Signs of zero are kept, so the side of a branch cut is that of the argument's zero. The inverse functions are Kahan's
("Branch cuts for complex elementary functions", 1987), from square roots of 1 + z and 1 - z.
"""

from __future__ import annotations

from collections.abc import Callable

from ...kernels.arctangent import atan2
from ...kernels.complex_lanes import Complex
from ...kernels.double_word import exact_product, exact_sum
from ...kernels.elementary import hypot
from ...kernels.exponential import exp
from ...kernels.exponential import sinh as real_sinh
from ...kernels.expression import F64, Lane, constant, select
from ...kernels.functions import copysign, fabs, isnan, sign_bit, sqrt
from ...kernels.logarithm import asinh as real_asinh
from ...kernels.logarithm import log as real_log
from ...kernels.logarithm import log1p
from ...kernels.trigonometry import cos as real_cos
from ...kernels.trigonometry import sin as real_sin
from ...kernels.trigonometry import tan as real_tan

_INFINITY = float("inf")
_NAN = float("nan")
_LOG_TWO = 0.6931471805599453
_QUARTER = 1.5707963267948966
_LARGE = 709.0
"""Below it e**x is finite."""


def _number(value: float) -> Lane:
    return constant(value, F64)


def _turned(z: Complex) -> Complex:
    """i z."""
    return Complex(-z.im, z.re)


def _turned_back(z: Complex) -> Complex:
    """z / i."""
    return Complex(z.im, -z.re)


def _scaled_parts(x: Lane) -> tuple[Lane, Lane]:
    """Two factors whose product is e**x, though it may overflow."""
    large = x > _LARGE
    half = exp(select(large, x * 0.5, x))
    return half, select(large, half, 1.0)


def exponential(z: Complex) -> Complex:
    """e**z."""
    first, second = _scaled_parts(z.re)
    gone = z.re == -_INFINITY
    endless = ~(fabs(z.im) < _INFINITY)
    re = first * real_cos(z.im) * second
    im = select(z.im == 0.0, z.im, first * real_sin(z.im) * second)
    re = select(endless & gone, 0.0, select(endless & (z.re == _INFINITY), _INFINITY, re))
    re = select((z.im == 0.0) & (z.re == z.re), first * second, re)
    return Complex(re, select(endless & gone, 0.0, im))


def _log_of_size(z: Complex) -> Lane:
    """log |z|, near 1 from |z|**2 - 1 in two terms."""
    a, b = fabs(z.re), fabs(z.im)
    large, small = select(a > b, a, b), select(a > b, b, a)
    square, lost = exact_product(large, large)
    other, missing = exact_product(small, small)
    total, rest = exact_sum(square - 1.0, other)
    near = log1p(total + (rest + (lost + missing))) * 0.5
    size = hypot(z.re, z.im)
    close = (large > 0.7) & (large < 1.5) & (size < 1.5)
    tiny = large < 2.0**-1000
    huge = (large > 2.0**1000) & (large < _INFINITY)
    factor = select(tiny, _number(2.0**60), select(huge, _number(2.0**-60), 1.0))
    back = select(tiny, _number(-60.0 * _LOG_TWO), select(huge, _number(60.0 * _LOG_TWO), 0.0))
    return select(close, near, real_log(hypot(z.re * factor, z.im * factor)) + back)


def logarithm(z: Complex) -> Complex:
    """log z; the imaginary part lies in [-pi, pi]."""
    return Complex(_log_of_size(z), atan2(z.im, z.re))


def root(z: Complex) -> Complex:
    """The square root with a real part that is not negative."""
    a, b = fabs(z.re), fabs(z.im)
    large = select(a > b, a, b)
    tiny, huge = large < 2.0**-500, large > 2.0**1000
    factor = select(tiny, _number(2.0**540), select(huge, _number(2.0**-40), 1.0))
    back = select(tiny, _number(2.0**-270), select(huge, _number(2.0**20), 1.0))
    x, y = a * factor, b * factor
    size = sqrt((x + hypot(x, y)) * 0.5)
    other = select(size == 0.0, 0.0, y / (size + size))
    size, other = size * back, other * back
    right = ~(z.re < 0.0)
    re, im = select(right, size, other), select(right, other, size)
    endless = b == _INFINITY
    level = (a == _INFINITY) & ~endless
    vague = level & isnan(b)
    re = select(endless, _INFINITY, select(level, select(right, _number(_INFINITY), select(vague, b, 0.0)), re))
    im = select(endless, _INFINITY, select(level, select(right, select(vague, b, 0.0), _number(_INFINITY)), im))
    return Complex(re, copysign(im, z.im))


def _hyperbolic(z: Complex) -> tuple[Lane, Lane, Lane, Lane]:
    """sinh x cos y, cosh x sin y, cosh x cos y, sinh x sin y."""
    x, y = z.re, z.im
    sine, cosine = real_sin(y), real_cos(y)
    first, second = _scaled_parts(fabs(x))
    large = fabs(x) > 20.0
    size = real_sinh(fabs(x))
    odd = select(large, first * 0.5, size)
    even = select(large, first * 0.5, sqrt(size * size + 1.0))
    more = select(large, second, 1.0)
    odd = copysign(odd, x)
    level, upright = y == 0.0, x == 0.0
    signs = x * select(level, copysign(_number(1.0), y), sine)
    none = select(isnan(signs), 0.0, copysign(_number(0.0), signs))
    return (
        select(level, odd * more, select(upright & isnan(cosine), x, odd * cosine * more)),
        select(level, y, even * sine * more),
        select(level, even * more, even * cosine * more),
        select(level | upright, none, odd * sine * more),
    )


def sinh(z: Complex) -> Complex:
    """Hyperbolic sine."""
    re, im, _, _ = _hyperbolic(z)
    both = (fabs(z.re) == _INFINITY) & ~(fabs(z.im) < _INFINITY)
    return Complex(select(both, z.re, re), im)


def cosh(z: Complex) -> Complex:
    """Hyperbolic cosine."""
    _, _, re, im = _hyperbolic(z)
    both = (fabs(z.re) == _INFINITY) & ~(fabs(z.im) < _INFINITY)
    return Complex(select(both, _number(_INFINITY), re), im)


def tanh(z: Complex) -> Complex:
    """Hyperbolic tangent."""
    x, y = z.re, z.im
    far = fabs(x) > 22.0
    size = select(far, _number(0.0), x)
    slope = real_tan(y)
    sine = real_sinh(size)
    stretch = slope * slope + 1.0
    even = sqrt(sine * sine + 1.0)
    below = stretch * sine * sine + 1.0
    re, im = stretch * even * sine / below, slope / below
    steep = fabs(slope) > 1e150
    re = select(steep, even / sine, re)
    im = select(steep, 1.0 / slope / (sine * sine), im)
    falling = exp(fabs(x) * -2.0)
    small = real_sin(y) * real_cos(y) * 4.0 * falling
    small = select(fabs(y) < _INFINITY, small, copysign(_number(0.0), y))
    re = select(x == 0.0, x, select(far, copysign(_number(1.0), x), re))
    im = select(y == 0.0, y, select(far, small, im))
    vague = (fabs(x) < _INFINITY) & ~(fabs(y) < _INFINITY) & (x != 0.0)
    return Complex(select(vague, _NAN, re), select(vague, _NAN, im))


def sin(z: Complex) -> Complex:
    """Sine."""
    return _turned_back(sinh(_turned(z)))


def cos(z: Complex) -> Complex:
    """Cosine."""
    return cosh(_turned(z))


def tan(z: Complex) -> Complex:
    """Tangent."""
    return _turned_back(tanh(_turned(z)))


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
    far = copysign(_log_of_size(z) + _LOG_TWO, z.im)
    re = select(huge, atan2(z.re, fabs(z.im)), atan2(z.re, across))
    return Complex(select(z.re == 0.0, z.re, re), select(huge, far, im))


def acos(z: Complex) -> Complex:
    """Inverse cosine."""
    left, right = _roots(z)
    im = real_asinh(right.re * left.im - right.im * left.re)
    huge = _huge(z)
    far = -copysign(_log_of_size(z) + _LOG_TWO, z.im)
    re = select(huge, atan2(fabs(z.im), z.re), atan2(left.re, right.re) * 2.0)
    return Complex(select(z.re == 0.0, _QUARTER, re), select(huge, far, im))


def acosh(z: Complex) -> Complex:
    """Inverse hyperbolic cosine: a quarter turn from the inverse cosine."""
    value = acos(z)
    below = sign_bit(z.im)
    return Complex(select(below, value.im, -value.im), select(below, -value.re, value.re))


def asinh(z: Complex) -> Complex:
    """Inverse hyperbolic sine."""
    return _turned_back(asin(_turned(z)))


def atanh(z: Complex) -> Complex:
    """Inverse hyperbolic tangent."""
    x, y = z.re, z.im
    away = 1.0 - fabs(x)
    square = y * y
    distance = hypot(away, y)
    pole = (_LOG_TWO - real_log(distance)) * 0.5
    re = select(distance < 2.0**-400, pole, log1p(fabs(x) * 4.0 / (away * away + square)) * 0.25)
    im = atan2(y * 2.0, away * (fabs(x) + 1.0) - square) * 0.5
    huge = _huge(z)
    a, b = fabs(x) * 2.0**-600, fabs(y) * 2.0**-600
    far = select((fabs(x) == _INFINITY) | (fabs(y) == _INFINITY), 0.0, a / (a * a + b * b) * 2.0**-600)
    re = select(x == 0.0, x, copysign(select(huge, far, re), x))
    vague = isnan(y) | (isnan(x) & (fabs(y) < _INFINITY))
    return Complex(re, select(huge, select(vague, _NAN, copysign(_number(_QUARTER), y)), im))


def arctangent(z: Complex) -> Complex:
    """Inverse tangent."""
    return _turned_back(atanh(_turned(z)))


def power(base: Complex, exponent: Complex) -> Complex:
    """base**exponent by the logarithm."""
    return exponential(exponent * logarithm(base))


COMPLEX: dict[str, Callable[..., Complex]] = {
    "cexp": exponential, "clog": logarithm, "csqrt": root, "cpow": power, "csin": sin, "ccos": cos, "ctan": tan,
    "csinh": sinh, "ccosh": cosh, "ctanh": tanh, "casin": asin, "cacos": acos, "catan": arctangent,
    "casinh": asinh, "cacosh": acosh, "catanh": atanh,
}  # fmt: skip
"""The functions by C's names."""
