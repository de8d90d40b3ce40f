"""The 8-bit floats as patterns of bits: exact widening to float32, and rounding of float32 to nearest even."""

from __future__ import annotations

from typing import NamedTuple

from ..core.dtype import DType, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz
from .expression import UINT, Expr, constant, select
from .functions import bits_of, cast, float_of_bits

SIGN = 0x80


class Format(NamedTuple):
    """Bits of the fraction, the exponent of 1.0, and the magnitude patterns of the largest number, of what is beyond it
    and of NaN. Where there is no -0 (`one_zero`) its pattern is that of NaN and of what is beyond the largest number.
    """

    fraction: int
    bias: int
    largest: int
    beyond: int
    nan: int
    one_zero: bool = False

    @property
    def dropped(self) -> int:
        """Bits of a fraction of float32 that this format has no place for."""
        return 23 - self.fraction


FORMATS: dict[DType, Format] = {
    float8_e4m3fn: Format(3, 7, 0x7E, 0x7E, 0x7F),
    float8_e5m2: Format(2, 15, 0x7B, 0x7C, 0x7F),
    float8_e4m3fnuz: Format(3, 8, 0x7F, 0x80, 0x80, one_zero=True),
    float8_e5m2fnuz: Format(2, 16, 0x7F, 0x80, 0x80, one_zero=True),
}
"""e4m3fn has no infinity: numbers beyond the largest one, infinities too, become that."""


def widened(x: Expr, dtype: DType) -> Expr:
    """Return the float32 of a pattern, subnormal ones included; NaN is quiet and keeps its sign."""
    form = FORMATS[dtype]
    wide = cast(x, UINT[32])
    magnitude = wide & 0x7F
    aligned = magnitude << form.dropped
    bits = bits_of(float_of_bits(aligned) * 2.0 ** (127 - form.bias))
    sign = (wide & SIGN) << 24
    if form.one_zero:
        return float_of_bits(select(wide == SIGN, constant(0x7FC00000, UINT[32]), bits | sign))
    if form.beyond > form.largest:
        special = select(magnitude > form.beyond, constant(0x7FC00000, UINT[32]), 0x7F800000)
        return float_of_bits(select(magnitude > form.largest, special, bits) | sign)
    return float_of_bits(select(magnitude == form.nan, constant(0x7FC00000, UINT[32]), bits) | sign)


def narrowed(x: Expr, dtype: DType) -> Expr:
    """Return the pattern of the number nearest to a float32, the even one of two."""
    form = FORMATS[dtype]
    bits = bits_of(x)
    magnitude = bits & 0x7FFFFFFF
    lowest = 128 - form.bias << 23
    scaled = magnitude - (127 - form.bias << 23)
    normal = (scaled + ((1 << form.dropped - 1) - 1) + ((magnitude >> form.dropped) & 1)) >> form.dropped
    # The last bit of a float32 of this size is the unit of the subnormal numbers.
    step = 2.0 ** (24 - form.bias - form.fraction)
    small = bits_of(float_of_bits(magnitude) + step) - (128 - form.bias - form.fraction + 23 << 23)
    found = select(magnitude < lowest, small, normal)
    found = select(found > form.largest, constant(form.beyond, UINT[32]), found)
    found = select(magnitude > 0x7F800000, constant(form.nan, UINT[32]), found)
    signed = found | ((bits >> 24) & SIGN)
    return cast(select(found == 0, found, signed) if form.one_zero else signed, UINT[8])
