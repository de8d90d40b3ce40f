"""Values read from a file, held against the shape of a snapshot field by field."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from typing import Any

from ..problem import SnapshotProblem, shown
from .snapshot import ACTIONS, ADDRESSES, SIZES, STATES, Block, Entry, Frame, Segment, Snapshot, Stack

LONGEST_NAME = 400
"""Characters of a file's or function's name that are kept."""
DEVICES = 1024


def checked(value: Any) -> Snapshot:
    """A value of the shape of a snapshot, or of the list of segments alone.

    Raises:
        SnapshotProblem: a field is missing or has another type or range; blocks do not tile their segment.
    """
    if isinstance(value, list):
        value = {"segments": value}
    if not isinstance(value, dict):
        raise SnapshotProblem(f"a snapshot is a dict with 'segments' and 'device_traces', not {shown(value)}")
    if "segments" not in value and "device_traces" not in value:
        raise SnapshotProblem("a snapshot has 'segments' or 'device_traces'; neither is there")
    shape = _Shape()
    segments = [
        shape.segment(one, f"segments[{place}]")
        for place, one in enumerate(_list(value.get("segments", []), "segments"))
    ]
    segments.sort(key=lambda one: (one.device, one.address))
    for before, after in pairwise(segments):
        if before.device == after.device and before.address + before.size > after.address:
            raise SnapshotProblem(f"segments at {before.address:#x} and {after.address:#x} overlap")
    given = _list(value.get("device_traces", []), "device_traces")
    if len(given) > DEVICES:
        raise SnapshotProblem(f"device_traces has {len(given)} devices; {DEVICES} are allowed")
    if len({id(one) for one in given}) != len(given):
        raise SnapshotProblem("device_traces has one list for two devices; each device has its own")
    traces = [shape.trace(one, f"device_traces[{place}]") for place, one in enumerate(given)]
    settings = value.get("allocator_settings", {})
    if not isinstance(settings, dict):
        raise SnapshotProblem(f"allocator_settings is {shown(settings)}; a dict is allowed")
    return Snapshot(segments, traces, _settings(settings), shape.unknown)


class _Shape:
    """Checks fields. Stacks are checked once for each list of frames, however often it is shared."""

    def __init__(self) -> None:
        self.stacks: dict[int, Stack] = {}
        self.frames: dict[int, Frame] = {}
        self.unknown = 0

    def trace(self, value: Any, where: str) -> list[Entry]:
        entries = []
        for place, one in enumerate(_list(value, where)):
            entry = self.entry(one, where, place)
            if entry.action in ACTIONS:
                entries.append(entry)
            else:
                self.unknown += 1
        return entries

    def entry(self, value: Any, where: str, place: int) -> Entry:
        if type(value) is not dict:
            raise SnapshotProblem(f"{where}[{place}] is {shown(value)}; a dict is allowed")
        get = value.get
        action = get("action")
        address: Any = get("addr", 0 if action in ("oom", "snapshot") else None)
        if action == "oom":
            address = get("device_free", address)
        size: Any = get("size")
        stream: Any = get("stream")
        time: Any = get("time_us", 0)
        if not (
            type(action) is str
            and type(address) is int
            and type(size) is int
            and type(stream) is int
            and type(time) is int
            and 0 <= address < ADDRESSES
            and 0 <= size < SIZES
            and -ADDRESSES < stream < ADDRESSES
            and 0 <= time < SIZES
        ):
            here = f"{where}[{place}]"
            if type(action) is not str:
                raise SnapshotProblem(f"{here}.action is {shown(action)}; one of {', '.join(ACTIONS)} is allowed")
            _integer({"addr": address}, "addr", here, 0, ADDRESSES)
            _integer(value, "size", here, 0, SIZES)
            _integer(value, "stream", here, 1 - ADDRESSES, ADDRESSES)
            _integer(value, "time_us", here, 0, SIZES)
        pool = _pool(get("pool_id"), where, place) if "pool_id" in value else (0, 0)
        frames = get("frames")
        return Entry(action, address, size, stream, time, pool, self.stack(frames, where, place) if frames else ())

    def segment(self, value: Any, where: str) -> Segment:
        record = _dict(value, where)
        address = _integer(record, "address", where, 0, ADDRESSES)
        size = _integer(record, "total_size", where, 0, SIZES)
        kind = record.get("segment_type", "large")
        if kind not in ("small", "large"):
            raise SnapshotProblem(f"{where}.segment_type is {shown(kind)}; 'small' or 'large' is allowed")
        blocks = []
        end = address
        for place, one in enumerate(_list(record.get("blocks"), f"{where}.blocks")):
            block = self.block(one, where, place, end)
            if block.address != end:
                raise SnapshotProblem(
                    f"{where}.blocks[{place}] begins at {block.address:#x}; the one before it ends at {end:#x}"
                )
            end += block.size
            blocks.append(block)
        if end != address + size:
            raise SnapshotProblem(f"{where}.blocks sum to {end - address} bytes; total_size is {size}")
        frames = record.get("frames")
        return Segment(
            _integer(record, "device", where, 0, DEVICES) if "device" in record else 0,
            address,
            size,
            _integer(record, "stream", where, 1 - ADDRESSES, ADDRESSES),
            str(kind),
            _pool(record.get("segment_pool_id"), where, None) if "segment_pool_id" in record else (0, 0),
            record.get("is_expandable") is True,
            tuple(blocks),
            self.stack(frames, where, None) if frames else (),
        )

    def block(self, value: Any, segment: str, place: int, end: int) -> Block:
        where = f"{segment}.blocks[{place}]"
        record = _dict(value, where)
        size = _integer(record, "size", where, 1, SIZES)
        given = record.get("state")
        state = STATES.get(given) if isinstance(given, str) else None
        if state is None:
            raise SnapshotProblem(f"{where}.state is {shown(given)}; one of {', '.join(STATES)} is allowed")
        frames = record.get("frames")
        return Block(
            _integer(record, "address", where, 0, ADDRESSES) if "address" in record else end,
            size,
            _integer(record, "requested_size", where, 0, SIZES) if "requested_size" in record else size,
            state,
            self.stack(frames, segment, place) if frames else (),
        )

    def stack(self, value: Any, where: str, place: int | None) -> Stack:
        known = self.stacks.get(id(value))
        if known is None:
            here = f"{where}.frames" if place is None else f"{where}[{place}].frames"
            made = []
            for index, one in enumerate(_list(value, here)):
                frame = self.frames.get(id(one))
                if frame is None:
                    frame = self.frames[id(one)] = _frame(one, f"{here}[{index}]")
                made.append(frame)
            known = self.stacks[id(value)] = tuple(made)
        return known


def _settings(value: dict[str, Any]) -> dict[str, Any]:
    """Settings that JSON can hold: scalars, and dicts of scalars; anything else as the words for it."""
    made: dict[str, Any] = {}
    for key, one in value.items():
        made[_kept(key)] = (
            {_kept(name): _scalar(part) for name, part in one.items()} if type(one) is dict else _scalar(one)
        )
    return made


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return _kept(value)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    return shown(value)


def _frame(value: Any, where: str) -> Frame:
    record = _dict(value, where)
    file, line, name = record.get("filename"), record.get("line"), record.get("name")
    if not isinstance(file, str) or not isinstance(name, str):
        raise SnapshotProblem(f"{where} has no 'filename' and 'name' that are strings")
    return Frame(_kept(file), line if type(line) is int and 0 <= line < SIZES else 0, _kept(name))


def _kept(text: str) -> str:
    """The end of a long text, with ? for what does not print: no file takes surrogates, and no terminal is steered."""
    short = text if len(text) <= LONGEST_NAME else "..." + text[3 - LONGEST_NAME :]
    return short if short.isprintable() else "".join(one if one.isprintable() else "?" for one in short)


def _pool(value: Any, where: str, place: int | None) -> tuple[int, int]:
    if isinstance(value, tuple | list) and len(value) == 2 and type(value[0]) is int and type(value[1]) is int:
        return (value[0], value[1])
    here = where if place is None else f"{where}[{place}]"
    raise SnapshotProblem(f"{here} has {shown(value)} as the id of its pool; a pair of ints is allowed")


def _dict(value: Any, where: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise SnapshotProblem(f"{where} is {shown(value)}; a dict is allowed")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if type(value) is not list:
        raise SnapshotProblem(f"{where} is {shown(value)}; a list is allowed")
    return value


def _integer(record: dict[str, Any], key: str, where: str, least: int, above: int) -> int:
    value = record.get(key)
    if type(value) is not int or not least <= value < above:
        low = f"from {least}" if least >= 0 else "above -2**64"
        high = f"2**{above.bit_length() - 1}" if above > 1 << 20 else str(above)
        raise SnapshotProblem(f"{where}.{key} is {shown(value)}; an int {low} and below {high} is allowed")
    return value
