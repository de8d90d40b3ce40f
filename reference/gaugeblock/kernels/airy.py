"""The Airy function Ai of float64 lanes."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import airy_tables as tables
from .chebyshev import series
from .expression import Lane, select
from .functions import sqrt

Function = Callable[..., Lane]

LEFT, RIGHT = -4.5, 2.0
"""The interval in which Ai is a series in x; its two zeros there are taken out as factors."""
ZEROS = ((-2.338107410459767, -3.912260409818305e-17), (-4.08794944413097, -3.387261694242901e-16))


def _phase(x: Lane) -> Lane:
    """2/3 x**1.5 of x >= 0."""
    return x * sqrt(x) * (2.0 / 3.0)


def airy(library: Function, x: Lane) -> Lane:
    """Ai(x): oscillating with falling amplitude to the left, decaying to the right."""
    right = select(x > RIGHT, x, RIGHT)
    decay = _phase(right)
    first = 2.0 / 3.0 * RIGHT**1.5
    far = series((2.0 * first) / decay - 1.0, tables.AI_TAIL) * library("exp", -decay)
    far = far / (sqrt(sqrt(right)) * (2.0 * math.sqrt(math.pi)))
    middle = series(select(x > 0.0, select(x < RIGHT, x, RIGHT), 0.0) - 1.0, tables.AI_MIDDLE)
    inner = select(x < 0.0, select(x > LEFT, x, LEFT), 0.0)
    waves = series(inner * (-2.0 / LEFT) + 1.0, tables.AI_WAVES)
    for high, low in ZEROS:
        waves = waves * ((inner - high) - low)
    left = -select(x < LEFT, x, LEFT)
    phase = _phase(left)
    ratio = (2.0 / 3.0 * (-LEFT) ** 1.5) / phase
    t = ratio * ratio * 2.0 - 1.0
    cosine, sine = library("cos", phase), library("sin", phase)
    even, odd = series(t, tables.AI_EVEN), ratio * series(t, tables.AI_ODD)
    swing = even * (sine + cosine) - odd * (cosine - sine)
    swing = swing / (sqrt(sqrt(left)) * math.sqrt(2.0 * math.pi))
    value = select(x > RIGHT, far, select(x >= 0.0, middle, select(x > LEFT, waves, swing)))
    value = select(x == float("inf"), 0.0, select(x == -float("inf"), 0.0, value))
    return select(x != x, x, value)
