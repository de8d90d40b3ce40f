"""A program of its own: imports modules once, then runs each snippet in a fresh fork of itself.

Reads ``{"modules": [...], "snippets": [...], "seconds": 20}`` as JSON and writes a list of what each snippet showed.
It imports nothing of this package, so that a snippet finds the state of a fresh interpreter.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import suppress

TICK = 0.005


def main() -> None:
    """Answer the one request on the standard input."""
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for module in asked["modules"]:
        with suppress(ImportError):
            importlib.import_module(module)
    json.dump([show(snippet, asked["seconds"]) for snippet in asked["snippets"]], sys.stdout)


def show(snippet: str, seconds: float) -> str:
    """What a snippet prints, with the line of the exception or the name of the signal that ends it."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if child == 0:
            _run(snippet, file.fileno())
        status = _wait(child, seconds)
        file.seek(0)
        lines = file.read().decode(errors="replace").splitlines()
    if status is None:
        lines.append(f"no end after {seconds:g} s")
    elif os.WIFSIGNALED(status):
        lines.append(signal.Signals(os.WTERMSIG(status)).name)
    return "\n".join(lines)


def _run(snippet: str, output: int) -> None:
    """Run it with its output in the file ``output``, and end the process."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    warnings.simplefilter("ignore")
    try:
        exec(compile(snippet, "<snippet>", "exec"), {"__name__": "__main__"})
    except BaseException as error:
        print(traceback.format_exception_only(error)[-1].splitlines()[0])
    sys.stdout.flush()
    os._exit(0)


def _wait(child: int, seconds: float) -> int | None:
    """The child's wait status; None when it had to be killed."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(TICK)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    main()
