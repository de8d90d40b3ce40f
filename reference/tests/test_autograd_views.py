"""Views whose base required grad only later, and views returned by functions: which may be written to.

The results are the same in PyTorch unless a comment says otherwise.
"""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(params=["gaugeblock", "torch"])
def m(request: pytest.FixtureRequest) -> Any:
    return gb if request.param == "gaugeblock" else pytest.importorskip("torch")


WRITES = (
    "b.add_(5)", "b.mul_(2)", "b.zero_()", "b.fill_(3)", "b.copy_(b * 0)", "b.normal_()", "b.__setitem__(0, 3)",
    "b.t_()", "b.unsqueeze_(0)", "b.index_put_((m.tensor([0]),), m.tensor([1.0]))", "m.add(m.ones(()), 1, out=b)",
)  # fmt: skip
VIEWS = (
    "a[:]", "a[0]", "a[:, 1]", "a.view(-1)", "a.t()", "a[:][1:].view(2, 1)", "a.as_strided((2,), (1,))",
    "a.detach()[0]", "a.unbind(0)[0]", "a.split(1)[1]", "unrecorded(a)",
)  # fmt: skip


def unrecorded(m: Any) -> Any:
    def view(a: Any) -> Any:
        with m.no_grad():
            return a[:]

    return view


@pytest.mark.parametrize("write", WRITES)
def test_a_view_of_a_later_leaf_cannot_be_written_to(m: Any, write: str) -> None:
    a = m.ones(2, 2)
    b = a[:]
    a.requires_grad = True
    with pytest.raises(RuntimeError):
        eval(write, {"b": b, "m": m})
    assert a.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("view", VIEWS)
def test_no_kind_of_view_of_a_later_leaf_can_be_written_to(m: Any, view: str) -> None:
    a = m.ones(2, 2)
    b = eval(view, {"a": a, "unrecorded": unrecorded(m)})
    a.requires_grad_()
    if view.startswith("a.detach"):
        b.add_(5)
        assert not b.requires_grad
        return
    with pytest.raises(RuntimeError):
        b.add_(5)
    assert (b.requires_grad, b.is_leaf, b.grad_fn) == (True, True, None)
    with m.no_grad():
        b.add_(5)
    assert a.sum().item() == 4.0 + 5 * b.numel()


def test_views_of_any_age_are_found(m: Any) -> None:
    import gc

    a = m.ones(2, 2)
    b = a[:]
    gc.collect()
    gc.collect()
    a.requires_grad_(False).requires_grad_()
    with pytest.raises(RuntimeError):
        b.add_(1)


def test_calls_on_a_view_of_a_later_leaf_are_recorded_without_gradient(m: Any) -> None:
    a = m.ones(2)
    b = a[:]
    a.requires_grad = True
    seen: list[Any] = []
    b.register_hook(seen.append)
    y = (b * b).sum()
    assert (y.requires_grad, b.is_leaf, (b * b).grad_fn.next_functions) == (True, True, ((None, 0), (None, 0)))
    y.backward(retain_graph=True)
    assert (a.grad, b.grad, seen) == (None, None, [])
    with pytest.raises(RuntimeError):
        m.autograd.grad(y, b, retain_graph=True)
    with pytest.raises(RuntimeError):
        b.backward(m.ones(2))


def test_a_view_that_requires_grad_itself_follows_its_base(m: Any) -> None:
    a, w = m.ones(3), m.ones(2, requires_grad=True)
    b, c = a[:], a[1:]
    b.requires_grad_()
    c.add_(w)
    assert (a.requires_grad, b.requires_grad, b.is_leaf) == (True, True, False)
    b.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def function(m: Any, forward: Any, backward: Any = None) -> Any:
    class Custom(m.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            return forward(ctx, *args)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(*grads)

    return Custom


FUNCTIONS: dict[str, Any] = {
    "a view": lambda ctx, x: x.view(-1),
    "the input": lambda ctx, x: x,
    "two views": lambda ctx, x: (x[0], x[1]),
    "a view and a result": lambda ctx, x: (x[0], x[1] * 2),
    "a view of a result": lambda ctx, x: (x * 2).view(-1),
    "views of a result": lambda ctx, x: (x * 2).unbind(0),
    "a view of a detached tensor": lambda ctx, x: x.detach().view(-1),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_view_returned_by_a_function_cannot_be_written_to(m: Any, kind: str) -> None:
    made = function(m, FUNCTIONS[kind])
    for write in ("v.mul_(2)", "v[:1].mul_(2)", "again(v)"):
        b = m.ones(2, 3, requires_grad=True).clone()
        found = made.apply(b)
        v = found[0] if isinstance(found, tuple) else found
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            eval(write, {"v": v, "again": function(m, _doubled).apply})
        assert b.tolist() == [[1.0] * 3] * 2 or write == "again(v)"


def _doubled(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def test_a_view_of_an_outside_tensor_cannot_be_written_to(m: Any) -> None:
    outside = m.ones(6)
    v = function(m, lambda ctx, x: outside.view(2, 3)).apply(m.ones(2, 3, requires_grad=True))
    assert v._base is outside
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        v.mul_(2)


@pytest.mark.parametrize("kind", ["a view", "the input", "two views"])
def test_a_view_returned_by_a_function_does_not_follow_its_base(m: Any, kind: str) -> None:
    b = m.ones(2, 3, requires_grad=True).clone()
    found = function(m, FUNCTIONS[kind]).apply(b)
    v = found[0] if isinstance(found, tuple) else found
    b.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified inplace"):
        v * 2


def test_views_of_functions_keep_their_backward(m: Any) -> None:
    made = function(m, lambda ctx, x: x.view(-1), lambda g: 7 * g.view(2, 3))
    a = m.ones(2, 3, requires_grad=True)
    made.apply(a.clone()).sum().backward()
    assert a.grad.tolist() == [[7.0] * 3] * 2


def test_results_without_gradient_can_be_written_to_with_plain_values(m: Any) -> None:
    for kind in ("a view", "the input"):
        b = m.ones(2, 3)
        v = function(m, FUNCTIONS[kind]).apply(b)
        v.mul_(2)
        assert (v is b, v._base is b, b.tolist()) == (False, True, [[2.0] * 3] * 2)
        with pytest.raises(RuntimeError):
            v.mul_(m.ones((), requires_grad=True))


def test_an_input_that_comes_back_unrecorded_is_detached(m: Any) -> None:
    a = m.ones(2, requires_grad=True)
    with m.no_grad():
        same, written = function(m, FUNCTIONS["the input"]).apply(a), function(m, _doubled).apply(a)
    found = [(x is a, x.requires_grad, x._is_view(), x.tolist()) for x in (same, written)]
    assert found == [(False, False, False, [2.0, 2.0])] * 2


def test_a_function_that_writes_to_a_view_returns_it_alone(m: Any) -> None:
    b = m.ones(2, 3, requires_grad=True).clone()
    with pytest.raises(RuntimeError, match=r"(that|which) is a view"):
        function(m, lambda ctx, x: (_doubled(ctx, x), x.clone())).apply(b[0])
    assert function(m, _doubled).apply(b[0]).tolist() == [4.0, 4.0, 4.0]


def test_marking_an_input_as_written_to_counts_as_a_write(m: Any) -> None:
    b = m.ones(3)
    function(m, _doubled).apply(b)
    assert b._version == 2


def test_a_written_input_can_be_saved(m: Any) -> None:
    class Exp(m.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            x.exp_()
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    a = m.zeros(2, requires_grad=True)
    Exp.apply(a * 1).sum().backward()
    assert a.grad.tolist() == [1.0, 1.0]


def test_a_tensor_that_is_returned_twice_is_one_tensor(m: Any) -> None:
    def twice(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y, 3

    a = m.ones(2, requires_grad=True)
    u, v, number = function(m, twice, lambda g, h, n: 2 * (g + h)).apply(a)
    assert (u is v, u.output_nr, number) == (True, 1, 3)
    (u + v).sum().backward()
    assert a.grad.tolist() == [4.0, 4.0]


def test_a_view_of_a_view_that_requires_grad_keeps_it_when_the_base_is_written_to() -> None:
    # PyTorch loses the gradient (erratum S-76).
    a = gb.ones(2)
    b = a[:].requires_grad_()
    c = b[:1]
    a.add_(1)
    c.backward(gb.ones(1))
    assert b.grad.tolist() == [1.0, 0.0]


def test_a_function_saves_nothing_that_is_not_recorded(m: Any) -> None:
    seen: list[Any] = []

    def square(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    with m.inference_mode():
        c = m.ones(2)
    a = m.ones(2, requires_grad=True).clone()
    with m.no_grad():
        v = a[:1]
    a.mul_(3)
    with m.autograd.graph.saved_tensors_hooks(seen.append, lambda x: x), m.no_grad():
        assert function(m, square).apply(v).tolist() == [9.0]
    assert function(m, square).apply(c).tolist() == [1.0, 1.0]
    assert seen == []


def test_an_input_that_a_function_writes_to_keeps_its_gradient_and_its_views(m: Any) -> None:
    made = function(m, lambda ctx, x, y: ctx.mark_dirty(x) or x.mul_(y), lambda g: (None, g))
    b, w = m.ones(2, requires_grad=True) * 1, m.ones(2, requires_grad=True)
    b.retain_grad()
    made.apply(b, w)
    (b * 3).sum().backward()
    assert (b.grad.tolist(), w.grad.tolist()) == ([3.0, 3.0], [3.0, 3.0])
    plain = m.ones(2)
    v = plain[:1]
    made.apply(plain, w)
    (v * 5).sum().backward()
    assert (v.requires_grad, w.grad.tolist()) == (True, [8.0, 3.0])


def test_the_gradient_of_an_overwritten_argument_is_dropped(m: Any) -> None:
    b = m.ones(2, requires_grad=True) * 1
    b.retain_grad()
    b.sum().backward(retain_graph=True)
    function(m, _doubled, lambda g: 2 * g).apply(b)
    assert b.grad is None
