"""A standalone program that runs a command and kills the processes that the command leaves behind.

``supervisor.py [--script FD FOLDER] -- COMMAND...`` runs ``COMMAND`` in a new session, with an empty standard input and
with standard output redirected to standard error. It writes ``pid N`` to its own standard output when the command has
started, and ``ended STATUS`` (a wait status) when the command and all its descendants have exited. It kills them when
its standard input is closed, which also happens when its parent is killed.

With ``--script`` it creates ``FOLDER``, copies the content of descriptor ``FD`` to ``snippet.py`` in it, runs the
command there, and removes the folder at the end. It imports no other module of this package, so that it starts in a few
milliseconds.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIMIT = 5.0
"""Seconds to wait for killed descendants to exit."""
PAUSE = 0.005
TIMES = 4
"""Of the machine's memory, beyond which a process may not map data where the system would let it."""
CHUNK = 1 << 16


def main(arguments: Sequence[str]) -> int:
    """Run the command and return 0 when it and its descendants have exited."""
    place = arguments.index("--")
    options, command = arguments[:place], list(arguments[place + 1 :])
    script, folder = (int(options[1]), options[2]) if options else (None, None)
    if supervise(script, folder):
        try:
            os.execv(command[0], command)
        finally:
            os._exit(127)
    return 0


def supervise(script: int | None, folder: str | None) -> bool:
    """Fork, and return True in the child, which is to run the command; in this process watch it and return False.

    With ``folder`` this becomes the child's current one, with what descriptor ``script`` has in ``snippet.py``.
    """
    before = {number: signal.getsignal(number) for number in _catchable()}
    for number in before:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    if sys.platform == "linux":
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if folder is not None:
        os.mkdir(folder, 0o700)
    child = 0
    try:
        if folder is not None and script is not None:
            _copy(script, os.path.join(folder, "snippet.py"))
        own = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                for number, handler in before.items():
                    signal.signal(number, handler if handler is not None else signal.SIG_DFL)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _detach(folder, own)
            except BaseException:
                os._exit(127)
            return True
        _report(f"pid {child}")
        os.closerange(3, _most())
        status = _watch(child)
    finally:
        if folder is not None and child:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
    _report(f"ended {status}")
    return False


def _catchable() -> list[signal.Signals]:
    """Return the signals that can be caught and that by default end or stop a process."""
    names = """HUP INT QUIT PIPE ALRM TERM USR1 USR2 TSTP TTIN TTOU XCPU VTALRM PROF POLL""".split()
    return [signal.Signals[f"SIG{name}"] for name in names if f"SIG{name}" in signal.Signals.__members__]


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _most() -> int:
    return min(os.sysconf("SC_OPEN_MAX"), 1 << 16)


def _copy(source: int, target: str) -> None:
    os.lseek(source, 0, os.SEEK_SET)
    made = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    while part := os.read(source, CHUNK):
        os.write(made, part)
    os.close(made)


def _detach(folder: str | None, parent: int) -> None:
    """Make this process the first of a session of its own, which dies when its supervisor does (Linux only)."""
    os.setsid()
    if sys.platform == "linux":
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if folder is not None:
        os.chdir(folder)
    _refuse_the_impossible()


def _refuse_the_impossible() -> None:
    """Let requests for many times the machine's memory fail on a system that grants them all (overcommit_memory 1).

    Elsewhere they fail by themselves; here a process would be killed for using what it was promised.
    """
    try:
        with open("/proc/sys/vm/overcommit_memory") as setting:
            grants_all = setting.read().strip() == "1"
    except OSError:
        return
    if grants_all:
        import resource

        most = TIMES * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY or soft > most:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _watch(child: int) -> int:
    """Return the wait status of ``child`` once it and its descendants have exited."""
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    status = None
    while status is None:
        # The child may have exited before the wakeup descriptor was set.
        status = _reap(child)
        if status is not None:
            break
        ready, _, _ = select.select([0, wake], [], [])
        if 0 in ready and not _read(0):
            break
        if wake in ready:
            _read(wake)
    return _end_all(child, status)


def _read(end: int) -> bytes:
    try:
        return os.read(end, CHUNK)
    except OSError:
        return b""


def _reap(child: int) -> int | None:
    """Reap all exited processes; return the status of ``child`` if it is among them, else None."""
    found = None
    with suppress(ChildProcessError):
        while True:
            dead, status = os.waitpid(-1, os.WNOHANG)
            if not dead:
                break
            if dead == child:
                found = status
    return found


def _end_all(child: int, status: int | None) -> int:
    limit = time.monotonic() + LIMIT
    while True:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        for pid in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        found = _reap(child)
        status = status if found is None else found
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            break
        if time.monotonic() > limit:
            break
        time.sleep(PAUSE)
    return signal.SIGKILL if status is None else status


def descendants(ancestor: int) -> list[int]:
    """Return the descendants of ``ancestor`` according to /proc; an empty list without /proc."""
    children: dict[int, list[int]] = {}
    with suppress(FileNotFoundError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                    children.setdefault(parent, []).append(int(name))
    found, left = [], [ancestor]
    while left:
        below = children.pop(left.pop(), [])
        found += below
        left += below
    return found


def _report(text: str) -> None:
    with suppress(OSError):
        os.write(1, text.encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
