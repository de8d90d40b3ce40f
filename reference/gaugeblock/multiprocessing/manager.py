"""The manager: a process that keeps segments by name for others, and the messages that they exchange with it.

A hold is a connection. A process holds a name as long as its connection to the manager lives, and the system closes
that when the process ends in whatever way. A name whose last hold is gone is forgotten. Names are kept in the manager's
memory and lead to descriptors of nameless files, so that nothing is left when the manager itself is killed. It ends
when its last connection does.

The module is also the program of that process, ``python manager.py DESCRIPTOR``, and imports the standard library
alone.
"""

from __future__ import annotations

import array
import collections
import contextlib
import os
import selectors
import socket
import struct
import sys
from typing import NamedTuple

PUT, HOLD, OPEN, TAKE, DROP, TICKET, COPY, COUNT = range(8)
"""Requests. PUT brings a descriptor under a name; HOLD counts the name; OPEN does, and gives the descriptor; TAKE does
so in place of a ticket; DROP uncounts; TICKET counts a handle under way; COPY counts all names of a connection; COUNT
asks how many names there are."""
DONE, UNKNOWN, TAKEN, REFUSED = range(4)
"""Answers."""
REQUEST = struct.Struct("=BqH")
ANSWER = struct.Struct("=Bq")
_ONE = socket.CMSG_SPACE(struct.calcsize("i"))
FIRST = 30.0
"""Seconds to wait for the first connection."""


def send_message(to: socket.socket, data: bytes, descriptor: int | None = None) -> None:
    """Send bytes, and with their first one a descriptor if that is given."""
    if descriptor is None:
        to.sendall(data)
        return
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
    sent = to.sendmsg([data], rights)
    if sent < len(data):
        to.sendall(data[sent:])


def descriptors_in(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    """Return the descriptors that came with a message."""
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return found.tolist()


def receive_message(source: socket.socket, nbytes: int) -> tuple[bytes, int | None]:
    """Receive `nbytes` bytes, and a descriptor if one came with them. Raises EOFError when the other end is closed."""
    data, ancillary, _, _ = source.recvmsg(nbytes, _ONE)
    found = descriptors_in(ancillary)
    for extra in found[1:]:
        os.close(extra)
    while len(data) < nbytes:
        more = source.recv(nbytes - len(data))
        if not more:
            for one in found[:1]:
                os.close(one)
            raise EOFError("the shared memory manager has closed the connection")
        data += more
    return data, found[0] if found else None


class _Kept:
    """What lies behind a name: the descriptor of a segment and the number of holds and tickets."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.count = 0


class _Reply(NamedTuple):
    answer: int
    value: int = 0
    descriptor: int | None = None


class Connection:
    """One connection, with the names that it holds and the tickets that it gave out."""

    def __init__(self, peer: socket.socket, number: int) -> None:
        self.peer = peer
        self.number = number
        self.holds: collections.Counter[bytes] = collections.Counter()
        self.tickets: collections.Counter[bytes] = collections.Counter()
        self.received = bytearray()
        self.descriptors: collections.deque[int] = collections.deque()

    def next_request(self) -> tuple[int, int, bytes] | None:
        """Remove a whole request from what was received; None if there is none yet."""
        if len(self.received) < REQUEST.size:
            return None
        kind, value, length = REQUEST.unpack_from(self.received)
        end = REQUEST.size + length
        if len(self.received) < end:
            return None
        name = bytes(self.received[REQUEST.size : end])
        del self.received[:end]
        return kind, value, name


class Manager:
    """The names and the connections that hold them."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.names: dict[bytes, _Kept] = {}
        self.connections: dict[int, Connection] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self._numbers = 0

    def serve(self) -> None:
        """Answer requests until the last connection ends."""
        patience: float | None = FIRST
        while events := self.selector.select(patience):
            for key, _ in events:
                if key.data is None:
                    self.accept()
                    patience = None
                else:
                    self.read(key.data)
            if not self.connections and patience is None and not self.selector.select(0):
                return

    def accept(self) -> None:
        """Accept a connection of the same user."""
        peer, _ = self.listener.accept()
        if hasattr(socket, "SO_PEERCRED"):
            _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if user != os.getuid():
                peer.close()
                return
        peer.setblocking(False)
        self._numbers += 1
        connection = self.connections[self._numbers] = Connection(peer, self._numbers)
        self.selector.register(peer, selectors.EVENT_READ, connection)

    def read(self, connection: Connection) -> None:
        """Answer what has arrived on a connection, or end it."""
        try:
            data, ancillary, _, _ = connection.peer.recvmsg(1 << 16, _ONE)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        connection.descriptors.extend(descriptors_in(ancillary))
        connection.received += data
        try:
            while data and (request := connection.next_request()) is not None:
                reply = self.answer(connection, *request)
                if reply is not None:
                    send_message(connection.peer, ANSWER.pack(reply.answer, reply.value), reply.descriptor)
        except OSError:
            data = b""  # it does not read its answers, or is gone
        if not data:
            self.end(connection)

    def answer(self, connection: Connection, kind: int, value: int, name: bytes) -> _Reply | None:
        """Do what a request says."""
        if kind == PUT:
            return self.put(connection, name)
        if kind == COUNT:
            return _Reply(DONE, len(self.names))
        if kind == COPY:
            if value in self.connections:
                for held, count in self.connections[value].holds.items():
                    self.count(connection.holds, held, count)
            return _Reply(DONE, connection.number)
        if kind == DROP:
            self.count(connection.holds, name, -1)
            return None
        kept = self.names.get(name)
        if kept is None:
            return _Reply(UNKNOWN)
        self.count(connection.tickets if kind == TICKET else connection.holds, name, 1)
        if kind == TAKE:
            self.use_ticket(name)
        return _Reply(DONE, 0, kept.descriptor if kind in (OPEN, TAKE) else None)

    def put(self, connection: Connection, name: bytes) -> _Reply:
        """Keep the descriptor that came with the request, held by the connection."""
        if not connection.descriptors:
            return _Reply(REFUSED)
        descriptor = connection.descriptors.popleft()
        if name in self.names:
            os.close(descriptor)
            return _Reply(TAKEN)
        self.names[name] = _Kept(descriptor)
        self.count(connection.holds, name, 1)
        return _Reply(DONE)

    def count(self, counter: collections.Counter[bytes], name: bytes, change: int) -> None:
        """Count holds or tickets of a connection; the last of all takes the name with it."""
        kept = self.names.get(name)
        if kept is None or counter[name] + change < 0:
            return
        counter[name] += change
        if not counter[name]:
            del counter[name]
        kept.count += change
        if not kept.count:
            del self.names[name]
            os.close(kept.descriptor)

    def use_ticket(self, name: bytes) -> None:
        """Remove one ticket of a name, whoever gave it out."""
        for connection in self.connections.values():
            if connection.tickets[name]:
                self.count(connection.tickets, name, -1)
                return

    def end(self, connection: Connection) -> None:
        """Drop all that a connection counted."""
        self.selector.unregister(connection.peer)
        connection.peer.close()
        del self.connections[connection.number]
        for counter in (connection.holds, connection.tickets):
            for name, count in list(counter.items()):
                self.count(counter, name, -count)
        for descriptor in connection.descriptors:
            os.close(descriptor)


def main(descriptor: int) -> None:
    """Serve the listening socket in a process of its own, which is nobody's child."""
    if os.fork():
        os._exit(0)
    import resource

    os.setsid()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    Manager(socket.socket(fileno=descriptor)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
