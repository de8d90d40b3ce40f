"""CUDA graphs on the simulated driver: captured work is not done, replays do it on the same addresses."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.cuda.driver.protocol import DriverError
from gaugeblock_testing.cuda_simulator import SimulatedDriver


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    gb.cuda.use_driver(None)


def captured(work: Any, **options: Any) -> tuple[Any, Any]:
    """A graph of ``work()``, and what that gave."""
    made = gb.cuda.CUDAGraph()
    with gb.cuda.graph(made, **options):
        result = work()
    return made, result


def test_captured_work_is_not_done_and_replays_read_what_lies_there() -> None:
    x = gb.full((4,), 2.0, device="cuda")
    y = gb.zeros(4, device="cuda")
    made, z = captured(lambda: y.copy_(x * 3).add_(1).exp().log().sum())
    assert y.tolist() == [0.0] * 4
    for value in (2.0, 5.0):
        x.fill_(value)
        made.replay()
        assert y.tolist() == [value * 3 + 1] * 4
        assert z.item() == pytest.approx(4 * (value * 3 + 1), rel=1e-5)


def test_forward_and_backward_and_a_step() -> None:
    gb.manual_seed(0)
    w = gb.randn(3, 2, device="cuda", requires_grad=True)
    x = gb.randn(5, 3, device="cuda")
    w.grad = gb.zeros(3, 2, device="cuda")

    def step() -> Any:
        w.grad.zero_()
        loss = (x @ w).tanh().square().mean()
        loss.backward()
        with gb.no_grad():
            w.sub_(w.grad, alpha=0.5)
        return loss.detach()

    start = w.detach().cpu()
    made, loss = captured(step)
    assert gb.equal(w.detach().cpu(), start)
    losses = []
    for _ in range(3):
        made.replay()
        losses.append(loss.item())
    with gb.no_grad():
        w.copy_(start)
    eager = [step().item() for _ in range(3)]
    assert losses == eager and losses[0] > losses[1] > losses[2]


def test_memory_is_a_private_pool_until_reset() -> None:
    x = gb.ones(1 << 20, device="cuda")
    before = gb.cuda.memory_allocated()
    made, y = captured(lambda: (x + 1) * 2)
    segments = [one for one in gb.cuda.memory_snapshot() if tuple(one["segment_pool_id"]) == made.pool()]
    assert sum(one["total_size"] for one in segments) >= 2 * 4 << 20
    assert gb.cuda.memory_allocated() == before + (4 << 20)
    others = gb.zeros(1 << 20, device="cuda")
    made.replay()
    assert y[0].item() == 4 and others[0].item() == 0
    gb.cuda.empty_cache()
    assert made.pool() in [tuple(one["segment_pool_id"]) for one in gb.cuda.memory_snapshot()]
    pool = made.pool()
    made.reset()
    del y, others
    gb.cuda.empty_cache()
    assert pool not in [tuple(one["segment_pool_id"]) for one in gb.cuda.memory_snapshot()]


def test_graphs_may_share_a_pool() -> None:
    x = gb.ones(1000, device="cuda")
    first, y = captured(lambda: x + 1)
    second, z = captured(lambda: y * 5, pool=first.pool())
    assert second.pool() == first.pool()
    first.replay()
    second.replay()
    assert z[0].item() == 10
    pool = gb.cuda.MemPool()
    third, _ = captured(lambda: x * 7, pool=pool)
    assert third.pool() == pool.id
    fourth, _ = captured(lambda: x * 7, pool=gb.cuda.graph_pool_handle())
    assert fourth.pool() not in (first.pool(), pool.id)


def test_other_streams_join_and_are_joined() -> None:
    x = gb.ones(8, device="cuda")
    side = gb.cuda.Stream()

    def work() -> Any:
        y = x * 2
        side.wait_stream(gb.cuda.current_stream())
        with gb.cuda.stream(side):
            assert gb.cuda.is_current_stream_capturing()
            z = y + 1
        w = y * 10
        gb.cuda.current_stream().wait_stream(side)
        return z + w

    made, result = captured(work)
    assert not gb.cuda.is_current_stream_capturing()
    made.replay()
    assert result.tolist() == [23.0] * 8
    with pytest.raises(DriverError, match="does not wait for") as failure:
        captured(lambda: (side.wait_stream(gb.cuda.current_stream()), enqueue_on(side)))
    assert failure.value.code == "cudaErrorStreamCaptureUnjoined"
    assert (x + 1).tolist() == [2.0] * 8


def enqueue_on(stream: Any) -> None:
    with gb.cuda.stream(stream):
        gb.zeros(2, device="cuda")


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (lambda x: x.tolist(), "cudaErrorStreamCaptureUnsupported"),
        (lambda x: gb.cuda.synchronize(), "cudaErrorStreamCaptureUnsupported"),
        (lambda x: gb.cuda.current_stream().query(), "cudaErrorStreamCaptureUnsupported"),
        (lambda x: x.copy_(gb.ones(3)), "cudaErrorStreamCaptureUnsupported"),
        (lambda x: gb.cuda.current_stream().wait_stream(gb.cuda.default_stream()), "cudaErrorStreamCaptureIsolation"),
    ],
)
def test_what_would_have_to_wait_is_refused_and_ends_the_capture(work: Any, code: str) -> None:
    x = gb.ones(3, device="cuda")
    made = gb.cuda.CUDAGraph()
    with pytest.raises(DriverError, match="not permitted while a graph is captured") as failure, gb.cuda.graph(made):
        work(x)
    assert failure.value.code == code
    with pytest.raises(RuntimeError, match="nothing was captured"):
        made.replay()
    with pytest.raises(DriverError, match="came to nothing when"):
        captured(lambda: swallowed(work, x))
    assert x.tolist() == [1.0] * 3


def swallowed(work: Any, x: Any) -> None:
    with pytest.raises(DriverError):
        work(x)


def test_random_numbers_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"randn\(\)|normal_\(\): a graph cannot draw random numbers"):
        captured(lambda: gb.randn(3, device="cuda"))


def test_wrong_calls() -> None:
    made = gb.cuda.CUDAGraph()
    for call, reason in (
        (made.replay, "nothing was captured"), (made.capture_end, "no capture of this graph"), (made.pool, "no pool"),
        (made.capture_begin, "default stream"), (lambda: made.capture_begin(capture_error_mode="x"), "got 'x'"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=reason):
            call()
    with pytest.raises(TypeError, match="must be CUDAGraph, not int"):
        gb.cuda.graph(7)
    made, _ = captured(lambda: gb.zeros(1, device="cuda"))
    with pytest.raises(RuntimeError, match="call reset"), gb.cuda.graph(made):
        pass
    made.reset()
    made.reset()
    with gb.cuda.graph(made):
        x = gb.ones(2, device="cuda")
    made.replay()
    assert x.tolist() == [1.0, 1.0]
    gb.cuda.use_driver("simulated")
    with pytest.raises(RuntimeError, match="another driver"):
        made.replay()


def test_a_graph_that_is_gone_gives_its_memory_back() -> None:
    made, y = captured(lambda: gb.zeros(1 << 20, device="cuda"))
    del y, made
    gc.collect()
    gb.cuda.empty_cache()
    assert gb.cuda.memory_reserved() == 0


def test_branches_run_side_by_side() -> None:
    device = SimulatedDriver()
    first, second = device.stream_create(0), device.stream_create(0)
    fork, join = device.event_create(0), device.event_create(0)
    done: list[str] = []
    device.capture_begin(0, first)
    device.enqueue(0, first, lambda: done.append("a"), nanoseconds=10)
    device.event_record(0, fork, first)
    device.stream_wait_event(0, second, fork)
    device.enqueue(0, second, lambda: done.append("long"), nanoseconds=100)
    device.enqueue(0, first, lambda: done.append("short"), nanoseconds=20)
    device.event_record(0, join, second)
    device.stream_wait_event(0, first, join)
    device.enqueue(0, first, lambda: done.append("z"), nanoseconds=5)
    graph = device.capture_end(0, first)
    device.synchronize(0)
    assert done == [] and device.now == 0
    for _ in range(2):
        device.graph_launch(0, graph, 0)
    device.advance(10)
    assert done == ["a"]
    device.synchronize(0)
    assert done == ["a", "short", "long", "z"] * 2 and device.now == 2 * 115
    device.graph_destroy(0, graph)
    with pytest.raises(DriverError, match="living graph"):
        device.graph_launch(0, graph, 0)
    with pytest.raises(DriverError, match="capture began on"):
        device.capture_end(0, first)


def test_a_capture_within_a_capture_is_refused() -> None:
    device = SimulatedDriver()
    stream = device.stream_create(0)
    device.capture_begin(0, stream)
    with pytest.raises(DriverError, match="captured already"):
        device.capture_begin(0, stream)
    with pytest.raises(DriverError, match="came to nothing when capture_begin"):
        device.capture_end(0, stream)
