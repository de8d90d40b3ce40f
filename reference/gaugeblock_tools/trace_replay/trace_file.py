"""Files of traces: JSON of our own, or whatever `snapshot_file` reads.

    {"schema": "gaugeblock-allocator-trace/1", "device_memory": 25769803776, "initial": 0,
     "stacks": [[], [["train.py", 12, "forward"]]],
     "events": [["alloc", 0, 4194304, 0, 1], ["record_stream", 0, 7], ["free", 0], ["completed", 0],
                ["empty_cache"], ["attempt", 8388608, 0, 0]]}

`alloc` has block, size, stream and stack; `attempt` size, stream and stack. Stream and stack may be left out (0).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gaugeblock_spec.atomic_file import output_file

from ..problem import SnapshotProblem, shown
from .snapshot import ADDRESSES, SIZES, Frame, Snapshot, Stack
from .snapshot_file import read_value
from .snapshot_shape import checked
from .trace import ALLOC, ATTEMPT, COMPLETED, EMPTY_CACHE, FREE, KINDS, RECORD_STREAM, Trace
from .trace_of_snapshot import chosen_device, trace_of

SCHEMA = "gaugeblock-allocator-trace/1"
FIELDS = {
    "alloc": ("block", "size", "stream", "stack"),
    "free": ("block",),
    "record_stream": ("block", "stream"),
    "completed": ("block",),
    "empty_cache": (),
    "attempt": ("size", "stream", "stack"),
}
OPTIONAL = ("stream", "stack")


def read_trace(path: str | Path, device: int | None = None) -> Trace:
    """The trace in a file: our JSON, or a snapshot of ours or PyTorch's, of which one device is taken.

    Raises:
        SnapshotProblem: the file cannot be read or is not of that shape; the message names file and field.
    """
    return read(path, device)[1]


def read(path: str | Path, device: int | None = None) -> tuple[Snapshot | None, Trace]:
    """The snapshot in a file, if it is one, and the trace. Raises as `read_trace`."""
    value = read_value(path)
    try:
        if isinstance(value, dict) and "schema" in value:
            return None, trace_from(value)
        snapshot = checked(value)
        at = chosen_device(snapshot, device)
        snapshot.segments = [segment for segment in snapshot.segments if segment.device == at]
        return snapshot, trace_of(snapshot, at)
    except SnapshotProblem as problem:
        raise SnapshotProblem(f"{path}: {problem}") from problem


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace as our JSON, one event a line. Private pools are not written: their blocks join the default one."""
    rows = []
    for kind, block, size, stream, stack in trace:
        name = KINDS[kind]
        values = {"block": block, "size": size, "stream": stream, "stack": stack}
        row = [name, *(values[field] for field in FIELDS[name])]
        while row[1:] and FIELDS[name][len(row) - 2] in OPTIONAL and row[-1] == 0 and name != "record_stream":
            row.pop()
        rows.append(json.dumps(row, separators=(",", ":")))
    head = {
        "schema": SCHEMA,
        "device_memory": trace.device_memory,
        "initial": trace.initial,
        "stacks": [[list(frame) for frame in stack] for stack in trace.stacks],
    }
    text = json.dumps(head)[:-1] + ', "events": [\n' + ",\n".join(rows) + "\n]}\n"
    with output_file(path) as file:
        file.write(text.encode())


def trace_from(value: dict[str, Any]) -> Trace:
    """The trace of a JSON value.

    Raises:
        SnapshotProblem: a field is missing, of another type or range, or an event is about a block that is not there.
    """
    if value["schema"] != SCHEMA:
        raise SnapshotProblem(f"schema is {shown(value['schema'])}; {SCHEMA!r} is allowed")
    memory = value.get("device_memory")
    if memory is not None and (type(memory) is not int or not 0 < memory < SIZES):
        raise SnapshotProblem(f"device_memory is {shown(memory)}; null or bytes from 1 and below 2**63 are allowed")
    trace = Trace(memory)
    stacks = _stacks(value.get("stacks", [[]]))
    events = value.get("events")
    if type(events) is not list:
        raise SnapshotProblem(f"events is {shown(events)}; a list is allowed")
    initial = value.get("initial", 0)
    if type(initial) is not int or not 0 <= initial <= len(events):
        raise SnapshotProblem(f"initial is {shown(initial)}; an int from 0 to the {len(events)} events is allowed")
    reader = _Reader(trace, stacks)
    for place, event in enumerate(events):
        try:
            reader.read(event)
        except SnapshotProblem as problem:
            raise SnapshotProblem(f"events[{place}]: {problem}") from problem
    trace.initial = initial
    return trace


class _Reader:
    """Appends events; blocks of the file are renumbered in the order of their allocation."""

    def __init__(self, trace: Trace, stacks: list[Stack]) -> None:
        self.trace = trace
        self.stacks = stacks
        self.live: dict[int, int] = {}
        self.recorded: set[int] = set()
        self.waiting: dict[int, int] = {}

    def read(self, event: Any) -> None:
        if type(event) is not list or not event or type(event[0]) is not str or event[0] not in FIELDS:
            given = event[0] if type(event) is list and event else event
            raise SnapshotProblem(f"{shown(given)} is no event; one of {', '.join(FIELDS)} is allowed")
        name = event[0]
        kind = KINDS.index(name)
        values = _values(name, event[1:])
        trace, live = self.trace, self.live
        block = values.get("block", -1)
        if kind in (ALLOC, ATTEMPT) and values["stack"] >= len(self.stacks):
            raise SnapshotProblem(f"stack is {values['stack']}; there are {len(self.stacks)}")
        if kind == ALLOC:
            if block in live or block in self.waiting:
                raise SnapshotProblem(f"block {block} is live; a block that is not is allowed")
            live[block] = trace.alloc(values["size"], values["stream"], self.stacks[values["stack"]])
        elif kind == ATTEMPT:
            trace.attempt(values["size"], values["stream"], self.stacks[values["stack"]])
        elif kind == EMPTY_CACHE:
            trace.empty_cache()
        elif kind == COMPLETED:
            if block not in self.waiting:
                raise SnapshotProblem(f"block {block} is not one that was freed after record_stream")
            trace.completed(self.waiting.pop(block))
        elif block not in live:
            raise SnapshotProblem(f"block {block} is not live")
        elif kind == RECORD_STREAM:
            trace.record_stream(live[block], values["stream"])
            self.recorded.add(block)
        elif kind == FREE:
            number = live.pop(block)
            trace.free(number)
            if block in self.recorded:
                self.recorded.discard(block)
                self.waiting[block] = number


def _values(name: str, given: list[Any]) -> dict[str, int]:
    fields = FIELDS[name]
    least = sum(field not in OPTIONAL or name == "record_stream" for field in fields)
    if not least <= len(given) <= len(fields):
        raise SnapshotProblem(f"{name} has {len(given)} values; {', '.join(fields) or 'none'} are allowed")
    values = dict.fromkeys(fields, 0)
    for field, value in zip(fields, given, strict=False):
        low = 1 - ADDRESSES if field == "stream" else 0
        high = ADDRESSES if field == "stream" else SIZES
        if type(value) is not int or not low <= value < high:
            raise SnapshotProblem(f"{field} is {shown(value)}; an int from {low} and below {high} is allowed")
        values[field] = value
    return values


def _stacks(value: Any) -> list[Stack]:
    if type(value) is not list or not value:
        raise SnapshotProblem(f"stacks is {shown(value)}; a list of stacks is allowed, the first of them empty")
    made = []
    for place, stack in enumerate(value):
        if type(stack) is not list or not all(
            type(frame) is list and [type(part) for part in frame] == [str, int, str] for frame in stack
        ):
            raise SnapshotProblem(f"stacks[{place}] is no list of [file, line, name]")
        made.append(tuple(Frame(*frame) for frame in stack))
    return made
