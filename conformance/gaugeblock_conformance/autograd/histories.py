"""What the model of writes keeps of tensors beside their values: storages, views, and the record of calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..backend import Array


class Refused(Exception):
    """The spec asks for RuntimeError; ``last`` if what a backend did before it raised is not fixed."""

    def __init__(self, last: bool = False) -> None:
        super().__init__()
        self.last = last


class Open(Exception):
    """The spec leaves the outcome open."""


@dataclass(eq=False)
class Memory:
    """A storage: how often it was written to."""

    version: int = 0


@dataclass(eq=False)
class Node:
    """What was recorded of a call: the nodes behind its arguments (of those in ``faint`` the gradient is zero), the
    storages that it saved with their versions, and whether it may keep more than the spec speaks of."""

    parents: list[Node] = field(default_factory=list)
    faint: list[Node] = field(default_factory=list)
    saved: list[tuple[Memory, int]] = field(default_factory=list)
    keeps: bool = False
    freed: bool = False

    def behind(self, faint: bool) -> Iterator[Node]:
        """This node and all behind it, once each; with ``faint`` also those that get zeros alone."""
        waiting, seen = [self], {id(self)}
        while waiting:
            node = waiting.pop()
            yield node
            for other in (*node.parents, *(node.faint if faint else ())):
                if id(other) not in seen:
                    seen.add(id(other))
                    waiting.append(other)

    @property
    def broken(self) -> bool:
        """Whether a tensor that it saved is gone or was written to."""
        return bool(self.saved) and (self.freed or any(m.version != version for m, version in self.saved))


@dataclass(eq=False)
class Base:
    """A tensor that is no view, with the history that it shares with its views."""

    node: Node | None = None
    leaf: bool = False
    writes: int = 0


@dataclass(eq=False)
class Tensor:
    """Values and slopes of a tensor or view; ``way`` is how a view was made: ``free``, ``several`` or ``unrecorded``,
    ``early`` whether that was before its base required grad. ``unordered`` whether the strides are up to the
    library, as those of a result are whose operands are not contiguous."""

    value: Array
    slope: Array
    base: Base
    memory: Memory
    view: bool = False
    way: str = "free"
    made_at: tuple[int, int] = (0, 0)
    early: bool = False
    unordered: bool = False

    @property
    def needs(self) -> bool:
        return self.base.node is not None

    @property
    def stale(self) -> bool:
        """Whether it is a view that cannot follow, of a storage that was written to."""
        return self.way != "free" and self.made_at[0] != self.memory.version
