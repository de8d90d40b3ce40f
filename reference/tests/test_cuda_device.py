"""Tensors on the simulated CUDA device: where they are, how they are made, shown, indexed, saved; what is refused."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.library import _scoped_library


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    gc.collect()
    assert [gb.cuda.memory_allocated(index) for index in (0, 1)] == [0, 0]
    gb.cuda.use_driver(None)


def test_the_first_walk() -> None:
    y = gb.ones(3, device="cuda") + 1
    assert y.device == gb.device("cuda:0") and y.is_cuda and not y.is_cpu and y.get_device() == 0
    assert y.cpu().tolist() == [2.0, 2.0, 2.0] and y.cpu().get_device() == -1
    assert gb.ones(2).cuda().device is gb.ones(2).to("cuda").device is gb.ones(2).cuda(0).device


@pytest.mark.parametrize(
    "make",
    [
        lambda d: gb.zeros(2, 3, device=d), lambda d: gb.full((2,), 7, device=d), lambda d: gb.arange(5, device=d),
        lambda d: gb.linspace(0, 1, 5, device=d), lambda d: gb.eye(3, device=d), lambda d: gb.tensor([1, 2], device=d),
        lambda d: gb.ones_like(gb.ones(3), device=d), lambda d: gb.ones(3, device=d).new_zeros(2),
        lambda d: gb.tril_indices(3, 3, device=d), lambda d: gb.hann_window(5, device=d),
        lambda d: gb.as_tensor([1.5], device=d), lambda d: gb.scalar_tensor(3, device=d),
        lambda d: gb.empty(0, 3, device=d), lambda d: gb.logspace(0, 1, 3, device=d),
        lambda d: gb.randperm(1, device=d),
    ],
)  # fmt: skip
def test_factories_make_the_same_on_every_device(make: Any) -> None:
    here, there = make("cpu"), make("cuda:1")
    assert str(there.device) == "cuda:1" and there.dtype is here.dtype and there.tolist() == here.tolist()
    assert there.stride() == here.stride() and there._version == here._version == 0


def test_the_current_device() -> None:
    assert gb.cuda.device_count() == 2 and gb.cuda.is_available() and gb.cuda.current_device() == 0
    with gb.cuda.device(1):
        assert gb.ones(1, device="cuda").get_device() == gb.cuda.current_device() == 1
        assert gb.ones(1, device="cuda:0").get_device() == 0
    with gb.cuda.device_of(gb.ones(1, device="cuda:1")):
        assert gb.cuda.current_device() == 1
    gb.cuda.set_device("cuda:1")
    assert gb.cuda.current_device() == 1
    gb.cuda.set_device(0)
    assert gb.cuda.get_device_properties(1).total_memory == 1 << 28
    assert gb.cuda.get_device_capability() == (9, 0) and "imulated" in gb.cuda.get_device_name()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gb.ones(2, device="cuda:7"), ("7", "2 CUDA devices")),
        (lambda: gb.ones(2).cuda("cpu"), ("cuda()", "'device'", "cpu")),
        (lambda: gb.cuda.set_device("meta"), ("set_device()", "meta")),
        (lambda: gb.ones(2, device="cuda").numpy(), ("cuda:0", "cpu()")),
        (lambda: gb.ones(2, device="cuda").pin_memory(), ("pin_memory()", "cuda:0")),
        (lambda: gb.ones(2).record_stream(gb.cuda.current_stream()), ("record_stream()", "cpu")),
        (lambda: gb.ones(2, device="cuda").record_stream(3), ("record_stream()", "Stream", "int")),
        (lambda: gb.ones(2, device="cuda") + gb.ones(2), ("add()", "cuda:0 and cpu", "'self'", "'other'")),
        (lambda: gb.ones(2) + gb.ones(2, device="cuda"), ("add()", "cuda:0 and cpu", "'other'")),
        (lambda: gb.ones(2, device="cuda") * gb.ones(2, device="cuda:1"), ("mul()", "cuda:0 and cuda:1")),
        (lambda: gb.cat([gb.ones(2), gb.ones(2, device="cuda")]), ("cat()", "cuda:0 and cpu")),
        (lambda: gb.ones(2).mul_(gb.ones((), device="cuda")), ("mul_()", "cuda:0 and cpu")),
        (lambda: gb.tensor(1.0).add_(gb.tensor(1.0, device="cuda")), ("add_()", "cuda:0 and cpu")),
        (lambda: gb.add(gb.ones(2, device="cuda"), 1, out=gb.ones(2)), ("add()", "'out'")),
        (lambda: gb.ones(2)[gb.tensor([0], device="cuda")], ("cuda:0",)),
        (lambda: gb.mm(gb.ones(2, 2, device="cuda"), gb.ones(2, 2)), ("mm()", "'mat2'")),
        (lambda: gb.ones(2, device="cuda") + gb.empty(2, device="meta"), ("cuda:0 and meta",)),
        (lambda: gb.cuda.use_driver("gpu"), ("use_driver()", "'simulated' or 'cupy'", "gpu")),
        (lambda: gb.cuda.use_driver(None, devices=2), ("use_driver()", "devices")),
    ],
)  # fmt: skip
def test_bad_calls_say_what_is_wrong(call: Any, words: tuple[str, ...]) -> None:
    with pytest.raises((RuntimeError, TypeError, ValueError)) as raised:
        call()
    assert all(word in str(raised.value) for word in words), str(raised.value)
    del raised


def test_numbers_on_the_cpu_go_with_the_device() -> None:
    x = gb.arange(3, device="cuda")
    assert (x + gb.tensor(2)).tolist() == (gb.tensor(2) + x).tolist() == [2, 3, 4]
    assert (x * gb.tensor(0.5)).dtype is gb.float32 and (x + gb.tensor(1, dtype=gb.int8)).dtype is gb.int64
    two = gb.tensor(2)
    doubled = x * two
    two.fill_(100)
    assert doubled.tolist() == [0, 2, 4]


def test_indexing_and_assignment() -> None:
    x = gb.arange(12.0, device="cuda").reshape(3, 4)
    assert x[1].tolist() == [4.0, 5.0, 6.0, 7.0] and x[1, 2].item() == 6.0 and x[:, ::2].sum().item() == 30.0
    assert x[x > 8].tolist() == [9.0, 10.0, 11.0] and x[gb.tensor([2, 0])][:, 0].tolist() == [8.0, 0.0]
    assert x[gb.tensor([2, 0], device="cuda"), [1, 1]].tolist() == [9.0, 1.0]
    assert x[gb.tensor(True, device="cuda")].shape == (1, 3, 4)
    x[0] = 5
    x[:, 1] = gb.tensor([7.0, 8.0, 9.0])
    x[x == 5] = -1.0
    x[gb.tensor([2])] = gb.zeros(4, device="cuda")
    assert x.tolist() == [[-1.0, 7.0, -1.0, -1.0], [4.0, 8.0, 6.0, 7.0], [0.0, 0.0, 0.0, 0.0]]


def test_what_has_a_size_made_of_values_waits() -> None:
    x = gb.tensor([3, 1, 3, 0], device="cuda")
    assert x.nonzero().tolist() == [[0], [1], [2]] and x.unique().tolist() == [0, 1, 3]
    assert x.bincount().tolist() == [1, 1, 0, 2] and gb.nn.functional.one_hot(x).shape == (4, 4)
    assert x.repeat_interleave(x).tolist() == [3, 3, 3, 1, 3, 3, 3] and x.masked_select(x > 1).tolist() == [3, 3]
    assert [part.tolist() for part in x.tensor_split(gb.tensor([1, 2]))] == [[3], [1], [3, 0]]


def test_text_and_numbers() -> None:
    x = gb.tensor([1.5, 2.0], device="cuda")
    assert repr(x) == "tensor([1.5000, 2.0000], device='cuda:0')"
    assert repr(gb.ones(1, dtype=gb.float64, device="cuda:1")) == (
        "tensor([1.], device='cuda:1', dtype=gaugeblock.float64)"
    )
    assert repr(gb.empty(2, 0, device="cuda")) == "tensor([], device='cuda:0', size=(2, 0))"
    assert f"{x[0]:.2f}" == "1.50" and float(x[1]) == 2.0 and bool(x[0]) and int(x[1]) == 2 and 2.0 in x
    assert [item.item() for item in x] == [1.5, 2.0] and x.tolist() == [1.5, 2.0]
    assert gb.equal(x, x.clone()) and not gb.allclose(x, x + 1)


def test_pickles_copies_and_files() -> None:
    x = gb.arange(6.0, device="cuda:1")
    pair = (x, x[2:4])
    for again in (pickle.loads(pickle.dumps(pair)), copy.deepcopy(pair)):
        again[0].zero_()
        assert again[1].tolist() == [0.0, 0.0] and again[1].device is x.device
    file = io.BytesIO()
    gb.save({"x": x}, file)
    file.seek(0)
    assert gb.load(file)["x"].tolist() == x.tolist() and x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    handle = x.untyped_storage()
    handle.fill_(0)
    handle[3] = 64
    assert x.tolist()[0] == 2.0 and handle[3] == 64 and len(bytes(handle)) == 24
    assert gb.UntypedStorage(8, device="cuda:1").copy_(gb.UntypedStorage(8).fill_(1)).tolist() == [1] * 8


def test_modes_and_inference_see_the_calls_of_the_device() -> None:
    from gaugeblock.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    x = gb.ones(2, device="cuda")
    with Watch():
        y = (x + 1).sum()
    assert seen == ["aten::add.Tensor", "aten::sum"] and y.item() == 4.0
    with gb.inference_mode():
        z = x * 2
    assert z.is_inference() and z.tolist() == [2.0, 2.0]


def test_kernels_of_ones_own_go_before_the_fallback() -> None:
    x = gb.ones(2, device="cuda")
    with _scoped_library("aten", "IMPL") as library:
        library.impl("add.Tensor", lambda self, other, *, alpha=1: self.mul(5), "CUDA")
        assert (x + x).tolist() == [5.0, 5.0]
    assert (x + x).tolist() == [2.0, 2.0]
    with _scoped_library("outside", "DEF") as library:
        library.define("twice(Tensor self) -> Tensor")
        library.impl("twice", lambda self: self * 2, "CPU")
        with pytest.raises(NotImplementedError, match=r"'outside::twice'.*'CUDA'"):
            gb.ops.outside.twice(x)


def test_without_a_driver_the_device_is_not_there() -> None:
    asked = "print(gb.cuda.is_available(), gb.cuda.device_count())"
    program = f"import gaugeblock as gb; {asked}; gb.ones(1, device='cuda')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "0"]
    assert "device cuda is not available" in done.stderr and "use_driver('simulated')" in done.stderr
    program = "import gaugeblock as gb, sys; gb.ones(1); print([m for m in sys.modules if 'gaugeblock.cuda' in m])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_another_driver_takes_over() -> None:
    old = gb.ones(3, device="cuda:1")
    gb.cuda.set_device(1)
    gb.cuda.use_driver("simulated", devices=1, total_memory=1 << 26)
    assert gb.cuda.current_device() == 0
    new = gb.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match=r"must be in \[0, 0\]"):
        old.tolist()
    del old
    assert new.tolist() == [1.0] * 3 and gb.cuda.memory_allocated() == 512
    del new
    gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    assert gb.cuda.memory_allocated() == 0
