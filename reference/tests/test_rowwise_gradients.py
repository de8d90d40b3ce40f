"""The gradient of layer_norm's input by one kernel over rows, beside the gradient of a formula."""

from __future__ import annotations

import gaugeblock as gb
import pytest
from gaugeblock.nn.functional import layer_norm


def by_formula(x: gb.Tensor, grad: gb.Tensor, weight: gb.Tensor | None, dims: list[int], eps: float) -> gb.Tensor:
    x, grad = x.detach().double(), grad.double()
    slope = grad if weight is None else grad * weight.detach().double()
    centred = x - x.mean(dims, keepdim=True)
    inverse = ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    normal = centred * inverse
    aligned = (slope * normal).mean(dims, keepdim=True)
    return inverse * (slope - slope.mean(dims, keepdim=True) - normal * aligned)


@pytest.mark.parametrize("sizes", [(5, 7), (1, 1), (3, 16), (4, 33), (2, 3, 65), (6, 128)])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
def test_rows(sizes: tuple[int, ...], count: int, weighted: bool, dtype: gb.dtype) -> None:
    shape, dims = sizes[-count:], list(range(-count, 0))
    x = gb.randn(sizes, dtype=dtype, requires_grad=True)
    weight = gb.randn(shape, dtype=dtype, requires_grad=True) if weighted else None
    grad = gb.randn(sizes, dtype=dtype)
    expected = by_formula(x, grad, weight, dims, 1e-3)
    for given in (grad, grad.mT.contiguous().mT):
        result = layer_norm(x, shape, weight, None, 1e-3)
        (own,) = gb.autograd.grad(result, x, given)
        assert own.dtype is dtype
        assert own.stride() == x.stride()
        assert gb.testing.assert_close(own.double(), expected, rtol=1e-4, atol=1e-5) is None


def test_literal() -> None:
    x = gb.tensor([[1.0, 3.0], [2.0, 2.0]], requires_grad=True)
    (own,) = gb.autograd.grad(layer_norm(x, (2,), gb.tensor([3.0, 1.0]), eps=3.0)[0], x, gb.tensor([1.0, 0.0]))
    assert own.tolist() == [[0.5625, -0.5625], [0.0, 0.0]]


def test_a_gradient_that_is_differentiated_again() -> None:
    x = gb.randn(3, 4, dtype=gb.float64, requires_grad=True)
    assert gb.autograd.gradgradcheck(lambda x: layer_norm(x, (4,)), (x,))
