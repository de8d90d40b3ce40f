"""Threads inside one operator: how many, and the sharing out of work that Python does.

Compiled loops share themselves out to native threads (see pool), for which the same number holds.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

GRAIN = 32768
SPINS = 400
"""Turns of a waiting loop before the thread yields its processor: about 20 microseconds."""
IDLE_SPINS = 6000
"""Turns before an idle worker sleeps if every thread has a processor of its own: about 300 microseconds."""
BLAS_SETTERS = (
    "scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "scipy_openblas_set_num_threads",
    "openblas_set_num_threads",
)  # fmt: skip
"""Names under which builds of OpenBLAS export what sets the number of its threads."""


class NativePool(NamedTuple):
    """The pool's functions: set the number of threads and the turns before an idle one sleeps, and forget all workers
    (a child process has none)."""

    set_threads: Callable[[int, int], None]
    forget: Callable[[], None]


class _Threads:
    def __init__(self) -> None:
        processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        self.number = self.processors = len(processors)
        self.spins = IDLE_SPINS
        self.native: NativePool | None = None

    def forget(self) -> None:
        if self.native is not None:
            self.native.forget()


THREADS = _Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=THREADS.forget)


def look() -> None:
    """Do nothing: where a Python function begins, Python raises what signals or other threads have sent."""


def get_num_threads() -> int:
    """Threads that one operator may use."""
    return THREADS.number


def set_num_threads(n: int) -> None:
    """Set the number of threads an operator may use. RuntimeError unless n is positive, TypeError for non-ints."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"set_num_threads(): argument 'n' must be an int, got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"set_num_threads(): expected a positive number of threads, got {n}")
    THREADS.number, THREADS.spins = n, IDLE_SPINS if n <= THREADS.processors else SPINS
    if THREADS.native is not None:
        THREADS.native.set_threads(n, THREADS.spins)
    functions = blas_threads()
    if functions is not None:
        _, set_blas_threads = functions
        set_blas_threads(n)


@functools.cache
def blas_library() -> ctypes.CDLL | None:
    """Return NumPy's extension module, through which the symbols of its BLAS are found; None if it cannot be opened."""
    try:
        return ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    except (ImportError, OSError):
        return None


@functools.cache
def blas_threads() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return the functions of OpenBLAS that get and set the number of its threads; None for another library."""
    library = blas_library()
    for setter in BLAS_SETTERS:
        get, set = (getattr(library, name, None) for name in (setter.replace("_set_", "_get_"), setter))
        if get is not None and set is not None:
            set.argtypes, set.restype = [ctypes.c_int], None
            return get, set
    return None


@functools.cache
def openblas() -> tuple[int, ...]:
    """Return the addresses of OpenBLAS's functions that get and set the number of its threads, and that give and take
    back a buffer; 0 for those that are not found."""
    library = blas_library()
    buffers = [getattr(library, name, None) for name in ("blas_memory_alloc", "blas_memory_free")]
    return tuple(map(address_of, (*(blas_threads() or (None, None)), *buffers)))


def address_of(function: Any) -> int:
    """Return the address of a C function, 0 for None."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class _Worker(threading.local):
    """Whether this is a thread that `parallel_for` has started."""

    inside = False


_WORKER = _Worker()


def chunks(n: int, grain: int = GRAIN) -> list[tuple[int, int]]:
    """Disjoint ranges (begin, end) that cover range(n): one per thread, none shorter than the grain but the last."""
    if n <= 0:
        return []
    workers = min(THREADS.number, -(-n // max(1, grain)))
    step = -(-n // workers)
    step = -(-step // 64) * 64 if step > 64 else step
    return [(begin, min(begin + step, n)) for begin in range(0, n, step)]


def parallel_for(n: int, grain: int, body: Callable[[int, int], object]) -> None:
    """Call body(begin, end) on disjoint ranges covering range(n), in several threads when n exceeds the grain.

    Inside a worker thread everything runs in that thread. The first exception of a chunk reaches the caller after all
    chunks have ended.
    """
    if n <= 0:
        return
    if n <= grain or THREADS.number == 1 or _WORKER.inside:
        body(0, n)
        return
    first, *others = chunks(n, grain)
    failures: dict[int, BaseException] = {}

    def run(begin: int, end: int) -> None:
        try:
            body(begin, end)
        except BaseException as caught:
            failures[begin] = caught

    def work(begin: int, end: int) -> None:
        _WORKER.inside = True
        run(begin, end)

    threads = [threading.Thread(target=work, args=one) for one in others]
    for thread in threads:
        thread.start()
    run(*first)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[min(failures)]
