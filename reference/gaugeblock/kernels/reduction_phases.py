"""What a reduction does to each element: phases of init, step, combine and project, recorded as expressions.

A reduction is one or more phases over the same elements. Each phase has a state with an initial value, a step that
takes an element in, a way to combine two states, and a projection that gives either the results or the parameters of
the next phase.

The state is kept in one block of memory: 8-byte scalar slots, then vector slots. Parameters (count, numbers, results of
the earlier phase) have the same layout in a block of their own, whose last scalar slots hold addresses: the routine
that packs strided elements, or 0, with the item size; and for a reduction that is transposed (see sharing) the
reduction itself and its routine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.dtype import DType
from .body import components
from .conversion import Memory, from_storage, memory, rounded, to_storage
from .expression import BOOL, F64, INT, Expr, ScalarType, Value
from .isa import Level
from .lower import Emitter, reachable

SLOTS = 8
SCALAR_BYTES = 8 * SLOTS
VECTOR_BYTES = 256
REDUCTION_SLOT, TRANSPOSE_SLOT, ITEMSIZE_SLOT, PACK_SLOT = range(SLOTS - 4, SLOTS)
BLOCK_BYTES = SCALAR_BYTES + SLOTS * VECTOR_BYTES
STRIP_BYTES = (256, 128)
"""Bytes of adjacent inputs, whole lines of the cache, whose outputs are reduced at once where eight vectors hold their
states: the first number that does."""


def offset(slot: int, width: int) -> int:
    """Byte offset of a slot."""
    return slot * 8 if width == 1 else SCALAR_BYTES + slot * VECTOR_BYTES


def stored_type(type: ScalarType) -> str:
    """IR type of a number in memory: bytes for bool."""
    return "i8" if type is BOOL else type.ir


def load_slot(emitter: Emitter, block: str, slot: int, type: ScalarType) -> str:
    """Load a slot at the emitter's width."""
    place = emitter.register(f"getelementptr i8, ptr {block}, i64 {offset(slot, emitter.width)}")
    memory_type = emitter.type(stored_type(type))
    value = emitter.register(f"load {memory_type}, ptr {place}, align 8")
    return emitter.register(f"trunc {memory_type} {value} to {emitter.type(BOOL)}") if type is BOOL else value


def store_slot(emitter: Emitter, block: str, slot: int, type: ScalarType, value: str) -> None:
    """Store a value into a slot at the emitter's width."""
    memory_type = emitter.type(stored_type(type))
    if type is BOOL:
        value = emitter.register(f"zext {emitter.type(BOOL)} {value} to {memory_type}")
    place = emitter.register(f"getelementptr i8, ptr {block}, i64 {offset(slot, emitter.width)}")
    emitter.lines.append(f"  store {memory_type} {value}, ptr {place}, align 8")


def load_slots(emitter: Emitter, block: str, exprs: tuple[Expr, ...], first: int = 0) -> None:
    """Bind arguments to slots from `first` on."""
    for slot, expr in enumerate(exprs, start=first):
        emitter.bind(expr, load_slot(emitter, block, slot, expr.type))


def store_slots(emitter: Emitter, block: str, exprs: State, first: int = 0) -> None:
    """Compute expressions and store them into slots from `first` on."""
    for slot, (expr, value) in enumerate(zip(exprs, emitter.emit(exprs), strict=True), start=first):
        store_slot(emitter, block, slot, expr.type, value)


State = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """What steps and projections may use besides the state.

    `count` is the number of elements, `numbers` are those of the call, `earlier` holds the results of earlier phases,
    and `beside` the elements of a row's further operands.
    """

    count: Expr
    numbers: State
    earlier: State
    beside: tuple[Value, ...] = ()


class Phase(NamedTuple):
    """The functions of a phase; `init` gives the neutral state for a value of the compute dtype. `keeps`, if it is
    given, says whether the state stays as it is after a value, as it mostly does; else the state is the value and its
    index."""

    init: Callable[[Value], State]
    step: Callable[[State, Value, Expr, Context], State]
    combine: Callable[[State, State], State]
    project: Callable[[State, Context], tuple[Value, ...]]
    name: str = ""
    keeps: Callable[[State, Value], Expr] | None = None


class Reduction(NamedTuple):
    """Phases in order, and how many Python floats the call takes."""

    phases: tuple[Phase, ...]
    numbers: int = 0
    name: str = ""


@dataclass(slots=True)
class RecordedPhase:
    """The expressions of one phase: arguments (`state`, `other`, `element`, `index`) and what is computed from them."""

    element: tuple[Expr, ...]
    index: Expr
    state: State
    other: State
    init: State
    stepped: State
    combined: State
    projected: tuple[Value, ...]


@dataclass(slots=True)
class RecordedReduction:
    """A reduction recorded for an input dtype, a compute dtype and result dtypes. `projected` are what each phase hands
    on, for the last one the stored components of the results."""

    input: Memory
    outputs: tuple[Memory, ...]
    context: Context
    phases: list[RecordedPhase] = field(default_factory=list)
    projected: list[State] = field(default_factory=list)
    width: int = 1
    strips: tuple[int, ...] = ()
    """Numbers of adjacent outputs that are reduced at once, the largest first."""


def arguments(types: Sequence[ScalarType]) -> State:
    """Fresh arguments."""
    return tuple(Expr("argument", type) for type in types)


def record_phase(phase: Phase, element: State, value: Value, context: Context) -> RecordedPhase:
    """Call the functions of a phase once, for the value of an element in memory."""
    index, init = Expr("argument", INT[64]), phase.init(value)
    state, other = (arguments([expr.type for expr in init]) for _ in range(2))
    stepped = phase.step(state, value, index, context)
    projected = phase.project(state, context)
    return RecordedPhase(element, index, state, other, init, stepped, phase.combine(state, other), projected)


def record_reduction(
    reduction: Reduction, input: DType, compute: DType, results: Sequence[DType], level: Level
) -> RecordedReduction:
    """Call the phases' functions once with symbols."""
    place = memory("x", input)
    outputs = tuple(memory(f"o{index}", dtype) for index, dtype in enumerate(results))
    context = Context(Expr("argument", INT[64]), arguments([F64] * reduction.numbers), ())
    body = RecordedReduction(place, outputs, context)
    widest = place.storage.bits
    for number, phase in enumerate(reduction.phases, start=1):
        element = place.symbols()
        value = from_storage(element, input, level.half_hardware)
        if compute is not input:
            value = rounded(value, compute, level.half_hardware)
        recorded = record_phase(phase, element, value, context)
        handed = [components(value) for value in recorded.projected]
        if number == len(reduction.phases):
            pairs = zip(recorded.projected, results, strict=True)
            handed = [to_storage(value, dtype, level.half_hardware) for value, dtype in pairs]
        exprs = tuple(expr for parts in handed for expr in parts)
        body.phases.append(recorded)
        body.projected.append(exprs)
        widest = max([widest, *(expr.type.bits for expr in (*recorded.init, *exprs))])
        if number < len(reduction.phases):
            body.context = context = Context(context.count, context.numbers, arguments([expr.type for expr in exprs]))
            if 1 + reduction.numbers + len(exprs) > REDUCTION_SLOT:
                raise ValueError(f"a reduction's phase hands on {len(exprs)} numbers, more than there are slots for")
    body.width = 2 * max(1, level.vector_bytes * 8 // widest)
    state = max(sum(expr.type.bits for expr in phase.state) for phase in body.phases)
    most = min(8 * VECTOR_BYTES // widest, 64 * level.vector_bytes // max(state, 1))
    broad = next((nbytes // place.itemsize for nbytes in STRIP_BYTES if nbytes // place.itemsize <= most), 0)
    truths = any(expr.type is BOOL for phase in body.phases for expr in phase.state)  # vectors of bits gain nothing
    body.strips = (broad, body.width) if broad > body.width and not truths else (body.width,)
    return body


LONG_STEP = 40
"""Expressions of a step from which two at a time gain nothing."""
Take = Callable[[str, Sequence[str]], list[str]]
"""Loads the elements from an index on and gives the registers of the state after them."""


def over_vectors(code: Emitter, phase: RecordedPhase, n: str, take: Take) -> list[str]:
    """Return the state after the first `n` elements, as scalars.

    Two vectors at a time update two independent states, which are then combined; a last single vector follows. The
    elements that remain go into a masked vector, which needs AVX-512: elsewhere `n` must be a multiple of the width.
    """
    width, short = code.width, len(reachable(phase.stepped)) <= LONG_STEP
    types = [code.type(expr.type) for expr in phase.state]
    state, done = code.emit(phase.init), "0"
    whole = code.register(f"and i64 {n}, {-width}")
    if short:
        pairs = code.register(f"and i64 {n}, {-2 * width}")
        with code.carry(done, pairs, 2 * width, list(zip((*types, *types), (*state, *state), strict=True))) as loop:
            for half in range(2):
                i = code.register(f"add i64 {loop.index}, {half * width}")
                loop.following += take(i, loop.values[half * len(types) : (half + 1) * len(types)])
        with code.scope():
            code.bind_all((*phase.state, *phase.other), loop.results)
            state, done = code.emit(phase.combined), pairs
    with code.carry(done, whole, width, list(zip(types, state, strict=True))) as loop:
        loop.following = take(loop.index, loop.values)
    if code.wide:
        with code.carry(whole, n, width, list(zip(types, loop.results, strict=True))) as loop:
            left = code.register(f"sub i64 {n}, {loop.index}")
            with code.partial(left):
                after, known = take(loop.index, loop.values), code.known_lanes()
            for type, before, now in zip(types, loop.values, after, strict=True):
                loop.following.append(code.register(f"select {code.type(BOOL)} {known}, {type} {now}, {type} {before}"))
    return merge_lanes(code, phase, loop.results)


def merge_lanes(code: Emitter, phase: RecordedPhase, values: list[str]) -> list[str]:
    """The states in the expressions of vectors combined into one, half by half."""
    width = code.width
    while width > 1:
        width //= 2
        with code.scope(width):
            for exprs, first in ((phase.state, 0), (phase.other, width)):
                mask = ", ".join(f"i32 {first + k}" for k in range(width))
                for one, value in zip(exprs, values, strict=True):
                    whole = f"<{2 * width} x {one.type.ir}>"
                    half = f"shufflevector {whole} {value}, {whole} poison, <{width} x i32> <{mask}>"
                    last = f"extractelement {whole} {value}, i32 {first}"
                    code.bind(one, code.register(half if width > 1 else last))
            values = code.emit(phase.combined)
    return values
