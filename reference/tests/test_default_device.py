"""``with device(...)`` and set_default_device: where new tensors are that ask for no device."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import gaugeblock as gb
import pytest

CALLS = {
    "arange": lambda m: m.arange(3), "as_tensor": lambda m: m.as_tensor([1]), "asarray": lambda m: m.asarray([1]),
    "empty": lambda m: m.empty(2), "empty_strided": lambda m: m.empty_strided((2,), (1,)), "eye": lambda m: m.eye(2),
    "full": lambda m: m.full((2,), 1.0), "linspace": lambda m: m.linspace(0, 1, 3), "ones": lambda m: m.ones(2),
    "logspace": lambda m: m.logspace(0, 1, 3), "rand": lambda m: m.rand(2), "randint": lambda m: m.randint(3, (2,)),
    "randn": lambda m: m.randn(2), "randperm": lambda m: m.randperm(3), "tensor": lambda m: m.tensor([1.0]),
    "scalar_tensor": lambda m: m.scalar_tensor(1.0), "zeros": lambda m: m.zeros(2, 3),
    "tril_indices": lambda m: m.tril_indices(2, 2), "triu_indices": lambda m: m.triu_indices(2, 2),
    "hann_window": lambda m: m.hann_window(3), "fftfreq": lambda m: m.fft.fftfreq(3),
    "rfftfreq": lambda m: m.fft.rfftfreq(3), "hann": lambda m: m.signal.windows.hann(3),
}  # fmt: skip
FOLLOW = {
    "ones_like": lambda m, x: m.ones_like(x), "new_ones": lambda m, x: x.new_ones(2), "add": lambda m, x: x + 1,
    "Tensor": lambda m, x: m.Tensor(2), "asked": lambda m, x: m.ones(2, device="cpu"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    gb.set_default_device(None)


@pytest.mark.parametrize("name", CALLS)
def test_a_new_tensor_is_on_the_device(name: str) -> None:
    with gb.device("meta") as device:
        assert device is gb.device("meta")
        assert CALLS[name](gb).device is device
    assert CALLS[name](gb).device.type == "cpu"


@pytest.mark.parametrize("name", FOLLOW)
def test_what_is_made_of_another_tensor_or_asks_for_a_device_is_not(name: str) -> None:
    x = gb.ones(2)
    with gb.device("meta"):
        assert FOLLOW[name](gb, x).device.type == "cpu"


def test_contexts_nest_over_the_default_and_end_with_errors() -> None:
    gb.set_default_device("meta")
    assert gb.ones(1).device.type == gb.get_default_device().type == "meta"
    with gb.device("cpu"):
        assert gb.ones(1).device.type == gb.get_default_device().type == "cpu"
        with pytest.raises(ValueError, match="inside"), gb.device("meta"):
            raise ValueError("inside")
        assert gb.ones(1).device.type == "cpu"
        gb.set_default_device(None)
        assert gb.ones(1).device.type == "cpu"
        gb.set_default_device("meta")
        assert gb.ones(1).device.type == "cpu"
    assert gb.ones(1).device.type == "meta"
    gb.set_default_device(None)
    assert gb.ones(1).device.type == gb.get_default_device().type == "cpu"


def test_it_is_of_one_thread() -> None:
    gb.set_default_device("meta")
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(gb.ones(1).device.type))
    thread.start()
    thread.join()
    assert found == ["cpu"]


def test_devices_that_are_not_there() -> None:
    with pytest.raises(RuntimeError, match="expected one of cpu"):
        gb.set_default_device("nowhere")
    with pytest.raises(RuntimeError), gb.device("cuda:7"):
        pass
    assert gb.get_default_device() is gb.device("cpu") and gb.ones(1).device.type == "cpu"
