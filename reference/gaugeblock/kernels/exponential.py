"""Exponential and hyperbolic functions of float32 and float64 expressions, for results of the same type.

x = k ln 2 + start + low with |start| <= 0.347: k times the leading part of ln 2 is exact, so start is, and low is the
product of k with the rest. Then e**x = 2**k e**(start + low). Terms are added from the smallest to the largest, and
the rounding error of each large sum is kept; results below the normal range are rounded twice. Coefficients are
weighted minimax fits (Lawson's iteration in 220 bits), rounded one after the other from the lowest power, the rest
fitted again each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .expression import F32, F64, Expr, select
from .functions import (
    Format,
    Pair,
    copysign,
    exact_product,
    fabs,
    format_of,
    fused,
    mul_add,
    ordered_sum,
    polynomial,
    polynomial_by_pairs,
)
from .piecewise import short_tanh

# ln 2 in two parts, the first so short that its products with k are exact.
LN2 = {
    F32: (float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")),
    F64: (float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")),
}
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_TWO_LN2 = {F32: (float.fromhex("0x1.62e430p-1"), float.fromhex("-0x1.05c610p-29"))} | {
    F64: (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
}
# (e**r - 1 - r) / r**2, absolute error of e**r 2**-28 and 2**-57.
_TAIL = {
    F32: (0.001393962651491165, 0.008369526825845242, 0.041666414588689804, 0.16666513681411743, 0.5),
    F64: (
        2.5116129659843096e-08, 2.7626779666345706e-07, 2.7557223025499894e-06, 2.4801504890222663e-05,
        0.00019841269908026516, 0.0013888888929626266, 0.008333333333312673, 0.041666666666597484,
        0.16666666666666688, 0.5,
    ),
}  # fmt: skip
# (cosh r - 1 - r**2 / 2) / r**4 and (sinh r - r) / r**3 in powers of r**2.
_EVEN = {
    F32: (0.001393584650941193, 0.04166645556688309),
    F64: (2.092193122779237e-09, 2.7557251403401095e-07, 2.480158734954722e-05, 0.0013888888888873192,
          0.041666666666666685),
}  # fmt: skip
_ODD = {
    F32: (0.00019972123845946044, 0.008333177305758, 0.1666666716337204),
    F64: (1.7482506296506936e-10, 2.5047069480975603e-08, 2.7557325918336506e-06, 0.00019841269837220165,
          0.008333333333334405, 0.16666666666666666),
}  # fmt: skip
# Beyond these numbers e**x is 0 or infinite, e**x - 1 is -1 or infinite, 1 / (1 + e**-x) is 0 or 1, sinh x is infinite,
# tanh x is 1; below the last one sinh x = x.
_SPAN = {F32: (-105.0, 90.0), F64: (-747.0, 711.0)}
_SPAN_LESS_ONE = {F32: (-18.0, 89.0), F64: (-40.0, 709.9)}
_SPAN_SHARED = {F32: (-105.0, 18.0), F64: (-747.0, 38.0)}
_SPAN_HALVED = {F32: 89.5, F64: 710.6}
_SMALLEST = {F32: 2.0**-126, F64: 2.0**-1022}
_FLAT = {F32: 10.0, F64: 20.0}
_LINEAR = {F32: 2.0**-13, F64: 2.0**-27}


class Reduced(NamedTuple):
    """x = k ln 2 + start + k * rest: `bits` holds k, r is start + k * rest rounded."""

    format: Format
    k: Expr
    bits: Expr
    start: Expr
    r: Expr
    rest: Expr


def within(x: Expr, low: float, high: float) -> Expr:
    """x, but the bounds beyond them; NaN is kept."""
    x = select(x < low, low, x)
    return select(x > high, high, x)


def _reduced(x: Expr) -> Reduced:
    format = format_of(x)
    high, rest = LN2[x.type]
    k, bits = format.nearest(x, _PER_LN2)
    start = mul_add(k, format.number(-high), x)
    return Reduced(format, k, bits, start, mul_add(k, format.number(-rest), start), format.number(-rest))


def _one_and_tail(start: Expr, r: Expr) -> Pair:
    """e**r + start - r as a rounded 1 + start and what it lacks."""
    one, lost = ordered_sum(format_of(r).number(1.0), start)
    return one, mul_add(r * r, polynomial(r, _TAIL[r.type]), lost)


def _natural(a: Reduced) -> Pair:
    """e**(start + k * rest) in two terms."""
    one, tail = _one_and_tail(a.start, a.r)
    return one, mul_add(a.k, a.rest, tail)


def _scaled(value: Expr, k: Expr, bits: Expr, format: Format) -> Expr:
    """value * 2**k, rounded once; in two steps where no instruction does it."""
    half = bits >> 1
    plain = value * format.power_of_two(half) * format.power_of_two(bits - half)
    return Expr("instruction", value.type, (plain, value, k), "scale")


def exp(x: Expr) -> Expr:
    """e**x."""
    a = _reduced(within(x, *_SPAN[x.type]))
    one, tail = _natural(a)
    return _scaled(one + tail, a.k, a.bits, a.format)


def exp_of_pair(x: Expr, low: Expr) -> Expr:
    """e**(x + low) for |low| <= ulp(x)."""
    low = select(fabs(x) > _SPAN[x.type][1] * 2.0, 0.0, low)
    a = _reduced(within(x, *_SPAN[x.type]))
    one, tail = _natural(a)
    return _scaled(one + mul_add(low, one + tail, tail), a.k, a.bits, a.format)


def _two_to_part(x: Expr, missing: Callable[[Expr, Expr, Expr], Expr]) -> tuple[Pair, Callable[[Expr], Expr]]:
    """(value in two terms, its scaling) with 2**x the scaled value; `missing` adds to a product, as `mul_add`."""
    format = format_of(x)
    x = within(x, *(1.5 * end for end in _SPAN[x.type]))
    k, bits = format.nearest(x, 1.0)
    high, rest = _TWO_LN2[x.type]
    part = x - k
    start = part * high
    one, tail = _one_and_tail(start, start)
    tail = mul_add(part, format.number(rest), tail + missing(part, format.number(high), -start))
    return (one, tail), lambda lane: _scaled(lane, k, bits, format)


def exp2(x: Expr) -> Expr:
    """2**x."""
    (one, tail), scaled = _two_to_part(x, mul_add)
    return scaled(one + tail)


def times_exp2(a: Expr, x: Expr) -> Expr:
    """a * 2**x, infinite or 0 where a times the rounded 2**x is; within one unit of that unless terms are subnormal."""
    (one, tail), scaled = _two_to_part(x, fused)
    power, rest = ordered_sum(one, tail)
    factor = scaled(power)
    product, missing = exact_product(a, factor)
    result = product + mul_add(a, scaled(rest), missing)
    kept = (product != 0.0) & (factor >= _SMALLEST[a.type]) & (fabs(product) < float("inf")) & (factor < float("inf"))
    return select(kept, result, product)


def falling_parts(a: Expr) -> tuple[Pair, Callable[[Expr], Expr]]:
    """(value in two terms, scaling of an expression) with e**-a for a >= 0 the scaled value."""
    parts = _reduced(-select(a > -_SPAN[a.type][0], -_SPAN[a.type][0], a))
    value = ordered_sum(*_natural(parts))
    return value, lambda lane: _scaled(lane, parts.k, parts.bits, parts.format)


def _shared(a: Reduced, part: Expr | None) -> Expr:
    """part / (1 + e**x) for the x that was reduced, for 1 if `part` is None: divided are the part and 2**-k + e**r."""
    number, square = a.format.number, a.r * a.r
    one, lost = ordered_sum(number(1.0), a.start)
    most = a.format.shift_bits + 64  # beyond 2**-64 the power adds nothing
    power = a.format.power_of_two(a.format.shift_bits - select(a.bits < most, a.bits, most))
    total, missing = ordered_sum(select(power > one, power, one), select(one < power, one, power))
    tail = polynomial_by_pairs(a.r, square, _TAIL[a.r.type])
    rest = mul_add(square, tail, mul_add(a.k, a.rest, lost) + missing)
    inverse = 1.0 / (total + rest)
    first = inverse if part is None else part * inverse
    excess = mul_add(first, rest, fused(first, total, number(-1.0) if part is None else -part))
    return _scaled(mul_add(-excess, inverse, first), -a.k, -a.bits, a.format)


def sigmoid(x: Expr) -> Expr:
    """1 / (1 + e**-x), small results included."""
    return _shared(_reduced(-within(x, *_SPAN_SHARED[x.type])), None)


def times_sigmoid(x: Expr) -> Expr:
    """x / (1 + e**-x); NaN for -inf, where a product of -inf and 0 stands."""
    low, high = _SPAN_SHARED[x.type]
    part = select(x < low * 1.1, low * 1.1, x)
    value = _shared(_reduced(-part), part)
    return select(x == -float("inf"), float("nan"), select(x > high, x, value))


def _odd_tail(a: Reduced, square: Expr) -> Expr:
    """sinh r - start."""
    return mul_add(a.r * square, polynomial(square, _ODD[a.r.type]), a.k * a.rest)


def _even_tail(a: Reduced, square: Expr) -> Expr:
    """cosh r - 1."""
    missing = mul_add(a.k, a.rest, a.start - a.r)
    fourth = mul_add(square * square, polynomial(square, _EVEN[a.r.type]), a.r * missing)
    return mul_add(square, a.format.number(0.5), fourth)


def expm1(x: Expr) -> Expr:
    """e**x - 1; keeps -0.0."""
    a = _reduced(within(x, *_SPAN_LESS_ONE[x.type]))
    square = a.r * a.r
    large = x > 60.0
    power = a.format.power_of_two(select(large, a.bits - 2, a.bits))
    less_one, lost_one = ordered_sum(power, select(large, a.format.number(0.0), -1.0))
    first, lost = ordered_sum(less_one, power * a.start)
    value = first + mul_add(power, _odd_tail(a, square) + _even_tail(a, square), lost + lost_one)
    return copysign(value * select(large, a.format.number(4.0), 1.0), x)


def _hyperbolic(x: Expr, limit: float) -> tuple[Pair, Pair]:
    """(sinh |x|, cosh |x|), each halved and in two terms. With e**r = C + S, even and odd part: 2 sinh = 2**k (C + S) -
    2**-k (C - S) and 2 cosh the same with a plus."""
    size = fabs(x)
    a = _reduced(select(size > limit, limit, size))
    square = a.r * a.r
    up = a.format.power_of_two(a.bits - 2)
    down = select(a.k > 60.0, 0.0, a.format.power_of_two(-a.bits - 2))
    total, lost_total = ordered_sum(up, down)
    difference, lost_difference = ordered_sum(up, -down)
    odd, even = _odd_tail(a, square), _even_tail(a, square)

    def combined(large: Expr, lost: Expr, other: Expr, lost_other: Expr) -> Pair:
        slope = other * a.start
        first, missing = ordered_sum(large, slope)
        exact = mul_add(lost_other, a.start, fused(other, a.start, -slope))
        return first, mul_add(large, even, mul_add(other, odd, (missing + lost) + exact))

    return (
        combined(difference, lost_difference, total, lost_total),
        combined(total, lost_total, difference, lost_difference),
    )


def sinh(x: Expr) -> Expr:
    """Hyperbolic sine."""
    (first, rest), _ = _hyperbolic(x, _SPAN_HALVED[x.type])
    return select(fabs(x) < _LINEAR[x.type], x, copysign((first + rest) * 2.0, x))


def cosh(x: Expr) -> Expr:
    """Hyperbolic cosine."""
    _, (first, rest) = _hyperbolic(x, _SPAN_HALVED[x.type])
    return (first + rest) * 2.0


def tanh(x: Expr) -> Expr:
    """Hyperbolic tangent; piecewise polynomial in float32 expressions."""
    if x.type is F32:
        size = fabs(x)
        return copysign(short_tanh(select(size > _FLAT[F32], _FLAT[F32], size)), x)
    sine, cosine = _hyperbolic(x, _FLAT[x.type])
    high, low = ordered_sum(*cosine)
    inverse = 1.0 / high
    first = sine[0] * inverse
    miss = fused(-first, high, sine[0]) + mul_add(-first, low, sine[1])
    return select(fabs(x) < _LINEAR[x.type], x, copysign(mul_add(miss, inverse, first), x))
