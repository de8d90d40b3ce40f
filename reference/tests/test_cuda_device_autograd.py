"""Differentiation on the simulated CUDA device: the same gradients as on the CPU, where the tensors are."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import gaugeblock as gb
import pytest

F = gb.nn.functional


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", total_memory=1 << 28)
    gc.collect()
    assert gb.cuda.memory_allocated() == 0
    gb.cuda.use_driver(None)


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    lambda x, w: (x @ w).sum(),
    lambda x, w: (x.exp() * x).softmax(1).std(),
    lambda x, w: F.cross_entropy(x @ w, gb.tensor([0, 2], device=x.device)),
    lambda x, w: F.layer_norm(x, (3,)).pow(3).sum() + w.norm(),
    lambda x, w: x.sort(1).values[:, 1:].prod() + w[w > 0].sum(),
    lambda x, w: x.gather(1, gb.tensor([[0, 2], [1, 1]], device=x.device)).logsumexp(0).sum(),
    lambda x, w: gb.cat([x, x * 2]).max(0).values.dot(w[0]),
    lambda x, w: F.conv2d(x[None, None], w[None, None, :2, :2]).abs().mean(),
    lambda x, w: x.clone().mul_(2).index_add_(0, gb.tensor([1], device=x.device), w[:1]).square().sum(),
    lambda x, w: gb.linalg.solve(w + 3 * gb.eye(3, device=x.device), x.t()).sum() + gb.linalg.det(w),
    lambda x, w: x.t().reshape(2, 3).unbind()[1].cumsum(0).sum() * w.diagonal().sum(),
    lambda x, w: gb.where(x > 0.5, x, w[:2]).var() + gb.fft.rfft(x).abs().sum(),
    lambda x, w: F.embedding(gb.tensor([2, 0, 2], device=x.device), w).tanh().sum() + x[0, 0],
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_gradients_agree_with_the_cpu(number: int) -> None:
    square = [[0.5, -0.3, 1.1], [0.2, 0.9, -0.7], [1.3, 0.4, 0.6]]
    values = [gb.tensor([[0.3, -1.2, 0.8], [1.5, 0.1, -0.4]]), gb.tensor(square)]
    found: list[list[Any]] = []
    for device in ("cpu", "cuda"):
        leaves = [value.to(device).requires_grad_() for value in values]
        loss = PROGRAMS[number](*leaves)
        first = gb.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        assert all(one is None or one.device == leaves[0].device for one in first)
        kept = [one for one in first if one is not None and one.requires_grad]
        second = gb.autograd.grad(sum(one.square().sum() for one in kept), leaves, allow_unused=True) if kept else []
        found.append([None if one is None else one.detach().cpu() for one in (loss, *first, *second)])
    for here, there in zip(*found, strict=True):
        assert (here is None) == (there is None)
        assert here is None or gb.allclose(here, there, rtol=1e-6, atol=1e-7)


def test_leaves_accumulate_where_they_are() -> None:
    w = gb.ones(3, device="cuda", requires_grad=True)
    for _ in range(2):
        (w * 2).sum().backward()
    assert w.grad.device is w.device and w.grad.tolist() == [4.0] * 3
    with gb.no_grad():
        w.sub_(w.grad, alpha=0.5)
    assert w.tolist() == [-1.0] * 3
    with pytest.raises(RuntimeError, match="leaf"):
        w.add_(1)


def test_views_versions_and_hooks() -> None:
    w = gb.ones(4, device="cuda", requires_grad=True)
    y = w * 2
    y[1:3].mul_(3)
    seen: list[Any] = []
    y.register_hook(lambda grad: seen.append(grad.device))
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 6.0, 6.0, 2.0] and seen == [w.device]
    z = w.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_gradcheck_and_forward_mode() -> None:
    x = gb.tensor([0.5, -1.0, 2.0], dtype=gb.float64, device="cuda", requires_grad=True)
    slope = gb.autograd.functional.jacobian(lambda x: x.sin() * x, x)
    assert gb.allclose(slope.diagonal(), x.sin() + x * x.cos())


def test_functions_of_ones_own() -> None:
    class Twice(gb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 + 0 * x

    x = gb.ones(3, device="cuda", requires_grad=True)
    Twice.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_derivatives_make_their_tensors_on_the_device() -> None:
    for compute in (
        lambda x: gb.nn.functional.pdist(x).sum(),
        lambda x: gb.stft(x, 4, 2, window=gb.ones(4, device=x.device), return_complex=True).abs().sum(),
        lambda x: gb.stft(x, 4, 2, 3, pad_mode="replicate", return_complex=True).abs().sum(),
    ):
        grads = []
        for device in ("cpu", "cuda"):
            x = gb.linspace(0, 3, 18, device=device).reshape(2, 9).square().requires_grad_()
            compute(x).backward()
            grads.append(x.grad.cpu())
        assert gb.allclose(*grads)
