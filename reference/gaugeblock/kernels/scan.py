"""The phases of the scans, by compute dtype."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..core.dtype import DType
from .code import NAME, Declarations
from .compiler import Builtin, compiler
from .conversion import Memory, from_storage, memory, rounded, scalar_type, to_storage
from .exponential import exp
from .expression import F64, INT, Expr, Value, constant, select
from .functions import cast, fabs, isnan
from .isa import Level, current_level
from .logarithm import log
from .loops import deinterleave, interleave
from .lower import Emitter
from .pointwise import strided_address
from .pointwise_entry import Signature, rows_driver
from .reduction_ops import highest, lowest, prod_reduction, sum_reduction
from .reduction_phases import Context, Phase, State, arguments, named


@named
def running_sum(compute: DType) -> Phase:
    """cumsum."""
    return sum_reduction(compute).phases[0]


@named
def running_product(compute: DType) -> Phase:
    """cumprod."""
    return prod_reduction(compute).phases[0]


def _apart(a: State, b: State) -> State:
    raise TypeError("a running extreme is not combined from parts")


@named
def running_extreme(compute: DType, largest: bool) -> Phase:
    """(extreme so far, index of its last occurrence); NaN stays once met."""
    type = scalar_type(compute)

    def step(state: State, x: Value, index: Expr, context: Context) -> State:
        assert isinstance(x, Expr)
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

    def step(state: State, x: Value, index: Expr, context: Context) -> State:
        assert isinstance(x, Expr)
        wide = cast(x, F64)
        top = select((wide > state[0]) | isnan(wide), wide, state[0])
        return top, state[1] * _weight(state[0], top) + _weight(wide, top)

    start = (constant(float("-inf"), F64), constant(0.0, F64))
    return Phase(
        lambda x: start,
        step,
        _apart,
        lambda state, context: (state[0] + log(state[1]),),
    )


def _weight(x: Expr, top: Expr) -> Expr:
    """e**(x - top), 1 where they are the same infinity."""
    same = (x == top) & (fabs(x) == float("inf"))
    return select(same, 1.0, exp(x - top))


class ScanKernel:
    """A compiled scan; the attributes `strided` and `abreast` are builtins made on first use."""

    __slots__ = ("abreast", "compute", "input", "level", "name", "phase", "results", "strided")

    strided: Builtin
    abreast: Builtin

    def __init__(
        self, name: str, phase: Phase, input: DType, compute: DType, results: tuple[DType, ...], level: Level
    ) -> None:
        self.name = name
        self.phase = phase
        self.input = input
        self.compute = compute
        self.results = results
        self.level = level

    def __repr__(self) -> str:
        return f"<scan kernel {self.name}({self.input.name})>"

    @property
    def width(self) -> int:
        """How many neighbours `abreast` takes: four vectors of 64-bit states, for steps do not wait for one another."""
        return self.level.vector_bytes // 2

    def __getattr__(self, attribute: str) -> Builtin:
        if attribute not in ("strided", "abreast"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        width = self.width if attribute == "abreast" else 1
        dtypes = [dtype.name for dtype in (self.input, self.compute, *self.results)]
        description = f"scan {self.phase.name} {width} {dtypes} {self.level.name}"
        row = compiler().load(description, lambda: self.text(width))
        itemsizes = [dtype.itemsize for dtype in (*self.results, self.input)]
        strided = strided_address(Signature(len(self.results), "m"))
        descriptor = [row, *itemsizes, rows_driver(len(itemsizes)), 1]
        builtin = compiler().builtin(self.name, strided, descriptor)
        setattr(self, attribute, builtin)
        return builtin

    def text(self, width: int) -> str:
        """LLVM IR of the row function, named @NAME, for elements of `width` lanes."""
        half = self.level.half_hardware
        source = memory("x", self.input)
        outputs = [memory(f"o{index}", dtype) for index, dtype in enumerate(self.results)]
        element = arguments([source.storage] * source.components)
        index, count = Expr("argument", INT[64]), Expr("argument", INT[64])
        value = from_storage(element, self.input, half)
        if self.compute is not self.input:
            value = rounded(value, self.compute, half)
        init = self.phase.init(value)
        state = arguments([expr.type for expr in init])
        context = Context(count, (), ())
        stepped = self.phase.step(state, value, index, context)
        projected = self.phase.project(stepped, context)
        stored = [to_storage(v, dtype, half) for v, dtype in zip(projected, self.results, strict=True)]
        everything = (*outputs, source)
        declarations = Declarations(self.level.vector_bytes)
        emitter = Emitter(width, "s", declarations)
        start = Emitter(width, "i", declarations)
        initial = start.emit(init)
        for slot, expr in enumerate(state):
            emitter.bind(expr, f"%state{slot}")
        emitter.bind(index, emitter.splat("%k", index.type))
        emitter.bind(count, emitter.splat("%n", count.type))
        _load(emitter, source, element)
        following = emitter.emit(stepped)
        for operand, exprs in zip(outputs, stored, strict=True):
            _store(emitter, operand, emitter.emit(exprs))
        return "\n".join(
            [
                f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0 {{",
                "entry:",
                *_operands(everything),
                *start.lines,
                "  br label %loop",
                "loop:",
                "  %k = phi i64 [0, %entry], [%k_next, %last]",
                *(f"  %at_{o.name} = phi ptr [%{o.name}, %entry], [%next_{o.name}, %last]" for o in everything),
                *(
                    f"  %state{slot} = phi {emitter.type(expr.type)} [{first}, %entry], [{then}, %last]"
                    for slot, (expr, first, then) in enumerate(zip(state, initial, following, strict=True))
                ),
                *emitter.lines,
                "  br label %last",
                "last:",
                *(f"  %next_{o.name} = getelementptr i8, ptr %at_{o.name}, i64 %s_{o.name}" for o in everything),
                "  %k_next = add i64 %k, 1",
                "  %more = icmp slt i64 %k_next, %n",
                "  br i1 %more, label %loop, label %end",
                "end:",
                "  ret i1 false",
                "}",
                declarations.text(self.level.attributes),
            ]
        )


def _operands(operands: Sequence[Memory]) -> list[str]:
    lines = []
    for index, operand in enumerate(operands):
        name = operand.name
        lines += [
            f"  %p_{name} = getelementptr ptr, ptr %pointers, i64 {index}",
            f"  %{name} = load ptr, ptr %p_{name}",
            f"  %q_{name} = getelementptr i64, ptr %strides, i64 {index}",
            f"  %s_{name} = load i64, ptr %q_{name}",
        ]
    return lines


def _load(emitter: Emitter, operand: Memory, exprs: tuple[Expr, ...]) -> None:
    type, align = _type(emitter, operand), operand.itemsize // operand.components
    loaded = emitter.register(f"load {type}, ptr %at_{operand.name}, align {align}")
    if operand.components == 1:
        emitter.bind(exprs[0], loaded)
        return
    for part, expr in enumerate(exprs):
        emitter.bind(expr, deinterleave(emitter, loaded, type, part))


def _store(emitter: Emitter, operand: Memory, values: list[str]) -> None:
    value = values[0] if operand.components == 1 else interleave(emitter, operand.storage.ir, values)
    type, align = _type(emitter, operand), operand.itemsize // operand.components
    emitter.lines.append(f"  store {type} {value}, ptr %at_{operand.name}, align {align}")


def _type(emitter: Emitter, operand: Memory) -> str:
    """The IR type of an operand's neighbours."""
    exprs = emitter.width * operand.components
    return operand.storage.ir if exprs == 1 else f"<{exprs} x {operand.storage.ir}>"


@functools.cache
def _kernel(
    name: str, phase: Phase, input: DType, compute: DType, results: tuple[DType, ...], level: Level
) -> ScanKernel:
    return ScanKernel(name, phase, input, compute, results, level)


def scan_kernel(name: str, phase: Phase, input: DType, compute: DType, results: Sequence[DType]) -> ScanKernel:
    """The kernel of a scan: the finished state after each element is stored; memoised."""
    return _kernel(name, phase, input, compute, tuple(results), current_level())
