"""The allocator protocol, and which allocator is in use on a device."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Allocator(Protocol):
    """Gives memory and takes it back; nothing else is asked of it."""

    def allocate(self, nbytes: int) -> int:
        """Return the address, a multiple of 16, of `nbytes` > 0 new bytes. Raise RuntimeError when out of memory."""

    def free(self, address: int, nbytes: int) -> None:
        """Take back what ``allocate(nbytes)`` returned; called exactly once per block."""
