"""Streams and events of the simulated driver."""

from __future__ import annotations

from collections.abc import Callable

from gaugeblock.core.errors import check_int
from gaugeblock.cuda.driver.protocol import DEFAULT_STREAM, DriverError

from .capture import Capture, Point
from .state import SimulatedState, positive
from .timeline import EventState, StreamState

PRIORITIES = (0, -5)
WORK_NANOSECONDS = 5_000


class SimulatedStreams(SimulatedState):
    """Work in the order of streams. Priorities are kept, but every stream has the whole device to itself."""

    def enqueue(
        self, device: int, stream: int, work: Callable[[], object], nanoseconds: int = WORK_NANOSECONDS
    ) -> None:
        """Let `work` run in the stream's order; it takes so much of virtual time, and has its effect at the end of it.

        What it raises is a failure of the device. Raises DriverError for a bad stream, TypeError for no callable.
        """
        if not callable(work):
            raise TypeError(f"enqueue(): argument 'work' must be callable, got {type(work).__name__}")
        duration = positive("enqueue", "nanoseconds", nanoseconds, 0)
        with self._lock:
            state = self._stream("enqueue", self._device("enqueue", device), stream)
            self._launch(state, work, duration)
        self._timeline.throttle(state)

    def _launch(self, stream: StreamState, work: Callable[[], object], nanoseconds: int) -> None:
        if stream.capture is None and self.faults.launch():
            work = self._failing_launch()
        self._timeline.submit(stream, work, nanoseconds)

    def _failing_launch(self) -> Callable[[], object]:
        """Return the function that runs instead of the launch that the faults have just counted."""
        return _failing(self.faults.launches)

    def stream_create(self, device: int, priority: int = 0) -> int:
        """A new stream."""
        level = min(max(check_int("stream_create", "priority", priority), PRIORITIES[1]), PRIORITIES[0])
        with self._lock:
            known = self._device("stream_create", device)
            handle = next(self._handles)
            known.streams[handle] = StreamState(handle, known.index, level)
        return handle

    def stream_priority_range(self, device: int) -> tuple[int, int]:
        """The lowest and the highest priority."""
        self._known("stream_priority_range", device)
        return PRIORITIES

    def stream_destroy(self, device: int, stream: int) -> None:
        """Forget a stream; its work still runs."""
        with self._lock:
            known = self._device("stream_destroy", device)
            if self._stream("stream_destroy", known, stream).handle == DEFAULT_STREAM:
                raise DriverError(
                    "stream_destroy(): argument 'stream' must not be the default stream, got 0",
                    "cudaErrorInvalidResourceHandle",
                )
            del known.streams[stream]

    def stream_query(self, device: int, stream: int) -> bool:
        """Return whether the stream's work is done; costs `poll_nanoseconds` if it is not."""
        with self._lock:
            state = self._stream("stream_query", self._device("stream_query", device), stream)
            self._check_capture("stream_query", state.capture)
        self._timeline.poll(0 if state.tail <= self._timeline.now else self._poll)
        self._check_failure("stream_query", device)
        return self._timeline.stream_done(state)

    def stream_synchronize(self, device: int, stream: int) -> None:
        """Wait for the stream's work."""
        with self._lock:
            state = self._stream("stream_synchronize", self._device("stream_synchronize", device), stream)
            self._check_capture("stream_synchronize", state.capture)
        self._wait("stream_synchronize", device, state.tail)

    def synchronize(self, device: int) -> None:
        """Wait for all work of the device, that of destroyed streams too."""
        with self._lock:
            known = self._device("synchronize", device)
            for state in known.streams.values():
                self._check_capture("synchronize", state.capture)
        self._wait("synchronize", device, self._timeline.tail(device))

    def _wait(self, operator: str, device: int, time: int) -> None:
        self._timeline.reach(time)
        self._check_failure(operator, device)

    def stream_wait_event(self, device: int, stream: int, event: int) -> None:
        """Let later work of the stream begin when the event is done."""
        with self._lock:
            known = self._device("stream_wait_event", device)
            state = self._stream("stream_wait_event", known, stream)
            owner = next((other for other in self._devices if event in other.events), known)
            awaited = self._event("stream_wait_event", owner, event)
            if awaited.point is not None and awaited.capture is not None:
                self._join(state, awaited.capture, awaited.point)
            elif awaited.time is not None and state.capture is not None:
                raise state.capture.refuse(
                    "stream_wait_event", "the event stands for work outside of it", "cudaErrorStreamCaptureIsolation"
                )
            elif awaited.time is not None:
                self._timeline.hold(state, awaited.time)

    def _join(self, stream: StreamState, capture: Capture, point: Point) -> None:
        """Let a stream wait for a point of a capture, which it becomes part of."""
        if stream.capture not in (None, capture) or not stream.handle:
            raise capture.refuse("stream_wait_event", "the stream cannot join it", "cudaErrorStreamCaptureMerge")
        stream.capture = capture
        capture.wait(stream.handle, point)

    @staticmethod
    def _check_capture(operator: str, capture: Capture | None) -> None:
        """DriverError where a call would have to wait for work that is only captured."""
        if capture is not None:
            raise capture.refuse(operator, "it would wait for work that is not done now")

    def event_create(self, device: int, timing: bool = False) -> int:
        """A new event."""
        with self._lock:
            known = self._device("event_create", device)
            self._event_fault("event_create")
            handle = next(self._handles)
            known.events[handle] = EventState(handle, known.index, bool(timing))
        return handle

    def event_destroy(self, device: int, event: int) -> None:
        """Forget an event."""
        with self._lock:
            known = self._device("event_destroy", device)
            self._event("event_destroy", known, event)
            del known.events[event]

    def event_record(self, device: int, event: int, stream: int) -> None:
        """Let the event stand for what the stream has by now."""
        with self._lock:
            known = self._device("event_record", device)
            state = self._event("event_record", known, event)
            on = self._stream("event_record", known, stream)
            self._event_fault("event_record")
            self._timeline.record(state, on)

    def event_query(self, device: int, event: int) -> bool:
        """Return whether the event is done, or was never recorded; costs `poll_nanoseconds` if it is not done."""
        with self._lock:
            state = self._event("event_query", self._device("event_query", device), event)
            self._check_capture("event_query", state.capture)
            self._event_fault("event_query")
            time = state.time
        if time is None:
            return True
        self._timeline.poll(0 if time <= self._timeline.now else self._poll)
        self._check_failure("event_query", device)
        return self._timeline.done(time)

    def event_synchronize(self, device: int, event: int) -> None:
        """Wait for the event."""
        with self._lock:
            state = self._event("event_synchronize", self._device("event_synchronize", device), event)
            self._check_capture("event_synchronize", state.capture)
            self._event_fault("event_synchronize")
        if state.time is not None:
            self._wait("event_synchronize", device, state.time)

    def event_elapsed(self, device: int, start: int, end: int) -> float:
        """Milliseconds from one event to another; both keep time, are recorded and done."""
        with self._lock:
            known = self._device("event_elapsed", device)
            times = []
            for argument, handle in (("start", start), ("end", end)):
                state = self._event("event_elapsed", known, handle, argument)
                if not state.timing or state.time is None:
                    lack = "was never recorded" if state.timing else "keeps no time (timing=False)"
                    raise DriverError(
                        f"event_elapsed(): argument '{argument}' must be a recorded event that keeps time, and "
                        f"{handle:#x} {lack}",
                        "cudaErrorInvalidResourceHandle",
                    )
                if not self._timeline.done(state.time):
                    raise DriverError(
                        f"event_elapsed(): argument '{argument}' must be a completed event, and {handle:#x} is not yet",
                        "cudaErrorNotReady",
                    )
                times.append(state.time)
        return (times[1] - times[0]) / 1e6

    def _event_fault(self, operator: str) -> None:
        if self.faults.event_call():
            raise DriverError(f"{operator}(): call {self.faults.event_calls} about events fails", "cudaErrorUnknown")


def _failing(number: int) -> Callable[[], object]:
    def fail() -> None:
        raise DriverError(f"launch {number} fails", "cudaErrorLaunchFailure")

    return fail
