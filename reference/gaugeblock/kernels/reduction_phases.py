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
from .expression import BOOL, F64, INT, Lane, LaneType, Value, constant
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


def stored_type(type: LaneType) -> str:
    """IR type of a lane in memory: bytes for bool."""
    return "i8" if type is BOOL else type.ir


def load_slot(emitter: Emitter, block: str, slot: int, type: LaneType) -> str:
    """Load a slot at the emitter's width."""
    place = emitter.register(f"getelementptr i8, ptr {block}, i64 {offset(slot, emitter.width)}")
    memory_type = emitter.type(stored_type(type))
    value = emitter.register(f"load {memory_type}, ptr {place}, align 8")
    return emitter.register(f"trunc {memory_type} {value} to {emitter.type(BOOL)}") if type is BOOL else value


def store_slot(emitter: Emitter, block: str, slot: int, type: LaneType, value: str) -> None:
    """Store a value into a slot at the emitter's width."""
    memory_type = emitter.type(stored_type(type))
    if type is BOOL:
        value = emitter.register(f"zext {emitter.type(BOOL)} {value} to {memory_type}")
    place = emitter.register(f"getelementptr i8, ptr {block}, i64 {offset(slot, emitter.width)}")
    emitter.lines.append(f"  store {memory_type} {value}, ptr {place}, align 8")


def load_lanes(emitter: Emitter, block: str, lanes: tuple[Lane, ...], first: int = 0) -> None:
    """Bind argument lanes to slots from `first` on."""
    for slot, lane in enumerate(lanes, start=first):
        emitter.bind(lane, load_slot(emitter, block, slot, lane.type))


def store_lanes(emitter: Emitter, block: str, lanes: tuple[Lane, ...], first: int = 0) -> None:
    """Compute lanes and store them into slots from `first` on."""
    for slot, (lane, value) in enumerate(zip(lanes, emitter.emit(lanes), strict=True), start=first):
        store_slot(emitter, block, slot, lane.type, value)


State = tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """What steps and finishes may use besides the state: element count, numbers of the call, earlier results."""

    count: Lane
    numbers: State
    earlier: State


class Phase(NamedTuple):
    """`identity` gives the neutral state for the compute dtype's lane types of one element."""

    identity: Callable[[Value], State]
    step: Callable[[State, Value, Lane, Context], State]
    combine: Callable[[State, State], State]
    finish: Callable[[State, Context], tuple[Value, ...]]
    name: str = ""


class Fold(NamedTuple):
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

    element: tuple[Lane, ...]
    index: Lane
    state: State
    other: State
    identity: State
    stepped: State
    combined: State
    finished: tuple[Lane, ...]


@dataclass(slots=True)
class FoldBody:
    """A fold recorded for an input dtype, a compute dtype and result dtypes."""

    input: Memory
    outputs: tuple[Memory, ...]
    context: Context
    phases: list[RecordedPhase] = field(default_factory=list)
    width: int = 1


def arguments(types: Sequence[LaneType]) -> State:
    """Fresh argument lanes."""
    return tuple(Lane("argument", type) for type in types)


def record_fold(fold: Fold, input: DType, compute: DType, results: Sequence[DType], level: Level) -> FoldBody:
    """Call the phases' functions once with symbolic lanes."""
    place = memory("x", input)
    outputs = tuple(memory(f"o{index}", dtype) for index, dtype in enumerate(results))
    context = Context(Lane("argument", INT[64]), arguments([F64] * fold.numbers), ())
    body = FoldBody(place, outputs, context)
    widest = place.storage.bits
    for number, phase in enumerate(fold.phases):
        element = arguments([place.storage] * place.components)
        index = Lane("argument", INT[64])
        value = from_storage(element, input, level.half_hardware)
        if compute is not input:
            value = rounded(value, compute, level.half_hardware)
        identity = phase.identity(value)
        state, other = (arguments([lane.type for lane in identity]) for _ in range(2))
        finished = phase.finish(state, context)
        if number == len(fold.phases) - 1:
            stored = [to_storage(v, dtype, level.half_hardware) for v, dtype in zip(finished, results, strict=True)]
            lanes = tuple(lane for parts in stored for lane in parts)
        else:
            lanes = tuple(lane for v in finished for lane in components(v))
        body.phases.append(
            RecordedPhase(
                element,
                index,
                state,
                other,
                identity,
                phase.step(state, value, index, context),
                phase.combine(state, other),
                lanes,
            )
        )
        widest = max([widest, *(lane.type.bits for lane in (*identity, *lanes))])
        context = Context(context.count, context.numbers, arguments([lane.type for lane in lanes]))
        if number < len(fold.phases) - 1:
            body.context = context
    for recorded in body.phases[:-1]:
        if 1 + fold.numbers + len(recorded.finished) > FOLD_SLOT:
            raise ValueError(f"a fold's phase hands on {len(recorded.finished)} lanes, more than there are slots for")
    body.width = 2 * max(1, level.vector_bytes * 8 // widest)
    return body


def zero(type: LaneType) -> Lane:
    """The constant 0 of a lane type."""
    return constant(0, type)
