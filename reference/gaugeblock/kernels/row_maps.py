"""The programs over rows: softmax and its logarithm."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..core.dtype import DType
from .complex_lanes import Value
from .conversion import lane_type
from .elementary import evaluated
from .expression import F32, F64, Lane, LaneType, constant, select
from .fold import Context, Phase, State, named
from .folds import extreme_fold
from .functions import bits_of, convert_lane, float_of_bits, isfinite, libm, mul_add, polynomial
from .row_map import RowProgram
from .sum_state import SumState, two_sum

_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(7, 1, -1))
_LN2_HIGH = 0.693359375
"""ln 2 in 9 bits: its multiples by the exponents of float32 are exact."""
_RAISED = 64
"""float32 powers are kept times two to this, so that none of them is subnormal before the last multiplication."""
_SHIFT = 1.5 * 2.0**23 + _RAISED
"""Adding this rounds a float32 to an integer, which then stands, raised, in the low bits."""
_LOWEST = -104.0
"""e to this is nothing in float32."""


def _shift(largest: Lane) -> Lane:
    return select(largest == -float("inf"), 0.0, largest)


def _power(x: Lane, largest: Lane) -> Lane:
    """e**(x - largest) for x up to a finite `largest`, raised in float32; the difference's rounding is made good."""
    shift = _shift(largest)
    if x.type is F32:
        bound = shift + _LOWEST
        return _raised_power(*two_sum(select(x < bound, bound, x), constant(0.0, F32), -shift))
    difference, error = two_sum(x, constant(0.0, x.type), -shift)
    power = evaluated("exp", difference)
    return select(isfinite(difference), power + power * error, power)


def _raised_power(x: Lane, error: Lane) -> Lane:
    """e**(x + error) times 2**_RAISED for float32 lanes between _LOWEST and 0, error tiny; anything for NaN."""
    shifted = mul_add(x, constant(1.0 / math.log(2.0), F32), constant(_SHIFT, F32))
    k = shifted - _SHIFT
    r = mul_add(k, constant(_LN2_HIGH - math.log(2.0), F32), mul_add(k, constant(-_LN2_HIGH, F32), x)) + error
    power = mul_add(r * r, polynomial(r, _TAYLOR), r) + 1.0
    return float_of_bits(bits_of(power) + (bits_of(shifted) << 23))


def _factor(type: LaneType) -> float:
    """What a raised power has to be multiplied by."""
    return 2.0**-_RAISED if type is F32 else 1.0


def _exponentials(
    compute: DType, element: Callable[[Value, Context], Lane], finish: Callable[[Lane, Lane], tuple[Value, ...]]
) -> tuple[Phase, ...]:
    """The largest element, then what `finish` makes of the sum of e**(x - largest), in float64, and the largest."""
    type = lane_type(compute)
    total = SumState(type, 1)
    (largest,) = extreme_fold(compute, True).phases

    def finished(state: State, context: Context) -> tuple[Value, ...]:
        top = context.earlier[0]
        sum = _real(total.total(state)) * _factor(type)
        return finish(select(isfinite(top), sum, float("nan")), top)

    summed = Phase(
        lambda x: total.identity(),
        lambda state, x, index, context: total.add(state, element(x, context)),
        total.merge,
        finished,
    )
    return largest, summed


def _real(x: Value) -> Lane:
    assert isinstance(x, Lane)
    return x


@named
def softmax(compute: DType) -> RowProgram:
    """e**(x - m) / sum(e**(x - m)), m the largest element of the row."""
    type = lane_type(compute)

    def inverse(total: Lane, largest: Lane) -> tuple[Value, ...]:
        return (convert_lane(1.0 / total, type) * _factor(type),)

    def share(power: Value, context: Context) -> Value:
        return _real(power) * context.earlier[1]

    phases = _exponentials(compute, lambda power, context: _real(power), inverse)
    return RowProgram(phases, share, kept=lambda x, context: _power(_real(x), context.earlier[0]))


@named
def log_softmax(compute: DType) -> RowProgram:
    """x - m - log(sum(e**(x - m)))."""

    def spread(total: Lane, largest: Lane) -> tuple[Value, ...]:
        return convert_lane(_shift(largest), F64), libm("log", total)

    def difference(x: Value, context: Context) -> Value:
        _, shift, logarithm = context.earlier
        return convert_lane(convert_lane(_real(x), F64) - shift - logarithm, lane_type(compute))

    phases = _exponentials(compute, lambda x, context: _power(_real(x), context.earlier[0]), spread)
    return RowProgram(phases, difference)
