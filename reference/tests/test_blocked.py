"""The blocked layout: conversion both ways, operators on blocks, what an opaque tensor refuses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import gaugeblock as gb
import gaugeblock.nn.functional as F
import pytest
from gaugeblock.dispatch.state import OVERRIDING
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = ("float32", "bfloat16", "float16", "uint8", "int8")
OTHERS = ("float64", "int16", "int32", "int64", "bool", "complex64", "uint16")


def numbers(*sizes: int) -> gb.Tensor:
    return gb.arange(1.0, gb.Size(sizes).numel() + 1).view(sizes) / 4 - 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 35), min_size=1, max_size=2), st.lists(st.integers(1, 3), max_size=3),
       st.sampled_from(DTYPES), st.booleans())  # fmt: skip
def test_conversion_is_exact_both_ways(first: list[int], rest: list[int], name: str, turned: bool) -> None:
    x = numbers(*first, *rest).to(gb.int8).to(getattr(gb, name))
    x = x.permute(*reversed(range(x.ndim))) if turned else x
    m = x.to_mkldnn()
    assert (m.layout, m.shape, m.dtype, m.is_mkldnn) == (gb._mkldnn, x.shape, x.dtype, True)
    assert gb.equal(m.to_dense(), x) and m.to_dense().layout is gb.strided


def test_special_values_stay() -> None:
    x = gb.tensor([gb.nan, gb.inf, -gb.inf, -0.0])
    back = x.to_mkldnn().to_dense()
    assert back.isnan().tolist() == [True, False, False, False] and back.tolist()[1:] == [gb.inf, -gb.inf, 0.0]
    assert back.signbit().tolist()[3]


def test_other_dtypes() -> None:
    for name in OTHERS:
        with pytest.raises(RuntimeError, match="must be of one of"):
            gb.ones(2).to(getattr(gb, name)).to_mkldnn()
        with pytest.raises(RuntimeError, match="must be of one of"):
            gb.ones(2).to_mkldnn(getattr(gb, name))
    assert gb.ones(2).to_mkldnn(gb.bfloat16).dtype is gb.bfloat16
    assert gb.ones(2).to_mkldnn().to_dense(gb.float64).dtype is gb.float64
    for sizes in ((), (1,) * 6):
        with pytest.raises(RuntimeError, match="1 to 5 dims"):
            gb.ones(sizes).to_mkldnn()


SAME = [
    lambda x: x.relu(), lambda x: x.sigmoid(), lambda x: x.tanh(), lambda x: x + x, lambda x: x.add(x, alpha=3),
    lambda x: x * x, lambda x: x * 2, lambda x: x.clone(), lambda x: x.detach(), lambda x: x.clone().relu_(),
    lambda x: x.clone().add_(x), lambda x: x.clone().mul_(x), lambda x: x.clone().zero_(),
    lambda x: x.clone().zero_().copy_(x), lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 3, 1, 1),
    lambda x: F.adaptive_avg_pool2d(x, 2), lambda x: F.conv2d(x, numbers(5, 17, 3, 3), numbers(5), padding=1),
    lambda x: F.linear(x, numbers(3, 4)), lambda x: F.linear(x, numbers(3, 4), numbers(3)),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(SAME)))
def test_operators_are_those_of_strided_tensors(place: int) -> None:
    x = numbers(2, 17, 4, 4) / 16
    found = SAME[place](x.to_mkldnn())
    assert found.layout is gb._mkldnn
    assert gb.equal(found.to_dense(), SAME[place](x))


def test_weights_may_be_blocked() -> None:
    x, w, b = numbers(1, 3, 5, 5), numbers(4, 3, 3, 3), numbers(4)
    found = F.conv2d(x.to_mkldnn(), w.to_mkldnn(), b.to_mkldnn(), stride=2)
    assert gb.equal(found.to_dense(), F.conv2d(x, w, b, stride=2))


M = numbers(2, 3).to_mkldnn()
REFUSED: list[tuple[type[Exception], Callable[[], object]]] = [
    (RuntimeError, lambda: M.stride()), (NotImplementedError, lambda: M.untyped_storage()),
    (NotImplementedError, lambda: M.storage()), (RuntimeError, lambda: M.data_ptr()),
    (RuntimeError, lambda: M.storage_offset()), (NotImplementedError, lambda: M[0]),
    (NotImplementedError, lambda: M[gb.tensor([0])]), (NotImplementedError, lambda: M.__setitem__(0, 1.0)),
    (NotImplementedError, lambda: list(M)), (RuntimeError, lambda: M.view(-1)), (RuntimeError, lambda: M.t()),
    (RuntimeError, lambda: M.T), (RuntimeError, lambda: M.select(0, 0)), (RuntimeError, lambda: M.expand(2, 2, 3)),
    (RuntimeError, lambda: M.as_strided((2,), (1,))), (TypeError, lambda: M.numpy()),
    (BufferError, lambda: M.__dlpack__()), (RuntimeError, lambda: M.tolist()), (RuntimeError, lambda: M.contiguous()),
    (RuntimeError, lambda: M + numbers(2, 3)), (RuntimeError, lambda: numbers(2, 3) + M),
    (RuntimeError, lambda: numbers(2, 3) * M), (RuntimeError, lambda: numbers(2, 3).copy_(M)),
    (RuntimeError, lambda: M.clone().copy_(numbers(2, 3))), (RuntimeError, lambda: M + numbers(1, 3).to_mkldnn()),
    (NotImplementedError, lambda: M.sum()), (NotImplementedError, lambda: M.exp()),
    (NotImplementedError, lambda: M == M), (RuntimeError, lambda: M.double()),
    (RuntimeError, lambda: M.requires_grad_()), (NotImplementedError, lambda: M.to_mkldnn()),
    (NotImplementedError, lambda: copy.deepcopy(M)), (NotImplementedError, lambda: pickle.dumps(M)),
    (RuntimeError, lambda: gb.rand(2, layout=gb._mkldnn)), (TypeError, lambda: numbers(2).to_mkldnn("int8")),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_opaque_tensors_refuse(place: int) -> None:
    kind, call = REFUSED[place]
    with pytest.raises(kind):
        call()


def test_what_is_told() -> None:
    assert (M.shape, M.ndim, M.numel(), M.dtype, M.device) == ((2, 3), 2, 6, gb.float32, gb.device("cpu"))
    assert not M.is_contiguous() and not M.requires_grad and type(M).__name__ == "Tensor"
    assert str(numbers(2).to_mkldnn()) == "tensor([-2.7500, -2.5000], layout=gaugeblock._mkldnn)"
    assert pickle.loads(pickle.dumps(gb._mkldnn)) is gb._mkldnn


def test_versions_count() -> None:
    m = numbers(2, 3).to_mkldnn()
    before = m._version
    m.relu_()
    assert m._version == before + 1


def test_gradients_are_refused_not_lost() -> None:
    x = numbers(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="take no part in autograd"):
        x.to_mkldnn()
    with gb.no_grad():
        assert gb.equal(x.to_mkldnn().to_dense(), x)
    weight = numbers(4, 3, 1, 1).requires_grad_()
    with pytest.raises(RuntimeError, match="take no part in autograd"):
        F.conv2d(numbers(1, 3, 2, 2).to_mkldnn(), weight)


def test_strided_calls_stay_on_their_fast_paths() -> None:
    before = list(OVERRIDING)
    assert gb.ones(2, 3).to_mkldnn().is_mkldnn and list(OVERRIDING) == before


def test_factories_make_blocked_tensors() -> None:
    for make, value in ((gb.zeros, 0.0), (gb.ones, 1.0)):
        made = make(2, 17, layout=gb._mkldnn)
        assert made.layout is gb._mkldnn and made.is_mkldnn
        assert made.to_dense().tolist() == [[value] * 17] * 2
    assert gb.full((3,), 2.5, layout=gb._mkldnn).to_dense().tolist() == [2.5] * 3
    assert gb.empty(2, 3, layout=gb._mkldnn).shape == (2, 3)
    with pytest.raises(RuntimeError, match="must be of one of float32, bfloat16"):
        gb.zeros(2, dtype=gb.float64, layout=gb._mkldnn)
