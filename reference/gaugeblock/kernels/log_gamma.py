"""The logarithm of |gamma| for float64 lanes: a series about 2, shifts by products, Stirling's series from 12.5 on.

log gamma(2 + d) = (1 - euler) d + sum over k >= 2 of (-d)**k (zeta(k) - 1) / k, which for |d| <= 1/2 falls as 4**-k.
Positive numbers come out within 4 units in the last place; below 0, where zeros are near, the error is absolute.
"""

from __future__ import annotations

import math

from .expression import F64, Lane, constant, select
from .functions import fabs, mul_add, polynomial, rint
from .logarithm import log
from .special import sin_pi

_SLOPE = float.fromhex("0x1.b0ee6072093cep-2")
_SERIES = (
    1.330476437424449e-10, -2.7595228851242334e-10, 5.731367241678862e-10, -1.1921401405860912e-09,
    2.4836745438024785e-09, -5.183475041970047e-09, 1.0838659214896955e-08, -2.2711094608943164e-08,
    4.7698101693639804e-08, -1.0043224823968099e-07, 2.1207184805554665e-07, -4.492469198764566e-07,
    9.55141213040742e-07, -2.039215753801366e-06, 4.374866789907488e-06, -9.439488275268397e-06,
    2.050721277567069e-05, -4.492623673813314e-05, 9.945751278180853e-05, -0.00022315475845357939,
    0.0005096695247430425, -0.001192753911703261, 0.0028905103307415234, -0.007385551028673986,
    0.020580808427784546, -0.0673523010531981, 0.3224670334241132,
)  # fmt: skip
_STIRLING = (
    -3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12,
)  # fmt: skip
_HALF_LOG_TWO_PI = 0.9189385332046728
_STEPS = 10
_FAR = 12.5


def about_two(d: Lane) -> Lane:
    """Return log gamma(2 + d) for |d| <= 1/2."""
    return d * mul_add(d, polynomial(d, _SERIES), constant(_SLOPE, F64))


def _of_positive(x: Lane) -> Lane:
    """For x >= 0."""
    n = rint(x - 2.0)
    n = select(n > float(_STEPS), float(_STEPS), n)
    d = x - (n + 2.0)
    shift = constant(1.0, F64)
    for k in range(1, _STEPS + 1):
        shift = select(n >= float(k), shift * (x - float(k)), shift)
    shift = select(n == -1.0, x, select(n == -2.0, x * (x + 1.0), shift))
    shifted = log(shift)
    near = about_two(d) + select(n < 0.0, -shifted, shifted)
    inverse = 1.0 / x
    tail = inverse * polynomial(inverse * inverse, _STIRLING)
    far = mul_add(x - 0.5, log(x) - 1.0, tail + (_HALF_LOG_TWO_PI - 0.5))
    return select(x > _FAR, far, near)


def lgamma(x: Lane) -> Lane:
    """C's lgamma of float64 lanes."""
    size = fabs(x)
    value = _of_positive(size)
    mirrored = log(math.pi / fabs(sin_pi(x))) - log(size) - value
    result = select(x < 0.0, select(size < 2.0**-60, value, mirrored), value)
    result = select((size == float("inf")) | ((x < 0.0) & (rint(x) == x)), float("inf"), result)
    return select(x == x, result, x)
