"""Factories and the dispatcher: devices with nothing but empty and copy_, overrides, devices that are not there."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.layout import sparse_coo
from gaugeblock.dispatch import REGISTRY
from gaugeblock.memory.storage import foreign_storage
from gaugeblock.tensor.tensor import make_tensor
from gaugeblock.tensor.tensor_meta import default_strides, meta_of
from gaugeblock.utils import rename_privateuse1_backend

NAME = "benchtop"


class Bench:
    """The least that a device has to offer: empty.memory_format, empty_strided and copy_, on memory of its own."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def empty_strided(self, size: Any, stride: Any, *, dtype: Any = None, device: Any = None, **more: Any) -> Any:
        self.calls.append("empty_strided")
        kind = dtype or gb.get_default_dtype()
        meta = meta_of(tuple(size), tuple(stride), kind, device)
        block = ctypes.create_string_buffer(max(meta.numel, 1) * kind.itemsize)
        return make_tensor(meta, foreign_storage(id(block), len(block), owner=block, device=device), 0, None)

    def empty(self, size: Any, *, memory_format: Any = None, **options: Any) -> Any:
        made = self.empty_strided(size, default_strides(tuple(size)), **options)
        self.calls[-1] = "empty"
        return made

    def copy_(self, destination: Any, source: Any, non_blocking: bool = False) -> Any:
        self.calls.append("copy_")
        self.array(destination)[...] = self.array(source)
        return destination

    def array(self, tensor: Any) -> Any:
        if tensor.device.type == "cpu":
            return tensor.numpy()
        strides = [step * tensor.element_size() for step in tensor.stride()]
        return np.ndarray(tuple(tensor.shape), tensor.meta.dtype.numpy, tensor.storage_impl.owner, strides=strides)


@pytest.fixture
def bench() -> Iterator[Bench]:
    rename_privateuse1_backend(NAME)
    made = Bench()
    kernels = {"empty.memory_format": made.empty, "empty_strided": made.empty_strided, "copy_": made.copy_}
    removers = [REGISTRY.register(name, "PrivateUse1", kernel) for name, kernel in kernels.items()]
    yield made
    for remove in removers:
        remove()


@pytest.mark.parametrize(
    "text",
    ["gb.zeros(2, 3, device=D)", "gb.ones((2,), dtype=gb.int32, device=D)", "gb.full((2, 2), 2.5, device=D)",
     "gb.arange(5, device=D)", "gb.arange(1, 9, 2.5, device=D)", "gb.linspace(0, 1, 5, device=D)",
     "gb.logspace(0, 1, 3, device=D)", "gb.eye(3, 2, device=D)", "gb.scalar_tensor(3, device=D)",
     "gb.tensor([[1, 2], [3, 4]], device=D)", "gb.zeros_like(x, device=D)", "gb.full_like(x.t(), 2.0, device=D)",
     "x.to(D)", "x.to(D).new_zeros(2)", "x.to(D).new_full((2,), 3)", "gb.ones_like(x.to(D))", "x.t().to(D)",
     "gb.hann_window(5, device=D)", "gb.tril_indices(3, 4, device=D)", "gb.fft.fftfreq(5, device=D)"],
)  # fmt: skip
def test_composites_need_empty_and_copy_only(bench: Bench, text: str) -> None:
    names = {"gb": gb, "x": gb.arange(6.0).reshape(2, 3)}
    made = eval(text, {**names, "D": gb.device(NAME)})
    expected = eval(text, {**names, "D": gb.device("cpu")})
    assert made.device.type == NAME and made.dtype is expected.dtype and made._version == 0
    assert made.stride() == expected.stride()
    assert np.array_equal(bench.array(made), expected.numpy())


def test_random_factories_ask_for_the_device_s_own_kernel(bench: Bench) -> None:
    with pytest.raises(NotImplementedError, match="uniform_"):
        gb.rand(3, device=NAME)
    assert bench.calls == ["empty"]


FACTORIES = {
    "empty.memory_format": lambda: gb.empty(2), "zeros": lambda: gb.zeros(2), "ones": lambda: gb.ones(2),
    "full": lambda: gb.full((2,), 1), "arange": lambda: gb.arange(3), "arange.start": lambda: gb.arange(1, 3),
    "arange.start_step": lambda: gb.arange(1, 3, 2), "linspace": lambda: gb.linspace(0, 1, 3),
    "logspace": lambda: gb.logspace(0, 1, 3), "eye": lambda: gb.eye(2), "eye.m": lambda: gb.eye(2, 3),
    "empty_strided": lambda: gb.empty_strided((2,), (1,)), "scalar_tensor": lambda: gb.scalar_tensor(1.0),
    "rand": lambda: gb.rand(2), "randn": lambda: gb.randn(2), "randint": lambda: gb.randint(5, (2,)),
    "randperm": lambda: gb.randperm(3), "zeros_like": lambda: gb.zeros_like(gb.ones(1)),
    "full_like": lambda: gb.full_like(gb.ones(1), 2.0), "new_zeros": lambda: gb.ones(1).new_zeros(2),
    "new_full": lambda: gb.ones(1).new_full((2,), 1.0), "zeros.out": lambda: gb.zeros(2, out=gb.empty(2)),
    "arange.out": lambda: gb.arange(2, out=gb.empty(2)), "eye.out": lambda: gb.eye(2, out=gb.empty(2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_reach_overrides(name: str) -> None:
    reached: list[Any] = []

    def override(*args: Any, **kwargs: Any) -> str:
        reached.append((args, kwargs))
        return "reached"

    remove = REGISTRY.register(name, "CPU", override, warn=False)
    try:
        assert FACTORIES[name]() == "reached"
    finally:
        remove()
    assert isinstance(FACTORIES[name](), gb.Tensor) and len(reached) == 1


def test_an_override_of_empty_serves_the_composites() -> None:
    made: list[Any] = []

    def empty(size: Any, **options: Any) -> Any:
        made.append(tuple(size))
        return original(size, **options)

    active = REGISTRY.find("empty.memory_format").active("CPU")
    assert active is not None and active.function is not None
    original = active.function
    remove = REGISTRY.register("empty.memory_format", "CPU", empty, warn=False)
    try:
        assert gb.ones(2, 3).tolist() == [[1.0] * 3] * 2
        assert gb.full((4,), 2).tolist() == [2] * 4
    finally:
        remove()
    assert made == [(2, 3), (4,)]


@pytest.mark.parametrize(
    "text",
    ["gb.empty(2, device='cuda')", "gb.zeros(2, device='cuda')", "gb.tensor([1], device='cuda')",
     "gb.arange(3, device='cuda:0')", "gb.ones(2).to('cuda')", "gb.eye(2, device='cuda')", "gb.rand(2, device='cuda')",
     "gb.zeros_like(gb.ones(2), device='cuda')", "gb.ones(2).new_empty(2, device='cuda')",
     "gb.UntypedStorage(4, device='cuda')", "gb.zeros(2, device='abacus')", "gb.device('abacus')",
     "gb.ones(2, layout=sparse_coo)", "gb.arange(2, layout=sparse_coo)",
     "gb.empty_like(gb.ones(2), layout=sparse_coo)",
     "gb.arange(3, dtype=gb.bool)", "gb.linspace(0, 1, -1)", "gb.randint(0, 300, (2,), dtype=gb.uint8)"],
)  # fmt: skip
def test_what_is_not_there_raises_when_it_is_asked_for(text: str) -> None:
    with pytest.raises(RuntimeError):
        eval(text, {"gb": gb, "sparse_coo": sparse_coo})


@pytest.mark.parametrize("dtype", [None, gb.bool, gb.int32, gb.float16, gb.bfloat16, gb.complex64], ids=str)
def test_zeros_and_ones_of_the_same_sizes_again(dtype: Any) -> None:
    for _ in range(4):
        for size in ((2, 3), ((2, 3),), ([2, 3],)):
            zeros, ones = gb.zeros(*size, dtype=dtype), gb.ones(*size, dtype=dtype)
            assert zeros.shape == ones.shape == (2, 3) and zeros.dtype is ones.dtype is (dtype or gb.float32)
            assert not zeros.any() and ones.sum().item() == 6 and zeros._version == ones._version == 0
            ones.zero_()
        assert gb.zeros(1).shape == (1,) and gb.ones(0, 2).shape == (0, 2) and gb.ones(()).item() == 1
        with pytest.raises(TypeError, match="must be tuple of ints"):
            gb.zeros(True)
        assert gb.zeros(2, requires_grad=True).requires_grad and not gb.zeros(2).requires_grad
