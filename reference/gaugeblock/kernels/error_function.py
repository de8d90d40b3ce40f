"""erf and erfc on float64 lanes, for results rounded to float32.

erfc(x) exp(x**2) (x + 3) on [0, 10.3] is a polynomial in (x - 3) / (x + 3), interpolated at Chebyshev points.
"""

from __future__ import annotations

import math

from .approximation import exp, number
from .expression import Lane, select
from .functions import copysign, fabs, mul_add, polynomial

_SCALED = (
    -4.655473862006328e-08, -2.6522250855461566e-07, -3.3749044765263356e-07, 1.0690972631364324e-06,
    2.759232634393454e-06, -4.784335860601472e-06, -1.7479975358615054e-05, 3.040583806438941e-05,
    0.00010756538015824979, -0.0002767785434683909, -0.0005483103571274872, 0.003034061998941962,
    -0.0012124165710192835, -0.02682723462013379, 0.11952776128505459, -0.3104672619007865,
    0.5902283571041352, -0.8833944531698812, 1.0740069070883396,
)
_SERIES = tuple((-1) ** n * 2.0 / math.sqrt(math.pi) / (math.factorial(n) * (2 * n + 1)) for n in range(12, -1, -1))


def _tail(x: Lane) -> Lane:
    """erfc of 0 <= x."""
    x = select(x > 10.3, 10.3, x)
    shape = polynomial((x - 3.0) / (x + 3.0), _SCALED)
    return exp(-(x * x)) * shape / (x + 3.0)


def erf(x: Lane) -> Lane:
    """Error function."""
    a = fabs(x)
    near = x * polynomial(x * x, _SERIES)
    return select(a < 0.5, near, copysign(1.0 - _tail(a), x))


def erfc(x: Lane) -> Lane:
    """1 - erf, accurate in the tail."""
    tail = _tail(fabs(x))
    near = mul_add(x, -polynomial(x * x, _SERIES), number(1.0))
    return select(fabs(x) < 0.5, near, select(x < 0.0, 2.0 - tail, tail))
