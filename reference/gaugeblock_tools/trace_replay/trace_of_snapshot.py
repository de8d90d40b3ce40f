"""The trace of one device, made of what an allocator recorded.

The recording is a ring buffer: it may begin in the middle, with frees of blocks whose allocation is lost. Those blocks,
and the ones that the segments show as used although nothing was recorded of them, were there at the start; the trace
begins by allocating them, in the order of their addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..problem import SnapshotProblem
from .snapshot import ACTIVE, INACTIVE, Entry, Segment, Snapshot, Stack
from .trace import DEFAULT_POOL, Trace
from .units import counted, size_text

GROWING, SHRINKING = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")
UNKNOWN_STREAM = -1
"""Of a recorded free that waited: the entries do not say which stream it waited for."""


class _Known(NamedTuple):
    """A block from before the recording. `block` is its key in the requests; `waiting` if it was freed already."""

    address: int
    block: int
    size: int
    stream: int
    stack: Stack
    pool: tuple[int, int]
    waiting: bool


@dataclass
class _Reading:
    """The state of the walk: blocks by address, those freed but not free, and what was found to be missing."""

    entries: list[Entry]
    live: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    before: list[_Known] = field(default_factory=list)
    steps: list[tuple[str, int, Entry | None]] = field(default_factory=list)
    held: list[tuple[int, int]] = field(default_factory=list)
    blocks: int = 0
    lost_frees: int = 0

    def new(self) -> int:
        self.blocks += 1
        return self.blocks - 1

    def known(self, entry: Entry, waiting: bool) -> int:
        block = self.new()
        self.before.append(_Known(entry.address, block, entry.size, entry.stream, entry.stack, entry.pool, waiting))
        return block


def devices(snapshot: Snapshot) -> list[int]:
    """The devices of which something is recorded or held."""
    recorded = {place for place, entries in enumerate(snapshot.traces) if entries}
    return sorted(recorded | {segment.device for segment in snapshot.segments})


def chosen_device(snapshot: Snapshot, device: int | None) -> int:
    """The device asked for, or the one with the most entries.

    Raises:
        SnapshotProblem: the snapshot has nothing of that device, or of any.
    """
    there = devices(snapshot)
    if not there:
        raise SnapshotProblem("the snapshot has neither segments nor entries: was recording switched on?")
    if device is None:
        return max(there, key=lambda one: (len(_entries(snapshot, one)), -one))
    if device not in there:
        raise SnapshotProblem(f"the snapshot has nothing of device {device}; it has {', '.join(map(str, there))}")
    return device


def trace_of(snapshot: Snapshot, device: int | None = None) -> Trace:
    """The requests that a snapshot recorded on a device (by default the one with the most entries).

    A snapshot without entries gives the blocks of its segments alone. A run of segments given back is taken for a
    call of `empty_cache` unless the next entry gets a segment or fails: then it was the allocator's own retry. Segments
    of private pools go when their pool goes.

    Raises:
        SnapshotProblem: as `chosen_device`.
    """
    at = chosen_device(snapshot, device)
    segments = [one for one in snapshot.segments if one.device == at]
    reading = _walk(_entries(snapshot, at))
    _add_lasting(reading, segments)
    trace = Trace()
    numbers: dict[int, int] = {}
    for one in sorted(reading.before):
        numbers[one.block] = trace.alloc(one.size, one.stream, one.stack, one.pool)
        if one.waiting:
            trace.record_stream(numbers[one.block], UNKNOWN_STREAM)
            trace.free(numbers[one.block])
    trace.initial = len(trace)
    places = [trace.initial] + [0] * len(reading.steps)
    for step, (what, block, entry) in enumerate(reading.steps):
        _write(trace, numbers, what, block, entry)
        places[step + 1] = len(trace)
    trace.reserved = _reserved(reading, segments, places)
    trace.notes = _notes(trace, snapshot, reading)
    return trace


def _entries(snapshot: Snapshot, device: int) -> list[Entry]:
    return snapshot.traces[device] if device < len(snapshot.traces) else []


def _walk(entries: list[Entry]) -> _Reading:
    """Read the entries: steps of the trace, blocks before it, and changes of the memory held, by step."""
    reading = _Reading(entries)
    live, waiting, steps = reading.live, reading.waiting, reading.steps
    last = len(entries) - 1
    done = -1
    for at, entry in enumerate(entries):
        if at == done:
            continue
        action, address = entry.action, entry.address
        if action == "alloc":
            if address in waiting:
                steps.append(("completed", waiting.pop(address), None))
            elif address in live:
                reading.lost_frees += 1
                steps.append(("free", live.pop(address), None))
            block = live[address] = reading.new()
            steps.append(("alloc", block, entry))
        elif action == "free_requested":
            freed = live.pop(address, None)
            block = reading.known(entry, False) if freed is None else freed
            following = entries[at + 1] if at < last else None
            if following is not None and following.action == "free_completed" and following.address == address:
                done = at + 1
            else:
                waiting[address] = block
                steps.append(("record_stream", block, None))
            steps.append(("free", block, None))
        elif action == "free_completed":
            if address in waiting:
                steps.append(("completed", waiting.pop(address), None))
            elif address in live:
                steps.append(("free", live.pop(address), None))
            else:
                steps.append(("completed", reading.known(entry, True), None))
        elif action == "oom":
            steps.append(("attempt", -1, entry))
        elif action in GROWING:
            reading.held.append((len(steps), entry.size))
        elif action in SHRINKING:
            reading.held.append((len(steps), -entry.size))
            following = entries[at + 1] if at < last else None
            own = following is not None and following.action in (*GROWING, *SHRINKING, "oom")
            if not own and entry.pool == DEFAULT_POOL:
                steps.append(("empty_cache", -1, None))
    return reading


def _add_lasting(reading: _Reading, segments: list[Segment]) -> None:
    """Blocks that the segments show in use, and of which no entry speaks."""
    for segment in segments:
        for block in segment.blocks:
            if block.state == INACTIVE or block.address in reading.live or block.address in reading.waiting:
                continue
            reading.before.append(
                _Known(
                    block.address,
                    reading.new(),
                    block.requested or block.size,
                    segment.stream,
                    block.stack,
                    segment.pool,
                    block.state != ACTIVE,
                )
            )


def _write(trace: Trace, numbers: dict[int, int], what: str, block: int, entry: Entry | None) -> None:
    if what == "alloc" and entry is not None:
        numbers[block] = trace.alloc(entry.size, entry.stream, entry.stack, entry.pool)
    elif what == "attempt" and entry is not None:
        trace.attempt(entry.size, entry.stream, entry.stack)
    elif what == "record_stream":
        trace.record_stream(numbers[block], UNKNOWN_STREAM)
    elif what == "free":
        trace.free(numbers[block])
    elif what == "completed":
        trace.completed(numbers[block])
    else:
        trace.empty_cache()


def _reserved(reading: _Reading, segments: list[Segment], places: list[int]) -> list[tuple[int, int]]:
    """Memory held from each event on, so that it ends at what the segments hold, and is never negative."""
    if not segments and not reading.held:
        return []
    changes = [0]
    for _, change in reading.held:
        changes.append(changes[-1] + change)
    now = sum(segment.size for segment in segments) - changes[-1] if segments else 0
    start = max(now, -min(changes))
    steps = [0, *(places[step] for step, _ in reading.held)]
    return [(at, start + change) for at, change in zip(steps, changes, strict=True)]


def _notes(trace: Trace, snapshot: Snapshot, reading: _Reading) -> list[str]:
    notes = []
    if trace.initial:
        size = sum(one.size for one in reading.before)
        notes.append(
            f"{counted(len(reading.before), 'block')} of {size_text(size)} held memory before the recording began; "
            "the replay places them first, in the order of their addresses"
        )
    if reading.lost_frees:
        lost = counted(reading.lost_frees, "block")
        notes.append(f"{lost} lost the record of a free; it is put in where the address comes again")
    if snapshot.unknown_actions:
        notes.append(f"left out: {counted(snapshot.unknown_actions, 'record')} of an action that is not known here")
    if not reading.entries:
        notes.append("nothing was recorded: the blocks of the segments are all there is")
    return notes
