"""Streams: work in the order it was given, on one device, beside the work of other streams; and events, marks in it.

Streams come from a pool: a few for each driver, device and priority are used in turn. A stream of the pool is never
destroyed, so no block of an allocator outlives the stream that it belongs to.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from threading import RLock, local
from typing import Self
from weakref import WeakKeyDictionary

from ..core.device import Device
from ..core.errors import check_int
from ..core.fork_safety import fork_safe
from .devices import CURRENT, current_device_index, current_handle, device_index, get_driver, set_current_device_index
from .driver.protocol import Driver, DriverError

STREAMS_PER_POOL = 32
PRIORITIES = 4
"""Number of priorities of streams in a pool: from 0, the lowest, to -3."""

_lock = fork_safe(RLock())
_pools: WeakKeyDictionary[Driver, dict[tuple[int, int, int], tuple[list[int], int]]] = WeakKeyDictionary()


def priority_range(driver: Driver, device: int) -> tuple[int, int]:
    """The lowest and the highest priority that the pool has on a device."""
    lowest, highest = driver.stream_priority_range(device)
    return lowest, max(highest, 1 - PRIORITIES)


def pooled_stream(driver: Driver, device: int, priority: int) -> int:
    """The next stream in turn of a priority, made if the pool is not full yet. Raises DriverError."""
    resets: dict[int, int] = getattr(driver, "resets", {})
    key = (device, priority, resets.get(device, 0))
    with _lock:
        pool = _pools.setdefault(driver, {})
        handles, turn = pool.get(key, ([], 0))
        if len(handles) < STREAMS_PER_POOL:
            handles.append(driver.stream_create(device, priority))
        pool[key] = handles, turn + 1
        return handles[turn % STREAMS_PER_POOL]


class Stream:
    """A stream of a device, by default the current one. ``with s:`` has it as the current stream within.

    Streams come from a pool: after 32 of a device and priority the first comes again. A lower `priority` is a higher
    one; it is clamped to priority_range(). Raises RuntimeError for what is no CUDA device.
    """

    __slots__ = ("__weakref__", "cuda_stream", "device_index", "driver", "priority")

    driver: Driver
    cuda_stream: int
    device_index: int
    priority: int

    def __init__(self, device: object = None, priority: int = 0) -> None:
        self.driver = get_driver()
        self.device_index = device_index("Stream", device)
        lowest, highest = priority_range(self.driver, self.device_index)
        self.priority = min(max(check_int("Stream", "priority", priority), highest), lowest)
        self.cuda_stream = pooled_stream(self.driver, self.device_index, self.priority)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority of streams on the current device."""
        return priority_range(get_driver(), device_index("priority_range"))

    @property
    def device(self) -> Device:
        """The device of the stream."""
        return Device("cuda", self.device_index)

    @property
    def device_type(self) -> int:
        """The number of CUDA among device types, as DLPack has it too."""
        return 1

    @property
    def stream_id(self) -> int:
        """The driver's handle."""
        return self.cuda_stream

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version 0 of the stream protocol of CUDA libraries, and the handle."""
        return 0, self.cuda_stream

    def query(self) -> bool:
        """Return whether all work of the stream is done, without waiting."""
        return self.driver.stream_query(self.device_index, self.cuda_stream)

    def synchronize(self) -> None:
        """Wait for all work of the stream."""
        self.driver.stream_synchronize(self.device_index, self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one, behind the work that the stream has by now; returns it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for an event as it was last recorded."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of this stream wait for the work that `stream` has by now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Self:
        enter_stream(self)
        return self

    def __exit__(self, *error: object) -> None:
        leave_stream()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return False
        return (
            self.cuda_stream == other.cuda_stream
            and self.device_index == other.device_index
            and self.driver is other.driver
        )

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<gaugeblock.cuda.{type(self).__name__} device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream created elsewhere, given by its handle. It must outlive this object."""

    __slots__ = ()

    def __init__(self, stream_ptr: int, device: object = None) -> None:
        handle = check_int("ExternalStream", "stream_ptr", stream_ptr)
        if handle < 0:
            raise RuntimeError(f"ExternalStream(): argument 'stream_ptr' must not be negative, got {handle}")
        _fill(self, get_driver(), device_index("ExternalStream", device), handle)


def stream_of(driver: Driver, device: int, handle: int) -> Stream:
    """The Stream of a driver's handle; 0 is the default stream."""
    stream = Stream.__new__(Stream)
    _fill(stream, driver, device, handle)
    return stream


def _fill(stream: Stream, driver: Driver, device: int, handle: int) -> None:
    stream.driver = driver
    stream.device_index = device
    stream.cuda_stream = handle
    stream.priority = 0


class Event:
    """A mark that a stream reaches once it has done the work it had when the event was recorded.

    `enable_timing`: elapsed_time may be asked. `blocking`: synchronize lets the processor rest, which it does anyway.
    The driver's event is made when it is first recorded, on the device of that stream. Raises RuntimeError for
    `interprocess` and `external`, which are not supported.
    """

    __slots__ = ("__weakref__", "_device", "blocking", "cuda_event", "driver", "enable_timing")

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
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
        """Mark the end of what `stream`, by default the current one, has by now. Raises RuntimeError for a stream of
        another device than the one the event was first recorded on."""
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
        """Return whether the event has completed or was never recorded, without waiting."""
        return self.driver is None or self.driver.event_query(self._device, self.cuda_event)

    def synchronize(self) -> None:
        """Wait until the event has completed."""
        if self.driver is not None:
            self.driver.event_synchronize(self._device, self.cuda_event)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`. Raises RuntimeError unless both keep time, were recorded on one
        device, and are done."""
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


class _Entered(local):
    def __init__(self) -> None:
        self.before: list[tuple[int, Stream, Stream]] = []


_ENTERED = _Entered()


def current_stream(device: object = None) -> Stream:
    """This thread's current stream on a device. Raises RuntimeError for what is no CUDA device."""
    index = device_index("current_stream", device)
    stream: Stream | None = CURRENT.streams.get(index)
    return default_stream(index) if stream is None or stream.driver is not get_driver() else stream


def default_stream(device: object = None) -> Stream:
    """The default stream of a device. Raises RuntimeError for what is no CUDA device."""
    return stream_of(get_driver(), device_index("default_stream", device), 0)


def set_stream(stream: Stream | None) -> None:
    """Make `stream` this thread's current one on its device, and its device the current one; None changes nothing."""
    if stream is not None:
        _check(stream, "set_stream")
        CURRENT.streams[stream.device_index] = stream
        set_current_device_index(stream.device_index)


def synchronize(device: object = None) -> None:
    """Wait for all work on all streams of a device."""
    get_driver().synchronize(device_index("synchronize", device))


def enter_stream(stream: Stream) -> None:
    """Make `stream` current until leave_stream; the two may be nested."""
    _check(stream, "stream")
    before = (current_device_index(), current_stream(), current_stream(stream.device_index))
    set_stream(stream)
    _ENTERED.before.append(before)


def leave_stream() -> None:
    """Make current what was so before the latest enter_stream of this thread: the device, and the stream on both."""
    device, there, here = _ENTERED.before.pop()
    for stream in (here, there):
        CURRENT.streams[stream.device_index] = stream
    set_current_device_index(device)


def _check(stream: object, operator: str) -> None:
    if not isinstance(stream, Stream):
        raise TypeError(f"{operator}(): argument 'stream' must be Stream or None, not {type(stream).__name__}")
    if stream.driver is not get_driver():
        raise RuntimeError(f"{operator}(): argument 'stream' must be of the driver in use, got {stream!r} of another")


def is_current_stream_capturing() -> bool:
    """Return whether the current stream is being captured into a graph."""
    index = current_device_index()
    asked = getattr(get_driver(), "capture_of", None)
    return asked is not None and bool(asked(index, current_handle(index)))


class StreamContext:
    """``with stream(s):`` has `s` as the current stream within, and its device as the current device."""

    def __init__(self, stream: Stream | None) -> None:
        if stream is not None:
            _check(stream, "stream")
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            enter_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            leave_stream()


def stream(stream: Stream | None) -> StreamContext:
    """A context in which `stream` is current; None changes nothing."""
    return StreamContext(stream)
