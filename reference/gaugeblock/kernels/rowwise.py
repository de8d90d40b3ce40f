"""Kernels over whole rows: folds of a row one after another, then a formula of each element and the folds' results.

    kernel.strided(out_ptr, found_ptr..., in_ptr, beside_ptr..., number..., ndim, sizes..., byte strides...) -> None

as for pointwise kernels, but dimension 0 is the row, contiguous in both operands. The result may lie over the input.
What the last fold finds can be stored too, once for each row, and the map can take further elements from beside.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..core.dtype import DType
from .code import NAME, Declarations
from .compiler import Builtin, compiler
from .conversion import from_storage, scalar_type, storage_type, to_storage
from .exponential import exp
from .expression import F32, F64, INT, Expr, ScalarType, Value, constant, select
from .functions import bits_of, cast, float_of_bits, isfinite, mul_add, polynomial
from .isa import Level, current_level
from .logarithm import log
from .lower import Emitter
from .pointwise import strided_address
from .pointwise_entry import Signature, rows_driver
from .reduction_ops import SumState, extreme_reduction, two_sum
from .reduction_phases import Context, Phase, State, arguments, named


class RowProgram(NamedTuple):
    """The folds in order, each seeing the results of all before it, and what becomes of an element.

    With `kept` the last fold and the map are not given the element itself but what `kept` makes of it, once where the
    result's memory can hold it meanwhile. The map is given the elements of `beside` further operands of the row's
    length after the context; `found` gives what is stored for each row, from the folds' results.
    """

    phases: tuple[Phase, ...]
    map: Callable[..., Value]
    numbers: int = 0
    kept: Callable[[Value, Context], Expr] | None = None
    beside: int = 0
    found: Callable[[Context], tuple[Value, ...]] | None = None
    name: str = ""


@dataclass(slots=True)
class _Sweep:
    """One loop over the row: the element, the state going round, what is computed from both."""

    element: Expr
    index: Expr
    state: State = ()
    stepped: State = ()
    stored: tuple[Expr, ...] = ()
    beside: tuple[Expr, ...] = ()


class RowMapKernel:
    """A compiled program for a dtype; the attribute `strided` is a builtin made on first use.

    `found` are the dtypes of what is stored for each row, `beside` those of the map's further operands.
    """

    __slots__ = ("beside", "dtype", "found", "level", "name", "program", "strided")

    strided: Builtin

    def __init__(
        self,
        name: str,
        program: RowProgram,
        dtype: DType,
        level: Level,
        found: tuple[DType, ...] = (),
        beside: tuple[DType, ...] = (),
    ) -> None:
        self.name = name
        self.program = program
        self.dtype = dtype
        self.level = level
        self.found = found
        self.beside = beside

    def __getattr__(self, attribute: str) -> Builtin:
        if attribute != "strided":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        dtypes = [dtype.name for dtype in (self.dtype, *self.found)], [dtype.name for dtype in self.beside]
        description = f"row map {self.program.name} {dtypes} {self.level.name}"
        row = compiler().load(description, lambda: RowMapWriter(self).text())
        kinds = "m" * (1 + len(self.beside)) + "d" * self.program.numbers
        memory = (self.dtype, *self.found, self.dtype, *self.beside)
        descriptor = [row, *(d.itemsize for d in memory), rows_driver(len(memory)), 1]
        strided = strided_address(Signature(1 + len(self.found), kinds))
        self.strided = compiler().builtin(self.name, strided, descriptor)
        return self.strided


class RowMapWriter:
    """Writes the row function of a program."""

    def __init__(self, kernel: RowMapKernel) -> None:
        self.program, self.dtype, self.level = kernel.program, kernel.dtype, kernel.level
        self.found, self.beside = kernel.found, kernel.beside
        self.beside_pointers: list[str] = []
        self.storage = storage_type(self.dtype)
        self.width = max(1, self.level.vector_bytes * 8 // scalar_type(self.dtype).bits)
        self.held = self.program.kept is not None and self.storage is scalar_type(self.dtype)
        """Whether kept elements lie in the result between the last fold and the map."""
        self.declarations = Declarations(self.level.vector_bytes)
        self.shared: list[tuple[Expr, str]] = []
        self.lines: list[str] = []

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        start = Emitter(1, "c", self.declarations)
        count = Expr("argument", INT[64])
        numbers = arguments([F64] * self.program.numbers)
        self.shared = [(count, "%n")]
        for slot, expr in enumerate(numbers):
            place = start.register(f"getelementptr i64, ptr %numbers, i64 {slot}")
            self.shared.append((expr, start.register(f"load double, ptr {place}")))
        pointers = [
            start.register(f"load ptr, ptr {start.register(f'getelementptr i64, ptr %pointers, i64 {slot}')}")
            for slot in range(2 + len(self.found) + len(self.beside))
        ]
        out, *stored, source = pointers[: 2 + len(self.found)]
        self.beside_pointers = pointers[2 + len(self.found) :]
        stop = start.register(f"and i64 %n, {-self.width}")
        self.lines = start.lines
        block, earlier = "entry", State()
        for number, phase in enumerate(self.program.phases):
            context = Context(count, numbers, earlier)
            last = number == len(self.program.phases) - 1
            block, found = self._fold(number, phase, context, (source, out if last else ""), stop, block)
            earlier = (*earlier, *found)
        self._store_found(Context(count, numbers, earlier), stored)
        self._map(Context(count, numbers, earlier), out if self.held else source, out, stop, block)
        head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0 {{"
        tail = ["  ret i1 false", "}", self.declarations.text(self.level.attributes)]
        return "\n".join([head, "entry:", *self.lines, *tail])

    def _value(self) -> tuple[Expr, Value]:
        element = Expr("argument", self.storage)
        return element, from_storage((element,), self.dtype, self.level.half_hardware)

    def _fold(
        self, number: int, phase: Phase, context: Context, memory: tuple[str, str], stop: str, block: str
    ) -> tuple[str, State]:
        """The loops of a phase over memory (source, and result in the last phase)."""
        source, out = memory
        element, value = self._value()
        stored: tuple[Expr, ...] = ()
        if out and self.program.kept is not None:
            value = self.program.kept(value, context)
            stored = (value,) if self.held else ()
        index = Expr("argument", INT[64])
        init = phase.init(value)
        types = [expr.type for expr in init]
        state, other = arguments(types), arguments(types)
        sweep = _Sweep(element, index, state, phase.step(state, value, index, context), stored)
        wide, block = self._loop(f"p{number}v", sweep, init, source, out, ("0", stop), self.width, block)
        single, block = self._loop(f"p{number}s", sweep, init, source, out, (stop, "%n"), 1, block)
        combined = phase.combine(state, other)
        merged = self._merge(f"p{number}", types, wide, state, other, combined)
        last = Emitter(1, f"p{number}m", self.declarations)
        self._bind(last)
        for expr, name in (*zip(state, single, strict=True), *zip(other, merged, strict=True)):
            last.bind(expr, name)
        total = last.emit(combined)
        for expr, name in zip(state, total, strict=True):
            last.bind(expr, name)
        projected = phase.project(state, context)
        done = Emitter(1, f"p{number}f", self.declarations)
        self._bind(done)
        for expr, name in zip(state, total, strict=True):
            done.bind(expr, name)
        exprs = tuple(expr for expr in projected if isinstance(expr, Expr))
        names = done.emit(exprs)
        self.lines += [*last.lines, *done.lines]
        results = arguments([expr.type for expr in exprs])
        self.shared += list(zip(results, names, strict=True))
        context_block = f"p{number}_done"
        self.lines += [f"  br label %{context_block}", f"{context_block}:"]
        return context_block, results

    def _merge(
        self, prefix: str, types: Sequence[ScalarType], values: list[str], state: State, other: State, combined: State
    ) -> list[str]:
        """The states of all vector lanes as one."""
        width = self.width
        while width > 1:
            half = Emitter(width // 2, f"{prefix}h{width}", self.declarations)
            for exprs, first in ((state, 0), (other, width // 2)):
                for expr, value in zip(exprs, values, strict=True):
                    half.bind(expr, _part(half, expr.type.ir, value, first))
            values = half.emit(combined)
            self.lines += half.lines
            width //= 2
        return values

    def _map(self, context: Context, source: str, out: str, stop: str, block: str) -> None:
        element, value = self._value()
        if self.program.kept is not None:
            value = element if self.held else self.program.kept(value, context)
        beside = tuple(Expr("argument", storage_type(dtype)) for dtype in self.beside)
        half = self.level.half_hardware
        others = [from_storage((expr,), dtype, half) for expr, dtype in zip(beside, self.beside, strict=True)]
        stored = to_storage(self.program.map(value, context, *others), self.dtype, self.level.half_hardware)
        sweep = _Sweep(element, Expr("argument", INT[64]), stored=stored, beside=beside)
        _, block = self._loop("mv", sweep, (), source, out, ("0", stop), self.width, block)
        self._loop("ms", sweep, (), source, out, (stop, "%n"), 1, block)

    def _store_found(self, context: Context, places: Sequence[str]) -> None:
        """Store what the folds found for this row."""
        if self.program.found is None or not places:
            return
        values = self.program.found(context)
        exprs = [
            expr
            for value, dtype in zip(values, self.found, strict=True)
            for expr in to_storage(value, dtype, self.level.half_hardware)
        ]
        emitter = Emitter(1, "f", self.declarations)
        self._bind(emitter)
        names = emitter.emit(exprs)
        self.lines += emitter.lines
        for place, expr, name in zip(places, exprs, names, strict=True):
            self.lines.append(f"  store {expr.type.ir} {name}, ptr {place}, align {expr.type.bits // 8}")

    def _bind(self, emitter: Emitter) -> None:
        for expr, name in self.shared:
            emitter.bind(expr, emitter.splat(name, expr.type))

    def _loop(
        self, prefix: str, sweep: _Sweep, init: State, source: str, out: str, span: tuple[str, str], width: int,
        block: str,
    ) -> tuple[list[str], str]:  # fmt: skip
        """One loop over a part of the row; the names of the state after it, and the block that follows."""
        before = Emitter(width, f"{prefix}b", self.declarations)
        self._bind(before)
        initial = before.emit(init)
        before.lines.append(f"  %{prefix}_any = icmp slt i64 {span[0]}, {span[1]}")
        inner = Emitter(width, f"{prefix}x", self.declarations)
        inner.names = dict(before.names)
        i = f"%{prefix}_i"
        itemsize = self.dtype.itemsize
        offset = inner.register(f"mul i64 {i}, {itemsize}")
        at = inner.register(f"getelementptr i8, ptr {source}, i64 {offset}")
        inner.bind(sweep.element, inner.register(f"load {inner.type(self.storage)}, ptr {at}, align {itemsize}"))
        for expr, place, dtype in zip(sweep.beside, self.beside_pointers, self.beside, strict=False):
            step = inner.register(f"mul i64 {i}, {dtype.itemsize}")
            at = inner.register(f"getelementptr i8, ptr {place}, i64 {step}")
            inner.bind(expr, inner.register(f"load {inner.type(expr.type)}, ptr {at}, align {dtype.itemsize}"))
        for slot, expr in enumerate(sweep.state):
            inner.bind(expr, f"%{prefix}_s{slot}")
        following = inner.emit(sweep.stepped)
        if sweep.stored:
            (value,) = inner.emit(sweep.stored)
            place = inner.register(f"getelementptr i8, ptr {out}, i64 {offset}")
            inner.lines.append(f"  store {inner.type(self.storage)} {value}, ptr {place}, align {itemsize}")
        head, last, after = f"{prefix}_head", f"{prefix}_last", f"{prefix}_after"
        self.lines += [*before.lines, f"  br label %{prefix}_start", f"{prefix}_start:"]
        self.lines += [f"  br i1 %{prefix}_any, label %{head}, label %{after}", f"{head}:"]
        self.lines.append(f"  {i} = phi i64 [{span[0]}, %{prefix}_start], [{i}_next, %{last}]")
        for slot, (expr, first, then) in enumerate(zip(sweep.state, initial, following, strict=True)):
            type = inner.type(expr.type)
            self.lines.append(f"  %{prefix}_s{slot} = phi {type} [{first}, %{prefix}_start], [{then}, %{last}]")
        self.lines += [*inner.lines, f"  br label %{last}", f"{last}:", f"  {i}_next = add i64 {i}, {width}"]
        self.lines += [f"  %{prefix}_more = icmp slt i64 {i}_next, {span[1]}"]
        self.lines += [f"  br i1 %{prefix}_more, label %{head}, label %{after}", f"{after}:"]
        names = []
        for slot, (expr, first, then) in enumerate(zip(sweep.state, initial, following, strict=True)):
            name = f"%{prefix}_t{slot}"
            type = inner.type(expr.type)
            self.lines.append(f"  {name} = phi {type} [{first}, %{prefix}_start], [{then}, %{last}]")
            names.append(name)
        return names, after


def _part(emitter: Emitter, type: str, value: str, first: int) -> str:
    """Exprs first .. first + W - 1 of a vector of 2 W lanes."""
    whole = f"<{2 * emitter.width} x {type}>"
    if emitter.width == 1:
        return emitter.register(f"extractelement {whole} {value}, i32 {first}")
    mask = ", ".join(f"i32 {first + k}" for k in range(emitter.width))
    return emitter.register(f"shufflevector {whole} {value}, {whole} poison, <{emitter.width} x i32> <{mask}>")


@functools.cache
def _kernel(
    name: str, program: RowProgram, dtype: DType, level: Level, found: tuple[DType, ...], beside: tuple[DType, ...]
) -> RowMapKernel:
    return RowMapKernel(name, program, dtype, level, found, beside)


def row_map_kernel(
    name: str, program: RowProgram, dtype: DType, found: tuple[DType, ...] = (), beside: tuple[DType, ...] = ()
) -> RowMapKernel:
    """The kernel of a program for elements and results of a float dtype, what it stores for each row in the dtypes
    `found` and takes from beside in those of `beside`; memoised."""
    return _kernel(name, program, dtype, current_level(), found, beside)


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
        return _raised_power(*two_sum(select(x < bound, bound, x), constant(0.0, F32), -shift))
    difference, error = two_sum(x, constant(0.0, x.type), -shift)
    power = exp(difference)
    return select(isfinite(difference), power + power * error, power)


def _raised_power(x: Expr, error: Expr) -> Expr:
    """e**(x + error) times 2**_RAISED for float32 lanes between _LOWEST and 0, error tiny; anything for NaN."""
    shifted = mul_add(x, constant(1.0 / math.log(2.0), F32), constant(_SHIFT, F32))
    k = shifted - _SHIFT
    r = mul_add(k, constant(_LN2_HIGH - math.log(2.0), F32), mul_add(k, constant(-_LN2_HIGH, F32), x)) + error
    power = mul_add(r * r, polynomial(r, _TAYLOR), r) + 1.0
    return float_of_bits(bits_of(power) + (bits_of(shifted) << 23))


def _factor(type: ScalarType) -> float:
    """What a raised power has to be multiplied by."""
    return 2.0**-_RAISED if type is F32 else 1.0


def _exponentials(
    compute: DType, element: Callable[[Value, Context], Expr], project: Callable[[Expr, Expr], tuple[Value, ...]]
) -> tuple[Phase, ...]:
    """The largest element, then what `finish` makes of the sum of e**(x - largest), in float64, and the largest."""
    type = scalar_type(compute)
    total = SumState(type, 1)
    (largest,) = extreme_reduction(compute, True).phases

    def projected(state: State, context: Context) -> tuple[Value, ...]:
        top = context.earlier[0]
        sum = _real(total.total(state)) * _factor(type)
        return project(select(isfinite(top), sum, float("nan")), top)

    summed = Phase(
        lambda x: total.init(),
        lambda state, x, index, context: total.add(state, element(x, context)),
        total.merge,
        projected,
    )
    return largest, summed


def _real(x: Value) -> Expr:
    assert isinstance(x, Expr)
    return x


@named
def softmax(compute: DType) -> RowProgram:
    """e**(x - m) / sum(e**(x - m)), m the largest element of the row."""
    type = scalar_type(compute)

    def inverse(total: Expr, largest: Expr) -> tuple[Value, ...]:
        return (cast(1.0 / total, type) * _factor(type),)

    def share(power: Value, context: Context) -> Value:
        return _real(power) * context.earlier[1]

    phases = _exponentials(compute, lambda power, context: _real(power), inverse)
    return RowProgram(phases, share, kept=lambda x, context: _power(_real(x), context.earlier[0]))


@named
def log_softmax(compute: DType) -> RowProgram:
    """x - m - log(sum(e**(x - m)))."""

    def spread(total: Expr, largest: Expr) -> tuple[Value, ...]:
        return cast(_shift(largest), F64), log(total)

    def difference(x: Value, context: Context) -> Value:
        _, shift, logarithm = context.earlier
        return cast(cast(_real(x), F64) - shift - logarithm, scalar_type(compute))

    phases = _exponentials(compute, lambda x, context: _power(_real(x), context.earlier[0]), spread)
    return RowProgram(phases, difference)
