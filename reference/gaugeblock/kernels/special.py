"""Special functions of real lanes, evaluated in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import approximation
from .elementary import evaluated
from .expression import F32, F64, UINT, Lane, constant, select
from .functions import (
    bits_of,
    convert_lane,
    copysign,
    fabs,
    float_of_bits,
    floor,
    isnan,
    libm,
    mul_add,
    polynomial,
    rint,
)

Function = Callable[..., Lane]
SHORT: dict[str, Function] = {
    name: getattr(approximation, name) for name in ("exp", "exp2", "expm1", "log", "log1p", "tanh")
}
"""Functions of float64 lanes inside formulas whose result is rounded to float32."""


def in_double(function: Function, *arguments: Lane) -> Lane:
    """function(library, arguments...) in float64 lanes, rounded once; `library(name, x)` fits the arguments' type."""
    single = arguments[0].type is F32

    def library(name: str, *x: Lane) -> Lane:
        short = SHORT.get(name) if single else None
        return short(*x) if short is not None else evaluated(name, *x)

    result: Lane = function(library, *(convert_lane(x, F64) for x in arguments))
    return convert_lane(result, arguments[0].type)


def xlogy(library: Function, x: Lane, y: Lane) -> Lane:
    """x log y, 0 for x = 0, NaN for NaN y."""
    return select(isnan(y), y, select(x == 0.0, 0.0, x * library("log", y)))


def logaddexp(library: Function, a: Lane, b: Lane) -> Lane:
    """log(e**a + e**b)."""
    top = select((a > b) | isnan(a), a, b)
    spread = library("log1p", library("exp", -fabs(a - b)))
    return select((a == b) & (fabs(a) == float("inf")), a, top + spread)


def logaddexp2(library: Function, a: Lane, b: Lane) -> Lane:
    """log2(2**a + 2**b)."""
    top = select((a > b) | isnan(a), a, b)
    spread = library("log1p", library("exp2", -fabs(a - b))) * (1.0 / math.log(2.0))
    return select((a == b) & (fabs(a) == float("inf")), a, top + spread)


def sinc(library: Function, x: Lane) -> Lane:
    """sin(pi x) / (pi x), 1 for 0."""
    return select(x == 0.0, 1.0, sin_pi(x) / (x * math.pi))


def sin_pi(x: Lane) -> Lane:
    """sin(pi x), exact zeros at the integers."""
    near = rint(x)
    sine = libm("sin", (x - near) * math.pi)
    odd = fabs(near - rint(near * 0.5) * 2.0) == 1.0
    return select(odd, -sine, sine)


_STIRLING = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_SHIFT = 12
# (1/t - 2t / (1 - t**2) - pi cot(pi t)) / t in powers of t**2, for |t| <= 1/2: relative error 2**-60.
_COTANGENT_TAIL = (
    2.6275597564040074e-06, 7.229113560603137e-06, 3.06872541684332e-05, 0.00012247408676611932, 0.0004921755730245884,
    0.001989150089297264, 0.008154712402316654, 0.03468612396877236, 0.16464646742227734, 1.2898681336964528,
)  # fmt: skip


def _reciprocals(z: Lane) -> Lane:
    """1/z + 1/(z + 1) + ... + 1/(z + 11) as one fraction: pairs from both ends have their product in z (z + 11)."""
    u = z * (z + (_SHIFT - 1.0))
    below, above = u, constant(1.0, F64)
    for k in range(1, _SHIFT // 2):
        factor = u + float(k * (_SHIFT - 1 - k))
        above, below = mul_add(above, factor, below), below * factor
    return (z * 2.0 + (_SHIFT - 1.0)) * above / below


def cotangent_pi(t: Lane) -> Lane:
    """pi / tan(pi t) for |t| <= 1/2; infinite for 0."""
    square = t * t
    return 1.0 / t - t * (2.0 / (1.0 - square) + polynomial(square, _COTANGENT_TAIL))


def digamma(library: Function, x: Lane) -> Lane:
    """Logarithmic derivative of gamma: reflection, recurrence to 12, asymptotic series; NaN at negative integers."""
    reflected = x < 0.5
    z = select(reflected, 1.0 - x, x)
    small = z < float(_SHIFT)
    shifted = select(small, _reciprocals(z), 0.0)
    z = select(small, z + float(_SHIFT), z)
    inverse = 1.0 / (z * z)
    series = constant(0.0, F64)
    for coefficient in reversed(_STIRLING):
        series = (series + coefficient) * inverse
    value = libm("log", z) - 0.5 / z - series - shifted
    mirrored = value - cotangent_pi(x - rint(x))
    result = select(reflected, mirrored, value)
    pole = (x == floor(x)) & (x < 0.0)
    result = select(pole | (x == -float("inf")), float("nan"), result)
    return select(x == 0.0, -copysign(constant(float("inf"), F64), x), result)


def next_bits(x: Lane, bits: Lane, upward: Lane) -> Lane:
    """Bit pattern of the number next to x (not 0), its pattern given, towards or away from +inf."""
    one = constant(1, bits.type)
    return select(upward ^ (x < 0.0), bits + one, bits - one)


def next_after(x: Lane, y: Lane) -> Lane:
    """The float next to x in the direction of y."""
    smallest = float_of_bits(constant(1, UINT[x.type.bits]))
    moved = float_of_bits(next_bits(x, bits_of(x), y > x))
    moved = select(x == 0.0, copysign(smallest, y), moved)
    return select(isnan(x) | isnan(y), x + y, select(x == y, y, moved))
