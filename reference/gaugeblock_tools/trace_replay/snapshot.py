"""A snapshot of an allocator: its segments and blocks, and what it recorded before.

The shape is that of `torch.cuda.memory._snapshot()`: a dict with `segments`, `device_traces` (a list of entries for
each device) and `allocator_settings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

ACTIVE, PENDING, INACTIVE = "active_allocated", "active_pending_free", "inactive"
STATES = {ACTIVE: ACTIVE, PENDING: PENDING, "active_awaiting_free": PENDING, INACTIVE: INACTIVE}
"""States of a block, by the names that are written for them."""
ACTIONS = (
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "snapshot", "oom",
)  # fmt: skip
ADDRESSES = 1 << 64
SIZES = 1 << 63
LIBRARIES = ("/torch/", "/gaugeblock/", "/gaugeblock_testing/")
"""Folders whose frames are left out at the inner end of a stack."""


class Frame(NamedTuple):
    """A line of a stack."""

    file: str
    line: int
    name: str


Stack = tuple[Frame, ...]


class Block(NamedTuple):
    """A piece of a segment. `requested` is what the program asked for, in bytes; `state` a value of `STATES`."""

    address: int
    size: int
    requested: int
    state: str
    stack: Stack


class Segment(NamedTuple):
    """Memory got from the device at once, and the blocks that tile it, by address. `pool` is (0, 0) but for private
    pools."""

    device: int
    address: int
    size: int
    stream: int
    kind: str
    pool: tuple[int, int]
    expandable: bool
    blocks: tuple[Block, ...]
    stack: Stack


class Entry(NamedTuple):
    """What an allocator recorded: an action of `ACTIONS`. Of an `oom`, `address` is what was free on the device."""

    action: str
    address: int
    size: int
    stream: int
    time_us: int
    pool: tuple[int, int]
    stack: Stack


@dataclass
class Snapshot:
    """Segments of all devices by address, entries per device, settings as text or numbers, and how many entries had
    an action that is not known here (they are left out)."""

    segments: list[Segment]
    traces: list[list[Entry]]
    settings: dict[str, Any] = field(default_factory=dict)
    unknown_actions: int = 0


def program_part(stack: Stack) -> Stack:
    """A stack from the innermost frame on that is Python code outside the libraries; the whole stack without one.

    A stack begins, innermost first, with the frames of the library that asked for memory: C++ functions of PyTorch, its
    Python modules, the engine's. They are the same everywhere.
    """
    for place, frame in enumerate(stack):
        if frame.file.endswith(".py") and not any(folder in frame.file.replace("\\", "/") for folder in LIBRARIES):
            return stack[place:]
    return stack


def site(frame: Frame) -> str:
    """A frame as words, its file without folders."""
    return f"{frame.name} ({frame.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame.line})"


def line(frame: Frame) -> str:
    """A frame as words, with its whole file."""
    return f"{frame.name} ({frame.file}:{frame.line})"
