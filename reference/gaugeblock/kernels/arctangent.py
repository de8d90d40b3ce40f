"""Inverse circular functions and distances of float32 and float64 lanes, for results of the same type.

atan q on [-1/2, 1/2] and asin q on [0, 1/2] are q plus an odd polynomial in q. The angle of the point (b, a) is that of
a / b, pi/4 plus that of (a - b) / (a + b), or pi/2 less that of b / a; asin x beyond 1/2 is pi/2 less twice that of
sqrt((1 - x) / 2). Multiples of pi/4 stand in two parts; what a rounded quotient or root lacks is taken along to first
order. Coefficients as in `exponential`.
"""

from __future__ import annotations

from .double_word import exact_product, ordered_sum
from .expression import F32, F64, Lane, constant, select
from .formats import format_of
from .functions import bits_of, convert_lane, copysign, fabs, float_of_bits, fused, isnan, mul_add, polynomial, sqrt

_INFINITY = float("inf")
_HALF_PI = {F32: tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25")))}
_HALF_PI[F64] = tuple(map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54")))
_QUARTER_PI = {type: (high / 2.0, low / 2.0) for type, (high, low) in _HALF_PI.items()}
# (atan q - q) / q**3 and (asin q - q) / q**3 in powers of q**2.
_TANGENT = {
    F32: (-0.05138436704874039, 0.10163594782352448, -0.14175768196582794, 0.19994290173053741, -0.333332359790802),
    F64: (
        0.010128396342894697, -0.027452451451513465, 0.04187662631799398, -0.051224451702400677, 0.05858404296019817,
        -0.06663827243172905, 0.07692075652354187, -0.09090896363526266, 0.11111110664702525, -0.14285714276509817,
        0.19999999999904577, -0.3333333333333299,
    ),
}  # fmt: skip
_SINE = {
    F32: (0.04228131100535393, 0.024112671613693237, 0.04548373818397522, 0.07495192438364029, 0.16666755080223083),
    F64: (
        0.03206732662073626, -0.01644955843166458, 0.01967128167539673, 0.006475915659320543, 0.012181203864359237,
        0.013883415659351818, 0.01735988834361922, 0.02237174591890609, 0.030381959641363827, 0.044642856816118175,
        0.07500000000351854, 0.16666666666665345,
    ),
}  # fmt: skip
# A pattern subtracted from these is about that of half the reciprocal.
_HALF_RECIPROCAL = {F32: 0x7E7311C7, F64: 0x7FCE6238DA3C2118}
# Quotients of numbers beyond the first are scaled down, below the second up.
_LARGE = {F32: 2.0**120, F64: 2.0**1000}
_SMALL = {F32: 2.0**-60, F64: 2.0**-500}
_HUGE = 2.0**60


def _half_reciprocal(x: Lane) -> Lane:
    """1 / 2x for normal x > 0, off by up to 12 %: enough for corrections."""
    return float_of_bits(-(bits_of(x) - _HALF_RECIPROCAL[x.type]))


def _angle(a: Lane, b: Lane, left: Lane | None) -> Lane:
    """The angle of (b, a) or, where `left` holds, of (-b, a), for a >= 0 and b >= 0, one of them normal and finite."""
    format = format_of(a)
    far, middle = a > b * 2.0, a > b * 0.5
    large, small = select(a > b, a, b), select(a > b, b, a)
    total, lost = ordered_sum(large, small)
    top = select(far, -b, select(middle, a - b, a))
    bottom = select(far, a, select(middle, total, b))
    q = top / bottom
    miss = fused(-q, bottom, top) - select(middle ^ far, q * lost, 0.0)
    rest = miss * (_half_reciprocal(bottom) * 2.0)
    eighths = select(far, format.number(2.0), select(middle, format.number(1.0), 0.0))
    if left is not None:
        turn = select(left, format.number(-1.0), 1.0)
        eighths = select(left, 4.0 - eighths, eighths)
        q, rest = q * turn, rest * turn
    high, low = _QUARTER_PI[a.type]
    first, error = ordered_sum(eighths * high, q)
    square = q * q
    tail = mul_add(eighths, format.number(low), error + rest)
    return first + mul_add(q * square, polynomial(square, _TANGENT[a.type]), tail)


def atan(x: Lane) -> Lane:
    """Inverse tangent."""
    a = fabs(x)
    return copysign(_angle(select(a > _HUGE, _HUGE, a), format_of(x).number(1.0), None), x)


def atan2(y: Lane, x: Lane) -> Lane:
    """Angle of the point (x, y)."""
    format = format_of(x)
    a, b = fabs(y), fabs(x)
    high = select(a > b, a, b)
    up = 2.0 ** (format.bias // 2)
    factor = select(high < _SMALL[x.type], format.number(up), 1.0)
    factor = select(high > _LARGE[x.type], 2.0**-20, factor)
    infinite, zero = high == _INFINITY, high == 0.0
    a = select(infinite, select(a == _INFINITY, format.number(1.0), 0.0), a * factor)
    b = select(infinite, select(b == _INFINITY, format.number(1.0), 0.0), select(zero, 1.0, b * factor))
    angle = _angle(a, b, copysign(format.number(1.0), x) < 0.0)
    return select(isnan(x) | isnan(y), x + y, copysign(angle, y))


def _reflected(a: Lane) -> tuple[Lane, Lane, Lane]:
    """(a > 1/2, q, asin q - q) for q = a, or sqrt((1 - a) / 2) where a > 1/2, as far as a lane holds it."""
    large = a > 0.5
    square = select(large, 0.5 - a * 0.5, a * a)
    root = sqrt(square)
    missing = select(large, fused(-root, root, square) * _half_reciprocal(root), 0.0)
    q = select(large, root, a)
    return large, q, mul_add(q * square, polynomial(square, _SINE[a.type]), missing)


def asin(x: Lane) -> Lane:
    """Inverse sine."""
    format = format_of(x)
    large, q, tail = _reflected(fabs(x))
    high, low = _HALF_PI[x.type]
    first, lost = ordered_sum(select(large, format.number(high), 0.0), select(large, q * -2.0, q))
    rest = select(large, mul_add(tail, format.number(-2.0), format.number(low)), tail)
    return copysign(first + (lost + rest), x)


def acos(x: Lane) -> Lane:
    """Inverse cosine."""
    format = format_of(x)
    large, q, tail = _reflected(fabs(x))
    high, low = _HALF_PI[x.type]
    negative = x < 0.0
    factor = select(large, format.number(2.0), -1.0)
    factor = select(negative, -factor, factor)
    whole = select(negative, format.number(2.0), 0.0)
    turns = select(large, whole, 1.0)
    first, lost = ordered_sum(turns * high, factor * q)
    return first + mul_add(factor, tail, mul_add(turns, format.number(low), lost))


def hypot(x: Lane, y: Lane) -> Lane:
    """sqrt(x*x + y*y) without overflow; infinite when any operand is."""
    infinite = (fabs(x) == float("inf")) | (fabs(y) == float("inf"))
    if x.type is F32:
        a, b = convert_lane(x, F64), convert_lane(y, F64)
        return select(infinite, float("inf"), convert_lane(sqrt(a * a + b * b), F32))
    a, b = fabs(x), fabs(y)
    large, small = select(a > b, a, b), select(a > b, b, a)
    factor = select(large > 2.0**500, constant(2.0**-600, F64), select(large < 2.0**-400, constant(2.0**600, F64), 1.0))
    large, small = large * factor, small * factor
    square, lost = exact_product(large, large)
    other, missing = exact_product(small, small)
    total, rest = ordered_sum(square, other)
    root = sqrt(total)
    error = fused(-root, root, total) + (rest + lost + missing)
    whole = root + select(root == 0.0, 0.0, error * 0.5 / root)
    return select(infinite, float("inf"), whole * select(factor > 1.0, 2.0**-600, 1.0 / factor))
