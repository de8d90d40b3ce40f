"""What a program asked of an allocator, in order: the trace that is replayed.

A trace holds requests, never answers: which block was asked for with which size on which stream, when it was given
back, when the work of other streams on it was over. Blocks are numbers counted from 0 in the order of their
allocation; addresses have no part in it, since another configuration gives others.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from .snapshot import Stack

ALLOC: Final = 0
FREE: Final = 1
RECORD_STREAM: Final = 2
"""Another stream uses the block: a free after it takes effect at COMPLETED, or at the end of the trace."""
COMPLETED: Final = 3
EMPTY_CACHE: Final = 4
ATTEMPT: Final = 5
"""A request that ended in an out-of-memory error when the trace was recorded."""
KINDS: Final = ("alloc", "free", "record_stream", "completed", "empty_cache", "attempt")
DEFAULT_POOL: Final = (0, 0)


class Event(NamedTuple):
    """One request. `block` is -1 where there is none; `size` in bytes as asked for; `stack` a place in `stacks`."""

    kind: int
    block: int
    size: int
    stream: int
    stack: int


class Trace:
    """Requests in columns, one entry each per event.

    `initial` events at the front stand for the blocks that were there before recording began, by address. `reserved`
    lists, as pairs of event and bytes, how much memory the allocator held from that event on, as recorded; it is
    empty if that was not recorded. `pools` names the private pool of blocks that have one. `device_memory` is the
    size of the device, if known. `notes` says, in sentences, what the trace had to assume.
    """

    def __init__(self, device_memory: int | None = None) -> None:
        self.kinds = bytearray()
        self.block = array("q")
        self.size = array("q")
        self.stream: list[int] = []
        self.stack = array("q")
        self.stacks: list[Stack] = [()]
        self.pools: dict[int, tuple[int, int]] = {}
        self.reserved: list[tuple[int, int]] = []
        self.initial = 0
        self.block_count = 0
        self.device_memory = device_memory
        self.notes: list[str] = []
        self._places: dict[Stack, int] = {(): 0}

    def __len__(self) -> int:
        return len(self.kinds)

    def __iter__(self) -> Iterator[Event]:
        return map(Event, self.kinds, self.block, self.size, self.stream, self.stack)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and list(self) == list(other) and self.stacks == other.stacks

    __hash__ = None  # type: ignore[assignment]

    def alloc(self, size: int, stream: int = 0, stack: Stack = (), pool: tuple[int, int] = DEFAULT_POOL) -> int:
        """Append a request and return the number of its block."""
        block = self.block_count
        self.block_count += 1
        if pool != DEFAULT_POOL:
            self.pools[block] = pool
        self._append(ALLOC, block, size, stream, self._place(stack))
        return block

    def free(self, block: int) -> None:
        self._append(FREE, block, 0, 0, 0)

    def record_stream(self, block: int, stream: int) -> None:
        self._append(RECORD_STREAM, block, 0, stream, 0)

    def completed(self, block: int) -> None:
        """The work of the other streams on a freed block is over."""
        self._append(COMPLETED, block, 0, 0, 0)

    def empty_cache(self) -> None:
        self._append(EMPTY_CACHE, -1, 0, 0, 0)

    def attempt(self, size: int, stream: int = 0, stack: Stack = ()) -> None:
        self._append(ATTEMPT, -1, size, stream, self._place(stack))

    def completions(self) -> dict[int, int]:
        """The event at which each block that other streams used is free at last."""
        events = enumerate(zip(self.kinds, self.block, strict=True))
        return {block: at for at, (kind, block) in events if kind == COMPLETED}

    def _append(self, kind: int, block: int, size: int, stream: int, stack: int) -> None:
        self.kinds.append(kind)
        self.block.append(block)
        self.size.append(size)
        self.stream.append(stream)
        self.stack.append(stack)

    def _place(self, stack: Stack) -> int:
        place = self._places.get(stack)
        if place is None:
            place = self._places[stack] = len(self.stacks)
            self.stacks.append(stack)
        return place
