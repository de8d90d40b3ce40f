"""Strides of pointwise results on ambiguous layouts: PyTorch's, and independent of earlier calls."""

from __future__ import annotations

import random
from collections.abc import Iterator

import gaugeblock as gb
import pytest
from gaugeblock.calls import call_cache
from gaugeblock.tensor import tensor_meta

from .ambiguous_strides import BINARY, UNARY, Layout, draw_layout, draw_pair, strides_of

SEEDS = range(3)
CALLS = 600
FREE = {"number pow"}
"""Calls for which PyTorch gives CPU and meta results different strides."""


def calls(seed: int) -> Iterator[tuple[str, tuple[Layout, ...]]]:
    """Return a sequence of calls, by name, with their operands' layouts."""
    rng = random.Random(seed)
    for _ in range(CALLS):
        if rng.random() < 0.6:
            yield rng.choice(list(UNARY)), (draw_layout(rng),)
        else:
            yield rng.choice(list(BINARY)), draw_pair(rng)


def own_strides(name: str, layouts: tuple[Layout, ...]) -> tuple[int, ...]:
    return strides_of(gb, (UNARY if len(layouts) == 1 else BINARY)[name], *layouts)


@pytest.fixture
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the tables of metas and of cached calls."""
    monkeypatch.setattr(tensor_meta, "_TABLE", {})
    monkeypatch.setattr(tensor_meta, "_FRESH", {})
    monkeypatch.setattr(call_cache, "GENERIC", {})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("nothing_known")
def test_strides_do_not_depend_on_earlier_calls(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_sequence = [(name, layouts, own_strides(name, layouts)) for name, layouts in calls(seed)]
    again = [own_strides(name, layouts) for name, layouts in calls(seed)]
    for (name, layouts, strides), repeated in zip(in_sequence, again, strict=True):
        for table in (tensor_meta._TABLE, tensor_meta._FRESH, call_cache.GENERIC):
            table.clear()
        assert own_strides(name, layouts) == strides == repeated, (name, layouts)


@pytest.mark.parametrize("seed", SEEDS)
def test_strides_are_those_of_pytorch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    for name, layouts in calls(seed):
        if name not in FREE:
            function = (UNARY if len(layouts) == 1 else BINARY)[name]
            assert own_strides(name, layouts) == strides_of(torch, function, *layouts), (name, layouts)


def test_a_number_orders_equal_strides_by_size_after_any_call() -> None:
    for first in (((4, 1), (1, 4)), ((2, 1, 1), (2, 1, 1)), ((5, 1, 1), (1, 1, 1))):
        gb.empty_strided(*first).fill_(0) + 0
        assert (gb.empty_strided((2, 1, 1), (1, 2, 2)).fill_(0) + 0).stride() == (1, 2, 2)
        assert (0.5 * gb.empty_strided((2, 1, 1), (1, 7, 4)).fill_(0)).stride() == (1, 2, 2)


def test_bounds_and_exponents_do_not_affect_the_order() -> None:
    x = gb.empty_strided((4, 1), (1, 4)).fill_(0)
    assert x.clamp(0, 1).stride() == x.clamp(min=0).stride() == x.clamp_max(1).stride() == (1, 1)
    assert (x**3).stride() == (x**0.5).stride() == gb.special.polygamma(2, x).stride() == (1, 1)
    assert (x + 1).stride() == (1, 4)
    assert gb.clamp(x, gb.zeros(()), gb.ones(())).stride() == (1, 4)


def test_a_result_made_like_self_keeps_the_strides() -> None:
    x = gb.empty_strided((1, 3, 2), (1, 2, 1)).fill_(0)
    assert gb.nn.functional.relu6(x).stride() == gb.nan_to_num(x).stride() == (1, 2, 1)
    assert gb.nn.functional.relu(x).stride() == (6, 2, 1)


def test_a_call_made_of_steps_orders_the_dims_at_every_step() -> None:
    x = gb.empty_strided((0, 3, 2, 1), (1, 2, 12, 2))
    assert (2 / x).stride() == (6, 2, 1, 1)
    assert gb.isinf(gb.empty_strided((2, 0, 0, 1), (1, 1, 1, 7))).stride() == (0, 0, 1, 0)
    assert gb.isfinite(gb.zeros(9).as_strided((1, 2, 1, 1), (1, 0, 1, 2))).stride() == (2, 1, 1, 1)
