"""The programs over rows that normalize them: by mean and deviation, by the root of the mean square."""

from __future__ import annotations

from collections.abc import Callable

from ..core.dtype import DType
from .compiler import named
from .conversion import SCALAR_TYPES
from .expression import Expr, Value
from .functions import cast, mul_add
from .reduction_ops import mean_square_reduction, moments_reduction
from .reduction_phases import Context
from .rowwise import RowProgram


def _scaled(value: Expr, others: tuple[Value, ...], weight: bool, bias: bool) -> Expr:
    exprs = [other for other in others if isinstance(other, Expr)]
    if weight and bias:
        return mul_add(value, *(cast(expr, value.type) for expr in exprs))
    if not weight and not bias:
        return value
    (other,) = (cast(expr, value.type) for expr in exprs)
    return value * other if weight else value + other


def _map(
    compute: DType, normalized: Callable[[Expr, Context], Expr], weight: bool, bias: bool
) -> Callable[..., Value]:
    type = SCALAR_TYPES[compute]

    def map(x: Value, context: Context, *others: Value) -> Value:
        assert isinstance(x, Expr)
        return _scaled(cast(normalized(x, context), type), others, weight, bias)

    return map


@named
def layer_norm(compute: DType, weight: bool, bias: bool) -> RowProgram:
    """(x - mean) / sqrt(variance + eps) * weight + bias; found are the mean and the inverse of the root.

    The number is eps.
    """
    reduction = moments_reduction(compute)
    type = SCALAR_TYPES[compute]

    def normalized(x: Expr, context: Context) -> Expr:
        mean, inverse = (cast(expr, type) for expr in context.earlier[-2:])
        return (x - mean) * inverse

    return RowProgram(
        reduction.phases, _map(compute, normalized, weight, bias), 1, None, weight + bias,
        lambda context: (context.earlier[-2], context.earlier[-1]),
    )  # fmt: skip


@named
def rms_norm(compute: DType, weight: bool) -> RowProgram:
    """x / sqrt(mean of squares + eps) * weight; found is the inverse of the root. The number is eps."""
    reduction = mean_square_reduction(compute)

    def normalized(x: Expr, context: Context) -> Expr:
        return x * cast(context.earlier[-1], x.type)

    return RowProgram(
        reduction.phases, _map(compute, normalized, weight, False), 1, None, int(weight),
        lambda context: (context.earlier[-1],),
    )  # fmt: skip
