"""What the errata on autograd say about PyTorch was seen on PyTorch, and is still."""

from __future__ import annotations

import threading
from typing import Any

import pytest

torch = pytest.importorskip("torch")


def test_product_saves_what_a_gradient_needs() -> None:
    x, c = torch.ones(2, requires_grad=True), torch.ones(2)
    assert (x * c).grad_fn._saved_self is None
    assert (x * c).grad_fn._saved_other is not None
    assert not [name for name in dir((x + x).grad_fn) if name in ("_saved_self", "_saved_other", "_saved_result")]


def test_second_derivative_is_a_second_pass() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (3.0, 6.0)


def test_deep_nesting_uses_further_threads() -> None:
    seen: set[int] = set()

    class Nested(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any, left: int) -> Any:
            context.left = left
            return x * 1

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            seen.add(threading.get_ident())
            if context.left:
                run(context.left - 1)
            return gradient, None

    def run(left: int) -> None:
        with torch.enable_grad():
            Nested.apply(torch.ones(1, requires_grad=True), left).backward()

    run(40)
    assert len(seen) == 1
    run(200)
    assert len(seen) > 1


def test_variable_is_tensor() -> None:
    assert type(torch.autograd.Variable(torch.ones(1))) is torch.Tensor
