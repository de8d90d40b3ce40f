"""Pointwise calls on the simulated device that come again: with other tensors, numbers, dtypes, devices and streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import gaugeblock as gb
import pytest

from .cached import CACHED

CALLS: list[Callable[..., Any]] = [
    lambda x, y: x + y, lambda x, y: x - 2, lambda x, y: 2 - x, lambda x, y: gb.add(x, y, alpha=3),
    lambda x, y: gb.where(x > y, x, y), lambda x, y: gb.where(x > y, x, 7), lambda x, y: gb.addcmul(x, x, y, value=2),
    lambda x, y: x.clamp(1, 3), lambda x, y: x**2, lambda x, y: 2**x, lambda x, y: gb.lerp(x, y, 0.25),
    lambda x, y: x / y.sum(), lambda x, y: x.t() * y.t(), lambda x, y: x + y[0], lambda x, y: x.int() // 2,
    lambda x, y: gb.isclose(x, y), lambda x, y: x.exp(), lambda x, y: gb.div(x, y, rounding_mode="floor"),
    lambda x, y: gb.heaviside(x - 2, y), lambda x, y: x == y, lambda x, y: gb.polygamma(1, x),
]  # fmt: skip


@pytest.fixture(autouse=True)
def device() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 26)
    gb.cuda.use_driver(None)


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls_that_come_again(number: int) -> None:
    run = CALLS[number]
    for seed in range(4):
        x = gb.tensor([[1.0, 2.0, 4.0], [0.5, 3.0, 8.0]]) + seed
        y = gb.tensor([[2.0, 2.0, 1.0], [0.5, 7.0, 5.0]]) * (seed + 1)
        found, wanted = run(x.cuda(), y.cuda()), run(x, y)
        assert (found.tolist(), found.dtype, found.stride()) == (wanted.tolist(), wanted.dtype, wanted.stride())


@CACHED
def test_a_call_that_came_before_runs_no_kernel_on_meta_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = gb.ones(3, device="cuda"), gb.arange(3.0, device="cuda")
    assert (x * y).tolist() == [0, 1, 2]
    monkeypatch.setattr("gaugeblock.cuda.operators.fallback.meta_call", None)
    assert (y * x).tolist() == [0, 1, 2] and (y * (y * y)).tolist() == [0, 1, 8]


def test_one_tensor_twice_is_not_two() -> None:
    x, y = gb.full((2,), 3.0, device="cuda"), gb.full((2,), 5.0, device="cuda")
    assert (x * x).tolist() == [9, 9] and (x * y).tolist() == [15, 15] and (y * y).tolist() == [25, 25]


def test_zeros_have_signs() -> None:
    x = gb.ones(1, device="cuda")
    for zero in (0.0, -0.0, 0.0):
        assert math.copysign(1, (x * zero).item()) == math.copysign(1, zero)
    assert (x * True).dtype is gb.float32 and (x * 1).item() == 1
    assert (gb.arange(2, device="cuda") * 1.0).dtype is gb.float32
    assert math.isnan((x * math.nan).item()) and math.isnan((x * math.nan).item())


def test_the_default_dtype_counts() -> None:
    x = gb.arange(3, device="cuda")
    assert (x / 2).dtype is gb.float32
    gb.set_default_dtype(gb.float64)
    try:
        assert (x / 2).dtype is gb.float64
    finally:
        gb.set_default_dtype(gb.float32)
    assert (x / 2).dtype is gb.float32


def test_numbers_on_the_cpu_are_read_each_time() -> None:
    x = gb.ones(2, device="cuda")
    for value in (2.0, 3.0):
        assert (x * gb.tensor(value)).tolist() == [value, value]


def test_devices_and_drivers_stay_apart() -> None:
    for _ in range(2):
        for index in (0, 1):
            x = gb.ones(2, device=f"cuda:{index}")
            assert str((x + x.clone()).device) == f"cuda:{index}"
        with pytest.raises(RuntimeError, match="at least two devices"):
            gb.ones(2, device="cuda:0") + gb.ones(2, device="cuda:1")
    gb.cuda.use_driver("simulated")
    x = gb.ones(2, device="cuda")
    assert (x + x.clone()).tolist() == [2, 2]


def test_a_call_that_came_before_keeps_the_order_of_its_stream(device: Any) -> None:
    x, y = gb.ones(4, device="cuda"), gb.ones(4, device="cuda")
    assert (x + y).tolist() == [2] * 4
    side = gb.cuda.Stream()
    with gb.cuda.stream(side):
        device.enqueue(0, side.cuda_stream, lambda: None, nanoseconds=100_000)
        y.fill_(5)
        late = x + y
    early = x + y
    assert early.tolist() == [2] * 4
    side.synchronize()
    assert late.tolist() == [6] * 4


def test_a_tensor_without_memory_is_refused_again() -> None:
    x, y = gb.ones(4, device="cuda"), gb.ones(4, device="cuda")
    assert (x + y).tolist() == [2] * 4
    y.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError):
        (x + y).tolist()


def test_numbers_that_do_not_fit_are_refused_at_once() -> None:
    x, y = gb.ones(2, dtype=gb.int64, device="cuda"), gb.ones(2, device="cuda")
    calls: list[Callable[[Any], Any]] = [lambda v: x + v, lambda v: v - x, lambda v: x == v, lambda v: x.mul_(v)]
    calls += [lambda v: y + v, lambda v: v - y, lambda v: y < v, lambda v: y.clamp(max=v), lambda v: y.fill_(v)]
    for call in calls:
        call(1)
        call(1)
        for number in (1 << 64, -(1 << 63) - 1, 1 << 70):
            with pytest.raises(OverflowError, match=r"to convert|can't convert"):
                call(number)
    gb.cuda.synchronize()
    assert (x + ((1 << 63) - 2)).tolist() == [(1 << 63) - 1] * 2
