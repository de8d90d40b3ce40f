"""What the errata on autograd say about PyTorch was seen on PyTorch, and is still."""

from __future__ import annotations

import gc
import threading
import weakref
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


def test_a_real_view_transposed_in_place_and_written_loses_the_transposition() -> None:
    def gradient(written: bool) -> Any:
        a = torch.tensor([[1 + 2j, 3 - 1j], [2, 1j]], requires_grad=True)
        view = torch.view_as_real(a.clone())
        view.transpose_(0, 1)
        if written:
            view += 1
        (view * torch.arange(8.0).view(2, 2, 2)).sum().backward()
        return a.grad.tolist()

    assert gradient(written=False) == [[1j, 4 + 5j], [2 + 3j, 6 + 7j]]
    assert gradient(written=True) == [[1j, 2 + 3j], [4 + 5j, 6 + 7j]]


def test_replaced_data_replaces_saved_data() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * x
    x.data = torch.zeros(2)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_hooks_on_several_tensors_leave_roots_and_leaves_out() -> None:
    x, seen = torch.ones(1, requires_grad=True), []
    a, b = x * 2, x * 3
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: seen.append(len(grads)))
    a.backward(torch.ones(1), retain_graph=True)
    assert seen == []
    torch.autograd.graph.register_multi_grad_hook([x], lambda grads: None)
    with pytest.raises(RuntimeError, match="not supported"):
        torch.autograd.grad((x * 2).sum(), x)


def test_tangents_of_none_and_of_other_dtypes() -> None:
    class Function(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def jvp(context: Any, tangent: Any) -> None:
            return None

    forward = torch.autograd.forward_ad
    with forward.dual_level():
        with pytest.raises(RuntimeError, match="INTERNAL ASSERT"):
            Function.apply(forward.make_dual(torch.ones(1), torch.ones(1)))
        dual = forward.make_dual(torch.ones(1), torch.ones(1, dtype=torch.float64))
        assert forward.unpack_dual(dual).tangent.dtype is torch.float64


def test_out_forms_refuse_dual_tensors_when_they_have_written() -> None:
    y, forward = torch.zeros(1), torch.autograd.forward_ad
    with forward.dual_level(), pytest.raises(NotImplementedError):
        torch.add(forward.make_dual(torch.ones(1), torch.ones(1)), 1, out=y)
    assert y.item() == 2.0


def test_a_packed_result_is_never_released() -> None:
    class Noted:
        pass

    def run() -> weakref.ref[Noted]:
        noted = Noted()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (t, noted), lambda packed: packed[0]):
            torch.ones(1, requires_grad=True).exp()
        return weakref.ref(noted)

    seen = run()
    gc.collect()
    assert seen() is not None


def test_views_of_later_leaves_have_a_node_where_the_base_was_written_to() -> None:
    found = []
    for written in (False, True):
        a = torch.ones(2)
        v = a[:1]
        if written:
            a.add_(1)
        a.requires_grad_()
        found.append((v.requires_grad, v.grad_fn is None))
        with pytest.raises(RuntimeError):
            v.add_(1)
    assert found == [(True, True), (True, False)]


def test_a_view_of_a_view_that_requires_grad_itself_loses_it_when_the_base_is_written_to() -> None:
    a = torch.ones(2)
    b = a[:].requires_grad_()
    c = b[:1]
    a.add_(1)
    c.backward(torch.ones(1))
    assert b.grad is None
