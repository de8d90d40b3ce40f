"""Threads of a kernel, and threads beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import DType, Unsupported
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..threads import expect_alone, expect_shared, threads

_MEASURED = NoReproducer("times are measured")

LONG = 200003


@requirement("kernels/thread-count-can-be-set")
@forall(count=hs.integers(1, 64))
def test_count_is_kept(s: Session, count: int) -> None:
    with threads(s, count):
        s.expect(s.call("get_num_threads"), count, "the number of threads")


@requirement("kernels/thread-count-can-be-set")
def test_long_kernels_use_as_many_threads(s: Session) -> None:
    """Operators use the number of threads that was set: with 1, only the caller's."""

    def row(s: Session, operator: str, operands: int) -> None:
        if s.backend.device.partition(":")[0] != "cpu" or not s.has_data:
            raise Unsupported("set_num_threads", "the number of threads applies to CPU tensors only")
        x = s.call("ones", (2**20,))
        given = [x.raw] * operands
        s.call(operator, *[x] * operands)
        for count in (3, 1, 2):
            with threads(s, count):
                what = f"{operator} of a million elements on {count} threads"
                expect = expect_alone if count == 1 else expect_shared
                expect(s, lambda: s.backend.call(operator, *given), what)

    s.table([("add.Tensor", 2), ("neg", 1), ("exp", 1)], row)


@requirement("kernels/thread-count-can-be-set", needs=("codegen",))
@forall(count=hs.integers(1, 8))
def test_shared_loop_uses_as_many_threads(s: Session, count: int) -> None:
    with threads(s, count):
        for length in (1, count, 3 * count):
            s.expect(s.call("threads_of_loop", length), min(length, count), "threads of a shared loop")


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


def _longest_wait(s: Session, operator: str, given: Sequence[Any]) -> tuple[float, float]:
    """Return the time that the call took and the longest time that the ticker was blocked meanwhile."""
    ticker = _Ticker()
    ticker.start()
    ticker.running.wait()
    started = time.perf_counter()
    s.guard(operator, lambda: s.backend.call(operator, *given))
    took = time.perf_counter() - started
    ticker.done = True
    ticker.join()
    return took, ticker.longest


# Operators with loops of their own, and their arguments as a function of a size, in about millions of elements. Their
# work grows in proportion to the size, by which the next one is chosen.
_LOOPS: tuple[tuple[str, Callable[[Session, int], tuple[Any, ...]]], ...] = (
    ("mm", lambda s, n: (s.call("ones", (2**15 * n, 512)), s.call("ones", (512, 512)))),
    ("exp", lambda s, n: (s.call("ones", (2**20 * n,)),)),
    ("add.Tensor", lambda s, n: (s.call("ones", (2**12, 2**8 * n)), s.call("t", s.call("ones", (2**8 * n, 2**12))))),
    ("sum", lambda s, n: (s.call("expand", s.call("ones", (2**10,)), (2**13 * n, 2**10)),)),
    ("cumsum", lambda s, n: (s.call("ones", (2**20 * n,)), 0)),
    ("clone", lambda s, n: (s.call("t", s.call("ones", (2**10, 2**10 * n))),)),
    ("sort", lambda s, n: (s.call("sin", s.call("arange", 2**18 * n)),)),
    ("gather", lambda s, n: (s.call("ones", (1, 2**10)), 0, s.call("zeros", (2**10 * n, 2**10), dtype=DType("int64")))),
)
# Shortest call in seconds that spans many turns of the ticker, the largest size to reach it, and the number of tries
# for a call that blocked the ticker.
_LONG_CALL, _LARGEST, _TRIES = 0.04, 32, 12


@requirement("kernels/host-lock-is-released", slow=True)
def test_ticker_beside_a_kernel(s: Session) -> None:
    """A held lock blocks the ticker for the whole call; a released lock blocks it for at most a time slice."""

    def row(s: Session, operator: str, make: Callable[[Session, int], tuple[Any, ...]]) -> None:
        shares: list[float] = []
        size, took = 1, 0.0
        while (not shares or min(shares) > 0.5) and len(shares) < _TRIES:
            given = [a.raw if isinstance(a, Handle) else a for a in make(s, size)]
            took, waited = _longest_wait(s, operator, given)
            if took >= _LONG_CALL or size == _LARGEST:
                shares.append(waited / took)
            else:
                size = min(_LARGEST, max(2 * size, round(size * 1.5 * _LONG_CALL / took)))
        if min(shares) > 0.5:
            message = f"another thread stood still for {min(shares):.0%} of {operator}, which took {took:.2g} s"
            raise s.failure(message, "less than half", f"{min(shares):.0%}", _MEASURED, cause="the host lock is held")

    s.table(_LOOPS, row)


PLACES = (0, 1, 32767, 32768, 65536, 100001, LONG - 1)


@requirement("kernels/exceptions-in-workers-reach-the-caller")
def test_division_by_one_zero(s: Session) -> None:
    def row(s: Session, place: int) -> None:
        data = np.ones(LONG, np.int32)
        data[place] = 0
        x, divisors = s.tensor(np.arange(LONG, dtype=np.int32)), s.tensor(data)
        for count in (1, 2, 4):
            with threads(s, count):
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
            with threads(s, count):
                s.expect_raises(IndexError, "index_select", x, 0, index)
                s.expect_raises(IndexError, "take", x, index)
                s.expect_raises(RuntimeError, "gather", x, 0, index)

    s.table(PLACES, row)


@requirement("kernels/every-index-has-one-worker")
@forall(length=hs.sampled_from((0, 1, 2, 63, 64, 65, 1000, 4097)), grain=hs.sampled_from((1, 7, 64, 1000)),
        count=hs.integers(1, 5))  # fmt: skip
def test_visits_of_a_shared_loop(s: Session, length: int, grain: int, count: int) -> None:
    with threads(s, count):
        visits = s.call("visits_of_loop", length, grain)
        s.expect_of_last(list(visits), [1] * length, "visits of each index", "list({})")


@requirement("kernels/exceptions-in-workers-reach-the-caller")
@forall(failing=hs.integers(0, 4096), count=hs.integers(1, 4))
def test_exception_of_a_shared_loop(s: Session, failing: int, count: int) -> None:
    with threads(s, count):
        s.expect_raises(LookupError, "visits_of_loop", 4097, 64, failing, match=f"index {failing} of the suite")


@requirement("kernels/every-index-has-one-worker")
@forall(count=hs.sampled_from((32767, 32768, 32769, 65537, 131073)), several=hs.integers(1, 4), weight=0.1)
def test_every_element_is_added_to_once(s: Session, count: int, several: int) -> None:
    data = np.arange(count, dtype=np.int32)
    x = s.tensor(data)
    with threads(s, several):
        s.call("add_.Scalar", x, 1) if "inplace" in s.capabilities else s.call("add.Scalar", x, 1)
    s.expect_values(x, data + 1 if "inplace" in s.capabilities else data)
