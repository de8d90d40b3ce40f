"""A block: a run of bytes of a segment that is handed out, waits for other streams, is free, or is not mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .expandable_segments import ExpandableSegment
    from .pools import FreeBlocks

FREE: Final = 0
ALLOCATED: Final = 1
SHARED: Final = 2
"""Allocated, and other streams than its own were recorded to use it."""
PENDING: Final = 3
"""Given back by its owner, while the work of other streams on it goes on."""
UNMAPPED: Final = 4
"""Address space of an expandable segment without memory."""

STATE_NAMES: Final = {
    FREE: "inactive",
    ALLOCATED: "active_allocated",
    SHARED: "active_allocated",
    PENDING: "active_pending_free",
}


class Block:
    """A node of the list of blocks that tile a segment, in the order of their addresses.

    `requested` is what was asked for, while the block is active; `home` is the set of free blocks of its pool and
    stream, to which it returns; `born` is the age counter of its pool when it became free.
    """

    __slots__ = ("born", "expandable", "home", "next", "pointer", "previous", "requested", "size", "state")

    def __init__(self, pointer: int, size: int, home: FreeBlocks) -> None:
        self.pointer = pointer
        self.size = size
        self.home = home
        self.requested = 0
        self.state = FREE
        self.born = 0
        self.previous: Block | None = None
        self.next: Block | None = None
        self.expandable: ExpandableSegment | None = None

    @property
    def is_split(self) -> bool:
        """Whether it shares its segment with other blocks."""
        return self.previous is not None or self.next is not None

    def head(self) -> Block:
        """The first block of the segment."""
        block = self
        while block.previous is not None:
            block = block.previous
        return block
