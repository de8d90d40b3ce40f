"""Division of a 32-bit index by a fixed size, as a multiplication and a shift.

For 1 <= d <= 2**31 - 1 and s the smallest number with 2**s >= d, m = floor(2**32 (2**s - d) / d) + 1 fits 32 bits, and
n // d = (floor(n m / 2**32) + n) >> s for all 0 <= n < 2**31, without overflow.
"""

from __future__ import annotations


def magic(divisor: int) -> tuple[int, int]:
    """(m, s) for a divisor."""
    shift = (divisor - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - divisor)) // divisor + 1, shift


def divided(index: int, multiplier: int, shift: int) -> int:
    """index // divisor by its (multiplier, shift), as kernels compute it."""
    return ((index * multiplier >> 32) + index) >> shift
