"""Graphs of the simulated driver: the work of streams captured instead of done, and launched as often as wanted."""

from __future__ import annotations

from itertools import count
from typing import Any

from gaugeblock.cuda.driver.protocol import DriverError

from .capture import Capture, Graph, finished
from .modules import SimulatedModules
from .state import SimulatedDevice


class SimulatedGraphs(SimulatedModules):
    """A graph keeps functions and addresses: a launch works on what lies there then."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._capture_ids = count(1)

    def capture_begin(self, device: int, stream: int) -> int:
        """Capture the work of a stream from now on instead of doing it; the capture's number.

        DriverError for the default stream, and for a stream whose work is being captured.
        """
        with self._lock:
            state = self._stream("capture_begin", self._device("capture_begin", device), stream)
            if not state.handle:
                raise DriverError(
                    "capture_begin(): argument 'stream' must not be the default stream, got 0",
                    "cudaErrorStreamCaptureUnsupported",
                )
            if state.capture is not None:
                raise state.capture.refuse("capture_begin", "the stream's work is being captured already")
            state.capture = Capture(next(self._capture_ids), state.handle)
            return state.capture.id

    def capture_of(self, device: int, stream: int) -> int:
        """The number of the capture that a stream's work goes to, 0 for none."""
        found = self._known("capture_of", device).streams.get(stream)
        return 0 if found is None or found.capture is None else found.capture.id

    def capture_end(self, device: int, stream: int) -> int:
        """End the capture that began on a stream: a graph's handle. Its streams do their work themselves again.

        DriverError when another stream of the capture was not waited for, and after a call that it did not survive.
        """
        with self._lock:
            known = self._device("capture_end", device)
            capture = self._stream("capture_end", known, stream).capture
            if capture is None or capture.origin != stream:
                raise DriverError(
                    f"capture_end(): argument 'stream' must be the one that a capture began on, got {stream:#x}",
                    "cudaErrorStreamCaptureUnmatched" if capture else "cudaErrorIllegalState",
                )
            for state in known.streams.values():
                if state.capture is capture:
                    state.capture = None
            for event in known.events.values():
                if event.capture is capture:
                    event.capture = event.point = None
            if capture.error is not None:
                raise DriverError(
                    f"capture_end(): the capture came to nothing when {capture.error}",
                    "cudaErrorStreamCaptureInvalidated",
                )
            unjoined = capture.unjoined()
            if unjoined:
                raise DriverError(
                    f"capture_end(): the stream {unjoined[0]:#x} has work in the capture that its first stream does "
                    "not wait for",
                    "cudaErrorStreamCaptureUnjoined",
                )
            handle = next(self._handles)
            known.graphs[handle] = finished(capture)
        return handle

    def graph_launch(self, device: int, graph: int, stream: int) -> None:
        """Put all work of a graph on a stream. DriverError while the stream's own work is captured."""
        with self._lock:
            known = self._device("graph_launch", device)
            state = self._stream("graph_launch", known, stream)
            found = self._graph("graph_launch", known, graph)
            if state.capture is not None:
                raise state.capture.refuse("graph_launch", "a graph within a graph is not supported")
            if self.faults.launch():
                self._timeline.submit(state, self._failing_launch(), found.nanoseconds)
            else:
                self._timeline.submit_graph(state, found)
        self._timeline.throttle(state)

    def graph_destroy(self, device: int, graph: int) -> None:
        """Forget a graph; what was launched still runs."""
        with self._lock:
            known = self._device("graph_destroy", device)
            self._graph("graph_destroy", known, graph)
            del known.graphs[graph]

    def _graph(self, operator: str, device: SimulatedDevice, graph: object) -> Graph:
        found = device.graphs.get(graph) if type(graph) is int else None
        if found is None:
            self._refuse_handle(operator, "graph", device, graph)
        return found
