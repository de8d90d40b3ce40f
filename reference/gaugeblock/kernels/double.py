"""Elementary functions of float64 lanes for float64 results, within 1 ULP; seldom cases go through the C library."""

from __future__ import annotations

import math

from .approximation import SHIFT, log_parts, number
from .expression import Lane, select
from .functions import bits_of, copysign, fabs, float_of_bits, fused, mul_add, polynomial, rare, truncate

_LN2 = (float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33"))
_HALF_PI = (float.fromhex("0x1.921fb54400000p+0"), float.fromhex("0x1.0b4611a600000p-34"))
_HALF_PI_REST = float.fromhex("0x1.3198a2e037073p-69")
_EXP_TAIL = tuple(1.0 / math.factorial(n) for n in range(13, 1, -1))
_LOG_TAIL = tuple(2.0 / n for n in range(25, 1, -2))
_SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(8, 0, -1))
_COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in range(8, 1, -1))


def exp(x: Lane) -> Lane:
    """e**x."""
    shifted = mul_add(x, number(1.0 / math.log(2.0)), number(SHIFT))
    scale = float_of_bits((bits_of(shifted) + 1023) << 52)
    k = shifted - SHIFT
    r = mul_add(k, number(-_LN2[1]), mul_add(k, number(-_LN2[0]), x))
    tail = mul_add(r * r, polynomial(r, _EXP_TAIL), r)
    return rare(mul_add(tail, scale, scale), ~(fabs(x) < 708.0), "exp", x)


def sigmoid(x: Lane) -> Lane:
    """1 / (1 + e**-x)."""
    return 1.0 / (exp(-x) + 1.0)


def log(x: Lane) -> Lane:
    """Natural logarithm."""
    k, m = log_parts(x)
    f = m - 1.0
    s = f / (f + 2.0)
    square = s * s
    half_square = f * f * 0.5
    series = square * polynomial(square, _LOG_TAIL)
    low = mul_add(s, half_square + series, k * _LN2[1])
    value = mul_add(k, number(_LN2[0]), f - (half_square - low))
    return rare(value, ~((x >= 2.0**-1022) & (x < float("inf"))), "log", x)


def fmod(a: Lane, b: Lane) -> Lane:
    """Remainder with the sign of a; exact: a quotient that is off by one is put right."""
    quotient = truncate(a / b)
    rest = fused(-quotient, b, a)
    divisor = copysign(b, a)
    crossed = (rest != 0.0) & ((rest < 0.0) ^ (a < 0.0))
    rest = select(crossed, rest + divisor, rest)
    rest = select(fabs(rest) >= fabs(b), rest - divisor, rest)
    usual = (fabs(quotient) < 2.0**52) & (fabs(b) < float("inf"))
    return rare(copysign(rest, a), ~usual, "fmod", a, b)


def _quadrant(x: Lane) -> tuple[Lane, Lane, Lane, Lane]:
    """(sin r, cos r, quadrant bits, whether r is not accurate enough) with x = quadrant * pi/2 + r."""
    shifted = mul_add(x, number(2.0 / math.pi), number(SHIFT))
    k = shifted - SHIFT
    first = x - k * _HALF_PI[0]
    second = k * _HALF_PI[1]
    r = first - second
    low = ((first - r) - second) - k * _HALF_PI_REST
    square = r * r
    half_square = square * 0.5
    near = 1.0 - half_square
    sine = r + mul_add(r * square, polynomial(square, _SINE), low * near)
    fine = mul_add(square * square, polynomial(square, _COSINE), -(sine * low))
    cosine = near + (((1.0 - near) - half_square) + fine)
    unsure = ~(fabs(x) < 2.0**20) | ((fabs(r) < 2.0**-20) & (k != 0.0))
    return sine, cosine, bits_of(shifted), unsure


def sin(x: Lane) -> Lane:
    """Sine; keeps -0.0."""
    sine, cosine, quadrant, unsure = _quadrant(x)
    value = select((quadrant & 1) == 0, sine, cosine)
    value = select((quadrant & 2) == 0, value, -value)
    return rare(select(x == 0.0, x, value), unsure, "sin", x)


def cos(x: Lane) -> Lane:
    """Cosine."""
    sine, cosine, quadrant, unsure = _quadrant(x)
    value = select((quadrant & 1) == 0, cosine, sine)
    return rare(select(((quadrant + 1) & 2) == 0, value, -value), unsure, "cos", x)
