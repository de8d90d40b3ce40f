"""Ctrl-C: long calls answer it, none is lost in finalisers, and nothing that is not finite goes to LAPACK."""

from __future__ import annotations

import ctypes
import io
import math
import os
import signal
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.core.away import LONG, _Stopped, away
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


def interrupt(seconds: float) -> list[float]:
    """Send SIGINT to the main thread some seconds from now; the list gets the time at which it was sent."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Timer(seconds, send).start()
    return sent


REDUCTIONS: dict[str, Callable[[], gb.Tensor]] = {
    "of one output": lambda: gb.ones(1).expand(2**44).sum(),
    "of many outputs": lambda: gb.ones(1, 1).expand(200, 2**40).var(1),
    "of neighbours at once": lambda: gb.ones(1, 64).expand(2**38, 64).sum(0),
    "of dims that cannot be merged": lambda: gb.ones(4, 1).expand(4, 2**42).sum(),
    "of positions": lambda: gb.ones(1, 2)[:, :1].expand(40, 2**40).argmax(1),
}
"""Reductions that would take minutes at least."""


def test_a_call_that_drops_its_first_stop_ends() -> None:
    dropped: list[BaseException] = []

    def call() -> None:
        while True:
            try:
                time.sleep(0.01)
            except BaseException as error:
                if dropped:
                    raise
                dropped.append(error)

    interrupt(0.2)
    with pytest.raises(KeyboardInterrupt):
        away(LONG, call)
    for thread in threading.enumerate():
        if thread.name == "gaugeblock-away":
            thread.join(20)
            assert not thread.is_alive()
    assert len(dropped) == 1


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_compiled_loop_that_nobody_waits_for_ends(name: str, threads: int) -> None:
    before = gb.get_num_threads()
    gb.set_num_threads(threads)
    try:
        interrupt(0.2)
        with pytest.raises(KeyboardInterrupt):
            away(LONG, REDUCTIONS[name])
        for thread in threading.enumerate():
            if thread.name == "gaugeblock-away":
                thread.join(20)
                assert not thread.is_alive()
    finally:
        gb.set_num_threads(before)
    assert gb.ones(1).expand(2**25).sum().item() == 2**25


@pytest.mark.parametrize("threads", [1, 4])
def test_a_reduction_in_the_main_thread_answers(threads: int) -> None:
    before = gb.get_num_threads()
    gb.set_num_threads(threads)
    try:
        sent = interrupt(0.2)
        with pytest.raises(KeyboardInterrupt):
            gb.ones(4, 1).expand(4, 2**42).sum()
        assert time.monotonic() - sent[0] < 5
    finally:
        gb.set_num_threads(before)


def test_an_exception_that_a_thread_is_sent_ends_its_loop() -> None:
    import ctypes

    class Enough(Exception):
        pass

    found: list[BaseException] = []

    def call() -> None:
        try:
            gb.ones(1).expand(2**44).sum()
        except Enough as error:
            found.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    time.sleep(0.2)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Enough))
    thread.join(20)
    assert len(found) == 1


def test_long_operators_are_called_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaugeblock.operators.networks import distances

    works: list[float] = []

    def noted(work: float, function: Callable[..., Any]) -> Callable[..., Any]:
        works.append(work)
        return function

    monkeypatch.setattr(distances, "long_call", noted)
    assert gb.pdist(gb.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]])).tolist() == [5.0, 4.0, 3.0]
    assert works[0] >= 3 * 2  # pairs x columns


@pytest.mark.parametrize("threads", [1, 4])
def test_a_convolution_answers(threads: int) -> None:
    source, weight = gb.ones(1).expand(32, 512, 64, 64), gb.ones(1).expand(256, 512, 9, 9)
    before = gb.get_num_threads()
    gb.set_num_threads(threads)
    try:
        sent = interrupt(0.5)
        with pytest.raises(KeyboardInterrupt):
            gb.conv2d(source, weight, None, 1, 4)
        assert time.monotonic() - sent[0] < 5
    finally:
        gb.set_num_threads(before)


def test_the_compiler_is_found_after_an_import_that_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    import llvmlite
    from gaugeblock.kernels.isa import llvm

    binding = llvm()
    monkeypatch.delattr(llvmlite, "binding")
    llvm.cache_clear()
    assert llvm() is binding


def test_true_elements_are_found_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaugeblock.operators import arrays

    x = gb.randint(0, 3, (11, 5, 7))
    flat = x.reshape(-1)
    whole = gb.nonzero(x), gb.nonzero(flat), flat[flat > 0], x[x > 0]
    for piece in (1, 40, 100):
        monkeypatch.setattr(arrays, "PIECE", piece)
        parts = gb.nonzero(x), gb.nonzero(flat), flat[flat > 0], x[x > 0]
        assert all(gb.equal(one, other) for one, other in zip(whole, parts, strict=True))
    assert gb.nonzero(gb.zeros(200)).shape == (0, 1)


@pytest.mark.parametrize(
    ("leaves", "dtype"), [([0.5, -1.5, 2.0], gb.float32), ([3, -7, 5], gb.int64), ([True, False], gb.bool)]
)
def test_long_lists_are_read_piece_by_piece(
    leaves: list[Any], dtype: gb.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gaugeblock.operators import tensor_data

    monkeypatch.setattr(tensor_data, "PIECE", 7)
    made = gb.tensor(leaves * 50)
    assert made.dtype is dtype
    assert made.tolist() == leaves * 50
    with pytest.raises(RuntimeError, match="overflow"):
        gb.tensor([1] * 40 + [300], dtype=gb.uint8)


def test_a_long_list_answers() -> None:
    many = [1, 2] * (2 * 10**7)
    sent = interrupt(0.2)
    with pytest.raises(KeyboardInterrupt):
        [gb.tensor(many) for _ in range(20)]
    assert time.monotonic() - sent[0] < 1.5


@pytest.mark.parametrize("where", ["file", "path"])
def test_save_passes_ctrl_c_on(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    original = zipfile.ZipFile.open

    def interrupted(self: zipfile.ZipFile, *args: Any, **kwargs: Any) -> Any:
        opened.append(original(self, *args, **kwargs))
        if len(opened) == 3:
            raise KeyboardInterrupt
        return opened[-1]

    place = tmp_path / "saved"
    gb.save(gb.ones(2), place)
    before = place.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gb.save(gb.ones(3), io.BytesIO() if where == "file" else place)
    assert os.listdir(tmp_path) == ["saved"]
    assert place.read_bytes() == before


def test_save_writes_large_storages_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    from gaugeblock.interop import copying

    x = gb.arange(1000)
    whole, pieces = io.BytesIO(), io.BytesIO()
    gb.save(x, whole)
    monkeypatch.setattr(copying, "PIECE", 300)
    gb.save(x, pieces)
    with zipfile.ZipFile(whole) as one, zipfile.ZipFile(pieces) as other:
        assert one.read("archive/data/0") == other.read("archive/data/0") == x.numpy().tobytes()
    assert gb.equal(gb.load(pieces), x)


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


def test_a_call_that_is_told_to_stop_while_it_ends_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    escaped: list[object] = []
    told: list[int] = []

    class Event(threading.Event):
        def set(self) -> None:
            if not told and sys._getframe(1).f_globals["__name__"] == away.__module__:
                told.append(threading.get_ident())
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(told[0]), ctypes.py_object(_Stopped))
                while True:
                    time.sleep(0)
            super().set()

    monkeypatch.setattr(threading, "excepthook", escaped.append)
    monkeypatch.setattr(threading, "Event", Event)
    late = threading.Timer(30, os.kill, (os.getpid(), signal.SIGINT))
    late.start()
    try:
        assert away(LONG, lambda: 3) == 3
    finally:
        late.cancel()
    assert told
    assert not escaped
