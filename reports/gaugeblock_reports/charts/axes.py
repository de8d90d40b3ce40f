"""Scales of charts: values to places, and where their ticks are, linear and logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` lie from ``start`` to ``end``; ``ticks`` are values among them."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """The place of a value; what lies outside is put at the nearer end."""
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        at = math.log(max(value, 1e-300)) if self.logarithmic else value
        part = min(1.0, max(0.0, (at - low) / (high - low)))
        return self.start + part * (self.end - self.start)


def decades(values: Iterable[float], start: float, end: float, most: int = 7) -> Scale:
    """A logarithmic scale from a power of ten to another, with a tick at each, or at each second or third one."""
    found = [value for value in values if value > 0]
    low, high = math.floor(math.log10(min(found)) + 1e-9), math.ceil(math.log10(max(found)) - 1e-9)
    high = max(high, low + 1)
    step = math.ceil((high - low) / most)
    return Scale(10.0**low, 10.0**high, start, end, True, tuple(10.0**n for n in range(low, high + 1, step)))


def doublings(values: Iterable[float], start: float, end: float, most: int = 8) -> Scale:
    """A logarithmic scale around 1, with ticks at powers of 2 or of a power of 2."""
    found = [math.log2(value) for value in values if value > 0] + [0.0]
    low, high = math.floor(min(found) - 0.05), math.ceil(max(found) + 0.05)
    step = math.ceil((high - low) / most)
    low, high = -step * math.ceil(-low / step), step * math.ceil(high / step)
    return Scale(2.0**low, 2.0**high, start, end, True, tuple(2.0**n for n in range(low, high + 1, step)))


def linear(high: float, start: float, end: float, most: int = 5, binary: bool = False) -> Scale:
    """A scale from 0 to at least ``high``, with round ticks; ``binary`` rounds to powers of 2."""
    high = high if high > 0 else 1.0
    if binary:
        step = 2.0 ** math.ceil(math.log2(high / most))
    else:
        power = 10.0 ** math.floor(math.log10(high / most))
        step = next(power * n for n in (1, 2, 2.5, 5, 10) if power * n * most >= high * (1 - 1e-9))
    count = math.ceil(high / step - 1e-9)
    return Scale(0.0, step * count, start, end, False, tuple(step * n for n in range(count + 1)))
