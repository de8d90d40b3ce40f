"""Logarithms, inverse hyperbolic functions and powers of float32 and float64, for results of the same type.

x = m 2**k with 3/4 <= m < 3/2, f = m - 1 and s = f / (2 + f): log m = 2 atanh s, a series in s**2. It is written
f - (f**2 / 2 - s (f**2 / 2 + s**2 R)), because f and k times the leading part of ln 2 are exact and what is added to
them is small. Where the argument is known to more than one mantissa, log(1 + f + low) takes low / m along, so that the
inverse hyperbolic functions are logarithms of pairs.

Powers have the special values of C's pow. In float64, m = (1 + f) / c with c looked up by the leading bits of m. Then
log x = k ln 2 + log(1/c) + f - f**2 / 2 + f**3 / 3 + f**4 P(f), summed to about 2**-66 of its value, and
e**(y log x) takes the second term of the product along. float32 goes by `approximation`. Coefficients as in
`exponential`.
"""

from __future__ import annotations

import math

from . import approximation
from .exponential import LN2, exp_of_pair, within
from .expression import F32, F64, Expr, ScalarType, select
from .functions import (
    DOUBLE,
    Pair,
    bits_of,
    cast,
    copysign,
    exact_product,
    exact_sum,
    fabs,
    float_of_bits,
    format_of,
    fused,
    isnan,
    lookup,
    mul_add,
    ordered_sum,
    polynomial,
    rint,
    sqrt,
)

_INFINITY = float("inf")
_NAN = float("nan")
# (2 atanh s - 2 s) / s**3 in powers of s**2.
_SERIES = {
    F32: (0.30364754796028137, 0.39957648515701294, 0.666669487953186),
    F64: (
        0.13844660387378968, 0.13173368087848233, 0.1539112506598354, 0.1818166550024666, 0.22222224302113858,
        0.2857142855578679, 0.4000000000005679, 0.666666666666666,
    ),
}  # fmt: skip
_RECIPROCAL = (-0.8222004771232605, 1.061202049255371)

Parts = dict[ScalarType, tuple[float, float]]
_hex = float.fromhex
# log10(2), its first part short enough for exact products with exponents.
_LG2: Parts = {F32: (_hex("0x1.3442p-2"), _hex("-0x1.95ec10p-19"))}
_LG2[F64] = (_hex("0x1.34413509f7800p-2"), _hex("0x1.fef311f12b358p-46"))
# 1 / ln b, its first part with half of the mantissa.
_PER_LN2: Parts = {F32: (_hex("0x1.716p+0"), _hex("-0x1.7135a8p-13"))}
_PER_LN2[F64] = (_hex("0x1.7154768p+0"), _hex("-0x1.6a3e80f444178p-27"))
_PER_LN10: Parts = {F32: (_hex("0x1.bccp-2"), _hex("-0x1.09d5b2p-15"))}
_PER_LN10[F64] = (_hex("0x1.bcb7b18p-2"), _hex("-0x1.6c8d78e6acaa4p-29"))
# Above these log(x + sqrt(x**2 - 1)) is log 2x; below their reciprocals the odd functions are x.
_LARGE = {F32: 2.0**13, F64: 2.0**28}
_HALF_MANTISSA = {F32: 0xFFFFF000, F64: 0xFFFFFFFFF8000000}


def split(x: Expr, subnormal: bool = True) -> Pair:
    """(k, m) with x = m 2**k and 3/4 <= m < 3/2, for finite x > 0."""
    format = format_of(x)
    one, low = format.bias << format.mantissa, (format.bias << format.mantissa) - (1 << (format.mantissa - 1))
    small = x < 2.0 ** (1 - format.bias)
    normal = select(small, x * 2.0 ** (format.mantissa + 1), x) if subnormal else x
    moved = bits_of(normal) + (one - low)
    k = float_of_bits((moved >> format.mantissa) + (format.shift_bits - format.bias)) - format.shift
    if subnormal:
        k = select(small, k - float(format.mantissa + 1), k)
    m = float_of_bits((moved & ((1 << format.mantissa) - 1)) + low)
    mantissa = Expr("instruction", x.type, (m, x), "mantissa")
    whole = Expr("instruction", x.type, (k, x), "exponent")
    rest = Expr("instruction", x.type, (x, mantissa), "exponent")
    return Expr("instruction", x.type, (k, whole - rest), "same"), mantissa


def _edges(x: Expr, value: Expr, natural: Expr) -> Expr:
    """`value`, right for 0, infinity, NaN and negative x; `natural` is already where instructions split x."""
    edged = select(x == _INFINITY, x, select(x == 0.0, format_of(x).number(-_INFINITY), value))
    edged = select(x >= 0.0, edged, format_of(x).number(_NAN))
    return Expr("instruction", x.type, (edged, natural), "same")


def _series(f: Expr) -> tuple[Expr, Expr, Expr]:
    """(s, f**2 / 2, f**2 / 2 + s**2 R)."""
    s = f / (f + 2.0)
    square = s * s
    half = f * f * 0.5
    return s, half, mul_add(square, polynomial(square, _SERIES[f.type]), half)


def log(x: Expr) -> Expr:
    """Natural logarithm."""
    k, m = split(x)
    high, rest = LN2[x.type]
    f = m - 1.0
    s, half, series = _series(f)
    low = mul_add(s, series, k * rest)
    value = mul_add(k, format_of(x).number(high), f - (half - low))
    return _edges(x, value, value)


def _other_base(x: Expr, factor: Parts, two: tuple[float, float]) -> Expr:
    """log_b x: the terms of log m, the first cut to half a mantissa, times 1 / ln b in two parts."""
    k, m = split(x)
    wide, rest = factor[x.type]
    f = m - 1.0
    s, half, series = _series(f)
    start = f - half
    high = float_of_bits(bits_of(start) & _HALF_MANTISSA[x.type])
    low = mul_add(s, series, (f - high) - half)
    first, lost = ordered_sum(k * two[0], high * wide)
    small = mul_add(low + high, format_of(x).number(rest), low * wide)
    value = first + (lost + mul_add(k, format_of(x).number(two[1]), small))
    return _edges(x, value, select(fabs(k) == _INFINITY, k, value))


def log2(x: Expr) -> Expr:
    """Logarithm to base 2."""
    return _other_base(x, _PER_LN2, (1.0, 0.0))


def log10(x: Expr) -> Expr:
    """Logarithm to base 10."""
    return _other_base(x, _PER_LN10, _LG2[x.type])


def _of_pair(u: Expr, low: Expr, doubled: Expr | None = None, subnormal: bool = False) -> Expr:
    """log(u + low) for u > 0 and |low| <= ulp(u); plus ln 2 where `doubled` holds; for subnormal u only on demand."""
    format = format_of(u)
    k, m = split(u, subnormal)
    high, rest = LN2[u.type]
    f = m - 1.0
    s, half, series = _series(f)
    raised = select(1.0 - k > float(format.bias), float(format.bias), 1.0 - k)
    halved = low * (format.power_of_two(bits_of(raised + format.shift)) * 0.5)
    scaled = Expr("instruction", u.type, (halved, low, -k), "scale")
    inverse = mul_add(f * f, polynomial(f, _RECIPROCAL), 1.0 - f)
    if doubled is not None:
        k = select(doubled, k + 1.0, k)
    small = mul_add(s, series, mul_add(scaled, inverse, k * rest))
    return mul_add(k, format.number(high), f - (half - small))


def log1p(x: Expr) -> Expr:
    """log(1 + x); keeps -0.0."""
    u, low = exact_sum(x, format_of(x).number(1.0))
    value = select(u == _INFINITY, u, select(u == 0.0, format_of(x).number(-_INFINITY), _of_pair(u, low)))
    return copysign(select(u >= 0.0, value, format_of(x).number(_NAN)), x)


def logit(x: Expr) -> Expr:
    """log(x / (1 - x))."""
    format = format_of(x)
    bottom = 1.0 - x
    lost = (1.0 - bottom) - x
    inverse = 1.0 / bottom
    ratio = x * inverse
    rest = (fused(-ratio, bottom, x) - ratio * lost) * inverse
    value = _of_pair(ratio, rest, subnormal=True)
    value = select(x == 0.0, format.number(-_INFINITY), select(x == 1.0, format.number(_INFINITY), value))
    return select((x >= 0.0) & (x <= 1.0), value, format.number(_NAN))


def atanh(x: Expr) -> Expr:
    """Inverse hyperbolic tangent."""
    a = fabs(x)
    bottom = 1.0 - a
    lost = (1.0 - bottom) - a
    inverse = 1.0 / bottom
    ratio = (a + a) * inverse
    rest = (fused(-ratio, bottom, a + a) - ratio * lost) * inverse
    u, low = exact_sum(ratio, format_of(x).number(1.0))
    value = select(a == 1.0, format_of(x).number(_INFINITY), _of_pair(u, low + rest) * 0.5)
    value = select(a < 1.0 / _LARGE[x.type], a, value)
    return copysign(select(a <= 1.0, value, format_of(x).number(_NAN)), x)


def _area(a: Expr, sign: float) -> Expr:
    """log(a + sqrt(a**2 + sign)); log(2 a) for large a."""
    large = a > _LARGE[a.type]
    square, lost = exact_product(a, a)
    under, missing = exact_sum(square, format_of(a).number(sign))
    root = sqrt(under)
    rest = (fused(-root, root, under) + (missing + lost)) * (0.5 / root)
    rest = select(under == 0.0, 0.0, rest)
    u, low = exact_sum(a, root)
    value = _of_pair(select(large, a, u), select(large, 0.0, low + rest), large)
    return select(a == _INFINITY, a, value)


def asinh(x: Expr) -> Expr:
    """Inverse hyperbolic sine."""
    a = fabs(x)
    return select(a < 1.0 / _LARGE[x.type], x, copysign(_area(a, 1.0), x))


def acosh(x: Expr) -> Expr:
    """Inverse hyperbolic cosine."""
    return select(x >= 1.0, _area(x, -1.0), format_of(x).number(math.nan))


_POWER_RECIPROCAL = (
    1.0, 0.9140625, 0.8671875, 0.8203125, 0.78125, 0.7421875, 0.7109375, 0.6796875, 1.3046875, 1.2578125, 1.2109375,
    1.1640625, 1.125, 1.0859375, 1.046875, 1.0,
)  # fmt: skip
# log(1 / c), the first part so short that its sums with multiples of ln 2 are exact.
_LOG_HIGH = tuple(
    map(
        float.fromhex,
        """0x0.0p+0 0x1.700d30aeac000p-4 0x1.23d712a49c000p-3 0x1.95a5adcf70000p-3 0x1.f991c6cb3c000p-3
        0x1.314f1e1d36000p-2 0x1.5d5bddf596000p-2 0x1.8b639a88b3000p-2 -0x1.1058bf9ae5000p-2 -0x1.d5c216b4fc000p-3
        -0x1.87fa06520c000p-3 -0x1.371fc201e8000p-3 -0x1.e27076e2b0000p-4 -0x1.51b073f060000p-4 -0x1.77458f6330000p-5
        0x0.0p+0""".split(),
    )
)
_LOG_LOW = (
    0.0, 3.1218748807418837e-15, 1.4256439478199035e-14, 1.0634128304268335e-14, -8.899851356560444e-14,
    -4.4204083338755686e-14, -1.156568624616423e-14, -2.9052332860840534e-14, 7.343591369867797e-14,
    3.149265065191484e-14, -6.440856150696892e-14, -1.0980754099855238e-13, 4.654729747598445e-14,
    -8.614512936087814e-14, 6.219834199475792e-14, 0.0,
)  # fmt: skip
_POWER_LN2 = (float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45"))
_THIRD = (1.0 / 3.0, 1.850371707708594e-17)
# (log(1 + f) - f + f**2 / 2 - f**3 / 3) / f**4 to 2**-67.
_POWER_TAIL = (
    -0.07099053930506126, 0.09034514307259525, -0.1000120493366391, 0.11111254437048897, -0.12500001180702103,
    0.14285714181909143, -0.16666666665171406, 0.2000000000002386, -0.25000000000000333,
)  # fmt: skip


def precise_log(x: Expr) -> Pair:
    """log x of float64 expressions for finite x > 0, in two terms to about 2**-66 of its value."""
    k, m = split(x)
    index = bits_of(m) >> (DOUBLE.mantissa - 4)
    reciprocal = lookup(_POWER_RECIPROCAL, index, F64)
    high, low = lookup(_LOG_HIGH, index, F64), lookup(_LOG_LOW, index, F64)
    product, product_low = exact_product(m, reciprocal)
    f, f_low = ordered_sum(product - 1.0, product_low)
    square, square_low = exact_product(f, f)
    cube, cube_low = exact_product(f, square)
    third, third_low = exact_product(cube, DOUBLE.number(_THIRD[0]))
    first, rest = exact_sum(mul_add(k, DOUBLE.number(_POWER_LN2[0]), high), f)
    second, missing = exact_sum(first, square * -0.5)
    total, lost = exact_sum(second, third)
    small = mul_add(square * square, polynomial(f, _POWER_TAIL), mul_add(k, DOUBLE.number(_POWER_LN2[1]), low))
    cubic = mul_add(mul_add(f, square_low, cube_low), DOUBLE.number(_THIRD[0]), cube * _THIRD[1]) + third_low
    linear = mul_add(-f, f_low, f_low) + mul_add(square_low, DOUBLE.number(-0.5), cubic)
    return ordered_sum(total, small + (linear + (rest + missing + lost)))


def pow(x: Expr, y: Expr) -> Expr:
    """x**y."""
    single = x.type is F32
    a = fabs(x)
    if single:
        power = cast(y, F64) * approximation.log(cast(a, F64))
        value = cast(approximation.exp(within(power, -150.0, 150.0)), F32)
    else:
        bounded = select(y > 2.0**70, 2.0**70, y)
        bounded = select(bounded < -(2.0**70), -(2.0**70), bounded)
        total, missing = precise_log(a)
        power, power_low = exact_product(bounded, total)
        value = exp_of_pair(power, mul_add(bounded, missing, power_low))
    format = format_of(x)
    zero = x == 0.0
    falling = y < 0.0
    value = select(zero | (a == _INFINITY), select(zero ^ falling, format.number(0.0), _INFINITY), value)
    infinite = fabs(y) == _INFINITY
    value = select(infinite, select((a > 1.0) ^ falling, format.number(_INFINITY), 0.0), value) if single else value
    half = y * 0.5
    whole = rint(y) == y
    value = select((bits_of(x) >> (x.type.bits - 1) == 1) & whole & (rint(half) != half), -value, value)
    value = select((x < 0.0) & (a < _INFINITY) & ~whole, format.number(float("nan")), value)
    value = select(isnan(x) | isnan(y), x + y, value)
    return select((y == 0.0) | (x == 1.0) | ((x == -1.0) & infinite), 1.0, value)
