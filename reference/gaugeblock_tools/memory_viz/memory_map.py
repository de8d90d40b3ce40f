"""Segments laid out in rows of equal bytes, and their blocks as runs wide enough to be seen.

Segments stand in groups of one pool, stream and kind, by address. A group fills rows from the left; a segment that
does not fit into the rest of its row goes on in the next one. Blocks narrower than a pixel are drawn together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..trace_replay.snapshot import ACTIVE, INACTIVE, PENDING, Block, Segment, line, program_part
from ..trace_replay.units import counted, size_text

WIDTH = 1000
"""Pixels of a row."""
ROWS = 48
"""How many rows all segments take at most, about; fewer where the largest one would fill more than two of them."""
FEWEST = 12
GROUPS = 40
MIXED = "mixed"
LINES = 8
"""Of a stack that are told."""


class Run(NamedTuple):
    """A rectangle: its row, where it begins and ends in pixels, its state or MIXED, and what it stands for."""

    row: int
    left: float
    right: float
    state: str
    text: str


@dataclass
class Group:
    """Segments of one pool, stream and kind. `bars` are the segments' own outlines, as row, left and right."""

    title: str
    rows: int
    runs: list[Run] = field(default_factory=list)
    bars: list[tuple[int, float, float]] = field(default_factory=list)


@dataclass
class MemoryMap:
    """Groups from the one that reserves most; how many bytes a row stands for; how many groups were left out."""

    groups: list[Group]
    row_bytes: int
    left_out: int


def memory_map(segments: Sequence[Segment]) -> MemoryMap:
    """Lay out the segments that are not empty."""
    grouped: dict[tuple[tuple[int, int], int, str], list[Segment]] = {}
    for segment in (one for one in segments if one.size):
        grouped.setdefault((segment.pool, segment.stream, segment.kind), []).append(segment)
    order = sorted(grouped, key=lambda key: (-sum(one.size for one in grouped[key]), key))
    total = sum(segment.size for segment in segments)
    largest = max((segment.size for segment in segments), default=0)
    row_bytes = max(_nice(min(max(total / ROWS, largest / 2), total / FEWEST)), 2 << 20)
    groups = [_group(key, grouped[key], row_bytes) for key in order[:GROUPS]]
    return MemoryMap(groups, row_bytes, max(len(order) - GROUPS, 0))


def _nice(size: float) -> int:
    """The next power of two, or three quarters of it."""
    top = 1 << max(int(size) - 1, 1).bit_length()
    return top * 3 // 4 if size <= top * 3 // 4 else top


def _group(key: tuple[tuple[int, int], int, str], segments: list[Segment], row_bytes: int) -> Group:
    pool, stream, kind = key
    reserved = sum(one.size for one in segments)
    used = sum(block.size for one in segments for block in one.blocks if block.state == ACTIVE)
    count = counted(len(segments), "segment")
    private = "" if pool == (0, 0) else f"private pool {pool[0]}, {pool[1]} · "
    title = f"{private}stream {stream} · {kind} · {count} · {size_text(reserved)} reserved"
    group = Group(f"{title}, {used / reserved:.0%} in use", -(-reserved // row_bytes))
    at = 0
    for segment in segments:
        group.bars += [(row, left, right) for row, left, right in _pieces(at, segment.size, row_bytes)]
        _add_runs(group, segment, at, row_bytes)
        at += segment.size
    return group


def _pieces(start: int, size: int, row_bytes: int) -> list[tuple[int, float, float]]:
    """The rectangles of a range of bytes, one per row."""
    pieces = []
    end = start + size
    scale = WIDTH / row_bytes
    while start < end:
        row = start // row_bytes
        stop = min(end, (row + 1) * row_bytes)
        pieces.append((row, (start - row * row_bytes) * scale, (stop - row * row_bytes) * scale))
        start = stop
    return pieces


def _add_runs(group: Group, segment: Segment, at: int, row_bytes: int) -> None:
    least = row_bytes / WIDTH
    run: list[Block] = []
    size = 0
    for block in segment.blocks:
        if run and (size >= least or block.size >= least):
            _add_run(group, segment, run, at, size, row_bytes)
            at += size
            run, size = [], 0
        run.append(block)
        size += block.size
    if run:
        _add_run(group, segment, run, at, size, row_bytes)


def _add_run(group: Group, segment: Segment, run: list[Block], at: int, size: int, row_bytes: int) -> None:
    states = {block.state for block in run}
    state = states.pop() if len(states) == 1 else MIXED
    text = _block_text(run[0], segment) if len(run) == 1 else _run_text(run, segment)
    group.runs += [Run(row, left, right, state, text) for row, left, right in _pieces(at, size, row_bytes)]


STATE_WORDS = {ACTIVE: "in use", PENDING: "freed, another stream still uses it", INACTIVE: "free"}


def _block_text(block: Block, segment: Segment) -> str:
    lines = [f"{size_text(block.size)} {STATE_WORDS[block.state]}, at {block.address:#x}"]
    if block.state != INACTIVE and block.requested != block.size:
        lines.append(f"asked for: {size_text(block.requested)}")
    lines.append(f"segment of {size_text(segment.size)} at {segment.address:#x}")
    lines += [line(frame) for frame in program_part(block.stack)[:LINES]]
    return "\n".join(lines)


def _run_text(run: list[Block], segment: Segment) -> str:
    parts = []
    for state, words in STATE_WORDS.items():
        sizes = [block.size for block in run if block.state == state]
        if sizes:
            parts.append(f"{len(sizes)} {words} ({size_text(sum(sizes))})")
    text = f"{len(run)} blocks of {size_text(sum(block.size for block in run))}: {', '.join(parts)}"
    return f"{text}\nsegment of {size_text(segment.size)} at {segment.address:#x}"
