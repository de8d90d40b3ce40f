"""Trigonometric functions, their inverses and distances, of float32 and float64, for results of the same type.

x = k pi/2 + r + low, |r| <= 0.79: pi/2 stands in three parts of a whole mantissa each. x - k P1 is exact when fused,
the product k P2 is taken as a pair, and the difference of both is exact because x - k P1 is a multiple of the last
place of k P2: the reduced argument has twice the mantissa, also beside the multiples of pi/2.

Numbers beyond 2**17 (float32) and 2**30 (float64) are reduced in float64 by as many bits of 2/pi as it takes (Payne and
Hanek 1983). x = m 2**q with a whole m of 53 bits. Of m 2**q 2/pi only the part below 4 matters: it comes from 192 bits
of 2/pi, from where their products with m 2**q are no multiples of 4 any more. What is cut off is below 2**-125 quarter
turns.

atan q on [-1/2, 1/2] and asin q on [0, 1/2] are q plus an odd polynomial in q. The angle of the point (b, a) is that of
a / b, pi/4 plus that of (a - b) / (a + b), or pi/2 less that of b / a; asin x beyond 1/2 is pi/2 less twice that of
sqrt((1 - x) / 2). Multiples of pi/4 stand in two parts; what a rounded quotient or root lacks is taken along to first
order. Coefficients as in `exponential`.
"""

from __future__ import annotations

from collections.abc import Callable

from .expression import F32, F64, INT, UINT, Expr, constant, select
from .functions import (
    DOUBLE,
    Pair,
    bits_of,
    cast,
    copysign,
    exact_product,
    fabs,
    float_of_bits,
    format_of,
    fused,
    isnan,
    lookup,
    mul_add,
    ordered_sum,
    polynomial,
    rare,
    rint,
    sqrt,
)

HALF_PI = {
    F32: tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"))),
    F64: tuple(map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"))),
}
_PER_HALF_PI = float.fromhex("0x1.45f306dc9c883p-1")
_LIMIT = {F32: 2.0**17, F64: 2.0**30}
# (sin r - r) / r**3 and (cos r - 1 + r**2 / 2) / r**4 in powers of r**2.
_SINE = {
    F32: (-0.0001950562873389572, 0.00833209604024887, -0.16666653752326965),
    F64: (
        1.5890571950566361e-10, -2.5050653090196044e-08, 2.7557313039963317e-06, -0.00019841269827998347,
        0.00833333333332027, -0.16666666666666624,
    ),
}  # fmt: skip
_COSINE = {
    F32: (2.442821096337866e-05, -0.0013887288514524698, 0.04166664555668831),
    F64: (
        -1.1355153971074789e-11, 2.0875637693284086e-09, -2.755731373333587e-07, 2.480158728738284e-05,
        -0.0013888888888870844, 0.04166666666666658,
    ),
}  # fmt: skip
# (tan r - r) / r**3.
_TANGENT = {
    F32: (
        0.004442816134542227, -4.56335001217667e-05, 0.010943165980279446, 0.021240176633000374, 0.054068271070718765,
        0.13332585990428925, 0.3333335220813751,
    ),
    F64: (
        9.952133430053306e-06, -2.4958328757135424e-05, 5.001039375494185e-05, -2.7271395622576962e-05,
        6.850964705227524e-05, 8.28554832000458e-05, 0.00024402469652764572, 0.0005887881422786779,
        0.001456060822579007, 0.003592098734952554, 0.008863238127650802, 0.021869488386640486, 0.05396825397336631,
        0.13333333333324487, 0.33333333333333387,
    ),
}  # fmt: skip


Reduced = tuple[Expr, Expr, Expr]
"""(r, low, k) with x = k pi/2 + r + low; k as the low bits of an unsigned expression."""


def _reduced(x: Expr) -> Reduced:
    format = format_of(x)
    first, second, third = HALF_PI[x.type]
    k, bits = format.nearest(x, _PER_HALF_PI)
    start = fused(k, format.number(-first), x)
    product = k * second
    r, lost = ordered_sum(start, -product)
    low = mul_add(k, format.number(-third), lost - fused(k, format.number(second), -product))
    return r, low, bits


# 2/pi in 1344 bits after the point.
_TWO_PER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73E"
    "E88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B7"
    "4F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361DA9E391615EE61B08",
    16,
)
_BITS = 1344
_LIMB = 32
_MASK = (1 << _LIMB) - 1
_PADDING = 64
"""Zeros before the first bit, so that the window never begins before the table."""
_LIMBS: tuple[float, ...] = (
    *(0.0,) * (_PADDING // _LIMB),
    *(float(_TWO_PER_PI >> (_BITS - _LIMB - start) & _MASK) for start in range(0, _BITS, _LIMB)),
    *(0.0,) * (64 - (_PADDING + _BITS) // _LIMB),
)
_WINDOW = 6
_WORD = UINT[64]


def _window(field: Expr) -> list[Expr]:
    """Return the limbs of 2/pi for a biased exponent, lowest first."""
    start = field - (1075 - _PADDING + 2)
    limb, shift = start >> 5, start & 31
    read = [cast(cast(lookup(_LIMBS, limb + k, F64), INT[64]), _WORD) for k in range(_WINDOW + 1)]
    limbs = [((read[k] << shift) | (read[k + 1] >> (_LIMB - shift))) & _MASK for k in range(_WINDOW)]
    return limbs[::-1]


def _product(whole: Expr, window: list[Expr]) -> list[Expr]:
    """Return the limbs of whole * window modulo 2**192, lowest first."""
    low, high = whole & _MASK, whole >> _LIMB
    limbs: list[Expr] = []
    waiting: list[Expr] = []
    for place, limb in enumerate(window):
        products = [low * limb] + ([high * window[place - 1]] if place else [])
        total = waiting[0] if waiting else constant(0, _WORD)
        for term in [*waiting[1:], *(product & _MASK for product in products)]:
            total = total + term
        limbs.append(total & _MASK)
        waiting = [total >> _LIMB, *(product >> _LIMB for product in products)]
    return limbs


def _reduced_by_bits(x: Expr) -> Reduced:
    """(r, low, k) with x = k pi/2 + r + low, for |x| >= 2**17; r is NaN for infinities and NaN."""
    bits = bits_of(fabs(x))
    whole = (bits & ((1 << 52) - 1)) | (1 << 52)
    limbs = _product(whole, _window(bits >> 52))
    top, middle = (limbs[5] << _LIMB) | limbs[4], (limbs[3] << _LIMB) | limbs[2]
    quarters = top >> 62
    high, low = (top << 2) | (middle >> 62), (middle << 2) | (limbs[1] >> 30)
    above = high >= 1 << 63
    quarters = select(above, quarters + 1, quarters)
    turned = constant(0, _WORD) - low
    high = select(above, ~high + select(turned == 0, constant(1, _WORD), 0), high)
    low = select(above, turned, low)
    pieces = [
        cast(piece, F64) * 2.0 ** (-_LIMB * (k + 1))
        for k, piece in enumerate((high >> _LIMB, high & _MASK, low >> _LIMB, low & _MASK))
    ]
    first, lost = ordered_sum(pieces[0], pieces[1])
    last, missing = ordered_sum(pieces[2], pieces[3])
    first, rest = ordered_sum(first, last)
    fraction, tail = ordered_sum(first, rest + lost + missing)
    product, error = exact_product(fraction, constant(HALF_PI[F64][0], F64))
    r, rest = ordered_sum(product, mul_add(fraction, constant(HALF_PI[F64][1], F64), tail * HALF_PI[F64][0]) + error)
    negative = x < 0.0
    back = above ^ negative
    r = select(fabs(x) < float("inf"), select(back, -r, r), float("nan"))
    return r, select(back, -rest, rest), select(negative, constant(0, _WORD) - quarters, quarters)


def _both(r: Expr, low: Expr) -> tuple[Pair, Pair]:
    """sin(r + low) and cos(r + low), each in two terms."""
    square = r * r
    half = square * 0.5
    one, missing = ordered_sum(format_of(r).number(1.0), -half)
    sine = mul_add(r * square, polynomial(square, _SINE[r.type]), low * one)
    cosine = mul_add(square * square, polynomial(square, _COSINE[r.type]), mul_add(-r, low, missing))
    return (r, sine), (one, cosine)


def _negated(value: Expr, condition: Expr) -> Expr:
    """`value` with its sign changed where the second bit of the unsigned expression is set."""
    return float_of_bits(bits_of(value) ^ ((condition & 2) << (value.type.bits - 2)))


def sine_of(reduced: Reduced) -> Expr:
    """Sine of a reduced argument."""
    r, low, quadrant = reduced
    sine, cosine = _both(r, low)
    return _negated(select((quadrant & 1) == 0, sine[0] + sine[1], cosine[0] + cosine[1]), quadrant)


def cosine_of(reduced: Reduced) -> Expr:
    """Cosine of a reduced argument."""
    r, low, quadrant = reduced
    sine, cosine = _both(r, low)
    return _negated(select((quadrant & 1) == 0, cosine[0] + cosine[1], sine[0] + sine[1]), quadrant + 1)


def half_turns(x: Expr) -> Reduced:
    """The reduced argument of pi x for float64 x."""
    part = x - rint(x * 0.5) * 2.0
    k, bits = DOUBLE.nearest(part, 2.0)
    rest = part - k * 0.5
    r, low = exact_product(rest, DOUBLE.number(HALF_PI[F64][0] * 2.0))
    return r, low + rest * (HALF_PI[F64][1] * 2.0), bits


def size_of_sine(reduced: Reduced) -> Pair:
    """|sine| of a reduced argument in two terms."""
    r, low, quadrant = reduced
    sine, cosine = _both(r, low)
    even = (quadrant & 1) == 0
    high, low = ordered_sum(select(even, sine[0], cosine[0]), select(even, sine[1], cosine[1]))
    return fabs(high), select(high < 0.0, -low, low)


def tangent_of(reduced: Reduced) -> Expr:
    """Tangent of a reduced argument."""
    r, rest, quadrant = reduced
    square = r * r
    cube, cube_rest = exact_product(r, square)
    slope = mul_add(cube_rest, format_of(r).number(0.4), mul_add(r * 0.58, fused(r, r, -square), rest))
    high, low = ordered_sum(r, mul_add(cube, polynomial(square, _TANGENT[r.type]), mul_add(rest, square, slope)))
    turned = -1.0 / high
    miss = mul_add(turned, low, fused(turned, high, format_of(r).number(1.0)))
    return select((quadrant & 1) == 0, high, mul_add(miss, turned, turned))


def _of_large(function: Callable[[Reduced], Expr]) -> Callable[[Expr], Expr]:
    def large(x: Expr) -> Expr:
        return cast(function(_reduced_by_bits(cast(x, F64))), x.type)

    large.__name__ = f"large_{function.__name__}"
    return large


_LARGE_SINE, _LARGE_COSINE, _LARGE_TANGENT = map(_of_large, (sine_of, cosine_of, tangent_of))


def _finished(x: Expr, value: Expr, large: Callable[[Expr], Expr]) -> Expr:
    return rare(value, ~(fabs(x) < _LIMIT[x.type]), large, x)


def sin(x: Expr) -> Expr:
    """Sine; keeps -0.0."""
    return sin_cos(x)[0]


def cos(x: Expr) -> Expr:
    """Cosine."""
    return sin_cos(x)[1]


def sin_cos(x: Expr) -> Pair:
    """Sine and cosine, with one reduction."""
    small = _reduced(x)
    sine, cosine = sine_of(small), cosine_of(small)
    return _finished(x, select(x == 0.0, x, sine), _LARGE_SINE), _finished(x, cosine, _LARGE_COSINE)


def tan(x: Expr) -> Expr:
    """Tangent; keeps -0.0."""
    return _finished(x, select(x == 0.0, x, tangent_of(_reduced(x))), _LARGE_TANGENT)


_INFINITY = float("inf")
# (atan q - q) / q**3 and (asin q - q) / q**3 in powers of q**2.
_ARCTANGENT = {
    F32: (-0.05138436704874039, 0.10163594782352448, -0.14175768196582794, 0.19994290173053741, -0.333332359790802),
    F64: (
        0.010128396342894697, -0.027452451451513465, 0.04187662631799398, -0.051224451702400677, 0.05858404296019817,
        -0.06663827243172905, 0.07692075652354187, -0.09090896363526266, 0.11111110664702525, -0.14285714276509817,
        0.19999999999904577, -0.3333333333333299,
    ),
}  # fmt: skip
_ARCSINE = {
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


def _half_reciprocal(x: Expr) -> Expr:
    """1 / 2x for normal x > 0, off by up to 12 %: enough for corrections."""
    return float_of_bits(-(bits_of(x) - _HALF_RECIPROCAL[x.type]))


def _angle(a: Expr, b: Expr, left: Expr | None) -> Expr:
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
    high, low, _ = HALF_PI[a.type]
    first, error = ordered_sum(eighths * (high * 0.5), q)
    square = q * q
    tail = mul_add(eighths, format.number(low * 0.5), error + rest)
    return first + mul_add(q * square, polynomial(square, _ARCTANGENT[a.type]), tail)


def atan(x: Expr) -> Expr:
    """Inverse tangent."""
    a = fabs(x)
    return copysign(_angle(select(a > _HUGE, _HUGE, a), format_of(x).number(1.0), None), x)


def atan2(y: Expr, x: Expr) -> Expr:
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


def _reflected(a: Expr) -> tuple[Expr, Expr, Expr]:
    """(a > 1/2, q, asin q - q) for q = a, or sqrt((1 - a) / 2) where a > 1/2, as far as an expression holds it."""
    large = a > 0.5
    square = select(large, 0.5 - a * 0.5, a * a)
    root = sqrt(square)
    missing = select(large, fused(-root, root, square) * _half_reciprocal(root), 0.0)
    q = select(large, root, a)
    return large, q, mul_add(q * square, polynomial(square, _ARCSINE[a.type]), missing)


def asin(x: Expr) -> Expr:
    """Inverse sine."""
    format = format_of(x)
    large, q, tail = _reflected(fabs(x))
    high, low, _ = HALF_PI[x.type]
    first, lost = ordered_sum(select(large, format.number(high), 0.0), select(large, q * -2.0, q))
    rest = select(large, mul_add(tail, format.number(-2.0), format.number(low)), tail)
    return copysign(first + (lost + rest), x)


def acos(x: Expr) -> Expr:
    """Inverse cosine."""
    format = format_of(x)
    large, q, tail = _reflected(fabs(x))
    high, low, _ = HALF_PI[x.type]
    negative = x < 0.0
    factor = select(large, format.number(2.0), -1.0)
    factor = select(negative, -factor, factor)
    whole = select(negative, format.number(2.0), 0.0)
    turns = select(large, whole, 1.0)
    first, lost = ordered_sum(turns * high, factor * q)
    return first + mul_add(factor, tail, mul_add(turns, format.number(low), lost))


def hypot(x: Expr, y: Expr) -> Expr:
    """sqrt(x*x + y*y) without overflow; infinite when any operand is."""
    infinite = (fabs(x) == float("inf")) | (fabs(y) == float("inf"))
    if x.type is F32:
        a, b = cast(x, F64), cast(y, F64)
        return select(infinite, float("inf"), cast(sqrt(a * a + b * b), F32))
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
