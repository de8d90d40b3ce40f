"""The phases of the scans, by compute dtype."""

from __future__ import annotations

from ..core.dtype import DType
from .complex_lanes import Value
from .conversion import lane_type
from .expression import F64, INT, Lane, constant, select
from .fold import Context, Phase, State, named
from .folds import highest, lowest, prod_fold, sum_fold
from .functions import convert_lane, fabs, isnan, libm


@named
def running_sum(compute: DType) -> Phase:
    """cumsum."""
    return sum_fold(compute).phases[0]


@named
def running_product(compute: DType) -> Phase:
    """cumprod."""
    return prod_fold(compute).phases[0]


def _apart(a: State, b: State) -> State:
    raise TypeError("a running extreme is not combined from parts")


@named
def running_extreme(compute: DType, largest: bool) -> Phase:
    """(extreme so far, index of its last occurrence); NaN stays once met."""
    type = lane_type(compute)

    def step(state: State, x: Value, index: Lane, context: Context) -> State:
        assert isinstance(x, Lane)
        take = x >= state[0] if largest else x <= state[0]
        if type.is_float:
            take = isnan(x) | (take & ~isnan(state[0]))
        take = take | (index == 0)
        return select(take, x, state[0]), select(take, index, state[1])

    start = (lowest(type) if largest else highest(type), constant(0, INT[64]))
    return Phase(lambda x: start, step, _apart, lambda state, context: (state[0], state[1]))


@named
def running_exponentials(compute: DType) -> Phase:
    """logcumsumexp of floats: state (m, sum of e**(x - m)) in float64."""

    def step(state: State, x: Value, index: Lane, context: Context) -> State:
        assert isinstance(x, Lane)
        wide = convert_lane(x, F64)
        top = select((wide > state[0]) | isnan(wide), wide, state[0])
        return top, state[1] * _weight(state[0], top) + _weight(wide, top)

    start = (constant(float("-inf"), F64), constant(0.0, F64))
    return Phase(
        lambda x: start,
        step,
        _apart,
        lambda state, context: (state[0] + libm("log", state[1]),),
    )


def _weight(x: Lane, top: Lane) -> Lane:
    """e**(x - top), 1 where they are the same infinity."""
    same = (x == top) & (fabs(x) == float("inf"))
    return select(same, 1.0, libm("exp", x - top))
