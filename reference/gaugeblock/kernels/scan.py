"""Scan kernels: running sums, products and extremes along the innermost dim given.

    kernel(out_ptr..., in_ptr, ndim, sizes..., byte strides operand by operand...) -> None

as for pointwise kernels, but dimension 0 is the one that is scanned, in index order. A kernel of some width scans so
many neighbours in memory at once, as the lanes of vectors; sizes and strides are those of the groups.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..core.dtype import DType
from .code import Declarations, row_module
from .compiler import Builtin, compiler, named
from .conversion import SCALAR_TYPES
from .exponential import exp
from .expression import BOOL, F64, INT, Expr, Value, constant, select, while_loop
from .functions import cast, fabs, isnan
from .isa import Level, current_level
from .logarithm import log
from .loops import load_operand, store_operand
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .reduction_ops import highest, lowest, prod_reduction, sum_reduction
from .reduction_phases import Context, Phase, Reduction, State, record_reduction


@named
def running_sum(compute: DType) -> Phase:
    """cumsum."""
    return sum_reduction(compute).phases[0]


@named
def running_product(compute: DType) -> Phase:
    """cumprod."""
    return prod_reduction(compute).phases[0]


@named
def running_extreme(compute: DType, largest: bool) -> Phase:
    """(extreme so far, index of its last occurrence); NaN stays once met."""
    type, none = SCALAR_TYPES[compute], constant(False, BOOL)

    def step(state: State, x: Value, index: Expr, context: Context) -> State:
        assert isinstance(x, Expr)

        def renewed(new: Expr, best: Expr, at: Expr) -> State:
            kept = isnan(best) & ~isnan(x) if type.is_float else none
            return none, select(kept, best, x), select(kept, at, index)

        # New extremes are rare, or nearly always there: the next step does not wait for what a branch foretells.
        new = ~(x < state[0] if largest else x > state[0])
        return while_loop(lambda new, *_: new, renewed, new, *state)[1:]

    start = (lowest(type) if largest else highest(type), constant(0, INT[64]))
    return Phase(lambda x: start, step, _uncombined, lambda state, context: state)


@named
def running_exponentials(compute: DType) -> Phase:
    """logcumsumexp of floats: state (m, sum of e**(x - m)) in float64."""

    def step(state: State, x: Value, index: Expr, context: Context) -> State:
        assert isinstance(x, Expr)
        wide = cast(x, F64)
        top = select((wide > state[0]) | isnan(wide), wide, state[0])
        return top, state[1] * _weight(state[0], top) + _weight(wide, top)

    start = (constant(float("-inf"), F64), constant(0.0, F64))
    return Phase(lambda x: start, step, _uncombined, lambda state, context: (state[0] + log(state[1]),))


def _uncombined(a: State, b: State) -> State:
    return a  # a scan never combines parts


def _weight(x: Expr, top: Expr) -> Expr:
    """e**(x - top), 1 where they are the same infinity."""
    same = (x == top) & (fabs(x) == float("inf"))
    return select(same, 1.0, exp(x - top))


def neighbours() -> int:
    """Return how many a kernel takes abreast: four vectors of 64-bit states, whose steps are independent."""
    return current_level().vector_bytes // 2


@functools.cache
def scan_kernel(
    name: str, phase: Phase, input: DType, compute: DType, results: tuple[DType, ...], width: int = 1
) -> Builtin:
    """The builtin of a scan of one row after another, or of `width` neighbours at once; memoised. The finished state
    after each element is stored."""
    level = current_level()
    dtypes = [dtype.name for dtype in (input, compute, *results)]
    description = f"scan {phase.name} {width} {dtypes} {level.name}"
    row = compiler().load(description, lambda: _text(phase, input, compute, results, level, width))
    itemsizes = [dtype.itemsize for dtype in (*results, input)]
    return rows_builtin(name, Signature(len(results), "m"), row, itemsizes, 1)


def _text(phase: Phase, input: DType, compute: DType, results: Sequence[DType], level: Level, width: int) -> str:
    """LLVM IR of the row function, named @NAME, for elements of `width` expressions."""
    body = record_reduction(Reduction((phase,)), input, compute, results, level)
    (recorded,), (projected,) = body.phases, body.projected
    declarations = Declarations(level.vector_bytes)
    code = Emitter(width, "x", declarations)
    places = [
        (code.load("ptr", code.slot("%pointers", k)), code.load("i64", code.slot("%strides", k)))
        for k in range(len(results) + 1)
    ]
    first = [(code.type(expr.type), name) for expr, name in zip(recorded.init, code.emit(recorded.init), strict=True)]
    with code.carry(0, "%n", 1, [*first, *(("ptr", pointer) for pointer, _ in places)]) as loop:
        state, here = loop.values[: len(first)], loop.values[len(first) :]
        *targets, at = here
        code.bind_all(recorded.state, state)
        code.bind(recorded.index, code.splat(loop.index, recorded.index.type))
        load_operand(code, body.input, at, recorded.element)
        after = code.emit(recorded.stepped)
        loop.following = [*after, *(code.move(one, stride) for one, (_, stride) in zip(here, places, strict=True))]
        with code.scope():
            code.bind_all(recorded.state, after)
            values = iter(code.emit(projected))
        for operand, target in zip(body.outputs, targets, strict=True):
            store_operand(code, operand, target, [next(values) for _ in range(operand.components)])
    return row_module(code, declarations, level.attributes)
