"""The parent's side of one worker process."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes
from typing import Any

from .channel import KEY_BYTES, Garbled, Receiver
from .liveness import GONE, LOST
from .supervised import ABANDONED, Supervised, death, output_file
from .trace import forget, read_log, read_operator, read_trace, read_use
from .worker import UNHEARD, Setup

OUTPUT_TAIL = 2000
GRACE = 2.0
CHUNK = 1 << 16
DEAF = "the backend closed a descriptor of the suite"

# Of the first line the beginning may be cut off.
_FRAME = re.compile(r'(?:(?<=")/|\A)[^"\n]*(?=", line \d)')
_PACKAGE = re.compile(r".*(?:/site-packages/|/lib/python3\.\d+/|/(?=gaugeblock_))|.*/")


def without_folders(text: str) -> str:
    """`text` with the files in the lines of its tracebacks named from their package on."""
    return _FRAME.sub(lambda path: _PACKAGE.sub("", path[0], count=1), text)


def hypothesis_folder() -> str:
    """Return the folder in which Hypothesis caches its analysis of sources.

    It is below the user's cache folder and never in the current one; without a cache folder nothing is stored.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return str((cache if cache.is_absolute() else Path(os.devnull)) / "gaugeblock" / "hypothesis")


class WorkerProcess:
    """A worker process, started on construction.

    ``checking`` is the check of the adapter in hand while the backend loads.
    ``read`` returns the messages that have arrived, ``died`` says how the process ended. ``garbled`` is set when data
    arrives that is not a message; later messages are ignored.
    """

    def __init__(self, **setup: Any) -> None:
        self.busy: str | None = None
        self.careful = False
        self.test: str | None = None
        self.checking: str | None = None
        self.ready: dict[str, Any] | None = None
        self.deadline = float("inf")
        self._timeout = float("inf")
        self._judged: str | None = None
        self.garbled: str | None = None
        self._output_start = 0
        self._ended_at: float | None = None
        key = token_bytes(KEY_BYTES)
        self._receiver = Receiver(key)
        self._trace = tempfile.TemporaryFile(prefix="gaugeblock-")  # noqa: SIM115
        self._output = output_file()
        requests, self._requests = os.pipe()
        self.fd, replies = os.pipe()
        given = (requests, replies, self._trace.fileno())
        environment = {"HYPOTHESIS_STORAGE_DIRECTORY": hypothesis_folder(), **os.environ}
        try:
            command = [sys.executable, "-m", f"{__package__}.worker", *map(str, given)]
            self._process = Supervised(command, self._output, given, environment=environment)
        finally:
            os.close(requests)
            os.close(replies)
        os.set_blocking(self.fd, False)
        self._send(Setup(key=key.hex(), **setup).to_json())

    @property
    def pid(self) -> int | None:
        """The process id, or None before the process has started."""
        return self._process.pid

    @property
    def fds(self) -> tuple[int, int]:
        """The descriptors that become readable when there is news."""
        return self.fd, self._process.fd

    def run(
        self, requirement: str, careful: bool, timeout: float, *, avoid: Sequence[str] = (), only: Sequence[str] = ()
    ) -> None:
        """Ask for one requirement, judged for all operators or ``only`` some, but not for those to ``avoid``.

        It may take ``timeout`` seconds, or each operator of it, if it is judged operator by operator.
        """
        self.busy, self.careful, self.test = requirement, careful, None
        self._timeout, self._judged = timeout, None
        self.deadline = time.monotonic() + timeout
        self._output_start = os.fstat(self._output.fileno()).st_size
        forget(self._trace.fileno())
        request = {"run": requirement, "careful": careful, "avoid": list(avoid), "only": list(only)}
        self._send(json.dumps(request))

    def overdue(self) -> bool:
        """Return whether the request, or the operator being judged, takes longer than it may."""
        operator = self.operator()
        if operator != self._judged:
            self._judged = operator
            self.deadline = time.monotonic() + self._timeout
        return time.monotonic() > self.deadline

    def read(self) -> list[dict[str, Any]]:
        """The complete messages that have arrived since the last call."""
        found: list[dict[str, Any]] = []
        while self.garbled is None and self._ended_at is None:
            try:
                data = os.read(self.fd, CHUNK)
            except BlockingIOError:
                break
            if not data:
                self._ended_at = time.monotonic()
                break
            try:
                found += self._receiver.feed(data)
            except Garbled as garbled:
                found += garbled.before
                self.garbled = str(garbled)
        return found

    @property
    def hung_up(self) -> bool:
        """True if no more messages can arrive."""
        return self._ended_at is not None

    def died(self) -> str | None:
        """Return how the process ended, such as ``"the process ended with signal SIGSEGV"``, or None while it lives."""
        self._process.shorten_output()
        status = self._process.returncode()
        if status == LOST:
            return GONE
        if status is not None:
            told = f"{death(status)}: {DEAF}" if status == UNHEARD else death(status)
        elif self._process.abandoned:
            told = f"signal SIGKILL: {ABANDONED}"
        elif self._ended_at is not None and time.monotonic() > self._ended_at + GRACE:
            told = f"signal SIGKILL: {DEAF}"
        else:
            return None
        return f"the process ended with {told}"

    def traced(self) -> str | None:
        """The source lines of the example in hand, if this request was careful."""
        return read_trace(self._trace.fileno()) if self.careful else None

    def logged(self) -> str | None:
        """All calls of the example in hand by way of the adapter, if this request was careful."""
        return read_log(self._trace.fileno()) if self.careful else None

    def use(self) -> str | None:
        """The last use of the backend, in the words of :mod:`..traced`, if this request was careful."""
        return read_use(self._trace.fileno()) if self.careful else None

    def operator(self) -> str | None:
        """The operator that is being judged, if the requirement is judged operator by operator."""
        return read_operator(self._trace.fileno())

    def printed(self) -> str | None:
        """The end of what the backend printed during this request, without the folders of this machine."""
        file = self._output.fileno()
        size = os.fstat(file).st_size
        start = self._output_start if self._output_start <= size else 0
        data = os.pread(file, OUTPUT_TAIL, max(start, size - OUTPUT_TAIL))
        return without_folders(data.decode(errors="replace")).strip() or None

    def kill(self) -> None:
        """End the process and all it started, now."""
        self._process.end()
        self._close()

    def stop(self) -> None:
        """Let an idle process end by itself, or kill it."""
        self._hang_up()
        if self.busy is None:
            self._process.wait(GRACE)
        self.kill()

    def _close(self) -> None:
        self._hang_up()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self._trace.close()
            self._output.close()

    def _hang_up(self) -> None:
        if self._requests >= 0:
            os.close(self._requests)
            self._requests = -1

    def _send(self, line: str) -> None:
        with suppress(BrokenPipeError):
            os.write(self._requests, line.encode() + b"\n")
