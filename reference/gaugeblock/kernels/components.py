"""Numbers taken apart and put together: frexp, complex and polar as formulas of lanes."""

from __future__ import annotations

from .complex_lanes import Complex
from .expression import INT, Lane, constant, select
from .formats import format_of
from .functions import bits_of, convert_lane, fabs, float_of_bits
from .trigonometry import sin_cos


def frexp(x: Lane) -> tuple[Lane, Lane]:
    """(mantissa, exponent) with ``x == mantissa * 2**exponent``; 0, inf and NaN are their own mantissa."""
    format, size = format_of(x), fabs(x)
    small = size < 2.0 ** (1 - format.bias)
    bits = bits_of(select(small, x * 2.0**format.mantissa, x))
    mask = (2 * format.bias + 1) << format.mantissa
    held = convert_lane((bits & mask) >> format.mantissa, INT[32]) - (format.bias - 1)
    exponent = select(small, held - format.mantissa, held)
    mantissa = float_of_bits((bits & ~mask) | ((format.bias - 1) << format.mantissa))
    usual = (size > 0.0) & (size < float("inf"))
    return select(usual, mantissa, x), select(usual, exponent, constant(0, INT[32]))


def joined(real: Lane, imag: Lane) -> Complex:
    """The complex number of two real ones."""
    return Complex(real, imag)


def polar(size: Lane, angle: Lane) -> Complex:
    """``size * (cos(angle) + i sin(angle))``."""
    sine, cosine = sin_cos(angle)
    return Complex(size * cosine, size * sine)
