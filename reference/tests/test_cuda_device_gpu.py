"""The path of a GPU without one: pointwise PTX run by the emulator, CuPy's part by NumPy under CuPy's names.

Nothing of this has met CUDA or CuPy themselves.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.cuda.operators import fallback
from gaugeblock_testing.cuda_simulator import SimulatedDriver
from gaugeblock_testing.ptx_emulator import Machine

from .cached import CACHED


class EmulatedGpu:
    """The simulated driver without its own additions; launches run the PTX that was loaded."""

    name = "emulated"
    own = frozenset({"enqueue", "advance", "define_kernel", "live", "reset", "now", "report"})

    def __init__(self) -> None:
        self.inner = SimulatedDriver(devices=2, total_memory=1 << 26)
        self.images: dict[int, bytes] = {}
        self.functions: dict[int, tuple[bytes, str]] = {}
        self.launched: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in self.own:
            raise AttributeError(name)
        return getattr(self.inner, name)

    def module_load(self, device: int, image: bytes) -> int:
        module = self.inner.module_load(device, image)
        self.images[module] = image
        return module

    def module_function(self, device: int, module: int, name: str) -> int:
        function = self.inner.module_function(device, module, name)
        self.functions[function] = self.images[module], name
        return function

    def launch(
        self, device: int, function: int, grid: Any, block: Any, shared: int, stream: int, arguments: Sequence[Any]
    ) -> None:
        image, name = self.functions[function]
        self.launched.append(name)
        self.inner.enqueue(device, stream, lambda: Machine(image).run(name, grid, block, arguments))


class Entered:
    """CuPy's contexts: here they wait, for NumPy computes at once."""

    def __init__(self, driver: EmulatedGpu, *arguments: Any) -> None:
        self.driver = driver

    def __enter__(self) -> None:
        for index in range(2):
            self.driver.synchronize(index)

    def __exit__(self, *error: Any) -> None:
        return None


class Asked:
    """CuPy's context of an allocator, which is asked for memory as CuPy does for what it needs in between."""

    def __init__(self, allocate: Any) -> None:
        self.allocate = allocate

    def __enter__(self) -> None:
        (pointer, size, _), offset = self.allocate(1000)
        assert pointer and (size, offset) == (1000, 0) and self.allocate(0)[0][0] == 0

    def __exit__(self, *error: Any) -> None:
        return None


def fake_cupy(driver: EmulatedGpu) -> ModuleType:
    """NumPy's functions as CuPy's, arrays made from CuPy's pointers."""
    module = ModuleType("cupy")
    module.__dict__.update({name: getattr(np, name) for name in dir(np) if not name.startswith("_")})

    def ndarray(shape: Any, dtype: Any, memptr: Any, strides: Any) -> Any:
        memory, offset = memptr
        buffer = (ctypes.c_char * memory[1]).from_address(memory[0])
        return np.ndarray(shape, dtype, buffer, offset, strides)

    def argsort(a: Any, axis: int = -1) -> Any:
        return np.argsort(a, axis=axis, kind="stable")

    module.ndarray, module.argsort = ndarray, argsort  # type: ignore[attr-defined]
    module.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        UnownedMemory=lambda pointer, size, owner, device: (pointer, size, owner),
        using_allocator=lambda allocate: Asked(allocate),
        MemoryPointer=lambda memory, offset: (memory, offset),
        Device=lambda index: Entered(driver),
        ExternalStream=lambda handle, index: Entered(driver),
        Stream=SimpleNamespace(null=Entered(driver)),
    )
    return module


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatedGpu]:
    driver = EmulatedGpu()
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(driver))
    gb.cuda.use_driver(driver)
    fallback._WARNED.clear()
    fallback._REFUSED.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield driver
    gb.cuda.use_driver(None)


POINTWISE: list[Any] = [
    lambda x: x + 1, lambda x: x * x.t().contiguous().t(), lambda x: x[:, 1:] - x[:, :1], lambda x: 2 / x,
    lambda x: x + gb.tensor(2.0), lambda x: gb.tensor(3) * x, lambda x: x > 2, lambda x: gb.where(x > 2, x, -x),
    lambda x: x.clone().add_(x, alpha=2), lambda x: gb.mul(x, 2, out=gb.empty(0, device=x.device)),
    lambda x: x.int() // 2,
    lambda x: x.to(gb.complex64) * 1j, lambda x: x.half() + 1, lambda x: x.clamp(1, 3), lambda x: x.double().neg(),
    lambda x: gb.lerp(x, x + 1, 0.5), lambda x: x.square().sqrt(), lambda x: gb.ones_like(x) + gb.zeros_like(x),
    lambda x: x.bool().logical_not(), lambda x: x.expand(2, 2, 3) + x[0], lambda x: gb.add(x, x, out=x[:, :]),
    lambda x: x.t().clone().fill_(3), lambda x: x.to(gb.int64).to(gb.float64),
    lambda x: gb.empty(0, 3, device=x.device) + 1,
    lambda x: x.float_power(2), lambda x: gb.isreal(x.to(gb.complex64)), lambda x: gb.isreal(x),
    lambda x: (x + 2).mvlgamma(3),
    lambda x: gb.special.zeta(x + 1, x), lambda x: gb.polygamma(2, x),
    lambda x: gb.igamma(x, x[0]), lambda x: gb.igammac(x, x + 1, out=gb.empty(2, 3, device=x.device)),
    lambda x: x.clone().igamma_(x), lambda x: x.clone().polygamma_(1), lambda x: gb.special.legendre_polynomial_p(x, 3),
    lambda x: gb.special.shifted_chebyshev_polynomial_u(0.5, x), lambda x: gb.special.hermite_polynomial_h(x.t(), 2),
    lambda x: gb.frexp(x).exponent, lambda x: gb.frexp(x.t()).mantissa, lambda x: gb.polar(x, x[0]),
    lambda x: gb.complex(x, x.t().contiguous().t()), lambda x: x.half() * 1j, lambda x: x.chalf().conj() + x,
    lambda x: gb.view_as_real(x.chalf()), lambda x: gb.ones_like(x, dtype=gb.complex32),
]  # fmt: skip
REDUCED: list[Any] = [
    lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.sum((0, 1), keepdim=True), lambda x: x.int().sum(1),
    lambda x: x.mean(-1), lambda x: x.t().prod(0), lambda x: x.amax(1), lambda x: x.min(), lambda x: (x > 2).all(),
    lambda x: (x > 2).any(1), lambda x: x.cumsum(1), lambda x: x @ x.t(), lambda x: x[0].dot(x[1]),
    lambda x: x.mv(x[0]),
    lambda x: x.sort(1, descending=True), lambda x: x.sort(0).indices, lambda x: x.argsort(1),
    lambda x: gb.bmm(x[None], x.t()[None]), lambda x: x.sum(0, dtype=gb.float64),
    lambda x: gb.sum(x, 0, out=gb.empty(0, device=x.device)), lambda x: gb.mean(x, out=gb.empty(0, device=x.device)),
    lambda x: gb.amax(x, 1, out=gb.empty(4, device=x.device)[::2]), lambda x: gb.mm(x, x.t(), out=x.new_empty(2, 2)),
    lambda x: gb.cumsum(x, 1, out=x.new_empty(3, 2).t()), lambda x: gb.all(x, 1, out=x.new_empty(2, dtype=gb.bool)),
    lambda x: (x.chalf() - 3).all(1), lambda x: x.chalf().any(),
]  # fmt: skip


def values(found: Any) -> Any:
    return [values(one) for one in found] if isinstance(found, tuple) else (found.tolist(), found.dtype, found.stride())


@pytest.mark.parametrize("number", range(len(POINTWISE)))
def test_pointwise_operators_are_launched_as_ptx(number: int, gpu: EmulatedGpu) -> None:
    start = gb.tensor([[1.0, 2.0, 4.0], [0.5, 3.0, 8.0]])
    x = start.cuda()
    for _ in range(3):
        before = len(gpu.launched)
        found = POINTWISE[number](x)
        assert found.device.type == "cuda" and (len(gpu.launched) > before or not found.numel())
        assert values(found) == values(POINTWISE[number](start))
        start, x = start * 2, x * 2


@CACHED
def test_calls_that_come_again_are_launched_at_once(gpu: EmulatedGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = gb.tensor([1.0, 2.0]), gb.tensor([4.0, 8.0])
    x, y = first.cuda(), second.cuda()
    calls: list[Any] = [
        lambda a, b: a + b, lambda a, b: a * 2.5, lambda a, b: 3 - a, lambda a, b: b.exp2(),
        lambda a, b: a.clone().add_(b), lambda a, b: gb.where(a > 1, a, b),
        lambda a, b: gb.lerp(a, b, 0.25), lambda a, b: a + b[:1],
    ]  # fmt: skip
    for call in calls:
        call(x, y)
    monkeypatch.setattr(fallback, "meta_call", None)
    monkeypatch.setattr(fallback, "on_host", None)
    for call in calls[:4] + calls[5:]:
        assert call(y, x).tolist() == call(second, first).tolist()
    gb.cuda.use_driver("simulated")
    for call in calls:
        assert call(second.cuda(), first.cuda()).tolist() == call(second, first).tolist()


@pytest.mark.parametrize("number", range(len(REDUCED)))
def test_cupy_computes_into_our_memory(number: int, gpu: EmulatedGpu) -> None:
    start = gb.tensor([[1.0, 2.0, 4.0], [0.5, 3.0, 8.0]])
    with gb.cuda.stream(gb.cuda.Stream()) if number % 2 else gb.cuda.device(0):
        assert values(REDUCED[number](start.cuda())) == values(REDUCED[number](start))


BYTES = [0, 1, 2, 128, 255, 0]
BEYOND_CUPY: list[tuple[Any, Any]] = [
    (lambda x: gb.ones(70_000, dtype=gb.float16, device=x.device).mean(), 1.0),
    (lambda x: gb.full((4097,), 0.5, dtype=gb.float16, device=x.device).sum(), 2048.0),
    (lambda x: gb.full((300,), 1.0, dtype=gb.bfloat16, device=x.device).sum(), 300.0),
    (lambda x: gb.tensor([1.0, 2.0], dtype=gb.bfloat16, device=x.device).dot(x[:2].bfloat16()), 5.0),
    (lambda x: gb.tensor(BYTES, dtype=gb.uint8, device=x.device).view(gb.bool).sum(), 4),
    (lambda x: gb.tensor(BYTES, dtype=gb.uint8, device=x.device).view(gb.bool).amax(), True),
    (lambda x: gb.tensor([1e-45, -1e-45], device=x.device).cumsum(0), [1e-45, 0.0]),
    (lambda x: gb.tensor([1e-45], device=x.device).any(), True),
    (lambda x: gb.tensor([2e-45, 0.0, 1e-45], device=x.device).sort().values, [0.0, 1e-45, 2e-45]),
    (lambda x: gb.tensor([1 + 2j, 3 - 1j], device=x.device).conj().sum(), 4 - 1j),
]
"""Calls and values: halves that overflow, odd bools, subnormal and lazily conjugated numbers."""


@pytest.mark.parametrize(("call", "expected"), BEYOND_CUPY)
def test_values_that_cupy_alone_would_not_keep(call: Any, expected: Any, gpu: EmulatedGpu) -> None:
    found = call(gb.tensor([1.0, 2.0, 3.0], device="cuda"))
    assert found.is_cuda and found.tolist() == gb.tensor(expected, dtype=found.dtype).tolist()


def test_the_rest_runs_on_the_host_with_one_warning(gpu: EmulatedGpu) -> None:
    x = gb.tensor([[2.0, 1.0], [0.0, 4.0]], device="cuda")
    with pytest.warns(UserWarning, match="linalg_det.*no kernel for CUDA; it runs on the CPU"):
        assert gb.linalg.det(x).item() == 8.0
    assert gb.linalg.det(x).device.type == "cuda"
    with pytest.raises(RuntimeError, match="cuda:0 and cpu"):
        x + gb.ones(2, 2)


def test_statistics_that_a_layer_keeps_are_written_on_the_device(gpu: EmulatedGpu) -> None:
    results = []
    for device in ("cpu", "cuda"):
        x = gb.arange(12.0).reshape(3, 4).to(device)
        mean, variance = gb.zeros(4, device=device), gb.ones(4, device=device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gb.nn.functional.batch_norm(x, mean, variance, training=True, momentum=0.5)
            kept = gb.zeros(4, device=device), gb.ones(4, device=device)
            gb.nn.functional.instance_norm(x.reshape(3, 4, 1).expand(3, 4, 2), *kept, momentum=0.5)
        found = [one.tolist() for one in (mean, variance, *kept)]
        results.append((found, mean._version, kept[0]._version, x._version))
    assert results[0] == results[1] and results[0][0][0] == results[0][0][2] == [2.0, 2.5, 3.0, 3.5]


def test_what_cupy_cannot_compute_runs_on_the_host(gpu: EmulatedGpu) -> None:
    x = gb.tensor([[2.0, 1.0], [0.0, 4.0]], device="cuda")

    def missing(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("CuPy failed to load libnvrtc.so.12")

    sys.modules["cupy"].amax = missing  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match=r"amax: CuPy cannot compute it \(RuntimeError: CuPy failed .*on the CPU"):
        assert x.amax(1).tolist() == [2.0, 4.0]
    assert x.amax(1).device.type == "cuda"
    assert x.amin(1).tolist() == [1.0, 0.0]


def test_memory_that_cupy_asks_for_is_ours(gpu: EmulatedGpu) -> None:
    x = gb.ones(2, 2, device="cuda")
    gb.cuda.reset_peak_memory_stats()
    before = gb.cuda.memory_allocated()
    total = x.sum()
    gb.cuda.synchronize()
    assert gb.cuda.memory_allocated() == before + 512
    in_float64 = 512 + 512
    assert gb.cuda.max_memory_allocated() == before + 512 + in_float64 + 1024
    allocated = gb.cuda.memory_allocated()
    sys.modules["cupy"].cuda.using_allocator = lambda allocate: allocate(1 << 30)  # type: ignore[attr-defined]
    with pytest.raises(gb.cuda.OutOfMemoryError):
        x.sum()
    assert gb.cuda.memory_allocated() == allocated and total.item() == 4.0


def test_gradients_and_memory(gpu: EmulatedGpu) -> None:
    w = gb.ones(3, device="cuda", requires_grad=True)
    (w * gb.arange(3.0, device="cuda")).sum().backward()
    assert w.grad.tolist() == [0.0, 1.0, 2.0]
    gb.cuda.synchronize()
    assert gb.cuda.memory_allocated() == 1024
    y = gb.zeros(4, device="cuda:1").copy_(w[:1])
    assert y.tolist() == [1.0] * 4 and gb.cuda.memory_allocated(1) == 512
    with pytest.raises(RuntimeError, match=r"fill_.*1000|1000.*fill_|overflow"):
        gb.zeros(2, dtype=gb.int8, device="cuda").fill_(1000)
