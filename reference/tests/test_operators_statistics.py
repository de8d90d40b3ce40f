"""Quantiles, histograms, covariances, modes, runs and renorm by hand."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import pytest

X = gb.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
NAN = math.nan


def test_quantiles() -> None:
    assert gb.quantile(X, 0.5).item() == 2.5
    assert gb.quantile(X, gb.tensor([0.25, 0.5]), dim=1).tolist() == [[0.5, 3.5], [1, 4]]
    assert gb.quantile(X.t(), 0.5, dim=0, keepdim=True).tolist() == [[1, 4]]
    for method, value in (("lower", 1), ("higher", 2), ("midpoint", 1.5), ("nearest", 2), ("linear", 1.6)):
        assert gb.quantile(gb.arange(5.0), 0.4, interpolation=method).item() == pytest.approx(value)
    hole = gb.tensor([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
    assert hole.quantile(0.5, 1).isnan().all().item()
    assert hole.nanquantile(0.5, 1)[0].item() == 2 and hole.nanquantile(0.5, 1)[1].isnan().item()
    assert gb.quantile(gb.empty(2, 3, device="meta"), gb.empty(4, device="meta"), 1).shape == (4, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gb.quantile(X, 1.5), "but got 1.5"),
        (lambda: gb.quantile(X, gb.tensor([1.5])), "q values must be"),
        (lambda: gb.quantile(X, gb.tensor([0.5]).double()), "same dtype"),
        (lambda: gb.quantile(X.long(), 0.5), "either float or double"),
        (lambda: gb.quantile(X[:0], 0.5), "non-empty"),
        (lambda: gb.bincount(gb.tensor([-1])), "non-negative"),
        (lambda: gb.histc(gb.tensor([1.0, math.inf])), "not finite"),
        (lambda: gb.cov(X, fweights=gb.ones(3)), "integral"),
        (lambda: gb.renorm(X, 0, 0, 1), "non-positive-norm"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


def test_counting() -> None:
    assert gb.bincount(gb.tensor([1, 2, 2]), minlength=5).tolist() == [0, 1, 2, 0, 0]
    assert gb.bincount(gb.tensor([1, 0]), gb.tensor([0.5, 1.0])).tolist() == [1, 0.5]
    assert gb.bincount(gb.tensor([], dtype=gb.int64), minlength=2).tolist() == [0, 0]
    data = gb.tensor([1.0, 2.0, 2.0, 5.0, NAN, 0.0])
    assert gb.histc(data, 4, 0, 4).tolist() == [1, 1, 2, 0]
    assert gb.histc(data[:4], 4).tolist() == [1, 2, 0, 1]
    assert gb.histc(gb.tensor([1.0, 1.0]), 4).tolist() == [0, 0, 2, 0]
    hist, edges = gb.histogram(data[:4], 4, range=(0.0, 4.0), weight=gb.tensor([1.0, 2.0, 3.0, 4.0]), density=True)
    assert hist.tolist() == pytest.approx([0, 1 / 6, 5 / 6, 0]) and edges.tolist() == [0, 1, 2, 3, 4]
    assert gb.histogram(data[:4], gb.tensor([0.0, 2.0, 5.0])).hist.tolist() == [1, 3]


def test_covariance() -> None:
    x = gb.tensor([[1.0, 2.0, 4.0], [2.0, 1.0, 0.0]])
    assert gb.cov(x).flatten().tolist() == pytest.approx([7 / 3, -1.5, -1.5, 1])
    assert gb.cov(x[0], correction=0).item() == pytest.approx(14 / 9)
    weighted = gb.cov(x[0], fweights=gb.tensor([1, 2, 1]), aweights=gb.tensor([0.5, 1.0, 1.0]))
    assert weighted.item() == pytest.approx(1.5)
    assert gb.corrcoef(x)[0].tolist() == pytest.approx([1, -0.98198050606])
    assert gb.cov(gb.tensor([[1, 2], [3, 4]])).dtype is gb.float32
    assert gb.corrcoef(gb.tensor([1.0, 2.0])).item() == 1


def test_modes_and_runs() -> None:
    found = gb.mode(gb.tensor([3, 1, 2, 2, 1, 3, 1, 2]))
    assert (found.values.item(), found.indices.item()) == (1, 6)
    assert gb.mode(gb.tensor([[1, 2], [1, 3]]), 0, True).values.tolist() == [[1, 2]]
    values, inverse, counts = gb.unique_consecutive(gb.tensor([1, 1, 2, 1]), True, True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 2], [2, 1, 1])
    assert gb.unique_consecutive(gb.tensor([[1, 1, 2], [3, 3, 3]]), dim=1).tolist() == [[1, 2], [3, 3]]
    assert gb.unique_consecutive(gb.tensor([NAN, NAN])).shape == (2,)


def test_renorm() -> None:
    scaled = gb.renorm(X, 2, 0, 3)
    assert scaled[0].tolist() == [0, 1, 2] and scaled[1].norm().item() == pytest.approx(3, rel=1e-6)
    y = X.clone()
    assert y.renorm_(1, 1, 1) is y and y.abs().sum(0).tolist() == pytest.approx([1, 1, 1], rel=1e-6)
    for call in range(3):  # each largest norm has a plan of its own
        for largest in (1.0, 2.0):
            assert gb.renorm(X, 1, 0, largest)[1].sum().item() == pytest.approx(largest, rel=1e-6), call
    turned = gb.randn(3, 4, dtype=gb.complex64).conj()
    assert gb.renorm(turned, 2, 0, 0.5).tolist() == gb.renorm(turned.resolve_conj(), 2, 0, 0.5).tolist()
    half = gb.full((2, 64), 100.0, dtype=gb.float16)
    assert gb.renorm(half, 2, 0, 8).tolist() == [[1.0] * 64] * 2


@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_gradient_of_renorm(p: float) -> None:
    x = gb.tensor([[1.0, -2.0, 0.5], [0.1, 0.2, 0.0]], dtype=gb.float64, requires_grad=True)
    assert gb.autograd.gradcheck(lambda t: gb.renorm(t, p, 0, 1.5), (x[:, :2],))
    (grad,) = gb.autograd.grad(gb.renorm(x, p, 0, 1.5).sum(), x)
    assert grad[1].tolist() == [1.0, 1.0, 1.0]
