"""Channels: connections whose messages carry descriptors.

A descriptor travels in the kernel with the message, over a Unix socket. If the message is never read, because its
reader was killed or the channel closed, the kernel closes it: no process has to remember what is under way.
"""

from __future__ import annotations

import array
import errno
import io
import os
import pickle
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import connection, reduction
from multiprocessing.context import get_spawning_popen
from typing import Any

from .client import Client, Hold
from .manager import descriptors_in

_HEADER = struct.Struct("=QI")
_AT_ONCE = 250
"""Descriptors in one call; Linux allows 253."""
_SHORT = 16384
"""Bytes that are sent in one call with the header."""
LIMIT_REACHED = (
    "this process has no descriptor left (ulimit -n); the sharing strategy 'file_system' needs none per storage"
)
_CLOSE_ON_EXEC: int = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_SPACE = socket.CMSG_SPACE(_AT_ONCE * struct.calcsize("i"))


class _Message(threading.local):
    """The message that this thread is pickling or loading."""

    sending: Outgoing | None = None
    arrived: list[int] | None = None


_MESSAGE = _Message()


class Outgoing:
    """Descriptors that go with a message, with what keeps them open, and the escort for each manager."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []
        self.keepers: list[object] = []
        self.escorts: dict[bytes, Escort] = {}


class Escort:
    """A connection to a manager that holds names until the message with it has been loaded or is lost."""

    def __init__(self, address: bytes) -> None:
        self.client = Client(address, None)

    def __del__(self) -> None:
        if hasattr(self, "client"):
            self.client.peer.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Arrived, (Passing(self.client.peer.fileno(), self),)


class Arrived:
    """A descriptor that was sent; it is closed with this object, unless it is taken."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor: int | None = descriptor

    def __del__(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)


class Passing:
    """A descriptor as part of a message or of the arguments of a new process; where it is loaded it is an int that
    belongs to the loader. `keeper` keeps it open."""

    def __init__(self, descriptor: int, keeper: object) -> None:
        self.descriptor = descriptor
        self.keeper = keeper

    def __reduce__(self) -> tuple[Any, ...]:
        popen = get_spawning_popen()
        if popen is not None:
            return inherited, (popen.DupFd(popen.duplicate_for_child(self.descriptor)),)
        sending = _MESSAGE.sending
        if sending is None:
            raise RuntimeError("a descriptor can be sent through gaugeblock.multiprocessing's queues and pipes alone")
        sending.descriptors.append(self.descriptor)
        sending.keepers.append(self.keeper)
        return arrived, (len(sending.descriptors) - 1,)


def is_sending() -> bool:
    """Return whether what is being pickled goes where descriptors can go too."""
    return _MESSAGE.sending is not None


def escort_of(hold: Hold) -> Escort:
    """Return the escort of the message that is being pickled, which holds the name too."""
    assert _MESSAGE.sending is not None
    escorts = _MESSAGE.sending.escorts
    escort = escorts.get(hold.address)
    if escort is None:
        escort = escorts[hold.address] = Escort(hold.address)
    escort.client.hold(hold.name)
    return escort


@contextmanager
def sending() -> Iterator[Outgoing]:
    """Collect the descriptors of what is pickled meanwhile."""
    before, _MESSAGE.sending = _MESSAGE.sending, Outgoing()
    try:
        yield _MESSAGE.sending
    finally:
        _MESSAGE.sending = before


@contextmanager
def taking(outgoing: Outgoing) -> Iterator[None]:
    """Let the channel that sends bytes meanwhile take the descriptors that go with them."""
    _MESSAGE.sending = outgoing
    try:
        yield
    finally:
        _MESSAGE.sending = None


@contextmanager
def receiving() -> Iterator[None]:
    """Let what is loaded meanwhile take the descriptors that arrive; close those that nothing takes."""
    before, _MESSAGE.arrived = _MESSAGE.arrived, []
    try:
        yield
    finally:
        left, _MESSAGE.arrived = _MESSAGE.arrived, before
        for descriptor in left or ():
            if descriptor >= 0:
                os.close(descriptor)


def arrived(index: int) -> int:
    """Return a descriptor of the message that is being loaded, which belongs to the caller."""
    found = _MESSAGE.arrived
    if found is None or not 0 <= index < len(found) or found[index] < 0:
        raise RuntimeError("the message came without its descriptors; receive it by gaugeblock.multiprocessing")
    descriptor, found[index] = found[index], -1
    return descriptor


def inherited(given: Any) -> int:
    """Return a descriptor that this process was started with."""
    descriptor: int = given.detach()
    os.set_inheritable(descriptor, False)
    return descriptor


class Packed:
    """An object that was pickled when it was put into a queue; the queue's thread sends it, with its descriptors."""

    def __init__(self, item: Any) -> None:
        with sending() as self.outgoing:
            self.data = bytes(reduction.ForkingPickler.dumps(item))

    def __reduce__(self) -> tuple[Any, ...]:
        _MESSAGE.sending = self.outgoing  # until the channel has sent them, in the same thread
        return pickle.loads, (self.data,)


class Channel(connection.Connection):
    """One end of a pipe, as of multiprocessing.Pipe; descriptors go with its messages."""

    _handle: int
    _send: Any
    _recv: Any

    def __init__(self, handle: int, readable: bool = True, writable: bool = True) -> None:
        super().__init__(handle, readable, writable)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=handle)
        self._socket.setblocking(True)

    def send(self, obj: Any) -> None:
        """Send a picklable object."""
        with sending() as outgoing:
            data = reduction.ForkingPickler.dumps(obj)
        with taking(outgoing):
            self.send_bytes(data)

    def recv(self) -> Any:
        """Return the next object that was sent. Raises EOFError when there is none and the other end is closed."""
        with receiving():
            return super().recv()

    def _close(self) -> None:
        self._socket.detach()
        os.close(self._handle)

    def _send_bytes(self, buf: Any) -> None:
        outgoing, _MESSAGE.sending = _MESSAGE.sending, None
        descriptors = [] if outgoing is None else outgoing.descriptors
        header = _HEADER.pack(len(buf), len(descriptors))
        if descriptors:
            self._send_with(header, descriptors[:_AT_ONCE])
            for begin in range(_AT_ONCE, len(descriptors), _AT_ONCE):
                self._send_with(b"+", descriptors[begin : begin + _AT_ONCE])
        elif len(buf) <= _SHORT:
            self._send(header + buf)
            return
        else:
            self._send(header)
        if len(buf):
            self._send(buf)

    def _send_with(self, data: bytes, descriptors: list[int]) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = self._socket.sendmsg([data], rights)
        if sent < len(data):
            self._send(data[sent:])

    def _recv_bytes(self, maxsize: int | None = None) -> io.BytesIO | None:
        found: list[int] = []
        kept = _MESSAGE.arrived
        try:
            nbytes, count = _HEADER.unpack(self._receive_with(_HEADER.size, found))
            for _ in range(_AT_ONCE, count, _AT_ONCE):
                self._receive_with(1, found)
            if maxsize is not None and nbytes > maxsize:
                return None
            data: io.BytesIO = self._recv(nbytes)
            if len(found) < count:
                raise OSError(errno.EMFILE, f"{count} descriptors were sent, {len(found)} arrived: {LIMIT_REACHED}")
            if kept is not None:
                kept += found
                found = []
            return data
        finally:
            for descriptor in found:
                os.close(descriptor)

    def _receive_with(self, nbytes: int, found: list[int]) -> bytes:
        data, ancillary, _, _ = self._socket.recvmsg(nbytes, _SPACE, _CLOSE_ON_EXEC)
        found += descriptors_in(ancillary)
        if not data:
            raise EOFError
        while len(data) < nbytes:
            data += self._recv(nbytes - len(data)).getvalue()
        return data


def Pipe(duplex: bool = True) -> tuple[Channel, Channel]:
    """Return the two ends of a channel; without `duplex` the first only receives and the second only sends."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return Channel(one.detach(), True, duplex), Channel(other.detach(), duplex, True)


def reduce_channel(channel: Channel) -> tuple[Any, ...]:
    """Return how a channel is sent to another process."""
    handle = channel.fileno()
    if is_sending() or get_spawning_popen() is not None:
        return Channel, (Passing(handle, channel), channel.readable, channel.writable)
    return _fetched, (reduction.DupFd(handle), channel.readable, channel.writable)


def _fetched(given: Any, readable: bool, writable: bool) -> Channel:
    return Channel(given.detach(), readable, writable)


reduction.ForkingPickler.register(Channel, reduce_channel)
