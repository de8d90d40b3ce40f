"""What reductions compute: sums, products, extremes, their positions, truth, counts, variance and norms.

Each builder takes the compute dtype and is cached, so that kernels can be memoised by reduction. Sums run in int64 for
ints, in float64 for narrower floats, and in compensated float64 for float64.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

from ..core.dtype import DType, uint8
from . import approximation
from .body import components, rebuild
from .compiler import named
from .conversion import SCALAR_TYPES
from .exponential import exp
from .expression import BOOL, F32, F64, INT, Complex, Expr, ScalarType, Value, constant, select
from .functions import cast, exact_sum, fabs, isnan, maximum, minimum, mul_add, sqrt
from .logarithm import log, pow
from .reduction_phases import Context, Phase, Reduction, State
from .trigonometry import hypot


def two_sum(total: Expr, error: Expr, x: Expr) -> tuple[Expr, Expr]:
    """total + x, with the rounding error of the addition added to `error`."""
    new, lost = exact_sum(total, x)
    return new, error + lost


class SumState(NamedTuple):
    """State of a sum of `parts` components (2 for complex) of a type."""

    type: ScalarType
    parts: int

    @property
    def compensated(self) -> bool:
        return self.type is F64

    def init(self) -> State:
        """Zeros."""
        wide = F64 if self.type.is_float else INT[64]
        return (constant(0, wide),) * (self.parts * (2 if self.compensated else 1))

    def add(self, state: State, x: Value) -> State:
        """The state with an element more."""
        exprs = components(x)
        if not self.compensated:
            return tuple(old + cast(new, old.type) for old, new in zip(state, exprs, strict=True))
        pairs = (two_sum(state[2 * k], state[2 * k + 1], expr) for k, expr in enumerate(exprs))
        return tuple(expr for pair in pairs for expr in pair)

    def merge(self, a: State, b: State) -> State:
        """The state of both."""
        if not self.compensated:
            return tuple(x + y for x, y in zip(a, b, strict=True))
        merged: list[Expr] = []
        for k in range(0, len(a), 2):
            total, error = two_sum(a[k], a[k + 1], b[k])
            merged += [total, error + b[k + 1]]
        return tuple(merged)

    def total(self, state: State) -> Value:
        """The sum; infinities survive the compensation."""
        if self.compensated:
            pairs = zip(state[::2], state[1::2], strict=True)
            state = tuple(select(isnan(error), total, total + error) for total, error in pairs)
        return rebuild(state)


Project = Callable[[Value, Context], tuple[Value, ...]]


def sum_phase(compute: DType, element: Callable[[Value, Context], Value], project: Project, *, real: bool) -> Phase:
    """The phase that adds up what is made of each element, and what it makes of the total."""
    state = SumState(SCALAR_TYPES[compute], 1 if real or not compute.is_complex else 2)
    return Phase(
        lambda x: state.init(),
        lambda exprs, x, index, context: state.add(exprs, element(x, context)),
        state.merge,
        lambda exprs, context: project(state.total(exprs), context),
    )


def _plain(x: Value, context: Context) -> Value:
    return x


def _is_nan(x: Value) -> Expr:
    return isnan(x.re) | isnan(x.im) if isinstance(x, Complex) else isnan(x)


def _without_nan(x: Value, context: Context) -> Value:
    if not x.type.is_float:
        return x
    bad = _is_nan(x)
    return rebuild([select(bad, 0.0, part) for part in components(x)])


def _whole(total: Value, context: Context) -> tuple[Value, ...]:
    return (total,)


def _average(total: Value, context: Context) -> tuple[Value, ...]:
    return (rebuild([part / cast(context.count, F64) for part in components(total)]),)


@named
def sum_reduction(compute: DType) -> Reduction:
    """Sum: ints wrap in int64, floats are summed in float64, float64 with compensation."""
    return Reduction((sum_phase(compute, _plain, _whole, real=False),))


@named
def nansum_reduction(compute: DType) -> Reduction:
    """Sum with NaN counted as 0."""
    return Reduction((sum_phase(compute, _without_nan, _whole, real=False),))


@named
def mean_reduction(compute: DType) -> Reduction:
    """Sum divided by the count, rounded once."""
    return Reduction((sum_phase(compute, _plain, _average, real=False),))


def _moment(x: Value, mean: State) -> Expr:
    distances = [cast(part, F64) - center for part, center in zip(components(x), mean, strict=True)]
    return functools.reduce(operator.add, [distance * distance for distance in distances])


def _spread(root: bool, with_mean: bool) -> Project:
    def project(total: Value, context: Context) -> tuple[Value, ...]:
        degrees = cast(context.count, F64) - context.numbers[0]
        variance = real_expr(total) / select(degrees > 0.0, degrees, 0.0)
        value = sqrt(variance) if root else variance
        return (value, rebuild(context.earlier)) if with_mean else (value,)

    return project


@named
def variance_reduction(compute: DType, root: bool, with_mean: bool) -> Reduction:
    """Variance or standard deviation in two passes, optionally with the mean; takes the correction as a number."""
    second = sum_phase(compute, lambda x, context: _moment(x, context.earlier), _spread(root, with_mean), real=True)
    return Reduction((sum_phase(compute, _plain, _average, real=False), second), numbers=1)


def _inverse_root(total: Value, context: Context) -> Expr:
    """1 / sqrt(average + eps), with one division."""
    count = cast(context.count, F64)
    return sqrt(count / mul_add(count, context.numbers[0], real_expr(total)))


@named
def moments_reduction(compute: DType) -> Reduction:
    """(mean, 1 / sqrt(biased variance + eps)) in two passes; takes eps as a number."""
    second = sum_phase(
        compute, lambda x, context: _moment(x, context.earlier),
        lambda total, context: (context.earlier[0], _inverse_root(total, context)), real=True,
    )  # fmt: skip
    return Reduction((sum_phase(compute, _plain, _average, real=False), second), numbers=1)


@named
def mean_square_reduction(compute: DType) -> Reduction:
    """1 / sqrt(mean of squares + eps); takes eps as a number."""
    root = sum_phase(compute, _squared, lambda total, context: (_inverse_root(total, context),), real=True)
    return Reduction((root,), numbers=1)


@named
def prod_reduction(compute: DType) -> Reduction:
    """Product: ints wrap in int64, floats in float64."""
    wide = F64 if SCALAR_TYPES[compute].is_float else INT[64]
    one = (constant(1, wide), constant(0, wide)) if compute.is_complex else (constant(1, wide),)

    def multiplied(a: State, b: State) -> State:
        return components(rebuild(a) * rebuild(b))

    return _one_phase(
        one,
        lambda state, x: multiplied(state, tuple(cast(part, wide) for part in components(x))),
        multiplied,
        lambda state, context: (rebuild(state),),
    )


def lowest(type: ScalarType) -> Expr:
    """The value below all others."""
    if type.is_float:
        return constant(float("-inf"), type)
    return constant(-(1 << (type.bits - 1)) if type.kind == "int" else 0, type)


def highest(type: ScalarType) -> Expr:
    """The value above all others."""
    if type.is_float:
        return constant(float("inf"), type)
    return constant(True, type) if type is BOOL else constant((1 << (type.bits - (type.kind == "int"))) - 1, type)


def _one_phase(
    init: State, step: Callable[[State, Value], State], combine: Callable[[State, State], State],
    project: Callable[[State, Context], tuple[Value, ...]] = lambda state, context: state,
) -> Reduction:  # fmt: skip
    """A reduction of one phase whose steps look at the elements alone."""
    return Reduction((Phase(lambda x: init, lambda state, x, index, context: step(state, x), combine, project),))


def _chosen(start: Expr, choose: Callable[[Expr, Expr], Expr], element: Callable[[Value], Expr]) -> Reduction:
    """A reduction of the elements, or of what is made of them, by a function of two."""
    return _one_phase((start,), lambda state, x: (choose(state[0], element(x)),), lambda a, b: (choose(a[0], b[0]),))


@named
def extreme_reduction(compute: DType, largest: bool) -> Reduction:
    """Largest or smallest element; NaN wins."""
    type = SCALAR_TYPES[compute]
    return _chosen(lowest(type) if largest else highest(type), maximum if largest else minimum, real_expr)


def real_expr(x: Value) -> Expr:
    """`x` unless it is complex: TypeError."""
    if isinstance(x, Complex):
        raise TypeError("complex numbers have no order")
    return x


def _before(a: Expr, b: Expr, largest: bool) -> Expr:
    """a comes strictly before b as an extreme."""
    better = a > b if largest else a < b
    return better | (isnan(a) & ~isnan(b)) if a.type.is_float else better


@named
def position_reduction(compute: DType, largest: bool, alone: bool) -> Reduction:
    """(extreme, index of its first occurrence), or the index alone; NaN comes before everything."""
    type = SCALAR_TYPES[compute]

    def step(state: State, x: Value, index: Expr, context: Context) -> State:
        better = _before(real_expr(x), state[0], largest) | (state[1] < 0)
        return select(better, real_expr(x), state[0]), select(better, index, state[1])

    def combine(a: State, b: State) -> State:
        tied = ~_before(a[0], b[0], largest) & (b[1] < a[1])
        take = (b[1] >= 0) & ((a[1] < 0) | _before(b[0], a[0], largest) | tied)
        return select(take, b[0], a[0]), select(take, b[1], a[1])

    start = (lowest(type) if largest else highest(type), constant(-1, INT[64]))
    return Reduction((Phase(lambda x: start, step, combine, lambda state, context: state[1:] if alone else state),))


def _truth(x: Value) -> Expr:
    return (x.re != 0.0) | (x.im != 0.0) if isinstance(x, Complex) else cast(x, BOOL)


@named
def truth_reduction(every: bool) -> Reduction:
    """Return whether all (every) or any elements are nonzero."""
    return _chosen(constant(every, BOOL), operator.and_ if every else operator.or_, _truth)


@named
def byte_truth_reduction(every: bool) -> Reduction:
    """Return whether all (every) or any elements of uint8 are nonzero, by their minimum or by all bits together, which
    are vectors of bytes and not of bits."""
    type = SCALAR_TYPES[uint8]
    start, choose = (highest(type), minimum) if every else (constant(0, type), operator.or_)
    return _one_phase(
        (start,), lambda state, x: (choose(state[0], real_expr(x)),), lambda a, b: (choose(a[0], b[0]),),
        lambda state, context: (state[0] != 0,),
    )  # fmt: skip


@named
def count_reduction(of_nan: bool) -> Reduction:
    """Return how many elements are nonzero, or (of_nan) are not NaN."""

    def counted(x: Value) -> Expr:
        return cast(~_is_nan(x) if of_nan else _truth(x), INT[64])

    return _chosen(constant(0, INT[64]), operator.add, counted)


@named
def norm_reduction(compute: DType, order: str) -> Reduction:
    """Vector norm: order "0", "1", "2", "inf", "-inf", or "p" with the order as a number."""
    if order in ("inf", "-inf"):
        start = constant(0.0 if order == "inf" else float("inf"), SCALAR_TYPES[compute])
        return _chosen(start, maximum if order == "inf" else minimum, _size)
    phase = sum_phase(compute, _POWERS[order], _ROOTS.get(order, _whole), real=True)
    return Reduction((phase,), numbers=1 if order == "p" else 0)


@named
def exponentials_reduction(compute: DType, logarithm: bool) -> Reduction:
    """Sum of e**(x - m), m the largest element: its logarithm plus m, or (m, the sum in float64)."""
    type = SCALAR_TYPES[compute]
    exponential = approximation.exp if type is F32 else exp

    def element(x: Value, context: Context) -> Expr:
        return exponential(cast(real_expr(x), F64) - _shift(context.earlier[0]))

    def project(total: Value, context: Context) -> tuple[Value, ...]:
        shift = _shift(context.earlier[0])
        if not logarithm:
            return (shift, total)
        largest = cast(context.earlier[0], F64)
        # The exponential of float32 expressions ends at e**700.
        return (select(largest == float("inf"), largest, log(real_expr(total)) + shift),)

    return Reduction((*extreme_reduction(compute, True).phases, sum_phase(compute, element, project, real=True)))


def _shift(largest: Expr) -> Expr:
    wide = cast(largest, F64)
    return select(fabs(wide) == float("inf"), 0.0, wide)


def _size(x: Value) -> Expr:
    return hypot(x.re, x.im) if isinstance(x, Complex) else fabs(x)


def _squared(x: Value, context: Context) -> Expr:
    if isinstance(x, Complex):
        re, im = cast(x.re, F64), cast(x.im, F64)
        return re * re + im * im
    wide = cast(x, F64)
    return wide * wide


_POWERS: dict[str, Callable[[Value, Context], Value]] = {
    "0": lambda x, context: cast(_truth(x), F64),
    "1": lambda x, context: cast(_size(x), F64),
    "2": _squared,
    "p": lambda x, context: pow(cast(_size(x), F64), context.numbers[0]),
}


_ROOTS: dict[str, Project] = {
    "2": lambda total, context: (sqrt(real_expr(total)),),
    "p": lambda total, context: (pow(real_expr(total), 1.0 / context.numbers[0]),),
}
