"""Calls on empty tensors: their fast path gives the results, checks and versions of the general path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.calls import call_cache
from gaugeblock.kernels.bound_call import form_of
from gaugeblock.kernels.pointwise import nothing
from gaugeblock.memory.host_allocator import NO_BLOCKS, host_allocator
from gaugeblock.memory.storage import set_poison
from gaugeblock.tensor import tensor_meta

from .cached import CACHED

CALLS: list[tuple[Callable[..., Any], tuple[int, ...], gb.DType]] = [
    (lambda x: x + x, (0, 3), gb.float32),
    (lambda x: x + gb.ones(3), (0, 3), gb.float32),
    (lambda x: x + 1, (0, 3), gb.float32),
    (lambda x: 2.5 * x, (0, 3), gb.float32),
    (lambda x: x > 0, (0, 3), gb.bool),
    (lambda x: gb.exp(x), (0, 3), gb.float32),
    (lambda x: x**2, (0, 3), gb.float32),
    (lambda x: x.clamp(0, 1), (0, 3), gb.float32),
    (lambda x: x.add_(1), (0, 3), gb.float32),
    (lambda x: gb.addcmul(x, x, x), (0, 3), gb.float32),
    (lambda x: gb.add(x, x, out=gb.empty(0, 3)), (0, 3), gb.float32),
    (lambda x: x.clone(), (0, 3), gb.float32),
    (lambda x: gb.cat([x, x]), (0, 3), gb.float32),
    (lambda x: gb.stack([x, x]), (2, 0, 3), gb.float32),
    (lambda x: x @ gb.ones(3, 2), (0, 2), gb.float32),
    (lambda x: gb.nn.functional.linear(x, gb.ones(5, 3)), (0, 5), gb.float32),
    (lambda x: x.amax(1), (0,), gb.float32),
    (lambda x: x.cumsum(0), (0, 3), gb.float32),
]


@pytest.mark.parametrize(("function", "sizes", "dtype"), CALLS)
def test_repeated_calls_give_the_same_result(
    function: Callable[..., gb.Tensor], sizes: tuple[int, ...], dtype: gb.DType
) -> None:
    x = gb.zeros(0, 3)
    results = [function(x) for _ in range(4)]
    assert {(one.shape, one.stride(), one.dtype, one.data_ptr()) for one in results} == {
        (sizes, results[0].stride(), dtype, 0)
    }
    assert results[2] is x or results[2] is not results[3]


@CACHED
def test_a_second_call_makes_no_plan() -> None:
    x = gb.zeros(0, 7)
    for call in (gb.exp, lambda x: x + x, lambda x: x + 1.5, lambda x: x.neg_()):
        call(x)
    for name in ("exp", "add", "neg_"):
        forms = [form_of(entry) for key, entry in x.meta.calls.items() if key[0] == name]
        assert forms and all(form is not None and form.kernel in (None, nothing) for form in forms), name
    assert gb.mm(x, gb.ones(7, 2)).shape == gb.mm(x, gb.ones(7, 2)).shape == (0, 2)


def test_checks_and_versions_stay() -> None:
    x = gb.zeros(0, 3)
    for _ in range(3):
        x.add_(1)
        with pytest.raises(RuntimeError, match="size of tensor a"):
            x + gb.ones(4)
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            gb.mm(x, gb.ones(4, 2))
        with pytest.raises(NotImplementedError):
            x & x
    assert x._version == 3


def test_entries_do_not_serve_tensors_with_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, table in ((tensor_meta, "_TABLE"), (tensor_meta, "_FRESH"), (call_cache, "GENERIC")):
        monkeypatch.setattr(module, table, {})
    for sizes in ((0,), (2,), (0, 2), (3,)):
        x = gb.ones(sizes)
        for _ in range(2):
            assert (x * 3.0).sum().item() == 3.0 * x.numel()
            assert x.clone().sub_(4).sum().item() == -3.0 * x.numel()


def test_gradients_go_through() -> None:
    x = gb.zeros(0, 3, requires_grad=True)
    for _ in range(3):
        (x * 2 + 1).exp().sum().backward()
        assert x.grad is not None
        assert x.grad.shape == (0, 3)


def test_the_address_of_no_bytes_is_given_to_no_others() -> None:
    previous = set_poison(7)
    try:
        for _ in range(3):
            x = gb.empty(0)
            x.resize_(4)
            y = gb.empty(0) + gb.empty(0)
            del x, y
    finally:
        set_poison(previous)
    for _ in range(100):
        gb.empty(0) + gb.empty(0)
    assert len(NO_BLOCKS) < 50
    assert set(NO_BLOCKS) <= {0}
    assert all(0 not in pool for pool in host_allocator.pools)
    grown = gb.empty(0)
    grown.resize_(3).fill_(1.0)
    assert grown.tolist() == [1.0] * 3
