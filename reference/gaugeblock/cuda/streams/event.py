"""Events: marks in the work of a stream, to wait for and to measure time between."""

from __future__ import annotations

import ctypes
from contextlib import suppress

from ...core.device import Device
from ..driver.protocol import Driver, DriverError
from .current_stream import current_stream
from .stream import Stream


class Event:
    """A mark that a stream reaches once it has done the work it had when the event was recorded.

    `enable_timing`: elapsed_time may be asked. `blocking`: synchronize lets the processor rest, which it does anyway.
    The driver's event is made when it is first recorded, on the device of that stream. Raises RuntimeError for
    `interprocess` and `external`, which are not supported.
    """

    __slots__ = ("__weakref__", "_device", "blocking", "cuda_event", "driver", "enable_timing")

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        for name, value in (("interprocess", interprocess), ("external", external)):
            if value:
                raise RuntimeError(f"Event(): argument '{name}' must be False, events of other kinds are not supported")
        self.enable_timing = bool(enable_timing)
        self.blocking = bool(blocking)
        self.driver: Driver | None = None
        self.cuda_event = 0
        self._device = 0

    @property
    def device(self) -> Device | None:
        """The device of the event, None before it is recorded."""
        return None if self.driver is None else Device("cuda", self._device)

    @property
    def event_id(self) -> int:
        """The driver's handle, 0 before the event is recorded."""
        return self.cuda_event

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_event)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of what `stream`, by default the current one, has by now.

        Raises RuntimeError for a stream of another device than the one the event was first recorded on.
        """
        on = _stream("record", stream)
        if self.driver is None:
            self.cuda_event = on.driver.event_create(on.device_index, self.enable_timing)
            self.driver, self._device = on.driver, on.device_index
        elif self._device != on.device_index or self.driver is not on.driver:
            raise RuntimeError(
                f"Event.record(): argument 'stream' must be on the event's device {self.device}, got {on!r}"
            )
        self.driver.event_record(self._device, self.cuda_event, on.cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of `stream`, by default the current one, wait for the event; it may be of another device."""
        on = _stream("wait", stream)
        if self.driver is not None:
            if self.driver is not on.driver:
                raise RuntimeError(f"Event.wait(): argument 'stream' must be of the event's driver, got {on!r}")
            on.driver.stream_wait_event(on.device_index, on.cuda_stream, self.cuda_event)

    def query(self) -> bool:
        """Whether the stream has come there, or the event was never recorded; waits for nothing."""
        return self.driver is None or self.driver.event_query(self._device, self.cuda_event)

    def synchronize(self) -> None:
        """Wait until the stream has come there."""
        if self.driver is not None:
            self.driver.event_synchronize(self._device, self.cuda_event)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`.

        Raises RuntimeError unless both keep time, were recorded on one device, and are done.
        """
        if not isinstance(end_event, Event):
            raise TypeError(f"Event.elapsed_time(): argument 'end_event' must be Event, not {type(end_event).__name__}")
        both = (self, end_event)
        if not all(event.enable_timing for event in both):
            raise RuntimeError("Event.elapsed_time(): both events must be created with argument 'enable_timing=True'")
        if self.driver is None or end_event.driver is None:
            raise RuntimeError("Event.elapsed_time(): both events must be recorded before calculating elapsed time")
        if self.driver is not end_event.driver or self._device != end_event._device:
            raise RuntimeError(
                f"Event.elapsed_time(): both events must be on one device, got {self.device} and {end_event.device}"
            )
        if not all(event.query() for event in both):
            raise RuntimeError("Event.elapsed_time(): both events must be completed before calculating elapsed time")
        return self.driver.event_elapsed(self._device, self.cuda_event, end_event.cuda_event)

    def __del__(self) -> None:
        driver = getattr(self, "driver", None)
        if driver is not None:
            with suppress(DriverError):
                driver.event_destroy(self._device, self.cuda_event)

    def __repr__(self) -> str:
        return f"<gaugeblock.cuda.Event {hex(self.cuda_event) if self.driver is not None else 'uninitialized'}>"


def _stream(method: str, stream: Stream | None) -> Stream:
    if stream is None:
        return current_stream()
    if not isinstance(stream, Stream):
        raise TypeError(f"Event.{method}(): argument 'stream' must be Stream or None, not {type(stream).__name__}")
    return stream
