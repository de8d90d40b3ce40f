"""Threads of a kernel, and threads beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from hypothesis import strategies as hs

from ..forall import forall
from ..requirement import requirement
from ..session import Session

LONG = 200003


@contextmanager
def _threads(s: Session, count: int) -> Iterator[None]:
    """The number of threads, put back afterwards."""
    before = s.call("get_num_threads")
    s.call("set_num_threads", count)
    try:
        yield
    finally:
        s.call("set_num_threads", before)


@requirement("kernels/thread-count-can-be-set")
@forall(count=hs.integers(1, 64))
def test_count_is_kept(s: Session, count: int) -> None:
    with _threads(s, count):
        s.expect(s.call("get_num_threads"), count, "the number of threads")


@requirement("kernels/thread-count-can-be-set")
@forall(count=hs.integers(-(2**31), 0))
def test_no_threads(s: Session, count: int) -> None:
    before = s.call("get_num_threads")
    s.expect_raises(RuntimeError, "set_num_threads", count)
    s.expect(s.call("get_num_threads"), before, "the number of threads")


class _Ticker(threading.Thread):
    """Notes the longest time that it had to wait for its turn."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.running = threading.Event()
        self.done = False
        self.longest = 0.0

    def run(self) -> None:
        last = time.perf_counter()
        self.running.set()
        while not self.done:
            now = time.perf_counter()
            self.longest = max(self.longest, now - last)
            last = now


def _longest_wait(s: Session, operator: str, x: object, y: object) -> tuple[float, float]:
    """How long the call took, and how long the ticker stood still during it."""
    ticker = _Ticker()
    ticker.start()
    ticker.running.wait()
    started = time.perf_counter()
    s.guard(operator, lambda: s.backend.call(operator, x, y))
    took = time.perf_counter() - started
    ticker.done = True
    ticker.join()
    return took, ticker.longest


@requirement("kernels/host-lock-is-released", slow=True)
def test_ticker_beside_a_product(s: Session) -> None:
    """A lock that is held stops the ticker for the whole call; one that is released, for a time slice at most."""
    size, took, waited = 256, 0.0, 0.0
    while took < 0.2 and size < 8192:
        size *= 2
        x = s.call("ones", (size, size))
        took, waited = _longest_wait(s, "mm", x.raw, x.raw)
    shares = [waited / took]
    while shares[-1] > 0.5 and len(shares) < 4:
        took, waited = _longest_wait(s, "mm", x.raw, x.raw)
        shares.append(waited / took)
    if min(shares) > 0.5:
        message = f"another thread stood still for {min(shares):.0%} of a product of {size} rows"
        raise s.failure(message, "less than half", f"{min(shares):.0%}", [], cause="the host lock is held")


PLACES = (0, 1, 32767, 32768, 65536, 100001, LONG - 1)


@requirement("kernels/exceptions-in-workers-reach-the-caller")
def test_division_by_one_zero(s: Session) -> None:
    def row(s: Session, place: int) -> None:
        data = np.ones(LONG, np.int32)
        data[place] = 0
        x, divisors = s.tensor(np.arange(LONG, dtype=np.int32)), s.tensor(data)
        for count in (1, 2, 4):
            with _threads(s, count):
                s.expect_raises(RuntimeError, "floor_divide", x, divisors)
                s.expect_values(s.call("add.Scalar", x, 1), np.arange(1, LONG + 1, dtype=np.int32))

    s.table(PLACES, row)


@requirement("kernels/exceptions-in-workers-reach-the-caller", "kernels/indices-are-checked", needs=("index.adv",))
def test_one_index_outside(s: Session) -> None:
    def row(s: Session, place: int) -> None:
        data = np.zeros(LONG, np.int64)
        data[place] = 5
        x, index = s.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), s.tensor(data)
        for count in (1, 3):
            with _threads(s, count):
                s.expect_raises(IndexError, "index_select", x, 0, index)
                s.expect_raises(IndexError, "take", x, index)
                s.expect_raises(RuntimeError, "gather", x, 0, index)

    s.table(PLACES, row)


@requirement("kernels/every-index-has-one-worker")
@forall(length=hs.sampled_from((0, 1, 2, 63, 64, 65, 1000, 4097)), grain=hs.sampled_from((1, 7, 64, 1000)),
        count=hs.integers(1, 5))  # fmt: skip
def test_visits_of_a_shared_loop(s: Session, length: int, grain: int, count: int) -> None:
    with _threads(s, count):
        visits = s.call("visits_of_loop", length, grain)
        s.expect(list(visits), [1] * length, "visits of each index", repr(None))


@requirement("kernels/exceptions-in-workers-reach-the-caller")
@forall(failing=hs.integers(0, 4096), count=hs.integers(1, 4))
def test_exception_of_a_shared_loop(s: Session, failing: int, count: int) -> None:
    with _threads(s, count):
        s.expect_raises(LookupError, "visits_of_loop", 4097, 64, failing, match=f"index {failing} of the suite")


@requirement("kernels/every-index-has-one-worker")
@forall(count=hs.sampled_from((32767, 32768, 32769, 65537, 131073)), threads=hs.integers(1, 4), weight=0.1)
def test_every_element_is_added_to_once(s: Session, count: int, threads: int) -> None:
    data = np.arange(count, dtype=np.int32)
    x = s.tensor(data)
    with _threads(s, threads):
        s.call("add_.Scalar", x, 1) if "inplace" in s.capabilities else s.call("add.Scalar", x, 1)
    s.expect_values(x, data + 1 if "inplace" in s.capabilities else data)
