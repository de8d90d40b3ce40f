"""A standalone program that imports modules once, and then runs each snippet in a process forked from itself.

``prepared.py CHANNEL MODULE...`` says on the socket ``CHANNEL`` whether it can fork: ``y``, or ``n`` if an import
started threads. Each request is a folder's name with four descriptors: of the snippet, and those that become standard
input, output and error of a supervisor, which is forked, forks the snippet's process and watches it as
:mod:`supervisor` does. Nothing that a snippet does is seen by another one.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import os
import signal
import socket
import sys
import types
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

SCRIPT = "snippet.py"
LONGEST = 1 << 12
"""Bytes of a request."""


def main(arguments: Sequence[str]) -> None:
    """Serve requests until there are no more; returns in the processes of snippets when these have run."""
    channel = socket.socket(fileno=int(arguments[0]))
    for name in arguments[1:]:
        # A snippet that imports it fails by itself.
        with suppress(Exception):
            importlib.import_module(name)
    os.environ.pop("OPENBLAS_NUM_THREADS", None)  # OpenBLAS has read it by now
    alone = _threads() == 1
    channel.sendall(b"y" if alone else b"n")
    if not alone:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        folder, descriptors, _, _ = socket.recv_fds(channel, LONGEST, 4)
        if not folder:
            return
        if os.fork() == 0:
            break
        for descriptor in descriptors:
            os.close(descriptor)
    channel.close()
    script, *standard = descriptors
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    path = folder.decode()
    if not _beside("supervisor").supervise(script, path):
        os._exit(0)
    os.close(script)
    _run(path)


def _beside(name: str) -> Any:
    """The module of this folder, which is not among those that snippets import from."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"gaugeblock_{name}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _threads() -> int:
    """Number of threads of this process; 0 where that is not known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def _run(folder: str) -> None:
    """Run the snippet as Python runs a script: as the main module, its folder first in the path of imports.

    The process ends once the functions registered with atexit have run: clearing a library's modules would take longer
    than the snippet.
    """
    status = 0
    sys.argv = [SCRIPT]
    sys.path.insert(0, folder)
    module = types.ModuleType("__main__")
    vars(module)["__file__"] = SCRIPT
    sys.modules["__main__"] = module
    try:
        with open(SCRIPT, "rb") as file:
            code = compile(file.read(), SCRIPT, "exec")
        exec(code, vars(module))
    except Exception as error:
        trace = error.__traceback__
        sys.excepthook(type(error), error, trace and trace.tb_next)
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
