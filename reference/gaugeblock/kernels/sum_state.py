"""Running sums of lanes: int64 for ints, float64 for narrower floats, compensated float64 for float64."""

from __future__ import annotations

from typing import NamedTuple

from .complex_lanes import Complex, Value
from .expression import F64, INT, Lane, LaneType, constant, select
from .fold import State
from .functions import convert_lane, isnan


def two_sum(total: Lane, error: Lane, x: Lane) -> tuple[Lane, Lane]:
    """total + x, with the rounding error of the addition added to `error`."""
    new = total + x
    virtual = new - total
    return new, error + ((total - (new - virtual)) + (x - virtual))


class SumState(NamedTuple):
    """State of a sum of `parts` components (2 for complex) of a lane type."""

    type: LaneType
    parts: int

    @property
    def compensated(self) -> bool:
        return self.type is F64

    def identity(self) -> State:
        """Zeros."""
        wide = F64 if self.type.is_float else INT[64]
        return (constant(0, wide),) * (self.parts * (2 if self.compensated else 1))

    def add(self, state: State, x: Value) -> State:
        """The state with an element more."""
        lanes = (x.re, x.im) if isinstance(x, Complex) else (x,)
        if not self.compensated:
            return tuple(old + convert_lane(new, old.type) for old, new in zip(state, lanes, strict=True))
        pairs = (two_sum(state[2 * k], state[2 * k + 1], lane) for k, lane in enumerate(lanes))
        return tuple(lane for pair in pairs for lane in pair)

    def merge(self, a: State, b: State) -> State:
        """The state of both."""
        if not self.compensated:
            return tuple(x + y for x, y in zip(a, b, strict=True))
        merged: list[Lane] = []
        for k in range(0, len(a), 2):
            total, error = two_sum(a[k], a[k + 1], b[k])
            merged += [total, error + b[k + 1]]
        return tuple(merged)

    def total(self, state: State) -> Value:
        """The sum; infinities survive the compensation."""
        if self.compensated:
            pairs = zip(state[::2], state[1::2], strict=True)
            state = tuple(select(isnan(error), total, total + error) for total, error in pairs)
        return Complex(state[0], state[1]) if self.parts == 2 else state[0]
