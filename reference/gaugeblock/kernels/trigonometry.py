"""Circular functions and their inverses on float64 lanes, for results rounded to float32.

Arguments are float32 values widened to float64; beyond 2**20 sines go through the C library, lane by lane.
"""

from __future__ import annotations

import math

from .approximation import SHIFT, log1p, number
from .expression import Lane, select
from .functions import bits_of, copysign, fabs, isnan, mul_add, polynomial, rare, sqrt

_HALF_PI = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a600000p-34"),
    float.fromhex("0x1.3198a2e037073p-69"),
)
_SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(7, 0, -1))
_COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in range(7, 0, -1))
_ARCTANGENT = tuple((-1) ** n / (2 * n + 1) for n in range(15, 0, -1))
_TAN_EIGHTH = math.sqrt(2.0) - 1.0


def _quadrant(x: Lane) -> tuple[Lane, Lane, Lane]:
    """(sin r, cos r, quadrant bits) with x = quadrant * pi/2 + r."""
    shifted = mul_add(x, number(2.0 / math.pi), number(SHIFT))
    k = shifted - SHIFT
    r = x
    for part in _HALF_PI:
        r = mul_add(k, number(-part), r)
    square = r * r
    sine = mul_add(r * square, polynomial(square, _SINE), r)
    cosine = mul_add(square, polynomial(square, _COSINE), number(1.0))
    return sine, cosine, bits_of(shifted)


def _large(x: Lane) -> Lane:
    return ~(fabs(x) < 2.0**20)


def sin(x: Lane) -> Lane:
    """Sine; keeps -0.0."""
    sine, cosine, quadrant = _quadrant(x)
    value = select((quadrant & 1) == 0, sine, cosine)
    value = select((quadrant & 2) == 0, value, -value)
    return rare(select(x == 0.0, x, value), _large(x), "sin", x)


def cos(x: Lane) -> Lane:
    """Cosine."""
    sine, cosine, quadrant = _quadrant(x)
    value = select((quadrant & 1) == 0, cosine, sine)
    return rare(select(((quadrant + 1) & 2) == 0, value, -value), _large(x), "cos", x)


def tan(x: Lane) -> Lane:
    """Tangent; keeps -0.0."""
    sine, cosine, quadrant = _quadrant(x)
    even = (quadrant & 1) == 0
    value = select(even, sine, -cosine) / select(even, cosine, sine)
    return rare(select(x == 0.0, x, value), _large(x), "tan", x)


def _arctangent(x: Lane) -> Lane:
    """atan of x >= 0."""
    far, middle = x > 1.0 / _TAN_EIGHTH, x > _TAN_EIGHTH
    top = select(far, -1.0, select(middle, x - 1.0, x))
    bottom = select(far, x, select(middle, x + 1.0, 1.0))
    base = select(far, math.pi / 2.0, select(middle, number(math.pi / 4.0), 0.0))
    r = top / bottom
    square = r * r
    return base + mul_add(r * square, polynomial(square, _ARCTANGENT), r)


def atan(x: Lane) -> Lane:
    """Inverse tangent."""
    return copysign(_arctangent(fabs(x)), x)


def atan2(y: Lane, x: Lane) -> Lane:
    """Angle of the point (x, y)."""
    a, b = fabs(y), fabs(x)
    steep = a > b
    low, high = select(steep, b, a), select(steep, a, b)
    ratio = select(high == 0.0, 0.0, select(low == float("inf"), 1.0, low / high))
    angle = _arctangent(ratio)
    angle = select(steep, math.pi / 2.0 - angle, angle)
    left = copysign(number(1.0), x) < 0.0
    angle = select(left, math.pi - angle, angle)
    return select(isnan(x) | isnan(y), x + y, copysign(angle, y))


def asin(x: Lane) -> Lane:
    """Inverse sine."""
    return atan2(x, sqrt((1.0 - x) * (x + 1.0)))


def acos(x: Lane) -> Lane:
    """Inverse cosine."""
    return atan2(sqrt((1.0 - x) * (x + 1.0)), x)


def asinh(x: Lane) -> Lane:
    """Inverse hyperbolic sine."""
    a = fabs(x)
    square = a * a
    rest = select(a == float("inf"), a, square / (sqrt(square + 1.0) + 1.0))
    return copysign(log1p(a + rest), x)


def acosh(x: Lane) -> Lane:
    """Inverse hyperbolic cosine."""
    above = x - 1.0
    return select(x < 1.0, number(math.nan), log1p(above + sqrt(above * (above + 2.0))))


def atanh(x: Lane) -> Lane:
    """Inverse hyperbolic tangent."""
    a = fabs(x)
    return copysign(log1p(a * 2.0 / (1.0 - a)) * 0.5, x)
