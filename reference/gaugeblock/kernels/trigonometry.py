"""Sine, cosine and tangent of float32 and float64 lanes, for results of the same type.

x = k pi/2 + r + low, |r| <= 0.79: pi/2 stands in three parts of a whole mantissa each. x - k P1 is exact when fused,
the product k P2 is taken as a pair, and the difference of both is exact because x - k P1 is a multiple of the last
place of k P2: the reduced argument has twice the mantissa, also beside the multiples of pi/2. Beyond 2**17 (float32)
and 2**30 (float64) lanes go through the C library, one by one. Coefficients as in `exponential`.
"""

from __future__ import annotations

from .double_word import Pair, exact_product, ordered_sum
from .expression import F32, F64, Lane, select
from .formats import format_of
from .functions import bits_of, fabs, float_of_bits, fused, mul_add, polynomial, rare

HALF_PI = {
    F32: tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"))),
    F64: tuple(map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"))),
}
_PER_HALF_PI = float.fromhex("0x1.45f306dc9c883p-1")
_LIMIT = {F32: 2.0**17, F64: 2.0**30}
_ROUTINE = {F32: "gb_single_{}", F64: "{}"}
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


Reduced = tuple[Lane, Lane, Lane]
"""(r, low, k) with x = k pi/2 + r + low; k as the low bits of an unsigned lane."""


def _reduced(x: Lane) -> Reduced:
    format = format_of(x)
    first, second, third = HALF_PI[x.type]
    k, bits = format.nearest(x, _PER_HALF_PI)
    start = fused(k, format.number(-first), x)
    product = k * second
    r, lost = ordered_sum(start, -product)
    low = mul_add(k, format.number(-third), lost - fused(k, format.number(second), -product))
    return r, low, bits


def _both(r: Lane, low: Lane) -> tuple[Pair, Pair]:
    """sin(r + low) and cos(r + low), each in two terms."""
    square = r * r
    half = square * 0.5
    one, missing = ordered_sum(format_of(r).number(1.0), -half)
    sine = mul_add(r * square, polynomial(square, _SINE[r.type]), low * one)
    cosine = mul_add(square * square, polynomial(square, _COSINE[r.type]), mul_add(-r, low, missing))
    return (r, sine), (one, cosine)


def _negated(value: Lane, condition: Lane) -> Lane:
    """`value` with its sign changed where the second bit of the unsigned lane is set."""
    return float_of_bits(bits_of(value) ^ ((condition & 2) << (value.type.bits - 2)))


def sine_of(reduced: Reduced) -> Lane:
    """Sine of a reduced argument."""
    r, low, quadrant = reduced
    sine, cosine = _both(r, low)
    return _negated(select((quadrant & 1) == 0, sine[0] + sine[1], cosine[0] + cosine[1]), quadrant)


def cosine_of(reduced: Reduced) -> Lane:
    """Cosine of a reduced argument."""
    r, low, quadrant = reduced
    sine, cosine = _both(r, low)
    return _negated(select((quadrant & 1) == 0, cosine[0] + cosine[1], sine[0] + sine[1]), quadrant + 1)


def tangent_of(reduced: Reduced) -> Lane:
    """Tangent of a reduced argument."""
    r, rest, quadrant = reduced
    square = r * r
    cube, cube_rest = exact_product(r, square)
    slope = mul_add(cube_rest, format_of(r).number(0.4), mul_add(r * 0.58, fused(r, r, -square), rest))
    high, low = ordered_sum(r, mul_add(cube, polynomial(square, _TANGENT[r.type]), mul_add(rest, square, slope)))
    turned = -1.0 / high
    miss = mul_add(turned, low, fused(turned, high, format_of(r).number(1.0)))
    return select((quadrant & 1) == 0, high, mul_add(miss, turned, turned))


def _finished(name: str, x: Lane, value: Lane) -> Lane:
    return rare(value, ~(fabs(x) < _LIMIT[x.type]), _ROUTINE[x.type].format(name), x)


def sin(x: Lane) -> Lane:
    """Sine; keeps -0.0."""
    return _finished("sin", x, select(x == 0.0, x, sine_of(_reduced(x))))


def cos(x: Lane) -> Lane:
    """Cosine."""
    return _finished("cos", x, cosine_of(_reduced(x)))


def sin_cos(x: Lane) -> Pair:
    """Sine and cosine."""
    r, low, quadrant = _reduced(x)
    sine, cosine = _both(r, low)
    even, s, c = (quadrant & 1) == 0, sine[0] + sine[1], cosine[0] + cosine[1]
    found = _negated(select(even, s, c), quadrant)
    return _finished("sin", x, select(x == 0.0, x, found)), _finished(
        "cos", x, _negated(select(even, c, s), quadrant + 1)
    )


def tan(x: Lane) -> Lane:
    """Tangent; keeps -0.0."""
    return _finished("tan", x, select(x == 0.0, x, tangent_of(_reduced(x))))
