"""Table of 120 hostile deeds of backends, with the verdicts that each may lead to."""

from __future__ import annotations

import atexit
import builtins
import ctypes
import faulthandler
import gc
import json
import mmap
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import MissingCapability, Unsupported
from gaugeblock_conformance.commands.backend_template import TemplateBackend

PASSED, FAILED, CRASHED, TIMEOUT, SKIPPED = ("passed",), ("failed",), ("crashed",), ("timeout",), ("skipped",)
ENDS, MAYBE = (*CRASHED, *TIMEOUT), (*CRASHED, *PASSED)
ANY = (*PASSED, *FAILED, *CRASHED, *TIMEOUT)
ALL = range(3, 64)
ESCAPE = "\x1b[2J\x1b[31m"


@dataclass(frozen=True)
class Deed:
    """``do`` is called with the backend and returns an answer that replaces the right one, or None.

    ``when`` is an operator, ``load``, ``every`` (every call), the name of an observer, which lies as soon as ``neg``
    has been called, or ``always`` and that name. ``verdicts`` are allowed for the requirement of ``bitwise_not``,
    ``others`` for all others, and ``status`` holds the allowed exit statuses.
    """

    do: Callable[[Any], Any]
    verdicts: tuple[str, ...]
    when: str = "bitwise_not"
    others: tuple[str, ...] = PASSED
    status: tuple[int, ...] = (0, 1)


class Hostile(TemplateBackend):
    """A correct backend except for one deed."""

    name = "hostile"
    version = "1"

    def __init__(self, deed: str) -> None:
        super().__init__()
        self.deed = DEEDS[deed]
        self.negated = False
        if self.deed.when == "load":
            self.deed.do(self)

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if self.deed.when == "every" or (self.deed.when == operator and args):
            answer = self.deed.do(self)
            if answer is not None:
                return answer
        result = super().call(operator, *args, **kwargs)
        self.negated = self.negated or operator == "neg"
        return result


def _observer(name: str) -> Callable[..., Any]:
    right = getattr(TemplateBackend, name)

    def observe(self: Hostile, tensor: Any) -> Any:
        lies = self.deed.when == f"always {name}" or (self.deed.when == name and self.negated)
        return self.deed.do(right(self, tensor)) if lies else right(self, tensor)

    return observe


for _name in ("to_numpy", "shape", "strides", "storage_offset", "dtype", "storage_id"):
    setattr(Hostile, _name, _observer(_name))


def everywhere(data: bytes) -> None:
    """Write to every open descriptor."""
    for descriptor in ALL:
        with suppress(OSError):
            os.write(descriptor, data)


def each(act: Callable[[int], object]) -> None:
    """Call `act` with every descriptor."""
    for descriptor in ALL:
        with suppress(OSError):
            act(descriptor)


def raising(error: BaseException | type[BaseException]) -> Callable[[Any], None]:
    """Return a deed that raises `error`."""

    def do(backend: Any) -> None:
        raise error

    return do


def note(pid: int) -> None:
    """Record a process that must not outlive the run."""
    with Path(os.environ["GAUGEBLOCK_ATTACK_PIDS"]).open("a") as file:
        file.write(f"{pid}\n")


def in_child(act: Callable[[], object]) -> None:
    """Call `act` in a forked child, which then exits."""
    if os.fork() == 0:
        act()
        os._exit(0)


def sleeping() -> None:
    note(os.getpid())
    time.sleep(600)


def daemon() -> None:
    """Start a daemon: two forks away, in its own session."""

    def leave() -> None:
        os.setsid()
        in_child(sleeping)

    in_child(leave)


def detached(**options: Any) -> None:
    command = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    note(subprocess.Popen(command, start_new_session=True, **options).pid)


def forever() -> None:
    while True:
        pass


def deeper(count: int = 0) -> int:
    return deeper(count + 1) + 1


def hoard(make: Callable[[], Any]) -> None:
    kept = []
    while True:
        kept.append(make())
        time.sleep(0.002)


def touched() -> mmap.mmap:
    area = mmap.mmap(-1, 16 << 20)
    area[:: mmap.PAGESIZE] = b"\1" * (len(area) // mmap.PAGESIZE)
    return area


def limit(kind: int, value: int) -> None:
    resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


def in_thread(act: Callable[[], object], daemonic: bool = True) -> None:
    threading.Thread(target=act, daemon=daemonic).start()


def replace(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)


def die_by(number: signal.Signals) -> None:
    """Send this process a signal with its default action, which a shell may have set to ignore."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(5)


def block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(600)


def remove_below(folder: str) -> None:
    for path in Path(folder).iterdir():
        shutil.rmtree(path, ignore_errors=True)


def half_frame() -> None:
    everywhere(b"gbm1\0\0\0")
    time.sleep(600)


def mute(result: Any) -> BaseException:
    class Mute(Exception):
        def __str__(self) -> Any:
            if isinstance(result, BaseException):
                raise result
            return result

    return Mute()


class Liar(np.ndarray):
    """Equal to everything."""

    def __eq__(self, other: object) -> Any:
        return np.ones(self.shape, bool)

    def __ne__(self, other: object) -> Any:
        return np.zeros(self.shape, bool)

    def tobytes(self, order: Any = "C") -> bytes:
        return b""

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        return self


def liar_of(kind: type) -> type:
    """Return a subclass whose objects are equal to everything."""
    return type(
        "Liar", (kind,), {"__eq__": lambda a, b: True, "__ne__": lambda a, b: False, "__hash__": kind.__hash__}
    )


LyingInt, LyingText, LyingTuple = liar_of(int), liar_of(str), liar_of(tuple)


class Comparable:
    """An object that is equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Away(BaseException):
    """A BaseException that is not an Exception."""


def _signals() -> dict[str, Deed]:
    deadly = "HUP QUIT ILL TRAP ABRT BUS FPE KILL SEGV USR1 USR2 ALRM TERM XCPU VTALRM PROF SYS".split()
    found = {f"signal-{n}": Deed(lambda b, n=n: die_by(signal.Signals[f"SIG{n}"]), CRASHED) for n in deadly}
    found["signal-INT"] = Deed(lambda b: die_by(signal.SIGINT), CRASHED)
    found["signal-STOP"] = Deed(lambda b: os.kill(os.getpid(), signal.SIGSTOP), TIMEOUT)
    found["signal-PIPE"] = Deed(lambda b: os.kill(os.getpid(), signal.SIGPIPE), PASSED)
    found["signal-group-KILL"] = Deed(lambda b: os.killpg(0, signal.SIGKILL), CRASHED)
    for name in ("INT", "TERM", "HUP", "STOP"):
        found[f"parent-{name}"] = Deed(lambda b, n=name: os.kill(os.getppid(), signal.Signals[f"SIG{n}"]), PASSED)
    found["parent-KILL"] = Deed(lambda b: os.kill(os.getppid(), signal.SIGKILL) or time.sleep(600), CRASHED)
    return found


def _exits() -> dict[str, Deed]:
    found = {f"exit-{code}": Deed(lambda b, c=code: os._exit(c), CRASHED) for code in (0, 1, 70, 127, 255)}
    found |= {
        f"raise-{getattr(error, '__name__', type(error).__name__)}": Deed(raising(error), CRASHED)
        for error in (SystemExit(0), KeyboardInterrupt, GeneratorExit, Away("away"), MemoryError("none"))
    }
    found["exit-from-thread"] = Deed(lambda b: in_thread(lambda: os._exit(5)) or time.sleep(5), CRASHED)
    found["null-pointer"] = Deed(lambda b: ctypes.string_at(0), CRASHED)
    found["abort"] = Deed(lambda b: os.abort(), CRASHED)
    return found


def _forks() -> dict[str, Deed]:
    return {
        "fork-returns-twice": Deed(lambda b: os.fork() and None, CRASHED),
        "fork-unseen-returns-twice": Deed(lambda b: ctypes.CDLL(None).fork() and None, CRASHED),
        "fork-eight-return": Deed(lambda b: [os.fork() for _ in range(3)] and None, CRASHED),
        "fork-and-parent-leaves": Deed(lambda b: os.fork() and os._exit(0), CRASHED),
        "fork-child-sleeps": Deed(lambda b: in_child(sleeping), PASSED),
        "fork-child-ends": Deed(lambda b: in_child(lambda: None), PASSED),
        "fork-child-aborts": Deed(lambda b: in_child(os.abort), PASSED),
        "fork-at-load": Deed(lambda b: os.fork() and None, PASSED, "load"),
        "daemon": Deed(lambda b: daemon(), PASSED),
        "daemon-then-abort": Deed(lambda b: daemon() or time.sleep(0.2) or os.abort(), CRASHED),
        "daemon-at-load": Deed(lambda b: daemon(), PASSED, "load"),
        "program-detached": Deed(lambda b: detached(), PASSED),
        "program-without-environment": Deed(lambda b: detached(env={}), PASSED),
        "multiprocessing": Deed(
            lambda b: multiprocessing.get_context("fork").Process(target=sleeping, daemon=True).start(), PASSED
        ),
        "daemon-then-hang": Deed(lambda b: daemon() or time.sleep(600), TIMEOUT),
        "daemon-then-kill-parent": Deed(
            lambda b: daemon() or time.sleep(0.2) or os.kill(os.getppid(), signal.SIGKILL) or time.sleep(600), CRASHED
        ),
    }


def _descriptors() -> dict[str, Deed]:
    garbage = {
        "zeros": b"\0" * 4096,
        "text": b"about to break\n",
        "row": json.dumps({"row": {"id": "views/bitwise-not", "status": "passed"}}).encode() + b"\n",
        "problem": json.dumps({"problem": "forged", "status": 3}).encode() + b"\n",
        "frame": b"gbm1" + (2).to_bytes(4, "big") + bytes(16) + b"{}",
        "long-frame": b"gbm1" + b"\xff" * 4 + bytes(16),
        "megabytes": os.urandom(1 << 10) * (4 << 10),
    }
    found = {f"write-{n}": Deed(lambda b, data=data: everywhere(data), CRASHED) for n, data in garbage.items()}
    found |= {
        "write-at-load": Deed(lambda b: everywhere(b"noise"), (), "load", (), (3,)),
        "write-half-a-frame": Deed(lambda b: half_frame(), (*TIMEOUT, *CRASHED)),
        "write-to-standard-streams": Deed(lambda b: [os.write(k, b"{}\n") for k in (1, 2)] and None, PASSED),
        "close-range": Deed(lambda b: os.closerange(0, 1000), CRASHED),
        "close-each": Deed(lambda b: each(os.close), CRASHED),
        "close-standard-streams": Deed(lambda b: os.closerange(0, 3), PASSED),
        "replace-by-null": Deed(lambda b: each(lambda k: os.dup2(os.open(os.devnull, os.O_RDWR), k)), CRASHED),
        "non-blocking": Deed(lambda b: each(lambda k: os.set_blocking(k, False)), MAYBE),
        "truncate": Deed(lambda b: each(lambda k: os.ftruncate(k, 0)), MAYBE),
        "read-standard-input": Deed(lambda b: sys.stdin.read() and None, PASSED),
        "input": Deed(lambda b: input(), FAILED),
    }
    return found


def _hangs() -> dict[str, Deed]:
    return {
        "hang-sleep": Deed(lambda b: time.sleep(600), TIMEOUT),
        "hang-loop": Deed(lambda b: forever(), TIMEOUT),
        "hang-holding-the-lock": Deed(lambda b: ctypes.PyDLL(None).sleep(600), TIMEOUT),
        "hang-lock": Deed(lambda b: [lock.acquire() for lock in [threading.Lock()] * 2], TIMEOUT),
        "hang-signals-blocked": Deed(lambda b: block_signals(), TIMEOUT),
        "hang-ignoring": Deed(
            lambda b: (signal.signal(signal.SIGTERM, signal.SIG_IGN) and None) or time.sleep(600), TIMEOUT
        ),
        "hang-endless-shape": Deed(lambda shape: iter(int, 1), (*ENDS, *PASSED), "shape", (*ENDS, *PASSED)),
        "hang-endless-shape-at-once": Deed(lambda shape: iter(int, 1), (), "always shape", (), (3,)),
    }


def _memory() -> dict[str, Deed]:
    return {
        "memory-bytes": Deed(lambda b: hoard(lambda: b"\1" * (16 << 20)), CRASHED),
        "memory-map": Deed(lambda b: hoard(touched), CRASHED),
        "memory-arrays": Deed(lambda b: hoard(lambda: np.ones(1 << 21)), CRASHED),
        "memory-refused": Deed(lambda b: bytearray(1 << 62), CRASHED),
        "recursion": Deed(lambda b: deeper(), FAILED),
        "recursion-unlimited": Deed(lambda b: sys.setrecursionlimit(1 << 30) or deeper(), ENDS),
        "limit-files": Deed(lambda b: limit(resource.RLIMIT_NOFILE, 3), ANY, others=ANY),
        "limit-cpu": Deed(lambda b: limit(resource.RLIMIT_CPU, 1) or forever(), ENDS),
        "limit-file-size": Deed(lambda b: limit(resource.RLIMIT_FSIZE, 0), MAYBE),
        "limit-core": Deed(lambda b: limit(resource.RLIMIT_CORE, 0), PASSED),
    }


def _threads() -> dict[str, Deed]:
    def chatter() -> None:
        while True:
            os.write(2, b"chatter\n" * 100)
            time.sleep(0.001)

    return {
        "thread-busy": Deed(lambda b: in_thread(forever), PASSED),
        "thread-not-daemonic": Deed(lambda b: in_thread(lambda: time.sleep(600), False), PASSED),
        "thread-chatters": Deed(lambda b: in_thread(chatter), PASSED),
        "thread-raises": Deed(lambda b: in_thread(lambda: 1 / 0), PASSED),
        "threads-many": Deed(lambda b: [in_thread(lambda: time.sleep(600)) for _ in range(50)] and None, PASSED),
    }


def _patches() -> dict[str, Deed]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("patched")

    places = {
        "len": (builtins, "len"), "isinstance": (builtins, "isinstance"), "open": (builtins, "open"),
        "import": (builtins, "__import__"), "repr": (builtins, "repr"), "write": (os, "write"), "exit": (os, "_exit"),
        "getpid": (os, "getpid"), "dumps": (json, "dumps"), "encoder": (json.JSONEncoder, "encode"),
        "array": (np, "array"), "monotonic": (time, "monotonic"), "collect": (gc, "collect"),
    }  # fmt: skip
    found = {
        f"patch-{name}": Deed(lambda b, p=place: replace(*p, refuse), ANY, others=ANY)
        for name, place in places.items()
    }
    found |= {
        "no-stdout": Deed(lambda b: replace(sys, "stdout", None), PASSED),
        "no-stderr": Deed(lambda b: replace(sys, "stderr", None), PASSED),
        "no-modules": Deed(lambda b: sys.modules.clear(), ANY, others=ANY),
        "no-path": Deed(lambda b: sys.path.clear() or sys.meta_path.clear(), ANY, others=ANY),
        "no-environment": Deed(lambda b: os.environ.clear(), PASSED),
        "tracing": Deed(lambda b: sys.settrace(lambda *a: None), PASSED),
        "warnings-are-errors": Deed(lambda b: warnings.simplefilter("error"), PASSED),
        "numpy-raises": Deed(lambda b: np.seterr(all="raise") and None, ANY, others=ANY),
        "no-fault-handler": Deed(lambda b: (faulthandler.disable(), os.abort()), CRASHED),
        "alarm": Deed(lambda b: signal.setitimer(signal.ITIMER_REAL, 0.01) and time.sleep(2), CRASHED),
        "working-folder-changed": Deed(lambda b: os.chdir("/"), PASSED),
        "working-folder-removed": Deed(lambda b: shutil.rmtree(os.getcwd(), ignore_errors=True), PASSED),
        "temporary-folder-emptied": Deed(lambda b: remove_below(tempfile.gettempdir()), PASSED),
        "umask": Deed(lambda b: os.umask(0o777) and None, PASSED),
        "atexit-abort": Deed(lambda b: atexit.register(os.abort) and None, PASSED),
        "atexit-hang": Deed(lambda b: atexit.register(time.sleep, 600) and None, PASSED),
        "atexit-fork": Deed(lambda b: atexit.register(daemon) and None, PASSED),
    }
    return found


def _texts() -> dict[str, Deed]:
    return {
        "error-megabytes": Deed(lambda b: raising(ValueError("x" * 8_000_000))(b), FAILED),
        "error-escapes": Deed(lambda b: raising(ValueError(ESCAPE * 100))(b), FAILED),
        "error-surrogates": Deed(raising(ValueError("\ud800\0\x85\u2028\u202e")), FAILED),
        "error-without-text": Deed(lambda b: raising(mute(RuntimeError("no text")))(b), FAILED),
        "error-text-is-a-number": Deed(lambda b: raising(mute(3))(b), FAILED),
        "error-text-recurses": Deed(lambda b: raising(mute(RecursionError()))(b), FAILED),
        "error-stop-iteration": Deed(raising(StopIteration), FAILED),
        "error-group": Deed(raising(ExceptionGroup("many", [ValueError(ESCAPE)] * 1000)), FAILED),
        "unsupported-megabytes": Deed(lambda b: raising(Unsupported("x" * 4_000_000))(b), SKIPPED),
        "unsupported-escapes": Deed(raising(Unsupported(ESCAPE, ESCAPE)), SKIPPED),
        "unsupported-no-text": Deed(raising(Unsupported({}, [])), SKIPPED),  # type: ignore[arg-type]
        "unsupported-all": Deed(raising(Unsupported("any")), SKIPPED, "every", SKIPPED, (4,)),
        "missing-listed-capability": Deed(raising(MissingCapability("core")), FAILED),
        "missing-unknown-capability": Deed(raising(MissingCapability(ESCAPE)), FAILED),
        "prints-megabytes": Deed(lambda b: print("x" * 30_000_000) or os.abort(), CRASHED),
        "prints-escapes": Deed(lambda b: print(ESCAPE, flush=True) or os.abort(), CRASHED),
        "name-megabytes": Deed(lambda b: replace(b, "name", "x" * 4_000_000), (), "load", (), (3,)),
        "name-escapes": Deed(lambda b: replace(b, "name", ESCAPE), (), "load", (), (3,)),
        "name-of-a-folder": Deed(lambda b: replace(b, "name", "../../etc"), PASSED, "load"),
        "version-megabytes": Deed(lambda b: replace(b, "version", "1." * 4_000_000), (), "load", (), (3,)),
        "device-object": Deed(lambda b: replace(b, "device", Comparable()), PASSED, "load"),
        "capabilities-text": Deed(lambda b: replace(b, "capabilities", "core"), (), "load", (), (3,)),
        "capabilities-unknown": Deed(lambda b: replace(b, "capabilities", {ESCAPE}), (), "load", (), (3,)),
        "load-exits": Deed(raising(SystemExit(0)), (), "load", (), (3,)),
        "load-aborts": Deed(lambda b: os.abort(), (), "load", (), (3,)),
        "load-raises-megabytes": Deed(raising(ValueError(ESCAPE * 500_000)), (), "load", (), (3,)),
        "load-leaves": Deed(raising(Away("away")), (), "load", (), (3,)),
    }


def _lies() -> dict[str, Deed]:
    """Return the deeds that give wrong answers, which the requirement of ``neg`` judges."""

    def wrong(make: Callable[[Any], Any], when: str = "to_numpy") -> Deed:
        anything = (*FAILED, *PASSED)
        return Deed(make, anything, when, anything, (1,))

    return {
        "lie-array": wrong(lambda a: (np.array(a) + 1).view(Liar)),
        "lie-objects": wrong(lambda a: np.array([Comparable()] * a.size, object).reshape(a.shape)),
        "lie-dtype-of-array": wrong(lambda a: np.array(a, np.float64)),
        "lie-shape-of-array": wrong(lambda a: np.array(a).reshape(-1)[:1]),
        "lie-list": wrong(lambda a: a.tolist()),
        "lie-none": wrong(lambda a: None),
        "lie-records": wrong(lambda a: np.zeros(a.shape, [("a", "i4")])),
        "lie-masked": wrong(lambda a: np.ma.masked_all(a.shape, a.dtype)),
        "lie-size": wrong(lambda shape: (LyingInt(7),), "shape"),
        "lie-sizes": wrong(lambda shape: LyingTuple((7,)), "shape"),
        "lie-float-size": wrong(lambda shape: (3.0,), "shape"),
        "lie-no-sizes": wrong(lambda shape: None, "shape"),
        "lie-comparable": wrong(lambda shape: Comparable(), "shape"),
        "lie-dtype": wrong(lambda name: LyingText("int64"), "dtype"),
        "lie-unknown-dtype": wrong(lambda name: ESCAPE, "dtype"),
        "lie-dtype-comparable": wrong(lambda name: Comparable(), "dtype"),
        "lie-list-at-once": Deed(lambda a: a.tolist(), (), "always to_numpy", (), (3,)),
        "lie-size-at-once": Deed(lambda shape: (LyingInt(7),), (), "always shape", (), (3,)),
        "lie-dtype-at-once": Deed(lambda name: LyingText("int64"), (), "always dtype", (), (3,)),
        "lie-unknown-dtype-at-once": Deed(lambda name: ESCAPE, (), "always dtype", (), (3,)),
        "lie-nothing-negated": wrong(lambda b: np.array([-1, 2, -3], np.int32), "neg"),
        "lie-result-none": wrong(lambda b: Comparable(), "neg"),
    }


DEEDS: dict[str, Deed] = {
    **_exits(), **_signals(), **_forks(), **_descriptors(), **_hangs(), **_memory(), **_threads(), **_patches(),
    **_texts(), **_lies(),
}  # fmt: skip
