"""The programs over rows that normalize them: by mean and deviation, by the root of the mean square."""

from __future__ import annotations

from collections.abc import Callable

from ..core.dtype import DType
from .body import components
from .compiler import named
from .conversion import SCALAR_TYPES
from .expression import F64, Complex, Expr, Value
from .functions import cast, mul_add
from .reduction_ops import SumState, mean_square_reduction, moments_reduction, real_expr
from .reduction_phases import Context, Phase, State
from .rowwise import RowProgram


def _scaled(value: Expr, others: tuple[Value, ...], weight: bool, bias: bool) -> Expr:
    exprs = [other for other in others if isinstance(other, Expr)]
    if weight and bias:
        return mul_add(value, *(cast(expr, value.type) for expr in exprs))
    if not weight and not bias:
        return value
    (other,) = (cast(expr, value.type) for expr in exprs)
    return value * other if weight else value + other


def _map(compute: DType, normalized: Callable[[Expr, Context], Expr], weight: bool, bias: bool) -> Callable[..., Value]:
    type = SCALAR_TYPES[compute]

    def map(x: Value, context: Context, *others: Value) -> Value:
        assert isinstance(x, Expr)
        return _scaled(cast(normalized(x, context), type), others, weight, bias)

    return map


@named
def layer_norm(compute: DType, weight: bool, bias: bool) -> RowProgram:
    """(x - mean) / sqrt(variance + eps) * weight + bias; found are the mean and the inverse of the root. The number is
    eps."""
    reduction = moments_reduction(compute)
    type = SCALAR_TYPES[compute]

    def normalized(x: Expr, context: Context) -> Expr:
        mean, inverse = (cast(expr, type) for expr in context.earlier[-2:])
        return (x - mean) * inverse

    return RowProgram(
        reduction.phases, _map(compute, normalized, weight, bias), 1, None, weight + bias,
        lambda context: (context.earlier[-2], context.earlier[-1]), brief=True,
    )  # fmt: skip


@named
def rms_norm(compute: DType, weight: bool) -> RowProgram:
    """x / sqrt(mean of squares + eps) * weight; found is the inverse of the root. The number is eps."""
    reduction = mean_square_reduction(compute)

    def normalized(x: Expr, context: Context) -> Expr:
        return x * cast(context.earlier[-1], x.type)

    return RowProgram(
        reduction.phases, _map(compute, normalized, weight, False), 1, None, int(weight),
        lambda context: (context.earlier[-1],), brief=True,
    )  # fmt: skip


@named
def layer_norm_gradient(compute: DType, weight: bool) -> RowProgram:
    """The gradient of what layer_norm is of, x; beside it the result's gradient and the weight; given mean and inverse.

    inverse * (slope - mean(slope) - normal * mean(slope * normal)), with slope the gradient times the weight and normal
    (x - mean) * inverse.
    """
    type = SCALAR_TYPES[compute]
    state = SumState(type, 2)

    def parts(x: Value, context: Context) -> tuple[Expr, Expr]:
        slopes = [cast(real_expr(one), type) for one in context.beside]
        mean, inverse = (cast(number, type) for number in context.numbers)
        return slopes[0] * slopes[1] if weight else slopes[0], (real_expr(x) - mean) * inverse

    def add(exprs: State, x: Value, index: Expr, context: Context) -> State:
        slope, normal = parts(x, context)
        return state.add(exprs, Complex(slope, slope * normal))

    def averages(exprs: State, context: Context) -> tuple[Value, ...]:
        return tuple(cast(one / cast(context.count, F64), type) for one in components(state.total(exprs)))

    def mapped(x: Value, context: Context, *others: Value) -> Value:
        slope, normal = parts(x, context)
        level, aligned = context.earlier
        return (slope - level - normal * aligned) * cast(context.numbers[1], type)

    phase = Phase(lambda x: state.init(), add, state.merge, averages)
    return RowProgram((phase,), mapped, beside=1 + weight, given=2, joint=True, brief=True)
