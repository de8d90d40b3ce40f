"""Large loops on several threads: the same bits for every number, faults, forks, and callers side by side."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels import pool
from gaugeblock.kernels.code import NAME
from gaugeblock.kernels.compiler import compiler

N = 300_007
X = np.random.default_rng(0).random(N).astype(np.float32)
Y = np.random.default_rng(1).random(N).astype(np.float32)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = gb.get_num_threads()
    yield
    gb.set_num_threads(before)


def results() -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    a, b = gb.from_numpy(X), gb.from_numpy(Y)
    square, other = (t[:250_000].reshape(500, 500) for t in (a, b))
    found = {
        "contiguous": a + b,
        "function": gb.exp(a),
        "strided": a[::2] + b[::2],
        "transposed": square.t() + other,
        "row": square + b[:500],
        "column": square + b[:500].reshape(500, 1),
        "three dims": a[:299_988].reshape(3, 4, 24_999).permute(2, 0, 1) + b[:299_988].reshape(24_999, 3, 4),
        "rows in one piece": gb.softmax(square, -1),
        "scan": gb.cumsum(square, 0),
        "one scan": gb.cumsum(a, 0),
        "written through strides": gb.zeros(2 * N)[::2].copy_(a),
        "picked": gb.gather(a, 0, gb.arange(N - 1, -1, -1)),
    }
    return {name: tensor.numpy().copy() for name, tensor in found.items()}


def test_the_same_bits_for_every_number_of_threads() -> None:
    gb.set_num_threads(1)
    alone = results()
    assert np.array_equal(alone["contiguous"], X + Y)
    assert np.array_equal(alone["strided"], X[::2] + Y[::2])
    assert np.array_equal(alone["picked"], X[::-1])
    for count in (2, 3, 8):
        gb.set_num_threads(count)
        for name, found in results().items():
            assert np.array_equal(found, alone[name]), (count, name)


def test_a_fault_in_any_part_is_raised() -> None:
    gb.set_num_threads(3)
    divisor = gb.ones(N, dtype=gb.int32)
    divisor[-1] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        gb.div(gb.ones(N, dtype=gb.int32), divisor, rounding_mode="trunc")
    divisor[-1] = 1
    assert gb.div(gb.ones(N, dtype=gb.int32), divisor, rounding_mode="trunc").sum().item() == N


def test_without_threads_the_caller_does_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool.os, "name", "other")
    addresses = compiler().load_all(pool.text(NAME), ("_run", "_set", "_forget"))
    alone = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(addresses[0])
    seen: list[int] = []
    part = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int64)(lambda _, k: seen.append(k) or k == 3)
    assert alone(part, None, 3) is False
    assert alone(part, None, 5) is True
    assert seen == [0, 1, 2, 0, 1, 2, 3, 4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_hires_its_own_threads() -> None:
    gb.set_num_threads(2)
    assert np.array_equal((gb.from_numpy(X) + gb.from_numpy(Y)).numpy(), X + Y)
    child = os.fork()
    if not child:
        right = np.array_equal((gb.from_numpy(X) * gb.from_numpy(Y)).numpy(), X * Y)
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_callers_side_by_side() -> None:
    gb.set_num_threads(2)
    a, b = gb.from_numpy(X), gb.from_numpy(Y)
    wrong: list[int] = []

    def call(number: int) -> None:
        for _ in range(20):
            if not np.array_equal((a + b).numpy(), X + Y):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
