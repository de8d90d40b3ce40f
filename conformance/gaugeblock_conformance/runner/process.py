"""The parent's side of one worker process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .trace import read_trace
from .worker import Setup

OUTPUT_TAIL = 2000
GRACE = 2.0


_FRAME = re.compile(r'(?<=File ")/[^"\n]*(?=")')
_PACKAGE = re.compile(r".*(?:/site-packages/|/lib/python3\.\d+/|/(?=gaugeblock_))|.*/")


def without_folders(text: str) -> str:
    """`text` with the files in the lines of its tracebacks named from their package on."""
    return _FRAME.sub(lambda path: _PACKAGE.sub("", path[0], count=1), text)


class WorkerProcess:
    """Starts at once; ``read`` gives the messages that have arrived, ``died`` says how it ended if it has."""

    def __init__(self, folder: Path, number: int, **setup: Any) -> None:
        self.trace = folder / f"worker-{number}.trace"
        self.output = folder / f"worker-{number}.output"
        self.busy: str | None = None
        self.careful = False
        self.test: str | None = None
        self.ready: dict[str, Any] | None = None
        self.deadline = float("inf")
        self._rest = b""
        self._output_start = 0
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self.fd = self._process.stdout.fileno()
        os.set_blocking(self.fd, False)
        self._send(Setup(trace=str(self.trace), **setup).to_json())

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, requirement: str, careful: bool, timeout: float) -> None:
        """Ask for one requirement."""
        self.busy, self.careful, self.test = requirement, careful, None
        self.deadline = time.monotonic() + timeout
        self._output_start = self.output.stat().st_size
        self._send(json.dumps({"run": requirement, "careful": careful}))

    def read(self) -> list[dict[str, Any]]:
        """The complete messages that have arrived since the last call."""
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            if not data:
                break
            self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]

    def died(self) -> str | None:
        """How the process ended (``"signal SIGSEGV"``, ``"exit status 3"``), or None while it lives."""
        status = self._process.poll()
        if status is None:
            return None
        if status < 0:
            try:
                return f"signal {signal.Signals(-status).name}"
            except ValueError:
                return f"signal {-status}"
        return f"exit status {status}"

    def traced(self) -> str | None:
        """The source lines of the example in hand, if this request was careful."""
        return read_trace(self.trace) if self.careful else None

    def printed(self) -> str | None:
        """The end of what the backend printed during this request, without the folders of this machine."""
        with self.output.open("rb") as file:
            file.seek(max(self._output_start, self.output.stat().st_size - OUTPUT_TAIL))
            return without_folders(file.read().decode(errors="replace")).strip() or None

    def kill(self) -> None:
        """End the process and all it started, now."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            self._process.poll()
        self._process.wait()
        self._close()

    def stop(self) -> None:
        """Let an idle process end by itself, or kill it."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(GRACE if self.busy is None else 0)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.kill()
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._process.poll()
