"""Division of integers, remainders and whole quotients of floats: exact for any quotient.

Integer division by zero is a fault of the call, int_min / -1 wraps, narrow types divide in floating point.
"""

from __future__ import annotations

from .expression import F32, F64, Expr, constant, guard, select, while_loop
from .functions import bits_of, cast, copysign, fabs, float_of_bits, floor, fused, truncate

_INFINITY, _NAN = float("inf"), float("nan")
_LARGE = 2.0**52
_EXPONENT = 0x7FF << 52


def _exact_remainder(a: Expr, b: Expr) -> Expr:
    """Remainder of float64 expressions with the sign of a: a quotient that is off by one is put right. What has a
    quotient of more than 52 bits is reduced by rounds of 51 bits, see `_reduced`."""
    size, divisor = fabs(a), fabs(b)
    quotient = truncate(fabs(a / b))
    rest = fused(-quotient, divisor, size)
    rest = select(rest < 0.0, rest + divisor, rest)
    rest = select(rest >= divisor, rest - divisor, rest)
    begin = select((quotient < _LARGE) & (divisor < _INFINITY), rest, size)
    going = (divisor > 0.0) & (size < _INFINITY)
    (rest,) = while_loop(lambda rest: going & (rest >= divisor), lambda rest: (_reduced(rest, divisor),), begin)
    # Sign first: LLVM would round a widened float16 `a` for a copysign at the end, by a routine that is not there.
    return select(going, copysign(rest, a), _NAN)


def _reduced(rest: Expr, divisor: Expr) -> Expr:
    """Return rest less a multiple of the divisor, for rest >= divisor: less than 2**-51 rest, or than the divisor.

    The divisor times a power of two is taken off a whole number of times, which is exact. Two steps of 2**550 come
    first where the quotient overflows.
    """
    scaled = divisor
    for _ in range(2):
        scaled = select(rest / scaled == _INFINITY, scaled * 2.0**550, scaled)
    ratio = rest / scaled
    power = float_of_bits(bits_of(ratio) & _EXPONENT) * (2.0 / _LARGE)
    scaled = scaled * select(ratio >= _LARGE, power, constant(1.0, F64))
    left = fused(-truncate(rest / scaled), scaled, rest)
    return select(left < 0.0, left + scaled, left)


def fmod(a: Expr, b: Expr) -> Expr:
    """Remainder with the sign of a."""
    return cast(_exact_remainder(cast(a, F64), cast(b, F64)), a.type)


def remainder(a: Expr, b: Expr) -> Expr:
    """Remainder with the sign of b."""
    rest = fmod(a, b)
    return select((rest != 0.0) & ((b < 0.0) ^ (rest < 0.0)), rest + b, rest)


def floor_divide(a: Expr, b: Expr) -> Expr:
    """floor(a / b) as Python defines it: from the exact remainder, NaN for infinite a, a / b for zero b."""
    rest = fmod(a, b)
    exact = (a - rest) / b
    quotient = select((rest != 0.0) & ((b < 0.0) ^ (rest < 0.0)), exact - 1.0, exact)
    below = floor(quotient)
    nearest = select(quotient - below > 0.5, below + 1.0, below)
    zero = copysign(constant(0.0, a.type), a / b)
    return select(b == 0.0, a / b, select(quotient != 0.0, nearest, zero))


def trunc_divide_int(a: Expr, b: Expr) -> Expr:
    """a / b toward zero; a zero divisor is a fault of the call."""
    zero = b == 0
    safe = select(zero, constant(1, b.type), b)
    if a.type.bits < 64:
        wide = F32 if a.type.bits <= 16 else F64
        quotient = truncate(cast(a, wide) / cast(safe, wide))
        result = cast(quotient, a.type)
    elif a.type.kind == "int":
        result = Expr("sdiv", a.type, (a, select(b == -1, constant(1, b.type), safe)))
    else:
        result = Expr("udiv", a.type, (a, safe))
    if a.type.kind == "int":
        result = select(b == -1, -a, result)
    return guard(result, zero)


def floor_divide_int(a: Expr, b: Expr) -> Expr:
    """a / b toward minus infinity."""
    quotient = trunc_divide_int(a, b)
    if a.type.kind != "int":
        return quotient
    inexact = (quotient * b != a) & ((a ^ b) < 0)
    return select(inexact, quotient - 1, quotient)


def remainder_int(a: Expr, b: Expr) -> Expr:
    """a - b * floor(a / b): the sign of the divisor."""
    rest = a - trunc_divide_int(a, b) * b
    return rest if a.type.kind != "int" else select((rest != 0) & ((rest ^ b) < 0), rest + b, rest)
