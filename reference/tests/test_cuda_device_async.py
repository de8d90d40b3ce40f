"""What calls on the simulated CUDA device wait for: nothing, unless they show values; and where errors come out."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    gc.collect()
    assert [gb.cuda.memory_allocated(index) for index in (0, 1)] == [0, 0]
    gb.cuda.use_driver(None)


def peek(x: Any) -> list[float]:
    """What lies in the memory of a float32 tensor now."""
    return list((ctypes.c_float * x.numel()).from_address(x.data_ptr()))


def test_a_launch_does_not_wait() -> None:
    x = gb.ones(4, device="cuda")
    gb.cuda.synchronize()
    x.add_(1)
    y = x * 3
    assert peek(x) == [1.0] * 4 and not gb.cuda.current_stream().query()
    gb.cuda.synchronize()
    assert peek(x) == [2.0] * 4 and peek(y) == [6.0] * 4 and gb.cuda.current_stream().query()


@pytest.mark.parametrize(
    "show",
    [lambda x: x[0].item(), lambda x: x.tolist(), lambda x: x.cpu(), repr, lambda x: bool(x[0]), lambda x: x.nonzero(),
     lambda x: gb.equal(x, x), lambda x: x[x > 0], lambda x: x.to("cpu"), lambda x: gb.empty(4).copy_(x),
     lambda x: x.untyped_storage().tolist(), lambda x: 2.0 in x, lambda x: f"{x[0]:.1f}", lambda x: x.unique()],
)  # fmt: skip
def test_what_shows_values_waits(show: Any) -> None:
    x = gb.zeros(4, device="cuda")
    gb.cuda.synchronize()
    x.add_(2)
    assert peek(x) == [0.0] * 4
    show(x)
    assert peek(x) == [2.0] * 4


def test_streams_run_side_by_side_and_events_order_them(driver: Any) -> None:
    side, x = gb.cuda.Stream(), gb.zeros(4, device="cuda")
    gb.cuda.synchronize()
    with gb.cuda.stream(side):
        x.add_(1)
    early = x.clone()
    assert not side.query()
    marked = side.record_event()
    gb.cuda.current_stream().wait_event(marked)
    late = x.clone()
    assert (early.tolist(), late.tolist()) == ([0.0] * 4, [1.0] * 4)
    side.wait_stream(gb.cuda.current_stream())
    start, end = gb.cuda.Event(enable_timing=True), gb.cuda.Event(enable_timing=True)
    start.record(side)
    with gb.cuda.stream(side):
        x.mul_(2)
    end.record(side)
    end.synchronize()
    assert 0.001 < start.elapsed_time(end) < 1.0 and peek(x) == [2.0] * 4


def test_a_freed_block_is_used_again_in_the_order_of_its_stream() -> None:
    x = gb.ones(4, device="cuda")
    y = x + 1
    address = x.data_ptr()
    del x
    z = gb.full((4,), 7.0, device="cuda")
    assert z.data_ptr() == address
    assert y.tolist() == [2.0] * 4 and z.tolist() == [7.0] * 4


def test_the_error_of_a_kernel_comes_out_of_the_next_wait() -> None:
    x, index = gb.arange(3.0, device="cuda"), gb.tensor([7], device="cuda")
    taken = x.index_select(0, index)
    doubled = x * 2
    with pytest.raises(gb.cuda.DeferredError, match=r"index_select failed on cuda:0 after .*index 7") as raised:
        gb.cuda.synchronize()
    assert isinstance(raised.value, RuntimeError) and isinstance(raised.value.__cause__, IndexError)
    assert doubled.tolist() == [0.0, 2.0, 4.0] and taken.shape == (1,)
    for wait in (doubled.tolist, gb.cuda.current_stream().synchronize, doubled.nonzero, lambda: doubled.copy_(x.cpu())):
        x.take(index)
        with pytest.raises(gb.cuda.DeferredError, match="take failed"):
            wait()
    gb.cuda.synchronize(1)
    del raised


def test_errors_that_need_no_values_come_at_once() -> None:
    x = gb.ones(3, device="cuda")
    for call in (lambda: x + gb.ones(2, device="cuda"), lambda: x.sum(5), lambda: x.view(2, 2), lambda: x.mm(x)):
        with pytest.raises((RuntimeError, IndexError)):
            call()
    gb.cuda.synchronize()
    with pytest.raises(RuntimeError, match="singular"):
        gb.linalg.inv(gb.zeros(2, 2, device="cuda"))


def test_the_default_dtype_of_the_call_counts() -> None:
    x = gb.ones(2, dtype=gb.int64, device="cuda")
    gb.set_default_dtype(gb.float64)
    try:
        y = x / 3
    finally:
        gb.set_default_dtype(gb.float32)
    assert y.dtype is gb.float64 and y.tolist() == [1 / 3, 1 / 3] and gb.get_default_dtype() is gb.float32


def test_what_the_kernels_run_in_is_not_the_callers_state() -> None:
    x = gb.ones(2, device="cuda", requires_grad=True)
    with gb.no_grad():
        quiet = x * 2
    loud = x * 2
    assert not quiet.requires_grad and loud.requires_grad
    with gb.inference_mode():
        inside = x * 2
        assert loud.tolist() == [2.0, 2.0]
    assert inside.is_inference() and not (x * 3).is_inference() and inside.tolist() == [2.0, 2.0]


def test_values_learnt_on_the_cpu_do_not_serve_the_device() -> None:
    for _ in range(3):
        here, there = gb.tensor([1.0, 2.0]), gb.tensor([1.0, 2.0], device="cuda")
        for x in (here, there):
            pairs = [(x + x), (x + 1), x.exp(), x.clone(), gb.cat([x, x]), x.sum(), x[0], x.softmax(0), x.to(gb.int32)]
            assert pairs[0].tolist() == [2.0, 4.0] and gb.equal(x, x.clone()) and gb.norm(x).item() > 2
            assert [one.device for one in pairs] == [x.device] * len(pairs)


def test_a_write_that_refuses_its_indices_counts_no_change() -> None:
    x, wrong = gb.zeros(3, 3, device="cuda"), gb.full((3, 3), 7, device="cuda")
    calls: list[Any] = [
        lambda: x.scatter_(0, wrong, x.clone()), lambda: x.index_add_(0, wrong[0], x.clone()),
        lambda: x.index_fill_(0, wrong[0], 2), lambda: x.index_put_((wrong,), gb.zeros(3, device="cuda")),
    ]  # fmt: skip
    for call in calls:
        call()
        with pytest.raises(gb.cuda.DeferredError):
            gb.cuda.synchronize()
        assert x._version == 0 and x.tolist() == [[0.0] * 3] * 3
    calls[0]()
    x.add_(1)
    with pytest.raises(gb.cuda.DeferredError):
        gb.cuda.synchronize()
    assert x._version == 2
    table, before = gb.ones(4, 3, device="cuda"), gb.cuda.memory_allocated()
    table.index_fill_(0, wrong[0], 2)
    del table
    assert gb.cuda.memory_allocated() == before - 512
    with pytest.raises(gb.cuda.DeferredError):
        gb.cuda.synchronize()


def test_operators_in_place_alone_count_a_change() -> None:
    x = gb.arange(15.0, device="cuda").reshape(5, 3)
    gb.ops.aten.embedding_renorm_(x, gb.tensor([0, 3, 2], device="cuda"), 2.0, 2.0)
    assert x._version == 1 and x[3].norm().item() == pytest.approx(2.0)
