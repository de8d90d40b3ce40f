"""The allocator protocol, and which allocator is in use on a device."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Allocator(Protocol):
    """Gives memory and takes it back; nothing else is asked of it."""

    def allocate(self, nbytes: int) -> int:
        """The address of at least `nbytes` > 0 fresh bytes. Raises RuntimeError when there is no memory."""

    def free(self, address: int, nbytes: int) -> None:
        """Take back what ``allocate(nbytes)`` returned; called exactly once per block."""
