"""Elementary functions in float64 inside formulas whose result is rounded to float32: relative error 2**-43.

Arguments are float32 values widened to float64, or results of these functions. Coefficients as in `exponential`.
"""

from __future__ import annotations

import math

from .exponential import within
from .expression import Expr, select
from .functions import DOUBLE, bits_of, float_of_bits, mul_add, polynomial

# (e**r - 1 - r) / r**2 and (atanh s - s) / s**3 in powers of s**2.
_EXP_TAIL = (
    2.763714859693326e-06, 2.4876607603418002e-05, 0.00019841180888446812, 0.0013888820879317313, 0.008333333373222049,
    0.04166666689493308, 0.16666666666609276, 0.49999999999793243,
)  # fmt: skip
_ATANH_TAIL = (
    0.09796523428818947, 0.1108780493750137, 0.14286061003286968, 0.1999999775539915, 0.33333333338047727,
)  # fmt: skip
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_ONE_BITS = 0x3FF0000000000000
_MANTISSA = (1 << 52) - 1
_INFINITY = float("inf")


def _exp_parts(x: Expr) -> tuple[Expr, Expr]:
    """(e**r - 1, 2**k) with x = k ln 2 + r."""
    k, bits = DOUBLE.nearest(x, 1.0 / math.log(2.0))
    r = mul_add(k, DOUBLE.number(-math.log(2.0)), x)
    return mul_add(r * r, polynomial(r, _EXP_TAIL), r), DOUBLE.power_of_two(bits)


def exp(x: Expr) -> Expr:
    """e**x; 0 below -700, e**700 above 700."""
    tail, scale = _exp_parts(within(x, -700.0, 700.0))
    return select(x < -700.0, 0.0, mul_add(tail, scale, scale))


def exp2_of_negative(x: Expr) -> Expr:
    """2**x for x not above 0; 2**-1000 below that."""
    x = select(x < -1000.0, -1000.0, x)
    k, bits = DOUBLE.nearest(x, 1.0)
    r = (x - k) * math.log(2.0)
    scale = DOUBLE.power_of_two(bits)
    return mul_add(mul_add(r * r, polynomial(r, _EXP_TAIL), r), scale, scale)


def expm1(x: Expr) -> Expr:
    """e**x - 1; keeps -0.0."""
    tail, scale = _exp_parts(within(x, -110.0, 110.0))
    return select(x == 0.0, x, mul_add(tail, scale, scale - 1.0))


def log_parts(x: Expr) -> tuple[Expr, Expr]:
    """(k, m) with x = m * 2**k and m between sqrt(1/2) and sqrt(2)."""
    moved = bits_of(x) + (_ONE_BITS - _SQRT_HALF_BITS)
    k = float_of_bits((moved >> 52) + (DOUBLE.shift_bits - DOUBLE.bias)) - DOUBLE.shift
    return k, float_of_bits((moved & _MANTISSA) + _SQRT_HALF_BITS)


def _log_of(f: Expr) -> Expr:
    """log(1 + f) for f between sqrt(1/2) - 1 and sqrt(2) - 1."""
    s = f / (f + 2.0)
    square = s * s
    return mul_add(s * square, polynomial(square, _ATANH_TAIL), s) * 2.0


def _log_edges(x: Expr, result: Expr) -> Expr:
    result = select(x == _INFINITY, x, result)
    result = select(x == 0.0, DOUBLE.number(-_INFINITY), result)
    return select((x >= 0.0), result, DOUBLE.number(float("nan")))


def log_of_normal(x: Expr) -> Expr:
    """Natural logarithm of positive numbers that are neither subnormal nor infinite."""
    k, m = log_parts(x)
    return mul_add(k, DOUBLE.number(math.log(2.0)), _log_of(m - 1.0))


def log(x: Expr) -> Expr:
    """Natural logarithm."""
    return _log_edges(x, log_of_normal(x))


def log1p_of_share(x: Expr) -> Expr:
    """log(1 + x) for x from 0 to 1."""
    k, m = log_parts(x + 1.0)
    return mul_add(k, DOUBLE.number(math.log(2.0)), _log_of(select(k == 0.0, x, m - 1.0)))


def log1p(x: Expr) -> Expr:
    """log(1 + x); keeps -0.0."""
    return select(x == 0.0, x, _log_edges(x + 1.0, log1p_of_share(x)))
