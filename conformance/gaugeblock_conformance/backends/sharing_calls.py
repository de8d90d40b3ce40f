"""The calls of :mod:`..backend_sharing` for a module of torch's style."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from ..backend import Unsupported
from ..backend_sharing import CALLS
from ..dialect import Dialect

PATIENCE = 60.0
"""Seconds to wait for another process."""
MARK = "GAUGEBLOCK_LEFT"
_KILLED = """
import importlib, os, sys, time
name, strategy = sys.argv[1:]
module = importlib.import_module(name)
processes = importlib.import_module(name + ".multiprocessing")
processes.set_sharing_strategy(strategy)
here, there = processes.get_context("fork").Pipe()
child = os.fork()
if not child:
    x = there.recv()
    x += 1
    there.send("mapped")
    time.sleep(600)
x = module.ones(1000)
here.send(x)
here.recv()
print(os.getpid(), child, float(x.sum()), flush=True)
time.sleep(600)
"""


def _described(x: Any) -> tuple[Any, ...]:
    nbytes = x.untyped_storage().nbytes()
    return nbytes, x.storage_offset(), tuple(x.shape), tuple(x.stride()), x.tolist()


def _filled(tensors: Sequence[Any], value: Any) -> Any:
    tensors[0].fill_(value)
    return tensors[-1].tolist()


def _write(x: Any, begin: int, step: int) -> None:
    for k in range(begin, len(x), step):
        x[k] = k + 1


def _add(x: Any, times: int) -> None:
    for _ in range(times):
        x.add_(1)


ACTIONS: dict[str, Callable[..., Any]] = {
    "described": lambda tensors: _described(tensors[0]),
    "filled": _filled,
    "write": lambda tensors, begin, step: _write(tensors[0], begin, step),
    "add": lambda tensors, times: _add(tensors[0], times),
}


def _work(connection: Any) -> None:
    """Answer one request in another process."""
    name, values = connection.recv()
    tensors = connection.recv()
    try:
        connection.send((None, ACTIONS[name](tensors, *values)))
    except Exception as error:
        connection.send((f"{type(error).__name__}: {error}", None))
    connection.recv()


def _make(connection: Any, module: str, sizes: Sequence[int], value: float) -> None:
    """Send a tensor, and end when told to."""
    x = importlib.import_module(module).full(tuple(sizes), value)
    connection.send(x)
    del x
    connection.recv()


@contextmanager
def _may_have_children() -> Iterator[None]:
    """Let this process start others, though it be a worker that multiprocessing forbids it."""
    worker = multiprocessing.current_process()
    daemon = worker.daemon
    if daemon:
        worker.daemon = False
    try:
        yield
    finally:
        if daemon:
            worker.daemon = True


class Sharing:
    """Answers the calls of memory between processes."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def resolve(self, operator: str) -> Callable[..., Any]:
        """The function behind a name of the table."""
        if not hasattr(self.module.Tensor, "share_memory_"):
            raise Unsupported(operator, f"{self.module.__name__} has no memory that processes share")
        found: Callable[..., Any] = getattr(self, operator)
        assert operator in CALLS
        return found

    @property
    def processes(self) -> Any:
        return importlib.import_module(f"{self.module.__name__}.multiprocessing")

    @contextmanager
    def _child(self, work: Callable[..., None], *arguments: Any) -> Iterator[Any]:
        """A process that runs ``work``, and the connection to it; both end with the context."""
        if not hasattr(os, "fork"):
            raise Unsupported(work.__name__, "processes are forked, and this system forks none")
        context = self.processes.get_context("fork")
        here, there = context.Pipe()
        process = context.Process(target=work, args=(there, *arguments), daemon=True)
        with _may_have_children():
            process.start()
        there.close()
        try:
            yield here
        finally:
            with suppress(OSError):  # it may have ended
                here.send(None)
            here.close()
            process.join(PATIENCE)
            if process.exitcode is None:
                process.kill()
                process.join()

    def _answer(self, connection: Any) -> Any:
        try:
            if not connection.poll(PATIENCE):
                raise RuntimeError("the other process gives no answer")
            error, result = connection.recv()
        except EOFError:
            raise RuntimeError("the other process has ended without an answer") from None
        if error is not None:
            raise RuntimeError(f"in the other process: {error}")
        return result

    def in_child(self, tensor: Any) -> Any:
        return self._asked([tensor], "described")

    def in_child_(self, tensor: Any, value: Any, other: Any = None) -> Any:
        return self._asked([tensor, tensor if other is None else other], "filled", value)

    def _asked(self, tensors: Sequence[Any], action: str, *values: Any) -> Any:
        with self._child(_work) as connection:
            connection.send((action, values))
            connection.send(tensors)
            return self._answer(connection)

    def in_children_(self, tensor: Any, actions: Sequence[Sequence[Any]]) -> None:
        self._at_once(tensor, list(actions), [])

    def _at_once(self, tensor: Any, actions: list[Sequence[Any]], started: list[Any]) -> None:
        if actions:
            with self._child(_work) as connection:
                connection.send((actions[0][0], tuple(actions[0][1:])))
                self._at_once(tensor, actions[1:], [*started, connection])
            return
        for connection in started:
            connection.send([tensor])
        for connection in started:
            self._answer(connection)

    def from_child(self, sizes: Sequence[int], value: float) -> Any:
        with self._child(_make, self.module.__name__, tuple(sizes), value) as connection:
            if not connection.poll(PATIENCE):
                raise RuntimeError("the other process sends no tensor")
            return connection.recv()

    def sharing_strategies(self) -> tuple[str, ...]:
        return tuple(sorted(self.processes.get_all_sharing_strategies()))

    def sharing_strategy(self) -> str:
        return str(self.processes.get_sharing_strategy())

    def use_sharing_strategy(self, name: str) -> None:
        self.processes.set_sharing_strategy(name)

    def sharing_handle(self, tensor: Any) -> tuple[bytes, bytes, int]:
        manager, name, nbytes = tensor.untyped_storage()._share_filename_cpu_()
        return bytes(manager), bytes(name), int(nbytes)

    def open_handle(self, manager: bytes, name: bytes, nbytes: int) -> Any:
        storage = self.module.UntypedStorage._new_shared_filename_cpu(manager, name, nbytes)
        return self.module.empty(0, dtype=self.module.uint8).set_(storage)

    def left_by_killed(self, strategy: str) -> list[str]:
        if not sys.platform.startswith("linux"):
            raise Unsupported("left_by_killed", "objects of processes that ended are listed by Linux alone")
        mark = token_hex(8)
        command = [sys.executable, "-c", _KILLED, self.module.__name__, strategy]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, MARK: mark}) as parent:
            assert parent.stdout is not None
            told = parent.stdout.readline().split()
            if len(told) != 3:
                raise RuntimeError("the processes that were to be killed did not share a tensor")
            pids = list(map(int, told[:2]))
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        wrong = [] if float(told[2]) == 2000.0 else ["the other process did not write to the tensor"]
        end = time.monotonic() + PATIENCE / 3
        while (left := _left(mark, pids)) and time.monotonic() < end:
            time.sleep(0.05)
        return wrong + left


def _left(mark: str, pids: Sequence[int]) -> list[str]:
    """Objects with the number of one of the processes in their name, and processes with the mark."""
    found = [
        f"object {path.name}" for path in Path("/dev/shm").iterdir() if any(f"_{pid}_" in path.name for pid in pids)
    ]
    marked = f"{MARK}={mark}".encode()
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdecimal() and marked in (path / "environ").read_bytes():
                found.append(f"process {(path / 'comm').read_text().strip()}")
        except OSError:
            continue
    return sorted(found)


def _processes(d: Dialect) -> str:
    return f"{d.setup.split()[-1]}.multiprocessing"


_IN_CHILD = {
    "filled": "(y[0].fill_({0}), y[-1].tolist())[1]",
    "described": "(y[0].untyped_storage().nbytes(), y[0].storage_offset(), tuple(y[0].shape), y[0].stride(), "
    "y[0].tolist())",
    "write": "[z.__setitem__(k, k + 1) for z in y for k in range({0}, len(z), {1})]",
    "add": "[y[0].add_(1) for _ in range({0})]",
}


def _write_in_child(d: Dialect, args: Sequence[Any], kwargs: Any) -> str:
    done = _IN_CHILD["filled" if len(args) > 1 else "described"].format(*map(d.literal, args[1:2]))
    sent = ", ".join(map(d.literal, (args[0], *args[2:])))
    return (
        f"(c := {_processes(d)}.get_context('fork').Pipe(), c[0].send([{sent}]), "
        f"p := {_processes(d)}.get_context('fork').Process(target=lambda: (y := c[1].recv(), c[1].send({done}))), "
        f"p.start(), c[0].recv())[-1]"
    )


def _write_in_children(d: Dialect, args: Sequence[Any], kwargs: Any) -> str:
    x = d.literal(args[0])
    targets = ", ".join(f"lambda: (y := [{x}], {_IN_CHILD[one[0]].format(*one[1:])})" for one in args[1])
    return (
        f"(p := [{_processes(d)}.get_context('fork').Process(target=f) for f in ({targets})], "
        f"[one.start() for one in p], [one.join() for one in p])"
    )


def _write_from_child(d: Dialect, args: Sequence[Any], kwargs: Any) -> str:
    made = f"{d.setup.split()[-1]}.full({d.literal(args[0])}, {d.literal(args[1])})"
    return (
        f"(c := {_processes(d)}.get_context('fork').Pipe(), "
        f"p := {_processes(d)}.get_context('fork').Process(target=lambda: (c[1].send({made}), c[1].recv())), "
        f"p.start(), y := c[0].recv(), c[0].send(0), p.join(), y)[-1]"
    )


def _write_open(d: Dialect, args: Sequence[Any], kwargs: Any) -> str:
    module = d.setup.split()[-1]
    given = ", ".join(map(d.literal, args))
    return f"{module}.empty(0, dtype={module}.uint8).set_({module}.UntypedStorage._new_shared_filename_cpu({given}))"


SHARING_WRITERS: dict[str, Callable[[Dialect, Sequence[Any], Any], str]] = {
    "in_child": _write_in_child,
    "in_child_": _write_in_child,
    "in_children_": _write_in_children,
    "from_child": _write_from_child,
    "sharing_strategies": lambda d, a, k: f"{_processes(d)}.get_all_sharing_strategies()",
    "sharing_strategy": lambda d, a, k: f"{_processes(d)}.get_sharing_strategy()",
    "use_sharing_strategy": lambda d, a, k: f"{_processes(d)}.set_sharing_strategy({a[0]!r})",
    "sharing_handle": lambda d, a, k: f"{d.literal(a[0])}.untyped_storage()._share_filename_cpu_()",
    "open_handle": _write_open,
    "is_shared": lambda d, a, k: f"{d.literal(a[0])}.is_shared()",
}
