"""Kernels over whole rows: reductions one after another, then a formula of each element and of what they found.

    kernel(out_ptr, found_ptr..., in_ptr, given_ptr..., beside_ptr..., number..., ndim, sizes..., strides...) -> None

as for pointwise kernels, but dimension 0 is the row, contiguous in both operands. The result may lie over the input.
The kernel can also store what the reductions find for each row, and take numbers for each row and the elements of
further operands. Only a joint program's reductions see these elements; the map always does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

from ..core.dtype import DType, float64
from . import approximation
from .code import Declarations, row_module
from .compiler import Builtin, compiler, named
from .conversion import SCALAR_TYPES, Memory, from_storage, memory, storage_type, to_storage
from .exponential import exp
from .expression import F32, F64, INT, Expr, ScalarType, Value, constant, select
from .functions import bits_of, cast, float_of_bits, isfinite, mul_add, polynomial_by_pairs
from .isa import Level, current_level
from .logarithm import log
from .loops import load_operand, store_operand
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .reduction_ops import extreme_reduction, real_expr, sum_phase, two_sum
from .reduction_phases import Context, Phase, State, arguments, over_vectors, record_phase

FEW = 8
"""Elements of a row up to which brief work on each is faster without vectors."""


class RowProgram(NamedTuple):
    """The reductions in order, each seeing the results of all before it, and what becomes of an element.

    With `kept` the last reduction and the map are not given the element itself but what `kept` makes of it, once where
    the result's memory can hold it meanwhile. The map is given the elements of `beside` further operands of the row's
    length after the context, and with `joint` the reductions find them there; `found` gives what is stored for each
    row, from the reductions' results. `given` numbers of each row follow those of the call. Where the work on an
    element is `brief`, a row of few is faster without vectors.
    """

    phases: tuple[Phase, ...]
    map: Callable[..., Value]
    numbers: int = 0
    kept: Callable[[Value, Context], Expr] | None = None
    beside: int = 0
    found: Callable[[Context], tuple[Value, ...]] | None = None
    given: int = 0
    joint: bool = False
    brief: bool = False
    name: str = ""


class RowMapWriter:
    """Writes the row function of a program for a dtype.

    `found` are the dtypes of what is stored for each row, `given` those of its numbers, `beside` those of further
    operands.
    """

    def __init__(
        self, program: RowProgram, dtype: DType, level: Level, found: tuple[DType, ...], beside: tuple[DType, ...],
        given: tuple[DType, ...],
    ) -> None:  # fmt: skip
        self.program, self.dtype, self.level = program, dtype, level
        self.found, self.beside, self.given = found, beside, given
        self.width = max(1, level.vector_bytes * 8 // SCALAR_TYPES[dtype].bits)
        self.held = program.kept is not None and storage_type(dtype) is SCALAR_TYPES[dtype]
        """Whether kept elements are held in the result between the last reduction and the map."""
        self.declarations = Declarations(level.vector_bytes)
        self.code = Emitter(1, "x", self.declarations)
        self.shared: list[tuple[Expr, str]] = []
        self.reads: list[tuple[Memory, str, Expr]] = []
        self.taken = "%n"
        """The number of elements that are processed in vectors; the rest are processed one by one."""

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        code, program = self.code, self.program
        numbers = arguments([F64] * (program.numbers + len(self.given)))
        others = [memory(f"b{k}", dtype) for k, dtype in enumerate(self.beside)]
        taken = [self._value(other) for other in others]
        context = Context(Expr("argument", INT[64]), numbers, State(), tuple([value for _, value in taken]))
        many = 2 + len(self.found) + len(self.given)
        pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(many + len(self.beside))]
        out, *stored, source = pointers[: 2 + len(self.found)]
        places = [code.slot("%numbers", slot) for slot in range(program.numbers)]
        values = [code.load("double", place) for place in places]
        for dtype, place in zip(self.given, pointers[2 + len(self.found) :], strict=False):
            value = code.load(SCALAR_TYPES[dtype].ir, place, dtype.itemsize)
            values.append(code.register(f"fpext float {value} to double") if dtype.itemsize == 4 else value)
        self.shared = [(context.count, "%n"), *zip(numbers, values, strict=True)]
        expected = [element for element, _ in taken]
        self.reads = list(zip(others, pointers[many:], expected, strict=True))
        if code.wide and program.brief:
            few = code.register(f"icmp sle i64 %n, {FEW}")
            with code.when(few):
                self._row(context, out, stored, source, "0")
            with code.when(code.register(f"xor i1 {few}, true")):
                self._row(context, out, stored, source, "%n")
        else:
            whole = "%n" if code.wide else code.register(f"and i64 %n, {-self.width}")
            self._row(context, out, stored, source, whole)
        return row_module(code, self.declarations, self.level.attributes)

    def _row(self, context: Context, out: str, stored: Sequence[str], source: str, taken: str) -> None:
        """Write all phases and the map, the first elements in vectors and the others one by one."""
        shared, self.taken = list(self.shared), taken
        for number, phase in enumerate(self.program.phases, start=1):
            last = number == len(self.program.phases)
            results = self._reduce(phase, context, source, out if last else "")
            context = replace(context, earlier=(*context.earlier, *results))
        self._store_found(context, stored)
        self._map(context, out if self.held else source, out)
        self.shared = shared

    def _bind_shared(self) -> None:
        for expr, name in self.shared:
            self.code.bind(expr, self.code.splat(name, expr.type))

    def _value(self, operand: Memory) -> tuple[Expr, Value]:
        (element,) = operand.symbols()
        return element, from_storage((element,), operand.dtype, self.level.half_hardware)

    def _reduce(self, phase: Phase, context: Context, source: str, out: str) -> State:
        """The loops of a phase over memory, and over the result too in the last phase; what it finds."""
        code, operand = self.code, memory("x", self.dtype)
        element, value = self._value(operand)
        held: tuple[Expr, ...] = ()
        if out and self.program.kept is not None:
            value = self.program.kept(value, context)
            held = (value,) if self.held else ()
        recorded = record_phase(phase, (element,), value, context)
        reads = [(operand, source, element), *(self.reads if self.program.joint else ())]

        def take(index: str, state: Sequence[str]) -> list[str]:
            with code.scope():
                self._load(index, reads)
                code.bind_all(recorded.state, state)
                following = code.emit(recorded.stepped)
                if held:
                    store_operand(code, operand, code.at(out, index, operand.itemsize), code.emit(held))
                return following

        totals = []
        if self.taken != "0":
            with code.scope(self.width):
                self._bind_shared()
                totals.append(over_vectors(code, recorded, self.taken, take))
        if self.taken != "%n":
            with code.scope(1):
                self._bind_shared()
                first = zip(recorded.init, code.emit(recorded.init), strict=True)
                with code.carry(self.taken, "%n", 1, [(expr.type.ir, name) for expr, name in first]) as loop:
                    loop.following = take(loop.index, loop.values)
                totals.append(loop.results)
        total = totals[0]
        if len(totals) > 1:
            with code.scope(1):
                self._bind_shared()
                code.bind_all((*recorded.other, *recorded.state), (*total, *totals[1]))
                total = code.emit(recorded.combined)
        with code.scope(1):
            self._bind_shared()
            code.bind_all(recorded.state, total)
            exprs = [expr for expr in recorded.projected if isinstance(expr, Expr)]
            results = arguments([expr.type for expr in exprs])
            self.shared += zip(results, code.emit(exprs), strict=True)
        return results

    def _load(self, index: str, reads: Sequence[tuple[Memory, str, Expr]]) -> None:
        """Load elements of operands, or vectors of them, for the expressions that stand for them."""
        for one, place, expr in reads:
            load_operand(self.code, one, self.code.at(place, index, one.itemsize), (expr,))

    def _map(self, context: Context, source: str, out: str) -> None:
        code, operand = self.code, memory("x", self.dtype)
        element, value = self._value(operand)
        if self.program.kept is not None:
            value = element if self.held else self.program.kept(value, context)
        stored = to_storage(self.program.map(value, context, *context.beside), self.dtype, self.level.half_hardware)

        def over(width: int, start: str, end: str, *, some: bool = False) -> None:
            with code.scope(width):
                self._bind_shared()
                with code.carry(start, end, width, []) as loop:
                    left = code.register(f"sub i64 {end}, {loop.index}")
                    with code.partial(left) if some else nullcontext():
                        self._load(loop.index, [(operand, source, element), *self.reads])
                        store_operand(code, operand, code.at(out, loop.index, operand.itemsize), code.emit(stored))

        if self.taken != "0":
            whole = code.register(f"and i64 {self.taken}, {-self.width}")
            over(self.width, "0", whole)
            if code.wide:
                over(self.width, whole, self.taken, some=True)
        if self.taken != "%n":
            over(1, self.taken, "%n")

    def _store_found(self, context: Context, places: Sequence[str]) -> None:
        """Store what the reductions found for this row."""
        if self.program.found is None or not places:
            return
        with self.code.scope(1):
            self._bind_shared()
            for value, dtype, place in zip(self.program.found(context), self.found, places, strict=True):
                exprs = to_storage(value, dtype, self.level.half_hardware)
                store_operand(self.code, memory("f", dtype), place, self.code.emit(exprs))


@functools.cache
def row_map_kernel(
    name: str, program: RowProgram, dtype: DType, found: tuple[DType, ...] = (), beside: tuple[DType, ...] = (),
    given: tuple[DType, ...] = (),
) -> Builtin:  # fmt: skip
    """Return the builtin of a program for elements and results of a float dtype; dims from the second on may have any
    strides. It stores for each row what is found in the dtypes `found`, and takes numbers of `given` (float32 and
    float64) and elements of `beside`; memoised."""
    level = current_level()
    dtypes = [one.name for one in (dtype, *found)], [one.name for one in beside], [one.name for one in given]
    description = f"row map {program.name} {dtypes} {level.name}"
    row = compiler().load(description, lambda: RowMapWriter(program, dtype, level, found, beside, given).text())
    kinds = "m" * (1 + len(given) + len(beside)) + "d" * program.numbers
    itemsizes = [one.itemsize for one in (dtype, *found, dtype, *given, *beside)]
    return rows_builtin(name, Signature(1 + len(found), kinds), row, itemsizes, 1)


_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(7, 1, -1))
_LN2_HIGH = 0.693359375
"""ln 2 in 9 bits: its multiples by the exponents of float32 are exact."""
_RAISED = 64
"""float32 powers are kept times two to this, so that none of them is subnormal before the last multiplication."""
_SHIFT = 1.5 * 2.0**23 + _RAISED
"""Adding this rounds a float32 to an integer, which then stands, raised, in the low bits."""
_LOWEST = -104.0
"""e to this is nothing in float32."""


def _shift(largest: Expr) -> Expr:
    return select(largest == -float("inf"), 0.0, largest)


def _power(x: Expr, largest: Expr) -> Expr:
    """e**(x - largest) for x up to a finite `largest`, raised in float32; the difference's rounding is made good."""
    shift = _shift(largest)
    if x.type is F32:
        bound = shift + _LOWEST
        low = x < bound  # masked elements are -inf; a product that underflows takes the processor long
        power = _raised_power(*two_sum(select(low, bound, x), constant(0.0, F32), -shift))
        return select(low, 0.0, power)
    difference, error = two_sum(x, constant(0.0, x.type), -shift)
    power = exp(difference)
    return select(isfinite(difference), power + power * error, power)


def _raised_power(x: Expr, error: Expr) -> Expr:
    """e**(x + error) times 2**_RAISED for float32 expressions between _LOWEST and 0, error tiny; anything for NaN."""
    shifted = mul_add(x, constant(1.0 / math.log(2.0), F32), constant(_SHIFT, F32))
    k = shifted - _SHIFT
    r = mul_add(k, constant(_LN2_HIGH - math.log(2.0), F32), mul_add(k, constant(-_LN2_HIGH, F32), x)) + error
    square = r * r
    power = mul_add(square, polynomial_by_pairs(r, square, _TAYLOR), r) + 1.0
    return float_of_bits(bits_of(power) + (bits_of(shifted) << 23))


def _factor(type: ScalarType) -> float:
    """Return what a raised power has to be multiplied by."""
    return 2.0**-_RAISED if type is F32 else 1.0


def _exponentials(
    compute: DType, element: Callable[[Value, Context], Expr], project: Callable[[Expr, Expr], tuple[Value, ...]]
) -> tuple[Phase, ...]:
    """The largest element, then what `project` makes of the sum of e**(x - largest), in float64, and the largest."""
    factor = _factor(SCALAR_TYPES[compute])

    def projected(total: Value, context: Context) -> tuple[Value, ...]:
        top = context.earlier[0]
        return project(real_expr(total) * factor, top)

    return *extreme_reduction(compute, True).phases, sum_phase(compute, element, projected, real=True)


@named
def softmax(compute: DType) -> RowProgram:
    """e**(x - m) / sum(e**(x - m)), m the largest element of the row."""
    type = SCALAR_TYPES[compute]

    def inverse(total: Expr, largest: Expr) -> tuple[Value, ...]:
        return (select(isfinite(largest), cast(1.0 / total, type) * _factor(type), float("nan")),)

    def share(power: Value, context: Context) -> Value:
        return real_expr(power) * context.earlier[1]

    phases = _exponentials(compute, lambda power, context: real_expr(power), inverse)
    return RowProgram(phases, share, kept=lambda x, context: _power(real_expr(x), context.earlier[0]))


@named
def log_softmax(compute: DType) -> RowProgram:
    """x - m - log(sum(e**(x - m)))."""

    def spread(total: Expr, largest: Expr) -> tuple[Value, ...]:
        shift = select(isfinite(largest), largest, float("nan"))
        return cast(shift, F64), log(total) if compute is float64 else approximation.log_of_normal(total)

    def difference(x: Value, context: Context) -> Value:
        _, shift, logarithm = context.earlier
        return cast(cast(real_expr(x), F64) - shift - logarithm, SCALAR_TYPES[compute])

    phases = _exponentials(compute, lambda x, context: _power(real_expr(x), context.earlier[0]), spread)
    return RowProgram(phases, difference)
