"""The programs over rows that normalize them: by mean and deviation, by the root of the mean square."""

from __future__ import annotations

from collections.abc import Callable

from ..core.dtype import DType
from .conversion import lane_type
from .expression import Lane, Value
from .functions import convert_lane, mul_add
from .reduction_ops import mean_square_fold, moments_fold
from .reduction_phases import Context, named
from .rowwise import RowProgram


def _scaled(value: Lane, others: tuple[Value, ...], weight: bool, bias: bool) -> Lane:
    lanes = [other for other in others if isinstance(other, Lane)]
    if weight and bias:
        return mul_add(value, *(convert_lane(lane, value.type) for lane in lanes))
    if not weight and not bias:
        return value
    (other,) = (convert_lane(lane, value.type) for lane in lanes)
    return value * other if weight else value + other


def _map(
    compute: DType, normalized: Callable[[Lane, Context], Lane], weight: bool, bias: bool
) -> Callable[..., Value]:
    type = lane_type(compute)

    def map(x: Value, context: Context, *others: Value) -> Value:
        assert isinstance(x, Lane)
        return _scaled(convert_lane(normalized(x, context), type), others, weight, bias)

    return map


@named
def layer_norm(compute: DType, weight: bool, bias: bool) -> RowProgram:
    """(x - mean) / sqrt(variance + eps) * weight + bias; found are the mean and the inverse of the root.

    The number is eps.
    """
    fold = moments_fold(compute)
    type = lane_type(compute)

    def normalized(x: Lane, context: Context) -> Lane:
        mean, inverse = (convert_lane(lane, type) for lane in context.earlier[-2:])
        return (x - mean) * inverse

    return RowProgram(
        fold.phases, _map(compute, normalized, weight, bias), 1, None, weight + bias,
        lambda context: (context.earlier[-2], context.earlier[-1]),
    )  # fmt: skip


@named
def rms_norm(compute: DType, weight: bool) -> RowProgram:
    """x / sqrt(mean of squares + eps) * weight; found is the inverse of the root. The number is eps."""
    fold = mean_square_fold(compute)

    def normalized(x: Lane, context: Context) -> Lane:
        return x * convert_lane(context.earlier[-1], x.type)

    return RowProgram(
        fold.phases, _map(compute, normalized, weight, False), 1, None, int(weight),
        lambda context: (context.earlier[-1],),
    )  # fmt: skip
