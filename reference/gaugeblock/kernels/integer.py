"""Integer division of lanes: faults on zero, int_min / -1 wraps, narrow types divide in floating point."""

from __future__ import annotations

from .expression import F32, F64, Lane, constant, guard, select
from .functions import convert_lane, truncate


def trunc_divide_int(a: Lane, b: Lane) -> Lane:
    """a / b toward zero; a zero divisor is a fault of the call."""
    zero = b == 0
    safe = select(zero, constant(1, b.type), b)
    if a.type.bits < 64:
        wide = F32 if a.type.bits <= 16 else F64
        quotient = truncate(convert_lane(a, wide) / convert_lane(safe, wide))
        result = convert_lane(quotient, a.type)
    elif a.type.kind == "int":
        result = Lane("sdiv", a.type, (a, select(b == -1, constant(1, b.type), safe)))
    else:
        result = Lane("udiv", a.type, (a, safe))
    if a.type.kind == "int":
        result = select(b == -1, -a, result)
    return guard(result, zero)


def floor_divide_int(a: Lane, b: Lane) -> Lane:
    """a / b toward minus infinity."""
    quotient = trunc_divide_int(a, b)
    if a.type.kind != "int":
        return quotient
    inexact = (quotient * b != a) & ((a ^ b) < 0)
    return select(inexact, quotient - 1, quotient)


def remainder_int(a: Lane, b: Lane) -> Lane:
    """a - b * floor(a / b): the sign of the divisor."""
    rest = a - trunc_divide_int(a, b) * b
    if a.type.kind != "int":
        return rest
    return select((rest != 0) & ((rest ^ b) < 0), rest + b, rest)
