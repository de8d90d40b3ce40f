"""The parent's side of a supervised command: starts it, reports how it ended, and ends all that it started."""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from .supervisor import LIMIT

PROGRAM = Path(__file__).with_name("supervisor.py")
MARK = "GAUGEBLOCK_RUN"
"""Environment variable that identifies the command and its descendants if their supervisor is killed."""
IDLE = {"OMP_WAIT_POLICY": "passive"}
"""Environment variables that stop idle OpenMP threads from spinning, since workers share the processors. The user's own
values take precedence."""
LONGEST = 8 << 20
"""Bytes of output after which the output file is emptied."""
TAIL = 1 << 16
"""Bytes that are read from the end of a command's output."""
SCRIPT = "snippet.py"
ABANDONED = "its supervisor was killed"


def output_file() -> IO[bytes]:
    """Return an unnamed file for a command's output, in append mode so that it can be emptied while in use."""
    file = tempfile.TemporaryFile(prefix="gaugeblock-")  # noqa: SIM115
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
    return file


def tail(file: IO[bytes]) -> bytes:
    """Return the last ``TAIL`` bytes of a command's output."""
    return os.pread(file.fileno(), TAIL, max(0, os.fstat(file.fileno()).st_size - TAIL))


class Supervised:
    """A command that starts on construction, inherits the descriptors ``fds``, and writes its output to ``errors``.

    With ``script``, its current folder is a new one that holds this text as ``snippet.py``.
    """

    def __init__(
        self, command: Sequence[str], errors: IO[bytes], fds: Sequence[int] = (), script: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.pid: int | None = None
        self._mark = token_hex(16)
        self._errors = errors
        self._unread = b""
        self._closed = False
        self._status: int | None = None
        self._folder: str | None = None
        options: list[str] = []
        with tempfile.TemporaryFile() as text:
            if script is not None:
                text.write(script.encode(errors="backslashreplace"))
                text.flush()
                fds = [*fds, text.fileno()]
                self._folder = os.path.join(tempfile.gettempdir(), f"gaugeblock-snippet-{token_hex(8)}")
                options = ["--script", str(text.fileno()), self._folder]
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-I", "-S", str(PROGRAM), *options, "--", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**IDLE, **(os.environ if environment is None else environment), MARK: self._mark},
                pass_fds=fds,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self.fd = self._process.stdout.fileno()
        os.set_blocking(self.fd, False)

    def returncode(self) -> int | None:
        """Return the command's exit status, minus the number of the signal that ended it, or None while it runs."""
        self._listen()
        return self._status

    @property
    def abandoned(self) -> bool:
        """True if the supervisor ended before the command."""
        self._listen()
        return self._closed and self._status is None

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the command to end, and return whether it has ended."""
        limit = time.monotonic() + seconds
        while self.returncode() is None and not self.abandoned:
            left = limit - time.monotonic()
            if left <= 0:
                return False
            select.select([self.fd], [], [], left)
        return True

    def shorten_output(self) -> None:
        """Empty the output file if it is longer than ``LONGEST``."""
        if os.fstat(self._errors.fileno()).st_size > LONGEST:
            os.ftruncate(self._errors.fileno(), 0)

    def end(self) -> None:
        """Kill the command and all that it started."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        with suppress(ProcessLookupError):
            # The supervisor may have been stopped by a signal.
            self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(LIMIT + 1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listen()
        if self._process.returncode != 0:
            self._sweep()
        if not self._process.stdout.closed:  # type: ignore[union-attr]
            self._process.stdout.close()  # type: ignore[union-attr]

    def _listen(self) -> None:
        while not self._closed:
            try:
                data = os.read(self.fd, 1 << 10)
            except BlockingIOError:
                break
            self._unread += data
            self._closed = not data
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            word, _, number = line.partition(b" ")
            if word == b"pid":
                self.pid = int(number)
            elif word == b"ended":
                self._status, self._closed = os.waitstatus_to_exitcode(int(number)), True

    def _sweep(self) -> None:
        """Clean up after a supervisor that was killed: kill the command's processes and remove its folder."""
        mark = f"{MARK}={self._mark}".encode()
        for _ in range(3):
            found = [pid for pid in _processes() if mark in _environment(pid)]
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                break
            time.sleep(0.02)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]
    except FileNotFoundError:
        return []


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def death(status: int) -> str:
    """Return how a process ended, in words: ``"signal SIGSEGV"``, ``"exit status 3"``."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
