"""The parent's side of :mod:`.prepared`: snippets run in forks of a process that has imported what they import."""

from __future__ import annotations

import ast
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from .supervised import Supervised, output_file
from .supervisor import LIMIT

PROGRAM = Path(__file__).with_name("prepared.py")
PATIENCE = 60.0
"""Seconds for all imports."""


class Forked(Supervised):
    """A snippet run in a process of ``prepared``; otherwise like its base class."""

    def __init__(self, channel: socket.socket, script: str, errors: IO[bytes]) -> None:
        self.pid = None
        self._errors = errors
        self._unread = b""
        self._closed = False
        self._status = None
        self._folder = os.path.join(tempfile.gettempdir(), f"gaugeblock-snippet-{token_hex(8)}")
        wait, self._control = os.pipe()
        self.fd, report = os.pipe()
        os.set_blocking(self.fd, False)
        try:
            with tempfile.TemporaryFile() as text:
                text.write(script.encode(errors="backslashreplace"))
                text.flush()
                given = [text.fileno(), wait, report, errors.fileno()]
                socket.send_fds(channel, [self._folder.encode()], given)
        finally:
            os.close(wait)
            os.close(report)

    def end(self) -> None:
        """Kill the snippet's process and all that it started."""
        os.close(self._control)
        limit = time.monotonic() + LIMIT + 1
        while not self._finished() and (left := limit - time.monotonic()) > 0:
            select.select([self.fd], [], [], left)
        if not self._finished() and self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._closed = True
        os.close(self.fd)

    def _finished(self) -> bool:
        self._listen()
        return self._closed


class Prepared:
    """A process that has imported ``modules``; ``usable`` says whether snippets can be forked from it."""

    def __init__(self, modules: Iterable[str], environment: Mapping[str, str]) -> None:
        self.modules = frozenset(modules)
        self._lock = threading.Lock()
        self._errors = output_file()
        self._channel, other = socket.socketpair()
        # One thread of OpenBLAS, since with several there would be no forking.
        settings = {**environment, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-P", str(PROGRAM), str(other.fileno()), *sorted(self.modules)]
        self._process = Supervised(command, self._errors, [other.fileno()], environment=settings)
        other.close()
        self._channel.settimeout(PATIENCE)
        self._usable: bool | None = None

    def usable(self, snippet: str) -> bool:
        """Return whether a snippet may run in a fork of this process: it imports all that was imported here."""
        with self._lock:
            if self._usable is None:
                try:
                    self._usable = self._channel.recv(1) == b"y"
                except OSError:
                    self._usable = False
        return self._usable and imported(snippet) >= self.modules

    def start(self, snippet: str, errors: IO[bytes]) -> Forked:
        """Run a snippet. Raises OSError if the process is no longer there."""
        with self._lock:
            return Forked(self._channel, snippet, errors)

    def close(self) -> None:
        """End the process and all that were forked from it."""
        self._channel.close()
        self._process.end()
        self._errors.close()


def imported(snippet: str) -> frozenset[str]:
    """The modules, by their full names, that a snippet imports in statements of its own level."""
    try:
        tree = ast.parse(snippet)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            found.add(node.module)
    return frozenset(found)


def common_modules(snippets: Iterable[str]) -> frozenset[str]:
    """The modules beyond Python's own that most of the snippets import."""
    given = list(map(imported, snippets))
    counts = Counter(name for names in given for name in names)
    most = (name for name, count in counts.items() if 2 * count > len(given))
    return frozenset(name for name in most if name.partition(".")[0] not in sys.stdlib_module_names)
