"""A device from outside the package: its name, its memory, its kernels, the fallback to the CPU; devices not there."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.library import Library, _scoped_library
from gaugeblock.tensor.hooks import SPECIAL
from gaugeblock.utils import cpu_fallback, register_allocator, rename_privateuse1_backend

NAME = "benchtop"


class Memory:
    """Blocks under invented addresses, so that nothing but read and write reaches them."""

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.next = 1 << 20

    def allocate(self, nbytes: int) -> int:
        self.next += 1 << 20
        self.blocks[self.next] = ctypes.create_string_buffer(nbytes)
        return self.next

    def free(self, address: int, nbytes: int) -> None:
        assert len(self.blocks.pop(address)) == nbytes

    def _find(self, address: int) -> tuple[Any, int]:
        start = max(base for base in self.blocks if base <= address)
        return self.blocks[start], address - start

    def read(self, address: int, nbytes: int) -> bytes:
        block, offset = self._find(address)
        assert offset + nbytes <= len(block)
        return bytes(block.raw[offset : offset + nbytes])

    def write(self, address: int, data: bytes) -> None:
        block, offset = self._find(address)
        assert offset + len(data) <= len(block)
        ctypes.memmove(ctypes.addressof(block) + offset, data, len(data))


@pytest.fixture
def memory() -> Iterator[Memory]:
    rename_privateuse1_backend(NAME)
    made = Memory()
    register_allocator(NAME, made)
    yield made
    gc.collect()
    register_allocator(NAME, None)


@pytest.fixture
def fallback(memory: Memory) -> Iterator[Library]:
    with _scoped_library("_", "IMPL") as lib:
        lib.fallback(cpu_fallback, "PrivateUse1")
        yield lib


def test_the_device_has_its_name_once() -> None:
    rename_privateuse1_backend(NAME)
    rename_privateuse1_backend(NAME)
    assert str(gb.device(f"{NAME}:1")) == f"{NAME}:1"
    assert gb.device("privateuseone") == gb.device(NAME)
    for name, match in (("other", f"already, to '{NAME}'"), ("cpu", "device of the engine"), ("a b", "identifier")):
        with pytest.raises(RuntimeError, match=match):
            rename_privateuse1_backend(name)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: gb.empty(2, device=d), lambda d: gb.empty(0, device=d), lambda d: gb.zeros(2, device=d),
        lambda d: gb.ones(2).to(d), lambda d: gb.tensor([1.0], device=d), lambda d: gb.arange(3, device=d),
        lambda d: gb.rand(2, device=d), lambda d: gb.empty_like(gb.ones(2), device=d), lambda d: gb.eye(2, device=d),
        lambda d: gb.full((2,), 1.0, device=d), lambda d: gb.empty_strided((2,), (1,), device=d),
    ],
)  # fmt: skip
def test_devices_that_are_not_there(make: Any) -> None:
    for known in ("cuda", "cuda:0", "xpu", "mps", "privateuseone"):
        with pytest.raises(RuntimeError, match="is not available"):
            make(known)
    with pytest.raises(RuntimeError, match="expected one of cpu, meta, cuda"):
        make("gpu")


def test_what_an_allocator_must_be() -> None:
    with pytest.raises(RuntimeError, match="'cpu'"):
        register_allocator("cpu", None)
    with pytest.raises(TypeError, match="allocate and free"):
        register_allocator("cuda", 3)  # type: ignore[arg-type]


def test_memory_comes_and_goes(memory: Memory) -> None:
    x = gb.empty(3, device=NAME)
    y = x.view(3, 1)
    assert x.device.type == NAME and x.untyped_storage().nbytes() == 12 and len(memory.blocks) == 1
    del x
    assert len(memory.blocks) == 1
    del y
    gc.collect()
    assert memory.blocks == {}


def test_copies_and_factories_need_no_kernels(memory: Memory) -> None:
    x = gb.tensor([[1.0, 2.0], [3.0, 4.0]]).to(NAME)
    assert x.cpu().tolist() == x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.T.contiguous().tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert x[1].item if False else x[1, 0].item() == 3.0
    assert x.to(gb.int32).tolist() == [[1, 2], [3, 4]]
    assert gb.zeros(2, device=NAME).tolist() == [0.0, 0.0]
    assert gb.full((2,), 7, device=NAME).tolist() == [7, 7]
    assert gb.arange(3, device=NAME).tolist() == [0, 1, 2]
    assert gb.ones_like(x).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    x[:, 0].copy_(gb.tensor([8.0, 9.0]))
    assert x.tolist() == [[8.0, 2.0], [9.0, 4.0]]
    x[0].fill_(5)
    assert x.clone().tolist() == [[5.0, 5.0], [9.0, 4.0]]
    with pytest.raises(TypeError, match="numpy"):
        x.numpy()


def test_a_kernel_of_ones_own(memory: Memory) -> None:
    calls: list[str] = []

    def add(self: Any, other: Any, *, alpha: float = 1) -> Any:
        calls.append("add")
        return (self.cpu() + other.cpu() * alpha).to(NAME)

    x = gb.ones(2).to(NAME)
    with pytest.raises(NotImplementedError, match=r"'aten::add.Tensor'.*'PrivateUse1'"):
        x + x
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("add.Tensor", add, "PrivateUse1")
        assert not SPECIAL
        assert (x + x).tolist() == [2.0, 2.0] and gb.add(x, x, alpha=3).tolist() == [4.0, 4.0]
        assert calls == ["add", "add"]
        assert (gb.ones(2) + gb.ones(2)).tolist() == [2.0, 2.0] and len(calls) == 2


def test_the_boxed_fallback_runs_the_rest(fallback: Library) -> None:
    x = gb.tensor([3.0, 1.0, 2.0]).to(NAME)
    results = [x + x, x.exp().log(), gb.stack([x, x]).sum(0), x.sort().values, x[gb.tensor([2, 0])], 1 - x]
    assert all(result.device.type == NAME for result in results)
    assert [result.tolist() for result in results[2:]] == [
        [6.0, 2.0, 4.0], [1.0, 2.0, 3.0], [2.0, 3.0], [-2.0, 0.0, -1.0],
    ]  # fmt: skip
    assert (x @ x).item() == 14.0


def test_the_fallback_writes_where_the_operator_does(fallback: Library) -> None:
    x = gb.tensor([1.0, 2.0, 3.0, 4.0]).to(NAME)
    version = x._version
    assert x.add_(1) is x and x._version > version
    x[1:3].mul_(10)
    assert x.tolist() == [2.0, 30.0, 40.0, 5.0]
    out = gb.empty(0, device=NAME)
    assert gb.add(x, x, out=out) is out and out.tolist() == [4.0, 60.0, 80.0, 10.0]
    x[gb.tensor([0])] = 0.0
    assert x.tolist() == [0.0, 30.0, 40.0, 5.0]


def test_devices_do_not_mix_but_numbers_on_the_cpu_do(fallback: Library) -> None:
    x = gb.ones(2).to(NAME)
    for call in (lambda: x + gb.ones(2), lambda: gb.ones(2).mul_(x), lambda: gb.cat([x, gb.ones(2)])):
        with pytest.raises(RuntimeError, match=f"cpu and {NAME}|{NAME} and cpu"):
            call()
    assert (x + gb.tensor(2.0)).tolist() == [3.0, 3.0]
    fallback._destroy()
    with pytest.raises(RuntimeError, match=f"{NAME} and cpu"):
        gb.add(x, gb.ones(2))


def test_keys_of_the_device(memory: Memory) -> None:
    keys = gb.dispatch_keys(gb.empty(1, device=NAME))
    assert list(keys)[-1] == "PrivateUse1" and keys.has("AutogradPrivateUse1") and not keys.has("CPU")
    assert gb.dispatch_keys(gb.ones(1)).has("CPU")
