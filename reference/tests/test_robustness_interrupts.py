"""Ctrl-C: long calls answer it, none is lost in finalisers, and nothing that is not finite goes to LAPACK."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator

import gaugeblock as gb
import pytest
from gaugeblock.core.away import LONG, away
from gaugeblock.core.warn import warn

INF, NAN = math.inf, math.nan
CALLS: dict[str, Callable[[], object]] = {
    "any": lambda: gb.zeros(1, dtype=gb.bool).expand(2**36).any(),
    "sum": lambda: gb.ones(1).expand(2**36).sum(),
    "svd": lambda: [gb.linalg.svd(gb.rand(700, 700, dtype=gb.float64)) for _ in range(100)],
    "lgamma": lambda: [gb.lgamma(gb.full((10**6,), 2.3)) for _ in range(2000)],
}


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Take SIGINT even where the process was started with the signal ignored, as shells start background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_is_interrupted(name: str) -> None:
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    timer = threading.Timer(0.3, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        CALLS[name]()
    assert time.monotonic() - sent[0] < 5
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(60)
    assert (gb.ones(100_000) + 1).sum().item() == 200_000


def test_finalisers_of_storages_run_no_python_code() -> None:
    _ = gb.ones(3) + 1
    assert type(type(gb.ones(3).untyped_storage().storage_impl).__dict__["__del__"]).__name__ == "method_descriptor"


def test_what_a_call_raises_in_another_thread_is_raised_here() -> None:
    assert away(LONG, threading.get_ident) != threading.get_ident() == away(0, threading.get_ident)
    with pytest.raises(ZeroDivisionError):
        away(LONG, divmod, 1, 0)


def test_a_long_call_finds_the_state_of_its_thread() -> None:
    with gb.no_grad(), gb.inference_mode():
        assert away(LONG, gb.is_grad_enabled) is False
        assert away(LONG, gb.is_inference_mode_enabled) is True
    assert away(LONG, gb.is_grad_enabled) is True


def test_a_long_call_is_recorded_and_gives_its_gradient() -> None:
    x = gb.rand(1 << 21, requires_grad=True)
    values = x.flip(0).cumsum(0)
    values[-1].backward()
    assert values.requires_grad
    assert gb.equal(x.grad, gb.ones(1 << 21))


def test_a_warning_of_a_long_call_points_at_its_caller() -> None:
    with pytest.warns(UserWarning, match="here") as found:
        away(LONG, warn, "here")
    assert found[0].filename == __file__


def test_a_call_that_nobody_waits_for_ends() -> None:
    begun, ended = threading.Event(), threading.Event()

    def call() -> None:
        try:
            begun.set()
            while True:
                time.sleep(0.01)
        finally:
            ended.set()

    def send() -> None:
        begun.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=send).start()
    with pytest.raises(KeyboardInterrupt):
        away(LONG, call)
    assert ended.wait(5)


@pytest.mark.parametrize("sizes", [(3 << 20,), (3 << 19, 2), (2, 3 << 20), (3, 2, 3 << 19)])
def test_lists_of_many_elements_are_whole(sizes: tuple[int, ...]) -> None:
    x = gb.arange(math.prod(sizes)).reshape(sizes)
    assert x.tolist() == x.numpy().tolist()


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
@pytest.mark.parametrize("call", [gb.linalg.svd, gb.linalg.svdvals, gb.linalg.pinv, gb.svd])
def test_decompositions_of_what_is_not_finite_end(call: Callable[[gb.Tensor], object], bad: float) -> None:
    x = gb.eye(5)
    x[2, 3] = bad
    with pytest.raises(gb.linalg.LinAlgError, match="non-finite"):
        call(x)


@pytest.mark.parametrize("kind", "tuvw")
def test_chebyshev_polynomials_of_huge_degrees_end(kind: str) -> None:
    polynomial = getattr(gb.special, f"chebyshev_polynomial_{kind}")
    assert math.isnan(polynomial(gb.tensor([NAN]), 2**62).item())
    x = gb.tensor([0.5], requires_grad=True)
    polynomial(x, 2**62).sum().backward()
    assert math.isnan(x.grad.item())


def test_derivatives_of_chebyshev_polynomials_of_usual_degrees() -> None:
    x = gb.tensor([0.5, 2.0], dtype=gb.float64, requires_grad=True)
    gb.special.chebyshev_polynomial_u(x, gb.tensor([2, 3])).sum().backward()
    assert x.grad.tolist() == [4.0, 92.0]
