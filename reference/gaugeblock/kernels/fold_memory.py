"""Where a fold keeps its state: 8-byte scalar slots, then vector slots, in one block of memory.

Parameters (count, numbers, results of the earlier phase) have the same layout in a block of their own, whose last
scalar slots hold addresses: the routine that brings strided elements together, or 0, with the item size; and for a
fold that is turned (see splitting) the fold itself and its routine.
"""

from __future__ import annotations

from .expression import BOOL, Lane, LaneType
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
