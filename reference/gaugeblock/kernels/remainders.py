"""Remainders of float lanes, exact for any quotient."""

from __future__ import annotations

from .expression import Lane, select
from .functions import copysign, fabs, fused, rare, truncate


def fmod(a: Lane, b: Lane) -> Lane:
    """Remainder of float64 lanes with the sign of a: a quotient that is off by one is put right."""
    quotient = truncate(a / b)
    rest = fused(-quotient, b, a)
    divisor = copysign(b, a)
    crossed = (rest != 0.0) & ((rest < 0.0) ^ (a < 0.0))
    rest = select(crossed, rest + divisor, rest)
    rest = select(fabs(rest) >= fabs(b), rest - divisor, rest)
    usual = (fabs(quotient) < 2.0**52) & (fabs(b) < float("inf"))
    return rare(copysign(rest, a), ~usual, "fmod", a, b)
