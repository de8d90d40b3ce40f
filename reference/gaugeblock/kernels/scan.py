"""Scan kernels: running sums, products and extremes along the innermost dim given.

    kernel(out_ptr..., in_ptr, ndim, sizes..., byte strides operand by operand...) -> None

as for pointwise kernels, but dimension 0 is the one that is scanned, in index order. A kernel of some width scans so
many neighbours in memory at once, as the lanes of vectors; sizes and strides are those of the groups. Where the state
mostly stays as it is, a vector of elements of a contiguous row that leave it so is passed over at once; of the others
each lane meets the one before it, then the one two before, four, and so on.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..core.dtype import DType
from .body import components
from .code import Declarations, row_module
from .compiler import Builtin, compiler, named
from .conversion import SCALAR_TYPES, from_storage
from .exponential import exp
from .expression import BOOL, F64, INT, Expr, ScalarType, Value, constant, select, while_loop
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

    def keeps(state: State, x: Value) -> Expr:
        assert isinstance(x, Expr)
        if not type.is_float:
            return x < state[0] if largest else x > state[0]
        return ~(x >= state[0] if largest else x <= state[0]) & ~isnan(x)

    def step(state: State, x: Value, index: Expr, context: Context) -> State:
        assert isinstance(x, Expr)
        following = none, x, index
        # New extremes are rare, or nearly always there: the next step does not wait for what a branch foretells.
        return while_loop(lambda new, *_: new, lambda *_: following, ~keeps(state, x), *state)[1:]

    start = (lowest(type) if largest else highest(type), constant(0, INT[64]))
    return Phase(lambda x: start, step, _uncombined, lambda state, context: state, keeps=keeps)


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
    declarations = Declarations(level.vector_bytes)
    writer = _Writer(Emitter(width, "x", declarations), phase, input, compute, results, level)
    writer.write()
    return row_module(writer.code, declarations, level.attributes)


class _Writer:
    """Writes the row function into `code`."""

    def __init__(
        self, code: Emitter, phase: Phase, input: DType, compute: DType, results: Sequence[DType], level: Level
    ) -> None:
        body = record_reduction(Reduction((phase,)), input, compute, results, level)
        (self.recorded,), (self.projected,) = body.phases, body.projected
        self.code, self.phase, self.input, self.level = code, phase, input, level
        self.operands = (*body.outputs, body.input)
        self.pointers, self.strides = (
            [code.load(type, code.slot(array, k)) for k in range(len(self.operands))]
            for type, array in (("ptr", "%pointers"), ("i64", "%strides"))
        )
        self.state_types = [code.type(expr.type) for expr in self.recorded.state]

    def write(self) -> None:
        """Write the loop over vectors that mostly leave the state as it is, and that over elements."""
        code, begin, state = self.code, "0", self.code.emit(self.recorded.init)
        lanes = self.level.vector_bytes // self.operands[-1].itemsize
        if self.phase.keeps is not None and code.width == 1 < lanes:
            begin = self._whole(lanes)
            with code.carry(0, begin, lanes, list(zip(self.state_types, state, strict=True))) as loop:
                loop.following = self._vector(lanes, loop.index, loop.values)
            state = loop.results
        places = [code.at(pointer, begin, step) for pointer, step in zip(self.pointers, self.strides, strict=True)]
        first = [*zip(self.state_types, state, strict=True), *(("ptr", place) for place in places)]
        with code.carry(begin, "%n", 1, first) as loop:
            state, places = loop.values[: len(state)], loop.values[len(state) :]
            after = self._element(loop.index, state, places)
            loop.following = [*after, *(code.move(at, step) for at, step in zip(places, self.strides, strict=True))]

    def _whole(self, lanes: int) -> str:
        """Return how many elements stand in whole vectors; none unless all operands are contiguous."""
        code, apart = self.code, "0"
        for operand, stride in zip(self.operands, self.strides, strict=True):
            apart = code.register(f"or i64 {apart}, {code.register(f'xor i64 {stride}, {operand.itemsize}')}")
        contiguous, whole = code.register(f"icmp eq i64 {apart}, 0"), code.register(f"and i64 %n, {-lanes}")
        return code.register(f"select i1 {contiguous}, i64 {whole}, i64 0")

    def _element(self, index: str, state: Sequence[str], places: Sequence[str]) -> list[str]:
        """Return the state after an element, and store its results."""
        code, recorded = self.code, self.recorded
        with code.scope():
            code.bind_all(recorded.state, state)
            code.bind(recorded.index, code.splat(index, recorded.index.type))
            load_operand(code, self.operands[-1], places[-1], recorded.element)
            after = code.emit(recorded.stepped)
        self._store(after, places)
        return after

    def _store(self, state: Sequence[str], places: Sequence[str]) -> None:
        """Store the results for a state."""
        code, outputs = self.code, self.operands[:-1]
        with code.scope():
            code.bind_all(self.recorded.state, state)
            values = iter(code.emit(self.projected))
        for operand, place in zip(outputs, places[:-1], strict=True):
            store_operand(code, operand, place, [next(values) for _ in range(operand.components)])

    def _vector(self, lanes: int, first: str, scalars: Sequence[str]) -> list[str]:
        """Return the state after the elements from the first one on, and store their results."""
        code, recorded, indices = self.code, self.recorded, INT[64]
        operands = zip(self.operands, self.pointers, strict=True)
        places = [code.at(pointer, first, operand.itemsize) for operand, pointer in operands]
        passed, changed, done = code.label(), code.label(), code.label()
        with code.scope(lanes):
            before = [code.splat(one, expr.type) for one, expr in zip(scalars, recorded.state, strict=True)]
            load_operand(code, self.operands[-1], places[-1], recorded.element)
            value = from_storage(recorded.element, self.input, self.level.half_hardware)
            (elements,) = code.emit(components(value))
            code.branch(self._every(self._kept(before[0], elements)), passed, changed)
            code.begin(passed)
            self._store(before, places)
            passed = code.block
            code.jump(done)
            code.begin(changed)
            own = INT[max(8, recorded.state[0].type.bits)]  # wide enough for the number of a lane
            state = [elements, f"<{', '.join([f'{own.ir} {lane}' for lane in range(lanes)])}>"]
            for rounds in range(lanes.bit_length() - 1):
                state = self._met(self._moved(state, own, 1 << rounds), state, own)
            wide = state[1]
            if own is not indices:
                wide = code.register(f"sext {code.type(own)} {wide} to {code.type(indices)}")
            index = code.register(f"add {code.type(indices)} {code.splat(first, indices)}, {wide}")
            state = self._met(before, [state[0], index], indices)
            self._store(state, places)
            last = [
                code.register(f"extractelement {code.type(expr.type)} {one}, i32 {lanes - 1}")
                for expr, one in zip(recorded.state, state, strict=True)
            ]
            changed = code.block
            code.jump(done)
            code.begin(done)
        return [
            code.register(f"phi {type} [{old}, %{passed}], [{new}, %{changed}]")
            for type, old, new in zip(self.state_types, scalars, last, strict=True)
        ]

    def _kept(self, before: str, after: str) -> str:
        """Return whether values of the state stay as they are after others."""
        assert self.phase.keeps is not None
        earlier, later = (Expr("argument", self.recorded.state[0].type) for _ in range(2))
        with self.code.scope():
            self.code.bind_all((earlier, later), (before, after))
            return self.code.emit([self.phase.keeps((earlier,), later)])[0]

    def _met(self, before: Sequence[str], after: Sequence[str], index: ScalarType) -> list[str]:
        """Return the state after an earlier and a later one, whose indices are of a type."""
        code, kept = self.code, self._kept(before[0], after[0])
        return [
            code.register(f"select {code.type(BOOL)} {kept}, {type} {one}, {type} {other}")
            for type, one, other in zip(self._types(index), before, after, strict=True)
        ]

    def _every(self, truth: str) -> str:
        """Return the i1 that says whether something is true in all lanes."""
        code, name = self.code, f"llvm.vector.reduce.and.v{self.code.width}i1"
        code.declarations[name] = f"declare i1 @{name}({code.type(BOOL)})"
        return code.register(f"call i1 @{name}({code.type(BOOL)} {truth})")

    def _moved(self, state: Sequence[str], index: ScalarType, distance: int) -> list[str]:
        """Return the state so many lanes before; a lane that has none so far before it meets itself."""
        code, lanes = self.code, self.code.width
        mask = ", ".join([f"i32 {lane - distance if lane >= distance else lane}" for lane in range(lanes)])
        return [
            code.register(f"shufflevector {type} {one}, {type} poison, <{lanes} x i32> <{mask}>")
            for type, one in zip(self._types(index), state, strict=True)
        ]

    def _types(self, index: ScalarType) -> list[str]:
        """Return the types of a state whose index is of a type."""
        return [self.code.type(self.recorded.state[0].type), self.code.type(index)]
