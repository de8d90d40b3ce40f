"""Work that streams got while a graph was captured: what it waits for, and when it is done after the graph's beginning.

A capture begins on one stream. Others join it by waiting for an event that was recorded in it, and have to be waited
for before it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gaugeblock.cuda.driver.protocol import DriverError

Clock = dict[int, int]
"""How many works of each stream, by handle, have to be done."""


class Node(NamedTuple):
    """A work that is done `end` nanoseconds after the graph's beginning; `instant` if it takes no time."""

    end: int
    instant: bool
    run: Callable[[], object] | None


class Point(NamedTuple):
    """Where a stream stands in a capture: what is before it, and when that is done."""

    clock: Clock
    time: int


class Capture:
    """A graph that is being captured, from the stream `origin` on; `error` is why it came to nothing."""

    def __init__(self, id: int, origin: int) -> None:
        self.id = id
        self.origin = origin
        self.nodes: list[Node] = []
        self.error: str | None = None
        self.points: dict[int, Point] = {origin: Point({origin: 0}, 0)}

    def add(self, stream: int, run: Callable[[], object] | None, nanoseconds: int) -> None:
        """Put work on a stream of the capture."""
        clock, time = self.points[stream]
        self.nodes.append(Node(time + nanoseconds, not nanoseconds, run))
        self.points[stream] = Point({**clock, stream: clock.get(stream, 0) + 1}, time + nanoseconds)

    def wait(self, stream: int, point: Point) -> None:
        """Let later work of a stream come after a point; a stream that has no part in the capture joins it."""
        clock, time = self.points.get(stream, Point({stream: 0}, 0))
        merged = {key: max(clock.get(key, 0), point.clock.get(key, 0)) for key in {*clock, *point.clock}}
        self.points[stream] = Point(merged, max(time, point.time))

    def unjoined(self) -> list[int]:
        """The streams whose work the origin does not wait for."""
        known = self.points[self.origin].clock
        return [stream for stream, (clock, _) in self.points.items() if known.get(stream, 0) < clock[stream]]

    def refuse(self, operator: str, reason: str, code: str = "cudaErrorStreamCaptureUnsupported") -> DriverError:
        """The error of a call that no capture survives."""
        self.error = self.error or f"{operator}() was called"
        return DriverError(f"{operator}(): not permitted while a graph is captured: {reason}", code)


class Graph(NamedTuple):
    """Captured work, in the order in which it ends, and how long all of it takes."""

    nodes: tuple[Node, ...]
    nanoseconds: int


def finished(capture: Capture) -> Graph:
    """The graph of a capture whose streams are joined."""
    nodes = tuple(sorted(capture.nodes, key=lambda node: node.end))
    return Graph(nodes, max((node.end for node in nodes), default=0))
