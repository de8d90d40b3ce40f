"""Limits on the number of threads, and measurement of whether a call uses other threads than the caller's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .failure import NoReproducer
from .session import Session

_MEASURED = NoReproducer("times are measured")

# Share of a call's processor time above which other threads count as at work and not as noise.
SHARE = 0.05
_TRIES = 10
# Shortest time in seconds of the calls of one try: on a busy machine a thread may wait for milliseconds until it runs,
# while a single call is over sooner.
_LASTING = 0.03
_STILL_NS = 200_000


@contextmanager
def threads(s: Session, count: int) -> Iterator[None]:
    """Set the number of threads, and restore it afterwards."""
    before = s.call("get_num_threads")
    s.call("set_num_threads", count)
    try:
        yield
    finally:
        s.call("set_num_threads", before)


def expect_alone(s: Session, call: Callable[[], object], what: str) -> None:
    """Expect that in at least one of several tries ``call`` takes processor time on the caller's thread alone."""
    shares = _shares(call, lambda share: share < SHARE)
    if min(shares) >= SHARE:
        message = f"{what} runs on other threads: they take {min(shares):.0%} of its processor time"
        raise s.failure(message, f"less than {SHARE:.0%}", f"{min(shares):.0%}", _MEASURED, cause="too many threads")


def expect_shared(s: Session, call: Callable[[], object], what: str) -> None:
    """Expect that in at least one of several tries ``call`` also takes processor time on other threads."""
    shares = _shares(call, lambda share: share >= SHARE)
    if max(shares) < SHARE:
        message = f"{what} runs on one thread: others take {max(shares):.0%} of its processor time"
        raise s.failure(message, f"{SHARE:.0%} or more", f"{max(shares):.0%}", _MEASURED, cause="too few threads")


def _shares(call: Callable[[], object], enough: Callable[[float], bool]) -> list[float]:
    """Return the share of the processor time that other threads took in each try, up to one that is ``enough``.

    A try calls again and again for ``_LASTING`` seconds.
    """
    shares: list[float] = []
    while len(shares) < _TRIES and not any(map(enough, shares)):
        _settle()
        before, own = _others(), time.thread_time_ns()
        until = time.perf_counter() + _LASTING
        while True:
            call()
            if time.perf_counter() >= until:
                break
        own = time.thread_time_ns() - own
        # The processor time of a running thread is counted when it stops.
        _settle()
        others = _others() - before
        shares.append(others / max(others + own, 1))
    return shares


def _others() -> int:
    return time.process_time_ns() - time.thread_time_ns()


def _settle() -> None:
    """Wait briefly until no thread is running: the threads of a pool may spin while they wait for work."""
    for _ in range(100):
        before = time.process_time_ns()
        time.sleep(0.002)
        if time.process_time_ns() - before < _STILL_NS:
            return
