"""The connection of this process to managers: names put, opened, held and dropped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir

from . import manager
from .manager import ANSWER, COPY, COUNT, DONE, DROP, HOLD, OPEN, PUT, REFUSED, REQUEST, TAKE, TICKET

_PATIENCE = 30.0


class Hold:
    """A name that this process holds at a manager; see memory.segment.Hold."""

    __slots__ = ("address", "name")

    def __init__(self, address: bytes, name: bytes) -> None:
        self.address = address
        self.name = name

    def release(self) -> None:
        """Give up the name; a finaliser may do it at any time."""
        client = _KNOWN.clients.get(self.address)
        if client is not None:
            client.drop(self.name)


class Client:
    """A connection to the manager at `address`, which holds what the connection with the number `holder` does. Raises
    RuntimeError when there is none."""

    def __init__(self, address: bytes, holder: int | None = 0) -> None:
        self.address = address
        self.peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.lock = threading.Lock()
        self.dropped: deque[bytes] = deque()
        try:
            self.peer.settimeout(_PATIENCE)
            self.peer.connect(address)
            self.number = 0 if holder is None else self.ask(COPY, b"", holder)[0]
        except OSError as error:
            self.peer.close()
            _KNOWN.clients.pop(address, None)
            raise RuntimeError(f"unable to open the shared memory manager at {address!r}: {error.strerror}") from None

    def ask(self, kind: int, name: bytes, value: int = 0, descriptor: int | None = None) -> tuple[int, int | None]:
        """Return the answer to a request: a number and a descriptor. Raises RuntimeError for an unknown name and for a
        manager that is gone."""
        with self.lock:
            try:
                manager.send_message(self.peer, REQUEST.pack(kind, value, len(name)) + name, descriptor)
                data, found = manager.receive_message(self.peer, ANSWER.size)
            except (OSError, EOFError):
                _KNOWN.clients.pop(self.address, None)
                raise RuntimeError(
                    f"the shared memory manager at {self.address!r} has ended: tensors shared by name stay where they "
                    f"are, but cannot be sent to other processes any more"
                ) from None
        self.send_dropped()
        answer, number = ANSWER.unpack(data)
        if answer == REFUSED:
            raise RuntimeError("the shared memory manager has no descriptor left for another object (ulimit -n)")
        if answer != DONE:
            raise RuntimeError(f"unable to open shared memory object <{name.decode(errors='replace')}>: no such object")
        return number, found

    def drop(self, name: bytes) -> None:
        """Give up a name: now, or after the request that is under way."""
        self.dropped.append(name)
        self.send_dropped()

    def send_dropped(self) -> None:
        """Give up the names that are to be dropped, unless a request is under way, which does it at its end."""
        while self.dropped and self.lock.acquire(blocking=False):
            try:
                while self.dropped:
                    name = self.dropped.popleft()
                    manager.send_message(self.peer, REQUEST.pack(DROP, 0, len(name)) + name)
            except OSError:
                self.dropped.clear()  # the manager has ended, and has forgotten all names
            finally:
                self.lock.release()

    def put(self, descriptor: int) -> Hold:
        """Keep a segment under a new name, which this process holds."""
        name = f"/gaugeblock_{os.getpid()}_{token_hex(8)}".encode()
        self.ask(PUT, name, 0, descriptor)
        return Hold(self.address, name)

    def open(self, name: bytes, ticket: bool = False) -> tuple[int, Hold]:
        """Return the descriptor behind a name, and a hold of it in place of the `ticket`. Raises RuntimeError."""
        _, descriptor = self.ask(TAKE if ticket else OPEN, name)
        hold = Hold(self.address, name)
        if descriptor is None:
            hold.release()
            raise RuntimeError("unable to open a shared memory object: this process has no descriptor left (ulimit -n)")
        return descriptor, hold

    def give_ticket(self, name: bytes) -> None:
        """Keep a name alive for a process that will take it, at most as long as this one lives."""
        self.ask(TICKET, name)

    def count(self) -> int:
        """Return how many names the manager keeps."""
        return self.ask(COUNT, b"")[0]

    def hold(self, name: bytes) -> None:
        """Hold a name once more."""
        self.ask(HOLD, name)


class _Managers:
    """The managers that this process is connected to."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.clients: dict[bytes, Client] = {}
        self.of_child: dict[bytes, Client] = {}
        """Connections for the child of the fork that is under way."""
        self.locked: list[Client] = []


_KNOWN = _Managers()


def client_of(address: bytes) -> Client:
    """Return the connection to a manager. Raises RuntimeError when there is none at the address."""
    found = _KNOWN.clients.get(address)
    if found is None:
        with _KNOWN.lock:
            found = _KNOWN.clients.get(address) or Client(address)
            _KNOWN.clients[address] = found
    return found


def any_client() -> Client:
    """Return the connection to a manager that this process already knows, or to one that is started for it."""
    with _KNOWN.lock:
        for client in _KNOWN.clients.values():
            return client
        return client_of(start())


def start() -> bytes:
    """Start a manager, and return its address."""
    name = f"gaugeblock-manager-{os.getpid()}-{token_hex(8)}"
    address = b"\0" + name.encode() if sys.platform == "linux" else os.fsencode(Path(gettempdir()) / name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(64)
        command = [sys.executable, "-E", "-s", "-S", "-P", str(Path(manager.__file__)), str(listener.fileno())]
        subprocess.run(
            command, check=True, pass_fds=(listener.fileno(),), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
    return address


def _before_fork() -> None:
    """Make connections that hold what this process holds, for the child; no request is under way meanwhile."""
    _KNOWN.lock.acquire()
    for address, client in list(_KNOWN.clients.items()):
        if not client.lock.acquire(timeout=_PATIENCE):
            continue
        _KNOWN.locked.append(client)
        try:
            _KNOWN.of_child[address] = Client(address, client.number)
            _KNOWN.of_child[address].dropped.extend(client.dropped)
        except RuntimeError:
            _KNOWN.clients.pop(address, None)  # the manager has ended


def _in_parent() -> None:
    for client in _KNOWN.of_child.values():
        client.peer.close()
    _KNOWN.of_child.clear()
    while _KNOWN.locked:
        client = _KNOWN.locked.pop()
        client.lock.release()
        client.send_dropped()
    _KNOWN.lock.release()


def _in_child() -> None:
    for client in (*_KNOWN.clients.values(), *_KNOWN.locked):
        client.peer.close()
    _KNOWN.locked.clear()
    _KNOWN.clients, _KNOWN.of_child = _KNOWN.of_child, {}
    for client in _KNOWN.clients.values():
        client.send_dropped()
    _KNOWN.lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
