"""Threads of loops in Python: what runs in them, and when a program counts as single-threaded."""

from __future__ import annotations

import subprocess
import sys
import threading

import gaugeblock as gb
import pytest
from gaugeblock.kernels import parallel

WAITING = """
import os
import sys
import threading
import time
import gaugeblock as gb

alone = sys.modules["gaugeblock.tensor.changing"].alone
gb.set_num_threads(4)


def alone_in_the_end():
    # A thread whose share another one took over may still be starting.
    deadline = time.monotonic() + 60
    while not alone() and time.monotonic() < deadline:
        time.sleep(0.001)
    return alone()


print("nothing started", alone())
inside = []
gb.kernel_tools.parallel_for(4, 1, lambda begin, end: begin and inside.append(alone()))
print("work going on", any(inside))
print("work done", alone_in_the_end())
child = os.fork()
if not child:
    seen = alone()
    gb.kernel_tools.parallel_for(4, 1, lambda begin, end: None)
    os._exit(10 * seen + alone_in_the_end())
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
go = threading.Event()
other = threading.Thread(target=go.wait)
other.start()
print("another thread", alone())
go.set()
other.join()
"""


@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="forks")
def test_threads_that_wait_for_work_are_no_company() -> None:
    done = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == [
        "nothing started True",
        "work going on False",
        "work done True",
        "child 11",
        "another thread False",
    ]


def test_a_resize_beside_waiting_threads_changes_no_class() -> None:
    gb.kernel_tools.parallel_for(4, 1, lambda begin, end: None)
    x = gb.ones((3,))
    y = x.view(3)
    x.resize_(10_000)
    assert type(y) is gb.Tensor
    assert y.tolist() == [1.0, 1.0, 1.0]
    assert y.data_ptr() == x.data_ptr()


def test_a_loop_inside_of_a_thread_of_a_loop_is_not_shared_out() -> None:
    before, found = gb.get_num_threads(), []

    def body(begin: int, end: int) -> None:
        own = threading.get_ident()
        if own != main:
            gb.kernel_tools.parallel_for(4, 1, lambda *_: found.append(threading.get_ident() == own))

    main = threading.get_ident()
    gb.set_num_threads(2)
    try:
        gb.kernel_tools.parallel_for(2, 1, body)
    finally:
        gb.set_num_threads(before)
    assert found == [True]


def test_workers_wait_long_where_each_has_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    threads = parallel._Threads()
    threads.native = parallel.NativePool(lambda number, spins: told.append((number, spins)), lambda: None)
    monkeypatch.setattr(parallel, "THREADS", threads)
    monkeypatch.setattr(parallel, "blas_library", lambda: None)
    assert threads.spins == parallel.IDLE_SPINS
    for number in (1, threads.processors, threads.processors + 1):
        parallel.set_num_threads(number)
    long, short = parallel.IDLE_SPINS, parallel.SPINS
    assert told == [(1, long), (threads.processors, long), (threads.processors + 1, short)]
