"""Streams and events of the CuPy driver."""

from __future__ import annotations

from contextlib import suppress

from ....core.errors import check_int
from ..protocol import DEFAULT_STREAM, DriverError
from .state import CupyState

_NOT_READY = 600


class CupyStreams(CupyState):
    """Work in the order of streams, events in them; a stream of another library is used as it is."""

    def _stream(self, operator: str, stream: object) -> int:
        handle = check_int(operator, "stream", stream)
        if handle in self._gone:
            raise DriverError(
                f"{operator}(): argument 'stream' must be a living stream, got {handle:#x}, which is destroyed",
                "cudaErrorInvalidResourceHandle",
            )
        return handle

    def stream_create(self, device: int, priority: int = 0) -> int:
        """A new stream that does not wait for the default stream."""
        level = check_int("stream_create", "priority", priority)
        with self._on("stream_create", device):
            handle = self._cuda().create_stream(level)
        self._gone.discard(handle)
        return self._give("stream", device, handle)

    def stream_priority_range(self, device: int) -> tuple[int, int]:
        """The lowest and the highest priority."""
        with self._on("stream_priority_range", device):
            return self._cuda().priority_range()

    def stream_destroy(self, device: int, stream: int) -> None:
        """Forget a stream; its work still runs."""
        if stream == DEFAULT_STREAM:
            raise DriverError(
                "stream_destroy(): argument 'stream' must not be the default stream, got 0",
                "cudaErrorInvalidResourceHandle",
            )
        self._take_back("stream_destroy", "stream", device, stream, self._runtime.streamDestroy)
        self._gone.add(stream)

    def stream_query(self, device: int, stream: int) -> bool:
        """Return whether the stream's work is done."""
        handle = self._stream("stream_query", stream)
        with self._on("stream_query", device):
            return self._is_done(self._runtime.streamQuery(handle))

    def _is_done(self, status: int) -> bool:
        """Return whether a query says so. CUDA also remembers "not ready" as the thread's last error, which others that
        look at it would take for a failure of their own: CuPy's check of a status forgets it."""
        if status == _NOT_READY:
            with suppress(RuntimeError):
                self._runtime.check_status(status)
        elif status:
            self._runtime.check_status(status)
        return not status

    def stream_synchronize(self, device: int, stream: int) -> None:
        """Wait for the stream's work."""
        handle = self._stream("stream_synchronize", stream)
        with self._on("stream_synchronize", device):
            self._runtime.streamSynchronize(handle)

    def synchronize(self, device: int) -> None:
        """Wait for all work of the device."""
        with self._on("synchronize", device):
            self._runtime.deviceSynchronize()

    def stream_wait_event(self, device: int, stream: int, event: int) -> None:
        """Let later work of the stream wait for the event, which may be of any device."""
        handle = self._stream("stream_wait_event", stream)
        owner = self._given["event"].get(event, device)
        awaited = self._check("stream_wait_event", "event", owner, event)
        with self._on("stream_wait_event", device):
            self._runtime.streamWaitEvent(handle, awaited)

    def event_create(self, device: int, timing: bool = False) -> int:
        """A new event."""
        flags = 0 if timing else self._runtime.eventDisableTiming
        with self._on("event_create", device):
            return self._give("event", device, int(self._runtime.eventCreateWithFlags(flags)))

    def event_destroy(self, device: int, event: int) -> None:
        """Forget an event."""
        self._take_back("event_destroy", "event", device, event, self._runtime.eventDestroy)

    def event_record(self, device: int, event: int, stream: int) -> None:
        """Let the event stand for what the stream has by now."""
        recorded = self._check("event_record", "event", device, event)
        handle = self._stream("event_record", stream)
        with self._on("event_record", device):
            self._runtime.eventRecord(recorded, handle)

    def event_query(self, device: int, event: int) -> bool:
        """Return whether the event is done, or was never recorded."""
        asked = self._check("event_query", "event", device, event)
        with self._on("event_query", device):
            return self._is_done(self._runtime.eventQuery(asked))

    def event_synchronize(self, device: int, event: int) -> None:
        """Wait for the event."""
        awaited = self._check("event_synchronize", "event", device, event)
        with self._on("event_synchronize", device):
            self._runtime.eventSynchronize(awaited)

    def event_elapsed(self, device: int, start: int, end: int) -> float:
        """Milliseconds from one event to another."""
        first = self._check("event_elapsed", "event", device, start)
        last = self._check("event_elapsed", "event", device, end)
        with self._on("event_elapsed", device):
            return float(self._runtime.eventElapsedTime(first, last))
