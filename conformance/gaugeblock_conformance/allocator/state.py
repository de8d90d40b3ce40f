"""Segments, blocks and events of the model, as plain records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

ALLOCATED, PENDING, INACTIVE = "active_allocated", "active_pending_free", "inactive"


class Refused(Exception):
    """The device has no memory for a segment."""


class OutOfMemory(RuntimeError):
    """No memory for a request, after all tries."""


class Device(Protocol):
    """What the model takes its segments from."""

    memory: int

    def malloc(self, size: int) -> int:
        """An address. Raises Refused."""

    def free(self, address: int, size: int) -> None: ...


@dataclass(eq=False)
class Event:
    """A mark in the queue of a stream; ``done`` when all work before it has ended."""

    stream: int
    done: bool


@dataclass(eq=False)
class Block:
    address: int
    size: int
    segment: Segment
    state: str = INACTIVE
    requested: int = 0
    uses: set[int] = field(default_factory=set)
    waits: int = 0
    since: int = 0


@dataclass(eq=False)
class Segment:
    address: int
    size: int
    stream: int
    small: bool
    blocks: list[Block] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether it is a single inactive block."""
        return len(self.blocks) == 1 and self.blocks[0].state == INACTIVE
