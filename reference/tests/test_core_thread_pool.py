"""The pool of Python threads: what runs in it, and when a program counts as single-threaded."""

from __future__ import annotations

import subprocess
import sys
import threading

import gaugeblock as gb
import pytest
from gaugeblock.core.thread_pool import ThreadPool

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


def test_what_a_submitted_call_returns_and_raises() -> None:
    pool = ThreadPool()
    assert not pool.is_inside()
    assert pool.submit(pool.is_inside).result(60) is True
    assert pool.submit(divmod, 7, 2).result(60) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 7, 0).result(60)


def test_a_pool_with_work_is_not_waiting() -> None:
    pool, go = ThreadPool(), threading.Event()
    future = pool.submit(go.wait, 60)
    assert pool.waiting() == -1
    go.set()
    assert future.result(60) is True
