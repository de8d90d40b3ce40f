"""Powers of float32 and float64 lanes, with the special values of C's pow.

float64: x = m 2**k with 3/4 <= m < 3/2, and m = (1 + f) / c with c looked up by the leading bits of m. Then
log x = k ln 2 + log(1/c) + f - f**2 / 2 + f**3 / 3 + f**4 P(f), summed to about 2**-66 of its value, and
e**(y log x) takes the second term of the product along. float32 is the same in float64 lanes with shorter polynomials.
Coefficients as in `exponential`.
"""

from __future__ import annotations

from .double_word import Pair, exact_product, exact_sum, ordered_sum
from .exponential import exp_of_pair, short_exp, within
from .expression import F32, F64, Lane, select
from .formats import DOUBLE, format_of
from .functions import bits_of, convert_lane, fabs, isnan, lookup, mul_add, polynomial, rint
from .logarithm import split

_INFINITY = float("inf")
_RECIPROCAL = (
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
_LN2 = (float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45"))
_THIRD = (1.0 / 3.0, 1.850371707708594e-17)
# (log(1 + f) - f + f**2 / 2 - f**3 / 3) / f**4 to 2**-67, (log(1 + f) - f + f**2 / 2) / f**3 to 2**-39.
_TAIL = (
    -0.07099053930506126, 0.09034514307259525, -0.1000120493366391, 0.11111254437048897, -0.12500001180702103,
    0.14285714181909143, -0.16666666665171406, 0.2000000000002386, -0.25000000000000333,
)  # fmt: skip
_SHORT_TAIL = (
    0.13125521539265397, -0.16659362337701475, 0.20001608557899536, -0.2500001742902314, 0.3333333279592837,
)  # fmt: skip


def _looked_up(x: Lane, subnormal: bool) -> tuple[Lane, Lane, Lane, Lane]:
    """(k, m, c, the bits of m that chose c)."""
    k, m = split(x, subnormal)
    index = bits_of(m) >> (DOUBLE.mantissa - 4)
    return k, m, lookup(_RECIPROCAL, index, F64), index


def precise_log(x: Lane) -> Pair:
    """log x of float64 lanes for finite x > 0, in two terms to about 2**-66 of its value."""
    k, m, reciprocal, index = _looked_up(x, subnormal=True)
    high, low = lookup(_LOG_HIGH, index, F64), lookup(_LOG_LOW, index, F64)
    product, product_low = exact_product(m, reciprocal)
    f, f_low = ordered_sum(product - 1.0, product_low)
    square, square_low = exact_product(f, f)
    cube, cube_low = exact_product(f, square)
    third, third_low = exact_product(cube, DOUBLE.number(_THIRD[0]))
    first, rest = exact_sum(mul_add(k, DOUBLE.number(_LN2[0]), high), f)
    second, missing = exact_sum(first, square * -0.5)
    total, lost = exact_sum(second, third)
    small = mul_add(square * square, polynomial(f, _TAIL), mul_add(k, DOUBLE.number(_LN2[1]), low))
    cubic = mul_add(mul_add(f, square_low, cube_low), DOUBLE.number(_THIRD[0]), cube * _THIRD[1]) + third_low
    linear = mul_add(-f, f_low, f_low) + mul_add(square_low, DOUBLE.number(-0.5), cubic)
    return ordered_sum(total, small + (linear + (rest + missing + lost)))


def _precise(x: Lane, y: Lane) -> Lane:
    """x**y of float64 lanes for finite x > 0 and |y| <= 2**70."""
    total, missing = precise_log(x)
    power, power_low = exact_product(y, total)
    return exp_of_pair(power, mul_add(y, missing, power_low))


def _quick(x: Lane, y: Lane) -> Lane:
    """x**y of float64 lanes to about 2**-30 for normal x > 0."""
    k, m, reciprocal, index = _looked_up(x, subnormal=False)
    f = mul_add(m, reciprocal, DOUBLE.number(-1.0))
    square = f * f
    start = mul_add(k, DOUBLE.number(_LN2[0]), lookup(_LOG_HIGH, index, F64))
    logarithm = start + mul_add(mul_add(f, polynomial(f, _SHORT_TAIL), DOUBLE.number(-0.5)), square, f)
    return short_exp(within(y * logarithm, -150.0, 150.0))


def pow(x: Lane, y: Lane) -> Lane:
    """x**y."""
    single = x.type is F32
    a = fabs(x)
    if single:
        value = convert_lane(_quick(convert_lane(a, F64), convert_lane(y, F64)), F32)
    else:
        bounded = select(y > 2.0**70, 2.0**70, y)
        value = _precise(a, select(bounded < -(2.0**70), -(2.0**70), bounded))
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
