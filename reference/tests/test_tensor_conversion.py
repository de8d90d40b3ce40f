"""Conversions that change nothing return their tensor itself, and parameters that the fast paths of bindings rename."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.overrides import TorchFunctionMode

UNCHANGED: dict[str, Callable[[gb.Tensor], gb.Tensor]] = {
    "to of nothing": lambda x: x.to(),
    "to of a dtype": lambda x: x.to(gb.float32),
    "to of a tensor": lambda x: x.to(gb.ones(1)),
    "type_as": lambda x: x.type_as(gb.ones(1)),
}


@pytest.mark.parametrize("name", UNCHANGED)
@pytest.mark.parametrize("recorded", [False, True])
def test_the_tensor_itself(name: str, recorded: bool) -> None:
    x = gb.ones(2, requires_grad=recorded)
    for one in (x, x * 1, x.expand(3, 2).t()):
        assert UNCHANGED[name](one) is one
    y = UNCHANGED[name](gb.ones(2, dtype=gb.float64)) if name != "to of nothing" else x
    assert y.dtype is gb.float32


def test_modes_see_conversions_that_change_nothing() -> None:
    seen: list[str] = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function.__name__)
            return function(*args, **(kwargs or {}))

    x = gb.ones(2)
    with Mode():
        assert x.to(gb.float32) is x.type_as(x)
    assert seen == ["to", "type_as"]


@pytest.mark.parametrize("given", [(gb.float32,), (), (1,)])
def test_type_as_takes_a_tensor(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        gb.ones(2).type_as(*given)


def test_parameters_that_are_keywords_of_python() -> None:
    x = gb.zeros(64)
    for _ in range(3):
        assert set(x.random_(3, 5).tolist()) == {3.0, 4.0}
        assert set(x.random_(2).tolist()) == {0.0, 1.0}
        assert x.random_(**{"from": 7, "to": 8}).tolist() == [7.0] * 64
        for filled in (x.uniform_(1.0, 1.5), x.uniform_(**{"from": 1.0, "to": 1.5}), x.uniform_(1.0, to=1.5)):
            assert all(1.0 <= one < 1.5 for one in filled.tolist())
        assert x.uniform_(to=0.5).max().item() < 0.5
        for wrong in (lambda: x.uniform_(from_=1.0), lambda: x.random_(from_=1)):
            with pytest.raises(TypeError, match="from_"):
                wrong()
        with pytest.raises(RuntimeError, match="expects 'from' to be less than 'to'"):
            x.random_(5, 2)


def test_a_factory_without_a_generator() -> None:
    for _ in range(3):
        gb.manual_seed(3)
        expected = [gb.rand(3).tolist(), gb.randn(3).tolist(), gb.randint(0, 9, (3,)).tolist()]
        gb.manual_seed(3)
        found = [gb.rand(3, generator=None), gb.randn(3, generator=None), gb.randint(0, 9, [3], generator=None)]
        assert [one.tolist() for one in found] == expected
        with pytest.raises(TypeError, match="generator"):
            gb.zeros(3, generator=None)
