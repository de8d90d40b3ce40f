"""A persistent pool of Python threads, for work that an operator shares out.

The pool knows whether its threads wait for work. Threads that wait read no tensor and start nothing by themselves, so
that a program which has no other threads is single-threaded between two calls.
"""

from __future__ import annotations

import os
import threading
from _thread import _count
from collections.abc import Callable
from typing import TYPE_CHECKING

from .fork_safety import fork_safe

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

MAX_WORKERS = 256


class ThreadPool:
    """Threads that are started on demand and kept until the process ends."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._lock = fork_safe(threading.RLock())
        self._local = threading.local()
        self._started = 0
        self._unfinished = 0
        self._lost = 0
        """Threads of the parent process, which CPython still counts in a forked child."""

    def submit(self, work: Callable[..., object], *arguments: object) -> Future[object]:
        """Run ``work(*arguments)`` in a thread of the pool."""
        with self._lock:
            if self._executor is None:
                from concurrent.futures import ThreadPoolExecutor

                self._executor = ThreadPoolExecutor(MAX_WORKERS, "gaugeblock", self._enter)
            self._unfinished += 1
            executor = self._executor
        try:
            # Not under the lock: a forking thread acquires concurrent.futures' own lock before this one.
            return executor.submit(self._run, work, *arguments)
        except BaseException:
            with self._lock:
                self._unfinished -= 1
            raise

    def is_inside(self) -> bool:
        """Return whether this is a thread of the pool."""
        return getattr(self._local, "inside", False)

    def waiting(self) -> int:
        """Return the number of threads, all of which wait for work; -1 if one works, or if Python started others."""
        return self._started if not self._unfinished and _count() == self._started + self._lost else -1

    def forget(self) -> None:
        """Start anew in a forked child, where no thread but the forking one is left."""
        self._executor = None
        self._local = threading.local()
        self._started = self._unfinished = 0
        self._lost = _count()

    def _enter(self) -> None:
        self._local.inside = True
        with self._lock:
            self._started += 1

    def _run(self, work: Callable[..., object], *arguments: object) -> object:
        try:
            return work(*arguments)
        finally:
            with self._lock:
                self._unfinished -= 1


POOL = ThreadPool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget)
