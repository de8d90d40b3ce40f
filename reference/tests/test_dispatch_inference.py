"""Inference mode: keys, versions, views, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import gaugeblock as gb
import pytest
from gaugeblock.dispatch.state import STATE
from gaugeblock.library import _scoped_library
from gaugeblock.tensor.hooks import SPECIAL

X = gb.tensor([1.0, 2.0])


def test_what_is_made_in_the_mode_has_no_autograd_keys_ever() -> None:
    with gb.inference_mode():
        made = [X + X, gb.zeros(2), gb.tensor([1.0]), X.clone(), gb.tensor([[1, 2], [3, 4]], dtype=gb.float64)]
        made += [made[0][0], made[1].view(2, 1), made[3].t()]
    for tensor in made:
        assert tensor.is_inference() and gb.is_inference(tensor)
        assert repr(gb.dispatch_keys(tensor)) == "DispatchKeySet(CPU, AutocastCPU)"
        with pytest.raises(RuntimeError, match="do not track version"):
            tensor._version  # noqa: B018
    assert not (made[0] + X).is_inference() and not made[0].clone().is_inference()
    assert gb.dispatch_keys(made[0] + 1) == gb.dispatch_keys(X)


def test_views_of_other_tensors_stay_what_they_are() -> None:
    x = gb.ones(2)
    with gb.inference_mode():
        views = [x[0], x.view(2, 1), x.detach(), x.add_(1)]
    assert not any(view.is_inference() for view in views)
    assert x._version == 1


def test_no_autograd_kernel_is_entered() -> None:
    log: list[str] = []
    with _scoped_library("inflib", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: (log.append("autograd"), x + 1)[1], "AutogradCPU")
        lib.impl("f", lambda x: (log.append("cpu"), x + 1)[1], "CPU")
        with gb.inference_mode():
            y = gb.ops.inflib.f(X)
            with gb.inference_mode(False):
                gb.ops.inflib.f(X)
        gb.ops.inflib.f(y)
        gb.ops.inflib.f(X)
    assert log == ["cpu", "autograd", "cpu", "autograd"]


def test_the_mode_ends_and_belongs_to_its_thread() -> None:
    found: list[bool] = []
    before = STATE.include, STATE.exclude
    with gb.inference_mode():
        thread = threading.Thread(target=lambda: found.append(gb.is_inference_mode_enabled()))
        thread.start()
        thread.join()
        found.append(gb.is_inference_mode_enabled())
    with pytest.raises(KeyError), gb.inference_mode():
        raise KeyError
    assert found == [False, True] and not gb.is_inference_mode_enabled()
    assert (STATE.include, STATE.exclude) == before and not SPECIAL


def test_as_a_decorator() -> None:
    @gb.inference_mode()
    def double(x: gb.Tensor) -> gb.Tensor:
        return x * 2

    @gb.inference_mode
    def triple(x: gb.Tensor) -> gb.Tensor:
        return x * 3

    assert double(X).is_inference() and triple(X).tolist() == [3.0, 6.0] and double.__name__ == "double"
    with pytest.raises(TypeError, match="'mode' must be bool, not int"):
        gb.inference_mode(1)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        gb.is_inference(1)


def test_changes_in_place_are_not_counted() -> None:
    with gb.inference_mode():
        y = gb.ones(2)
        y.add_(1).exp_()
        y.mul_(0)
    assert y.tolist() == [0.0, 0.0] and y.is_inference()


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.add_(gb.ones([3])),
        lambda x: x.exp_(),
        lambda x: gb.add(gb.ones([3]), 1, out=x),
        lambda x: gb.cumsum(gb.ones([3]), 0, out=x),
        lambda x: gb.mv(gb.ones([3, 3]), gb.ones([3]), out=x),
        lambda x: x.copy_(gb.ones([3])),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x.__setitem__(gb.tensor([0, 1]), 5.0),
        lambda x: x[1:].zero_(),
        lambda x: x.uniform_(),
        lambda x: x.scatter_(0, gb.tensor([0]), 7.0),
        lambda x: x.index_add_(0, gb.tensor([0]), gb.ones([1])),
        lambda x: x.masked_fill_(gb.tensor([True, False, True]), 1.0),
        lambda x: x.unsqueeze_(0),
    ],
)
def test_writes_outside_of_the_mode_are_refused(write: Callable[[gb.Tensor], object], learned: bool) -> None:
    for _ in range(3 if learned else 0):
        write(gb.zeros([3]))
    with gb.inference_mode():
        y = gb.ones([3]) + 0.25
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        write(y)
    assert y.tolist() == [1.25, 1.25, 1.25]
    with gb.inference_mode():
        write(y)
