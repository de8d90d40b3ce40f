"""Gradients at ties, zeros and ends, by the conventions of the spec's derivatives.md; what has no derivative."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, sqrt
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

Function = Callable[..., Any]


def gradient(function: Function, values: Any, dtype: Any = None) -> Any:
    x = gb.tensor(values, dtype=gb.float64 if dtype is None else dtype, requires_grad=True)
    (found,) = gb.autograd.grad(function(x).sum(), x)
    return found.tolist()


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (gb.abs, [0.0, -2.0], [0, -1]),
        (gb.sign, [0.0, -2.0], [0, 0]),
        (gb.relu, [0.0, 1.0, nan], [0, 1, 1]),
        (gb.sqrt, [0.0, 4.0], [inf, 0.25]),
        (gb.log, [0.0], [inf]),
        (gb.sinc, [0.0], [0]),
        (gb.floor, [1.5], [0]),
        (lambda x: x**0, [0.0, 3.0], [0, 0]),
        (lambda x: 0.0**x, [0.0, 2.0], [0, 0]),
        (lambda x: x.clamp(0, 1), [0.0, 1.0, 2.0, -1.0], [1, 1, 0, 0]),
        (lambda x: x.clamp(gb.tensor([1.0, 0.0])), [1.0, -1.0], [1, 0]),
        (gb.max, [2.0, 2.0, 1.0], [0.5, 0.5, 0]),
        (lambda x: x.amax(0), [2.0, 2.0, 1.0], [0.5, 0.5, 0]),
        (lambda x: x.max(0).values, [2.0, 2.0, 1.0], [1, 0, 0]),
        (gb.median, [2.0, 2.0, 1.0], [0.5, 0.5, 0]),
        (lambda x: gb.maximum(x, gb.tensor([1.0, 0.0, nan])), [1.0, 1.0, 1.0], [0.5, 1, 1]),
        (lambda x: gb.fmax(x, gb.tensor([1.0, 0.0, nan])), [1.0, -1.0, 1.0], [1, 0, 1]),
        (lambda x: x.norm(), [0.0, 0.0], [0, 0]),
        (lambda x: x.norm(inf), [2.0, -2.0, 1.0], [0.5, -0.5, 0]),
        (lambda x: gb.hypot(x, x.detach()), [0.0, 3.0], [nan, sqrt(0.5)]),
        (lambda x: gb.atan2(x, gb.zeros_like(x)), [0.0, 2.0], [0, 0]),
        (lambda x: x.std(), [1.0], [nan]),
        (lambda x: x.std(), [1.0, 1.0], [0, 0]),
        (lambda x: x.logsumexp(0), [-inf, -inf], [nan, nan]),
        (gb.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
        (gb.prod, [0.0, 0.0, 3.0], [0, 0, 0]),
        (lambda x: x.cumprod(0), [2.0, 0.0, 3.0, 0.0], [1, 8, 0, 0]),
        (lambda x: x.mean(), [], []),
        (lambda x: x.nansum(), [nan, 1.0], [0, 1]),
        (lambda x: gb.xlogy(x, gb.tensor([0.0, 1.0])), [0.0, 2.0], [0, 0]),
        (lambda x: gb.where(x > 0, x.sqrt(), 0), [0.0, 4.0], [nan, 0.25]),
    ],
)
def test_conventions(function: Function, values: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(gradient(function, values), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        (gb.abs, 0j, 0j),
        (gb.abs, 3 + 4j, 0.6 + 0.8j),
        (lambda z: (z * z).real, 3 + 4j, 6 - 8j),
        (gb.angle, 0j, 0j),
        (gb.angle, 2j, -0.5 + 0j),
        (lambda z: gb.sgn(z).real, 0j, 0j),
        (lambda z: gb.exp(z).imag, 0j, 1j),
    ],
)
def test_complex_gradients_are_by_the_conjugate(function: Function, value: complex, expected: complex) -> None:
    assert gradient(function, value, gb.complex128) == pytest.approx(expected)


def test_products_with_zeros_are_differentiated_twice() -> None:
    for function in (gb.prod, lambda x: x.cumprod(0)[-1]):
        x = gb.tensor([0.0, 2.0, 3.0], dtype=gb.float64, requires_grad=True)
        (first,) = gb.autograd.grad(function(x), x, create_graph=True)
        second = [gb.autograd.grad(one, x, retain_graph=True)[0].tolist() for one in first]
        assert first.tolist() == [6, 0, 0]
        assert second == [[0, 3, 2], [3, 0, 0], [2, 0, 0]]


def test_limits_have_gradients() -> None:
    x, low, high = (gb.tensor(v, requires_grad=True) for v in ([0.0, 5.0, 2.0], [1.0, 1.0, 4.0], [3.0, 3.0, 3.0]))
    found = gb.autograd.grad(gb.clamp(x, low, high).sum(), (x, low, high))
    assert [one.tolist() for one in found] == [[0, 0, 0], [1, 0, 0], [0, 1, 1]]


def test_orthogonal_polynomials_have_slopes() -> None:
    x = [-1.0, 0.25, 1.0]
    assert gradient(lambda v: gb.special.legendre_polynomial_p(v, 2), x) == pytest.approx([3 * v for v in x])
    assert gradient(lambda v: gb.special.chebyshev_polynomial_u(v, 2), x) == pytest.approx([8 * v for v in x])
    degrees = gb.tensor([0, 1, 3])
    slopes = gradient(lambda v: gb.special.hermite_polynomial_he(v, degrees), x)
    assert slopes == pytest.approx([0, 1, 3 * x[2] ** 2 - 3])


def test_unknown_derivatives_are_refused_when_they_are_asked_for() -> None:
    x = gb.tensor([2.0], requires_grad=True)
    y = gb.igamma(x, gb.tensor([1.0]))
    with pytest.raises(NotImplementedError, match="igamma: self"):
        y.sum().backward()
    (known,) = gb.autograd.grad(gb.igamma(gb.tensor([2.0]), x).sum(), x)
    assert known.item() == pytest.approx(2 * np.exp(-2.0), rel=1e-5)


def test_gradients_take_the_dtype_of_what_they_are_of() -> None:
    x, w = gb.ones(1, 2, requires_grad=True), gb.tensor([[1.0], [2.0]], dtype=gb.float64, requires_grad=True)
    (found,) = gb.autograd.grad(x @ gb.ones(2, 1), x, gb.ones(1, 1, dtype=gb.float64))
    assert found.dtype is gb.float32 and found.tolist() == [[1, 1]]
    (half,) = gb.autograd.grad((x.half() * 2).sum(), x)
    assert half.dtype is gb.float32
    x_grad, w_grad = gb.autograd.grad((x.t() * w).sum(), (x, w))
    assert (x_grad.dtype, w_grad.dtype) == (gb.float32, gb.float64)


def test_vectors_that_svd_was_not_asked_for_have_no_gradient() -> None:
    x = gb.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    u, s, v = gb.svd(x, compute_uv=False)
    assert (u.requires_grad, s.requires_grad, v.requires_grad) == (False, True, False)
    assert u.tolist() == v.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    (s * gb.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [[2.0, 0.0], [0.0, 1.0]]
    assert all(part.requires_grad for part in gb.svd(x))
