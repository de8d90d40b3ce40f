"""Each thread's current stream on each device, the default stream unless it says otherwise."""

from __future__ import annotations

from threading import local
from types import TracebackType
from typing import TYPE_CHECKING

from ..driver.current_device import current_device_index, device_index, set_current_device_index
from ..driver.installed_driver import get_driver, installed_driver

if TYPE_CHECKING:
    from .stream import Stream


class _Current(local):
    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        self.entered: list[tuple[int, Stream, Stream]] = []


_current = _Current()


def current_handle(device: int) -> int:
    """The driver's handle of this thread's current stream on the device of that index."""
    streams = _current.streams
    if not streams:
        return 0
    stream = streams.get(device)
    return 0 if stream is None or stream.driver is not installed_driver() else stream.cuda_stream


def current_stream(device: object = None) -> Stream:
    """This thread's current stream on a device. Raises RuntimeError for what is no CUDA device."""
    index = device_index("current_stream", device)
    stream = _current.streams.get(index)
    return default_stream(index) if stream is None or stream.driver is not get_driver() else stream


def default_stream(device: object = None) -> Stream:
    """The default stream of a device. Raises RuntimeError for what is no CUDA device."""
    from .stream import stream_of

    return stream_of(get_driver(), device_index("default_stream", device), 0)


def set_stream(stream: Stream | None) -> None:
    """Make `stream` this thread's current one on its device, and its device the current one; None changes nothing."""
    if stream is not None:
        _check(stream, "set_stream")
        _current.streams[stream.device_index] = stream
        set_current_device_index(stream.device_index)


def synchronize(device: object = None) -> None:
    """Wait for all work on all streams of a device."""
    get_driver().synchronize(device_index("synchronize", device))


def enter_stream(stream: Stream) -> None:
    """Make `stream` current until leave_stream; the two may be nested."""
    _check(stream, "stream")
    before = (current_device_index(), current_stream(), current_stream(stream.device_index))
    set_stream(stream)
    _current.entered.append(before)


def leave_stream() -> None:
    """Make current what was so before the latest enter_stream of this thread: the device, and the stream on both."""
    device, there, here = _current.entered.pop()
    for stream in (here, there):
        _current.streams[stream.device_index] = stream
    set_current_device_index(device)


def _check(stream: object, operator: str) -> None:
    from .stream import Stream

    if not isinstance(stream, Stream):
        raise TypeError(f"{operator}(): argument 'stream' must be Stream or None, not {type(stream).__name__}")
    if stream.driver is not get_driver():
        raise RuntimeError(f"{operator}(): argument 'stream' must be of the driver in use, got {stream!r} of another")


def is_current_stream_capturing() -> bool:
    """Whether the current stream's work is captured for a graph instead of done."""
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            leave_stream()


def stream(stream: Stream | None) -> StreamContext:
    """A context in which `stream` is current; None changes nothing."""
    return StreamContext(stream)
