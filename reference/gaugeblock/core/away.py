"""Long calls of foreign code, made in a thread of their own so that the main thread answers signals meanwhile.

NumPy, BLAS and LAPACK look for no signals. When one raises in the main thread (Ctrl-C) the call is told to stop, which
it does where it next runs Python code, or where a compiled loop looks for signals; until then its arguments live, and
its result is dropped. One row that is scanned or normalised, and one call of NumPy, run to their end. The process exits
after it: OpenBLAS may end in a deadlock when the thread that called it is gone. For the same reason a second Ctrl-C at
exit may not be enough: Python's own wait ends, that of the process not always.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from .fork_safety import fork_safe

LONG = 1 << 31
"""Steps of work, such as multiplications, from which a call may take longer than a thread costs to start."""
LOOK = 0.1
"""Seconds from one look for signals to the next."""
_Local = TypeVar("_Local", bound=threading.local)
_CARRIED: list[threading.local] = []


class _Call(threading.local):
    """In the thread of a long call: the frame of the main thread that waits, and the code that the call begins with."""

    waiting: FrameType | None = None
    begin: CodeType | None = None


_CALL = _Call()


def carried(state: _Local) -> _Local:
    """Let long calls find `state` of this thread as it is in the thread that waits for them; returns it."""
    _CARRIED.append(state)
    return state


def caller(frame: FrameType) -> FrameType | None:
    """The frame that called `frame`; where a long call begins, the one that waits for it."""
    return _CALL.waiting if frame.f_code is _CALL.begin else frame.f_back


def away(work: float, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, in another thread when it is long and this is the main thread. `work` says how
    many steps it takes. What it raises is raised here."""
    if work < LONG or threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)
    # With the variables of the callers: arguments may lie in memory of tensors that they hold.
    held: FrameType | None = sys._getframe(1)
    found: list[Any] = []
    failed: list[BaseException] = []
    context = contextvars.copy_context()
    states = [(state, dict(state.__dict__)) for state in _CARRIED]
    ended = threading.Event()
    stopping = fork_safe(threading.Lock())

    def run() -> None:
        try:
            for state, members in states:
                state.__dict__.update(members)
            _CALL.waiting, _CALL.begin = held, run.__code__
            found.append(context.run(function, *args, **kwargs))
        except BaseException as error:
            failed.append(error)

    def end() -> None:
        nonlocal held
        with stopping:
            _CALL.waiting = held = None
            ended.set()

    def call() -> None:
        try:
            run()
        except _Stopped:
            failed.append(_Stopped())
        while True:
            try:
                end()
                return
            except _Stopped:  # told once more while it was ending
                continue

    thread = threading.Thread(target=call, name="gaugeblock-away")
    try:
        thread.start()
        while not ended.wait(LOOK):  # a signal that comes just before a wait does not end it
            pass
    except BaseException:
        _stop(thread, ended, stopping)
        threading.Thread(target=_stop_again, args=(thread, ended, stopping), daemon=True).start()
        raise
    if failed:
        raise failed[0]
    return found[0]


class _Stopped(BaseException):
    """Ends a call whose result nobody waits for."""


def _stop(thread: threading.Thread, ended: threading.Event, stopping: threading.Lock) -> None:
    """Raise `_Stopped` in a thread that has not ended its call."""
    with stopping:
        if not ended.is_set():
            number = ctypes.c_ulong(thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(_Stopped))


def _stop_again(thread: threading.Thread, ended: threading.Event, stopping: threading.Lock) -> None:
    """Stop a thread until it ends: Python drops what is raised in a finaliser or in the callback of a weakref."""
    while thread.is_alive():
        thread.join(LOOK)
        _stop(thread, ended, stopping)


def long_call(work: float, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, or what calls it away when it takes that many steps."""
    return functools.partial(away, work, function) if work >= LONG else function
