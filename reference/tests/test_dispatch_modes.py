"""Dispatch modes: what they see, in which order, per thread, and what is left after them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch.state import STATE
from gaugeblock.tensor.hooks import SPECIAL
from gaugeblock.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
)


class Log(TorchDispatchMode):
    """Writes down the operators that it lets through."""

    def __init__(self, name: str = "", log: list[str] | None = None) -> None:
        self.name = name
        self.log: list[str] = [] if log is None else log

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.log.append(f"{self.name}{func}")
        return func(*args, **(kwargs or {}))


def seen(run: Any) -> list[str]:
    with Log() as mode:
        run()
    return mode.log


X = gb.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda: X + X, ["aten.add.Tensor"]),
        (lambda: 2 * X, ["aten.mul.Tensor"]),
        (lambda: (X + 1, 1 - X, X / 2.0, X // 2), ["aten.add.Tensor", "aten.rsub.Scalar", "aten.div.Tensor",
                                                    "aten.floor_divide.default"]),
        (lambda: gb.is_floating_point(X), []),
        (lambda: X.exp().sum(), ["aten.exp.default", "aten.sum.default"]),
        (lambda: gb.add(X, X, out=gb.empty(2, 2)), ["aten.empty.memory_format", "aten.add.out"]),
        (lambda: X.clone().mul_(2), ["aten.clone.default", "aten.mul_.Tensor"]),
        (lambda: X[0], ["aten.select.int"]),
        (lambda: X[:, 1:], ["aten.slice.Tensor"]),
        (lambda: X[..., None, 0], ["aten.unsqueeze.default", "aten.select.int"]),
        (lambda: X[gb_index], ["aten.index.Tensor"]),
        (lambda: X.T, ["aten.permute.default"]),
        (lambda: X.mT, ["aten.transpose.int"]),
        (lambda: X.view(4), ["aten.view.default"]),
        (lambda: X.sum().item(), ["aten.sum.default", "aten._local_scalar_dense.default"]),
        (lambda: bool(X.all()), ["aten.all.default", "aten._local_scalar_dense.default"]),
        (lambda: X.double(), ["aten.to.dtype"]),
        (lambda: X.to("meta"), ["aten.to.dtype_layout"]),
        (lambda: gb.zeros(2), ["aten.zeros.default"]),
        (lambda: list(X), ["aten.unbind.int"]),
        (lambda: (X.shape, X.dtype, X.device, X.stride(), X.numel(), X.is_contiguous(), len(X), X.data_ptr()), []),
    ],
)
def test_what_a_mode_sees(run: Any, expected: list[str]) -> None:
    assert seen(run) == expected


gb_index = gb.tensor([1, 0])


def test_assignment_is_a_view_and_a_write() -> None:
    x = gb.zeros(3)
    assert seen(lambda: x.__setitem__(slice(0, 2), 5.0)) == ["aten.slice.Tensor", "aten.fill_.Scalar"]
    assert seen(lambda: x.__setitem__(0, gb_one)) == ["aten.select.int", "aten.copy_.default"]
    assert seen(lambda: x.__setitem__(gb_index, gb_pair)) == ["aten.index_put_.default"]
    assert x.tolist() == [8.0, 7.0, 0.0]


gb_one = gb.tensor(6.0)
gb_pair = gb.tensor([7.0, 8.0])


def test_results_under_a_mode_are_those_without() -> None:
    with Log():
        assert X[0].tolist() == [1.0, 2.0] and X[[1, 0]].tolist() == [[3.0, 4.0], [1.0, 2.0]]
        assert X[X > 2].tolist() == [3.0, 4.0] and X[None, :, 0].tolist() == [[1.0, 3.0]]
        assert X[:, gb_index].tolist() == [[2.0, 1.0], [4.0, 3.0]] and X[gb_index, 0].tolist() == [3.0, 1.0]


def test_the_innermost_mode_is_asked_first_and_not_about_its_own_calls() -> None:
    log: list[str] = []

    class Doubling(Log):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            super().__torch_dispatch__(func, types, args, kwargs)
            return args[0] * 2

    with Log("outer ", log), Doubling("inner ", log):
        result = gb.neg(X)
    assert result.tolist() == (X * 2).tolist()
    assert log == [
        "inner aten.neg.default", "outer aten.neg.default", "outer aten.mul.Tensor",
    ]  # fmt: skip


def test_a_mode_sees_no_defaults_and_no_autograd_key() -> None:
    found: list[Any] = []

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.append((len(args), kwargs, types, gb.dispatch.tls_exclude_set().has("AutogradFunctionality")))
            return func(*args, **(kwargs or {}))

    with Look():
        gb.add(X, X)
        gb.add(X, X, alpha=3)
    assert found == [(2, {}, (), True), (2, {"alpha": 3}, (), True)]
    assert not gb.dispatch.tls_exclude_set().has("AutogradFunctionality")


def test_modes_belong_to_their_thread() -> None:
    with Log() as mode:
        thread = threading.Thread(target=lambda: X.exp())
        thread.start()
        thread.join()
        X.sin()
    assert mode.log == ["aten.sin.default"]


def test_everything_is_back_after_an_exception() -> None:
    class Failing(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise KeyError(str(func))

    before = STATE.include, STATE.exclude
    with pytest.raises(KeyError, match=r"aten\.exp\.default"), Failing():
        X.exp()
    assert (STATE.include, STATE.exclude, STATE.modes) == (*before, ())
    assert not SPECIAL
    with Log() as mode, pytest.raises(RuntimeError):
        gb.add(gb.ones(2), gb.ones(3))
    assert mode.log == ["aten.ones.default", "aten.ones.default", "aten.add.Tensor"]
    assert STATE.modes == () and not SPECIAL


def test_not_implemented_is_a_type_error() -> None:
    class Nothing(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with Nothing(), pytest.raises(TypeError, match=r"Multiple dispatch failed for 'aten::exp'"):
        X.exp()


def test_modes_can_be_left_for_a_while() -> None:
    with Log() as mode:
        assert _get_current_dispatch_mode() is mode
        with _disable_current_modes():
            assert _get_current_dispatch_mode() is None
            X.exp()
        X.sin()
    assert mode.log == ["aten.sin.default"]
    assert _get_current_dispatch_mode() is None


def test_in_place_calls_return_their_tensor() -> None:
    x = gb.ones(2)
    with Log():
        assert x.add_(1) is x
    assert x.tolist() == [2.0, 2.0]


def test_a_rule_answers_for_a_mode() -> None:
    with gb.library._scoped_library("modelib", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 1, "CPU")
        gb.library.register_torch_dispatch(
            "modelib::f", Log, lambda mode, func, types, args, kwargs: func(args[0] * 10), lib=lib
        )
        with Log() as mode:
            assert gb.ops.modelib.f(gb.ones(1)).tolist() == [11.0]
        assert mode.log == ["aten.ones.default"]


def test_a_mode_without_the_method_says_so() -> None:
    with TorchDispatchMode(), pytest.raises(NotImplementedError, match="does not define __torch_dispatch__"):
        X.exp()


def test_modes_of_many_threads_do_not_meet() -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        for _ in range(30):
            x = gb.full((2,), float(number))
            with Log() as mode:
                y = (x + number)[0]
            if mode.log != ["aten.add.Tensor", "aten.select.int"] or y.item() != 2.0 * number:
                wrong.append((number, mode.log, y))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and STATE.modes == () and not SPECIAL
