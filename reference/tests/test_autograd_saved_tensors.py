"""Saved-tensor hooks: every gradient uses the unpacked values. Golden literals, the same in PyTorch."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(params=["gaugeblock", "torch"])
def m(request: pytest.FixtureRequest) -> Any:
    return gb if request.param == "gaugeblock" else pytest.importorskip("torch")


def doubling(m: Any) -> Any:
    """Return hooks whose pack hook doubles the tensor."""
    return m.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x)


def keeping(m: Any) -> Any:
    return m.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)


def test_a_packed_leaf_is_used_in_recorded_gradients(m: Any) -> None:
    a = m.ones(5, requires_grad=True)
    with doubling(m):
        y = a**3
    (first,) = m.autograd.grad(y.sum(), a, create_graph=True)
    (second,) = m.autograd.grad(first.sum(), a)
    assert (first.tolist(), second.tolist()) == ([12.0] * 5, [12.0] * 5)


def test_each_created_gradient_saves_its_own_tensors(m: Any) -> None:
    a = m.full((2,), 2.0, requires_grad=True)
    found = []
    with doubling(m):
        y = a**3
        for _ in range(3):
            (y,) = m.autograd.grad(y.sum(), a, create_graph=True)
            found.append(y.tolist())
    assert found == [[48.0, 48.0], [96.0, 96.0], [24.0, 24.0]]


def test_a_function_gets_the_unpacked_tensors(m: Any) -> None:
    class Cube(m.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    a = m.full((2,), 2.0, requires_grad=True)
    with doubling(m):
        y = Cube.apply(a)
    (first,) = m.autograd.grad(y.sum(), a, create_graph=True)
    assert (first.tolist(), m.autograd.grad(first.sum(), a)[0].tolist()) == ([48.0, 48.0], [24.0, 24.0])


def test_a_saved_leaf_that_was_packed_is_another_leaf_with_the_same_accumulator(m: Any) -> None:
    a = m.full((2,), 2.0, requires_grad=True)
    with doubling(m):
        y = a**3
    saved = y.grad_fn._saved_self
    assert saved is not a
    assert (saved.tolist(), saved.requires_grad, saved.is_leaf) == ([4.0, 4.0], True, True)
    (saved * 5).sum().backward()
    assert (a.grad.tolist(), saved.grad) == ([5.0, 5.0], None)
    assert a.sin().grad_fn._saved_self is a


def test_the_unpack_hook_is_not_differentiated(m: Any) -> None:
    a, w = m.full((2,), 2.0, requires_grad=True), m.full((2,), 3.0, requires_grad=True)
    with m.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x * w):
        y = a * a
    (first,) = m.autograd.grad(y.sum(), a, create_graph=True)
    found = m.autograd.grad(first.sum(), (a, w), allow_unused=True)
    assert (first.tolist(), found[0].tolist(), found[1]) == ([12.0, 12.0], [2.0, 2.0], None)


def test_hooks_are_given_tensors_with_their_history(m: Any) -> None:
    seen = []

    def pack(x: Any) -> Any:
        seen.append((x.requires_grad, x.is_leaf, x.tolist(), m.is_grad_enabled()))
        return x

    a = m.zeros(1, requires_grad=True)
    with m.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        a.exp()
        b = a.clone()
        b.sin_()
        b.tanh_()
        m.linalg.multi_dot([a.view(1, 1), a.view(1, 1)])
    assert seen == [(True, k == 5, [1.0 if k == 0 else 0.0], False) for k in range(3)] + [
        (True, False, [[0.0]], False), (True, False, [[0.0]], False),
    ]  # fmt: skip


@pytest.mark.parametrize("write", ["x.mul_(2)", "x.mul_(2).div_(2)", "x.t_()", "x.zero_()", "x[0].fill_(3)"])
@pytest.mark.parametrize("call", ["a * c", "c.exp() * a", "(a * 1).sin()", "(a * 1).exp()", "F.apply(a, c)"])
def test_the_first_hook_may_not_write(m: Any, call: str, write: str) -> None:
    class Product(m.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(y)
            return x * y

    def pack(x: Any) -> Any:
        eval(write, {"x": x})
        return x

    a, c = m.ones(2, 3, requires_grad=True), m.ones(2, 3)
    hooks = m.autograd.graph.saved_tensors_hooks(pack, lambda x: x)
    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"), hooks:
        eval(call, {"a": a, "c": c, "F": Product})


def test_reading_a_saved_tensor_that_was_written_to_raises(m: Any) -> None:
    b = m.ones(2, requires_grad=True).clone()
    y = b.sin()
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.grad_fn._saved_self  # noqa: B018


def test_a_result_packed_unchanged_is_freed_with_its_node() -> None:
    # PyTorch keeps both for good.
    a = gb.ones(2, requires_grad=True)
    with keeping(gb):
        y = a.exp()
    seen, (again,) = weakref.ref(y.grad_fn), gb.autograd.grad(y.sum(), a, create_graph=True)
    assert again.requires_grad
    gc.disable()
    try:
        del y, again
        assert seen() is None
    finally:
        gc.enable()
