"""What elementary functions need to know of float32 and float64 lanes."""

from __future__ import annotations

from typing import NamedTuple

from .expression import F32, F64, Lane, LaneType, constant
from .functions import bits_of, float_of_bits, mul_add


class Format(NamedTuple):
    """A float lane type: mantissa bits, exponent bias, and the number (with its bits) whose addition rounds."""

    type: LaneType
    mantissa: int
    bias: int
    shift: float
    shift_bits: int

    def number(self, value: float) -> Lane:
        """A constant."""
        return constant(value, self.type)

    def power_of_two(self, exponent: Lane) -> Lane:
        """2**n for the unsigned lane n, whose bits above those of an exponent do not matter."""
        return float_of_bits((exponent + self.bias) << self.mantissa)

    def nearest(self, x: Lane, factor: float) -> tuple[Lane, Lane]:
        """k = x * factor rounded to an integer: as a float, and as the low bits of an unsigned lane."""
        moved = mul_add(x, self.number(factor), self.number(self.shift))
        return moved - self.shift, bits_of(moved)


SINGLE = Format(F32, 23, 127, 1.5 * 2.0**23, 0x4B400000)
DOUBLE = Format(F64, 52, 1023, 1.5 * 2.0**52, 0x4338000000000000)


def format_of(x: Lane) -> Format:
    """The format of a float lane."""
    return SINGLE if x.type is F32 else DOUBLE
