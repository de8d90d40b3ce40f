"""Remainders of float lanes, exact for any quotient."""

from __future__ import annotations

from .expression import F64, Lane, constant, select
from .functions import bits_of, copysign, fabs, float_of_bits, fused, truncate
from .while_loop import while_loop

_INFINITY, _NAN = float("inf"), float("nan")
_LARGE = 2.0**52
_EXPONENT = 0x7FF << 52


def fmod(a: Lane, b: Lane) -> Lane:
    """Remainder of float64 lanes with the sign of a: a quotient that is off by one is put right.

    What has a quotient of more than 52 bits is reduced by rounds of 51 bits, see `_reduced`.
    """
    size, divisor = fabs(a), fabs(b)
    quotient = truncate(fabs(a / b))
    rest = fused(-quotient, divisor, size)
    rest = select(rest < 0.0, rest + divisor, rest)
    rest = select(rest >= divisor, rest - divisor, rest)
    begin = select((quotient < _LARGE) & (divisor < _INFINITY), rest, size)
    going = (divisor > 0.0) & (size < _INFINITY)
    (rest,) = while_loop(
        lambda rest: going & (rest >= divisor), lambda rest: (_reduced(rest, divisor),), begin
    )
    # Sign first: LLVM would round a widened float16 `a` for a copysign at the end, by a routine that is not there.
    return select(going, copysign(rest, a), _NAN)


def _reduced(rest: Lane, divisor: Lane) -> Lane:
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
