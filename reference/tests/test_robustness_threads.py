"""Threads: first uses at the same time, shared pools of memory, and a fork beside them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.memory import host_allocator

FIRST_USES = """
import sys, threading
sys.setswitchinterval(1e-6)
import gaugeblock as gb
start = threading.Barrier(8)
results = []
def work(k):
    start.wait()
    x = gb.arange(100, dtype=gb.float32) + k
    y = (x * 2 - x).abs().clone().fill_(k)
    results.append(((x.sum() - 4950 - 100 * k).item(), y.max().item() - k, x.t().contiguous().exp().numel() - 100))
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert results == [(0.0, 0.0, 0)] * 8, results
"""


def test_first_uses_at_once() -> None:
    for _ in range(3):
        subprocess.run([sys.executable, "-c", FIRST_USES], check=True, timeout=120)


def test_values_do_not_mix() -> None:
    wrong: list[tuple[int, int]] = []

    def work(k: int) -> None:
        rng = np.random.default_rng(k)
        for _ in range(60):
            count = int(rng.integers(1, 3000))
            a = rng.integers(-100, 100, count).astype(np.float32)
            x = gb.from_numpy(a)
            y = (x + 1) * 2 - x
            z = gb.empty(0)
            z.resize_(count).copy_(y).add_(k)
            if not ((y.numpy() == a + 2).all() and (z.numpy() == a + 2 + k).all() and x.sum().item() == a.sum()):
                wrong.append((k, count))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    for blocks in host_allocator.pools:
        assert len(blocks) == len(set(blocks))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_computes() -> None:
    x = gb.ones(1_000_000)
    (x + x).sum()
    child = os.fork()
    if not child:
        fine = (x + x).sum().item() == 2e6 and gb.tanh(gb.zeros(7)).tolist() == [0.0] * 7
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
