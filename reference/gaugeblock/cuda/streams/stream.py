"""Streams: work in the order it was given, on one device, beside the work of other streams."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...core.device import Device
from ...core.errors import check_int
from ..driver.current_device import device_index
from ..driver.installed_driver import get_driver
from ..driver.protocol import Driver
from .current_stream import enter_stream, leave_stream
from .stream_pool import clamp_priority, pooled_stream, priority_range

if TYPE_CHECKING:
    from .event import Event


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
        self.priority = clamp_priority(self.driver, self.device_index, check_int("Stream", "priority", priority))
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
        """Whether all work of the stream is done; waits for nothing."""
        return self.driver.stream_query(self.device_index, self.cuda_stream)

    def synchronize(self) -> None:
        """Wait for all work of the stream."""
        self.driver.stream_synchronize(self.device_index, self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one, behind the work that the stream has by now; returns it."""
        if event is None:
            from .event import Event

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
    """A stream that somebody else made, by its handle; it must live as long as this object is used."""

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
