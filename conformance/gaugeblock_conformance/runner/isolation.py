"""A test that may end its process, run in a child of this one (for pytest; ``validate`` has workers of its own)."""

from __future__ import annotations

import functools
import os
import pickle
import select
import signal
from collections.abc import Callable
from typing import Any

from ..problem import one_line

# Bound at import, so that a backend that replaces these functions later has no effect here.
_write, _exit = os.write, os._exit
SECONDS = 60.0
DONE = b"done"


def isolated(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` run in a forked child: what it raises is raised here, and its death is a failure.

    Where processes cannot be forked the test is run as it is.
    """
    if not hasattr(os, "fork"):
        return function

    @functools.wraps(function)
    def run(**arguments: Any) -> None:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                function(**arguments)
                result = DONE
            except BaseException as error:
                result = _pickled(error)
            _write(writer, result)
            _exit(0)
        os.close(writer)
        try:
            answer = _answer(reader, child)
        finally:
            os.close(reader)
            _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            late = answer is None
            raise AssertionError(f"not done after {SECONDS:g} s" if late else f"the process ended with signal {name}")
        if not answer:
            raise AssertionError("the process exited without a result")
        if answer != DONE:
            raise _unpickled(answer)

    return run


def _answer(reader: int, child: int) -> bytes | None:
    """All that the child writes; None when it had to be killed because it took too long."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], SECONDS)
        if not ready:
            os.kill(child, signal.SIGKILL)
            return None
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _unpickled(answer: bytes) -> BaseException:
    """Return the exception that a child has written, or an AssertionError if the data is not an exception."""
    try:
        error = pickle.loads(answer)
    except Exception as problem:
        return AssertionError(f"the process returned invalid data: {one_line(problem)}")
    return error if isinstance(error, BaseException) else AssertionError("the process returned invalid data")


def _pickled(error: BaseException) -> bytes:
    try:
        answer = pickle.dumps(error)
        pickle.loads(answer)
    except Exception:
        return pickle.dumps(AssertionError(one_line(error)))
    return answer
