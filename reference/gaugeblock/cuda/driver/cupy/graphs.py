"""Graphs of the CuPy driver: work of streams captured by CUDA, and launched as often as wanted."""

from __future__ import annotations

from itertools import count
from typing import Any

from ..protocol import DriverError
from .virtual_memory import CupyVirtualMemory

RELAXED = 2
"""The capture mode in which other calls, such as those for memory, go on as ever."""


class CupyGraphs(CupyVirtualMemory):
    """CUDA tells CuPy whether a stream's work is captured, not for which graph: that is known while there is one."""

    def __init__(self) -> None:
        super().__init__()
        self._captures: dict[tuple[int, int], int] = {}
        self._capture_ids = count(1)

    def capture_begin(self, device: int, stream: int) -> int:
        """Capture the work of a stream from now on instead of doing it; the capture's number."""
        handle = self._stream("capture_begin", stream)
        with self._on("capture_begin", device):
            self._runtime.streamBeginCapture(handle, RELAXED)
        made = self._captures[device, handle] = next(self._capture_ids)
        return made

    def capture_of(self, device: int, stream: int) -> int:
        """The number of the capture that a stream's work goes to, 0 for none."""
        if not self._captures:
            return 0
        own = self._captures.get((device, stream))
        if own is not None:
            return own
        numbers = [number for (index, _), number in self._captures.items() if index == device]
        if len(numbers) != 1 or not stream:
            return 0
        with self._on("capture_of", device):
            return numbers[0] if self._runtime.streamIsCapturing(stream) else 0

    def capture_end(self, device: int, stream: int) -> int:
        """End the capture that began on a stream: a graph's handle."""
        if self._captures.pop((device, stream), None) is None:
            raise DriverError(
                f"capture_end(): argument 'stream' must be the one that a capture began on, got {stream!r}",
                "cudaErrorIllegalState",
            )
        runtime: Any = self._runtime
        with self._on("capture_end", device):
            captured = int(runtime.streamEndCapture(stream))
            try:
                made = int(runtime.graphInstantiate(captured))
            finally:
                runtime.graphDestroy(captured)
        return self._give("graph", device, made)

    def graph_launch(self, device: int, graph: int, stream: int) -> None:
        """Put all work of a graph on a stream."""
        known = self._check("graph_launch", "graph", device, graph)
        handle = self._stream("graph_launch", stream)
        with self._on("graph_launch", device):
            self._runtime.graphLaunch(known, handle)

    def graph_destroy(self, device: int, graph: int) -> None:
        """Forget a graph; what was launched still runs."""
        self._take_back("graph_destroy", "graph", device, graph, self._runtime.graphExecDestroy)
