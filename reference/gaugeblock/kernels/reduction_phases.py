"""Folds: what a reduction does to each element, recorded as lanes.

A fold is one or more phases over the same elements. Each phase has a state of lanes with an identity, a step, a way to
combine two states, and a finish that gives either the results or the parameters of the next phase.

A fold keeps its state in one block of memory: 8-byte scalar slots, then vector slots. Parameters (count, numbers,
results of the earlier phase) have the same layout in a block of their own, whose last scalar slots hold addresses: the
routine that brings strided elements together, or 0, with the item size; and for a fold that is turned (see splitting)
the fold itself and its routine.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ..core.dtype import DType
from .body import components
from .conversion import Memory, from_storage, memory, rounded, to_storage
from .expression import BOOL, F64, INT, Expr, ScalarType, Value, constant
from .isa import Level
from .lower import Emitter

SLOTS = 8
SCALAR_BYTES = 8 * SLOTS
VECTOR_BYTES = 256
FOLD_SLOT, TURN_SLOT, ITEMSIZE_SLOT, GATHER_SLOT = range(SLOTS - 4, SLOTS)
BLOCK_BYTES = SCALAR_BYTES + SLOTS * VECTOR_BYTES


def offset(slot: int, width: int) -> int:
    """Byte offset of a slot."""
    return slot * 8 if width == 1 else SCALAR_BYTES + slot * VECTOR_BYTES


def stored_type(type: ScalarType) -> str:
    """IR type of a lane in memory: bytes for bool."""
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
    """Bind argument lanes to slots from `first` on."""
    for slot, expr in enumerate(exprs, start=first):
        emitter.bind(expr, load_slot(emitter, block, slot, expr.type))


def store_slots(emitter: Emitter, block: str, exprs: tuple[Expr, ...], first: int = 0) -> None:
    """Compute lanes and store them into slots from `first` on."""
    for slot, (expr, value) in enumerate(zip(exprs, emitter.emit(exprs), strict=True), start=first):
        store_slot(emitter, block, slot, expr.type, value)


State = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """What steps and finishes may use besides the state: element count, numbers of the call, earlier results."""

    count: Expr
    numbers: State
    earlier: State


class Phase(NamedTuple):
    """`identity` gives the neutral state for the compute dtype's lane types of one element."""

    init: Callable[[Value], State]
    step: Callable[[State, Value, Expr, Context], State]
    combine: Callable[[State, State], State]
    project: Callable[[State, Context], tuple[Value, ...]]
    name: str = ""


class Reduction(NamedTuple):
    """Phases in order, and how many Python floats the call takes."""

    phases: tuple[Phase, ...]
    numbers: int = 0
    name: str = ""


Builder = TypeVar("Builder", bound=Callable[..., Any])


def named(build: Builder) -> Builder:
    """Memoise a builder of folds, phases or row programs, and name what it builds after its call.

    The name stands for the same lanes in every process.
    """

    @functools.cache
    def memoised(*args: Any, **kwargs: Any) -> Any:
        return build(*args, **kwargs)._replace(name=f"{build.__name__} {args} {kwargs}")

    return functools.wraps(build)(memoised)  # type: ignore[return-value]


@dataclass(slots=True)
class RecordedPhase:
    """The lanes of one phase: arguments (`state`, `other`, `element`, `index`) and what is computed from them."""

    element: tuple[Expr, ...]
    index: Expr
    state: State
    other: State
    init: State
    stepped: State
    combined: State
    projected: tuple[Expr, ...]


@dataclass(slots=True)
class RecordedReduction:
    """A fold recorded for an input dtype, a compute dtype and result dtypes."""

    input: Memory
    outputs: tuple[Memory, ...]
    context: Context
    phases: list[RecordedPhase] = field(default_factory=list)
    width: int = 1


def arguments(types: Sequence[ScalarType]) -> State:
    """Fresh argument lanes."""
    return tuple(Expr("argument", type) for type in types)


def record_reduction(
    reduction: Reduction, input: DType, compute: DType, results: Sequence[DType], level: Level
) -> RecordedReduction:
    """Call the phases' functions once with symbolic lanes."""
    place = memory("x", input)
    outputs = tuple(memory(f"o{index}", dtype) for index, dtype in enumerate(results))
    context = Context(Expr("argument", INT[64]), arguments([F64] * reduction.numbers), ())
    body = RecordedReduction(place, outputs, context)
    widest = place.storage.bits
    for number, phase in enumerate(reduction.phases):
        element = arguments([place.storage] * place.components)
        index = Expr("argument", INT[64])
        value = from_storage(element, input, level.half_hardware)
        if compute is not input:
            value = rounded(value, compute, level.half_hardware)
        init = phase.init(value)
        state, other = (arguments([expr.type for expr in init]) for _ in range(2))
        projected = phase.project(state, context)
        if number == len(reduction.phases) - 1:
            stored = [to_storage(v, dtype, level.half_hardware) for v, dtype in zip(projected, results, strict=True)]
            exprs = tuple(expr for parts in stored for expr in parts)
        else:
            exprs = tuple(expr for v in projected for expr in components(v))
        body.phases.append(
            RecordedPhase(
                element,
                index,
                state,
                other,
                init,
                phase.step(state, value, index, context),
                phase.combine(state, other),
                exprs,
            )
        )
        widest = max([widest, *(expr.type.bits for expr in (*init, *exprs))])
        context = Context(context.count, context.numbers, arguments([expr.type for expr in exprs]))
        if number < len(reduction.phases) - 1:
            body.context = context
    for recorded in body.phases[:-1]:
        if 1 + reduction.numbers + len(recorded.projected) > FOLD_SLOT:
            raise ValueError(f"a fold's phase hands on {len(recorded.projected)} lanes, more than there are slots for")
    body.width = 2 * max(1, level.vector_bytes * 8 // widest)
    return body


def zero(type: ScalarType) -> Expr:
    """The constant 0 of a lane type."""
    return constant(0, type)
