"""Forward mode: the jvp of functions, errors, and which tangents share memory.

Golden literals, the same in PyTorch unless a comment says otherwise.
"""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(params=["gaugeblock", "torch"])
def m(request: pytest.FixtureRequest) -> Any:
    return gb if request.param == "gaugeblock" else pytest.importorskip("torch")


def function(m: Any, run: Any, tangents: Any) -> Any:
    class Custom(m.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            return run(ctx, *args)

        @staticmethod
        def jvp(ctx: Any, *given: Any) -> Any:
            return tangents(ctx, *given)

    return Custom


def dual(m: Any, value: Any = None, tangent: Any = None) -> Any:
    """Return a dual tensor, of ones by default."""
    forward = m.autograd.forward_ad
    return forward.make_dual(m.ones(2) if value is None else value, m.ones(2) if tangent is None else tangent)


def tangent_of(m: Any, x: Any) -> Any:
    found = m.autograd.forward_ad.unpack_dual(x).tangent
    return None if found is None else found.tolist()


def test_missing_tangents_are_zeros(m: Any) -> None:
    seen: list[Any] = []

    def tangents(ctx: Any, *given: Any) -> Any:
        seen.append([None if one is None else one.tolist() for one in given])
        return given[0]

    def plainly(ctx: Any, *args: Any) -> Any:
        ctx.set_materialize_grads(False)
        return args[0] * 1

    with m.autograd.forward_ad.dual_level():
        args = dual(m), m.ones(1), 3, m.tensor([1]), None
        function(m, lambda ctx, *args: args[0] * 1, tangents).apply(*args)
        function(m, plainly, tangents).apply(*args)
    assert seen == [[[1.0, 1.0], [0.0], None, None, None], [[1.0, 1.0], None, None, None, None]]


def _view(ctx: Any, x: Any) -> Any:
    return x.view(-1)


def _doubled(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def _constant(ctx: Any, x: Any) -> Any:
    y = x * 2
    ctx.mark_non_differentiable(y)
    return y


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "two for one": (lambda ctx, x: x * 2, lambda ctx, t: (t, t), "expected 1 but got 2"),
    "one for two": (lambda ctx, x: (x * 2, x * 3), lambda ctx, t: t, "expected 2 but got 1"),
    "a number": (lambda ctx, x: x * 2, lambda ctx, t: 3, "int"),
    "other sizes": (lambda ctx, x: x * 2, lambda ctx, t: t[0], "different size"),
    "no view": (_view, lambda ctx, t: t.clone(), "not (returning )?a view"),
    "the input's own": (lambda ctx, x: x, lambda ctx, t: t, "not (returning )?a view"),
    "not in place": (_doubled, lambda ctx, t: t * 2, "not modifying the forward mode gradients inplace"),
    "of a constant": (_constant, lambda ctx, t: t, "not a differentiable Tensor"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_tangents_that_do_not_fit_the_outputs_are_refused(m: Any, case: str) -> None:
    run, tangents, message = REFUSED[case]
    with m.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match=message):
        function(m, run, tangents).apply(dual(m))


def test_tangents_of_views_writes_and_constants(m: Any) -> None:
    with m.autograd.forward_ad.dual_level():
        x, y = dual(m), dual(m)
        assert tangent_of(m, function(m, _view, lambda ctx, t: t.view(-1)).apply(x)) == [1.0, 1.0]
        assert tangent_of(m, function(m, lambda ctx, x: x, lambda ctx, t: t.view_as(t)).apply(x)) == [1.0, 1.0]
        written = function(m, _doubled, lambda ctx, t: t.mul_(2)).apply(y)
        assert (written is y, tangent_of(m, y)) == (True, [2.0, 2.0])
        assert tangent_of(m, function(m, _constant, lambda ctx, t: None).apply(x)) is None


def test_jvp_replaces_the_tangents_of_the_calls_inside_forward(m: Any) -> None:
    with m.autograd.forward_ad.dual_level():
        assert tangent_of(m, function(m, lambda ctx, x: x * 3, lambda ctx, t: t * 7).apply(dual(m))) == [7.0, 7.0]


def test_tensors_saved_for_forward_are_those_of_jvp(m: Any) -> None:
    def run(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.save_for_backward(x * 2)
        return x * x

    with m.autograd.forward_ad.dual_level():
        made = function(m, run, lambda ctx, t: t * ctx.saved_tensors[0])
        assert tangent_of(m, made.apply(dual(m, m.full((2,), 3.0)))) == [3.0, 3.0]


def test_a_tangent_of_none_is_no_tangent() -> None:
    # PyTorch ends in an internal assertion.
    with gb.autograd.forward_ad.dual_level():
        u, v = function(gb, lambda ctx, x: (x * 2, x * 3), lambda ctx, t: (t * 2, None)).apply(dual(gb))
        assert (tangent_of(gb, u), tangent_of(gb, v)) == ([2.0, 2.0], None)


OUT = (
    "m.add(x, 1, out=o)", "m.sin(x, out=o)", "m.cat([x, x], out=o)", "m.add(m.ones(2), 1, out=x)", "m.sum(x, 0, out=o)",
    "m.sort(x, out=(o, m.zeros(2, dtype=m.int64)))", "m.gt(x, 0, out=m.zeros(2, dtype=m.bool))",
    "m.argmax(x, 0, out=m.zeros((), dtype=m.int64))", "m.mm(x.view(1, 2), x.view(2, 1), out=o)",
)  # fmt: skip


@pytest.mark.parametrize("call", OUT)
def test_out_forms_refuse_dual_numbers(m: Any, call: str) -> None:
    o = m.zeros(2)
    with m.autograd.forward_ad.dual_level():
        x = dual(m)
        with pytest.raises(NotImplementedError, match="out= function"):
            eval(call, {"m": m, "x": x, "o": o})
        with m.no_grad(), pytest.raises(NotImplementedError, match="out= function"):
            eval(call, {"m": m, "x": x, "o": o})
        m.add(m.ones(2), 1, out=o)
    assert (o.tolist(), tangent_of(m, o)) == ([2.0, 2.0], None)
    # PyTorch refuses after it has written.
    assert m is not gb or x.tolist() == [1.0, 1.0]


def test_dual_numbers_are_made_of_ordinary_tensors(m: Any) -> None:
    with m.autograd.forward_ad.dual_level():
        x = dual(m)
        for value, tangent in ((x, m.ones(2)), (m.ones(2), x), (x[:1], m.ones(1))):
            with pytest.raises(RuntimeError):
                dual(m, value, tangent)
        with pytest.raises(RuntimeError):
            m.autograd.forward_ad.make_dual(m.ones(2), m.ones(2), level=3)
        assert tangent_of(m, dual(m, x.detach() * 0, m.ones(2))) == [1.0, 1.0]


def test_dual_numbers_and_their_primals_are_views(m: Any) -> None:
    a = m.ones(2)
    with m.autograd.forward_ad.dual_level():
        x = dual(m, a)
        primal = m.autograd.forward_ad.unpack_dual(x).primal
        assert (x._base is a, primal._base is a, x.data_ptr() == a.data_ptr()) == (True, True, True)
        with pytest.raises(RuntimeError):
            x.detach_()


MADE = (
    "m.zeros(2).copy_(x)", "m.zeros(2).add_(x)", "m.zeros(2).sub_(-x)", "m.zeros(2) + x", "x + 0", "x.clone()", "x * 1",
    "m.cat([x])", "x.sum(0, keepdim=True).expand(2).clone()", "m.where(m.tensor(True), x, x)", "x.clamp(0, 3)",
    "m.zeros(2).index_copy_(0, m.tensor([0, 1]), x)", "m.zeros(2).__iadd__(x)", "x.positive() + 0", "m.stack([x])[0]",
)  # fmt: skip


@pytest.mark.parametrize("call", MADE)
def test_new_results_have_their_own_tangent(m: Any, call: str) -> None:
    with m.autograd.forward_ad.dual_level():
        given = m.ones(2)
        x = dual(m, None, given)
        y = eval(call, {"m": m, "x": x})
        before = tangent_of(m, y)
        y.mul_(5)
        assert (given.tolist(), tangent_of(m, x)) == ([1.0, 1.0], [1.0, 1.0])
        assert tangent_of(m, y) == [5 * one for one in before]


def test_tangents_of_broadcast_tensors_can_be_written_to(m: Any) -> None:
    with m.autograd.forward_ad.dual_level():
        y = dual(m, m.ones(1), m.ones(1)) + m.ones(3)
        y[0] = 0.0
        assert tangent_of(m, y) == [0.0, 1.0, 1.0]


def test_views_and_writes_share_the_tangent(m: Any) -> None:
    with m.autograd.forward_ad.dual_level():
        given = m.ones(2)
        x = dual(m, None, given)
        x[0].mul_(3)
        x.mul_(2)
        assert (tangent_of(m, x), given.tolist()) == ([6.0, 2.0], [6.0, 2.0])


PRODUCTS = {
    "(m.sin(x) * m.exp(x).sum()).sum()": [10.77585397, 12.25787722, -1.797556626, 8.135631717],
    "(x * x * x).sum()": [3.0, -6.0, 4.5, 24.0],
    "(x**2.5).sum()": [2.651650429, -3.75, 2.296396634, 10.60660172],
    "((x @ x) ** 2).sum()": [24.0, 45.75, 50.75, 117.0],
    "(m.softmax(x, 1) ** 2).sum()": [0.3854270252, -0.3854270252, -0.2890702689, 0.2890702689],
    "m.where(x > 1.2, x**3, m.exp(x)).sum()": [1.648721271, -2.718281828, 4.5, 24.0],
    "(x[[0, 0]] ** 3).sum()": [6.0, -12.0, 0.0, 0.0],
    "(x[:, 1] ** 3).sum()": [0.0, -6.0, 0.0, 24.0],
    "(m.cat([x, x * x]) ** 2).sum()": [5.0, -14.0, 14.5, 100.0],
    "(m.relu(x - 0.75) ** 3).sum()": [0.0, -1.5, 2.25, 15.0],
    "x.prod()": [1.0, 5.0, 2.0, 1.0],
    "(x.amax(1) ** 3).sum()": [0.0, -6.0, 0.0, 24.0],
    "m.linalg.inv(x).sum()": [-44.0, 37.0, 30.0, -23.0],
    "(m.nn.functional.conv1d(x.view(1, 2, 2), x.view(2, 2, 1)) ** 2).sum()": [24.0, 45.75, 50.75, 117.0],
    "(m.nn.functional.layer_norm(x * x, (2, 2)) ** 3).sum()": [-3.761861353, 22.59067633, 7.077682694, -20.92006484],
    "(x * 1).mul_(x).exp_().sum()": [3.85207625, -16.30969097, 52.1825471, 1965.533401],
}
"""Functions of [[0.5, 1], [1.5, 2]] with the product of their Hessian and [[1, -1], [0.5, 2]]."""


def gradient_in_a_level(f: Any, x: Any, v: Any, *, create: bool) -> Any:
    with gb.autograd.forward_ad.dual_level():
        d = dual(gb, x.clone().requires_grad_(), v)
        (found,) = gb.autograd.grad(f(d), d, create_graph=create)
        return gb.autograd.forward_ad.unpack_dual(found).tangent


@pytest.mark.parametrize("text", PRODUCTS)
def test_gradients_have_tangents(m: Any, text: str) -> None:
    x = m.tensor([[0.5, 1.0], [1.5, 2.0]], dtype=m.float64)
    v = m.tensor([[1.0, -1.0], [0.5, 2.0]], dtype=m.float64)

    def f(x: Any) -> Any:
        return eval(text, {"m": m, "x": x})

    gradient = m.func.grad(f)
    one = m.ones((), dtype=m.float64)
    found = [
        m.func.jvp(gradient, (x,), (v,))[1],
        m.func.jvp(lambda x: m.func.vjp(f, x)[1](one)[0], (x,), (v,))[1],
        m.func.grad(lambda x: (gradient(x) * v).sum())(x),
    ]
    if m is gb:  # PyTorch cannot batch all functions, and has another gradient of layer_norm's tangent
        found.append(gb.func.grad(lambda x: gb.func.jvp(f, (x,), (v,))[1])(x))
        hessian = gb.autograd.functional.hessian(f, x, outer_jacobian_strategy="forward-mode")
        found.append((hessian * v).sum((2, 3)))
        found += [gradient_in_a_level(f, x, v, create=create) for create in (False, True)]
    step = 1e-6 * v
    slope = (gradient(x + step) - gradient(x - step)) / 2e-6
    assert not any(one.requires_grad for one in found[:5])
    for one in found:
        assert one.flatten().tolist() == pytest.approx(PRODUCTS[text], rel=1e-7, abs=1e-12)
        assert slope.flatten().tolist() == pytest.approx(PRODUCTS[text], rel=1e-5, abs=1e-7)


def test_gradients_of_tangents_of_gradients() -> None:
    x, v = gb.tensor([1.0, 2.0], dtype=gb.float64), gb.ones(2, dtype=gb.float64)
    gradient = gb.func.grad(lambda x: gb.exp(x * x).sum())
    expected = [54.3656365692, 4804.637203289]
    third = gb.func.grad(lambda x: gb.func.jvp(gradient, (x,), (v,))[1].sum())(x)
    assert third.tolist() == pytest.approx(expected)
    assert gb.func.jvp(gb.func.grad(lambda x: gradient(x).sum()), (x,), (v,))[1].tolist() == pytest.approx(expected)


def test_custom_functions_save_tangents(m: Any) -> None:
    class Exp(m.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x.exp() * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output, *inputs)
            ctx.save_for_forward(output, *inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            result, x, _ = ctx.saved_tensors
            return grad * result, grad * x.exp()

        @staticmethod
        def jvp(ctx: Any, t: Any, s: Any) -> Any:
            result, x, _ = ctx.saved_tensors
            return t * result + s * x.exp()

    x, v = m.tensor([1.0, 2.0]), m.ones(2)

    def f(x: Any) -> Any:
        return Exp.apply(x * x, x).sum()

    assert m.func.jvp(m.func.grad(f), (x,), (v,))[1].tolist() == pytest.approx([27.18281828, 2402.318602])
    assert m.func.grad(lambda x: m.func.jvp(f, (x,), (v,))[1])(x).tolist() == pytest.approx([27.18281828, 2402.318602])


def test_saved_tensors_show_their_tangent(m: Any) -> None:
    x = m.tensor([1.0, 2.0], requires_grad=True)
    with m.autograd.forward_ad.dual_level():
        y = dual(m, x, m.tensor([1.0, 0.5])).exp()
        assert tangent_of(m, y.grad_fn._saved_result) == pytest.approx([2.7182818, 3.6945281])
        z = dual(m, x) ** 2
        z.grad_fn._raw_saved_self.register_hooks(lambda x: x * 1, lambda x: x)
        assert z.grad_fn._saved_self.tolist() == [1.0, 2.0]
    assert z.grad_fn._saved_self.tolist() == [1.0, 2.0]


def test_a_write_fails_the_gradient_of_what_was_saved() -> None:
    x = gb.ones(2, requires_grad=True)
    with gb.autograd.forward_ad.dual_level():
        y = dual(gb, x).exp()
        z = y.sum()
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            gb.autograd.grad(z, x)


def test_nodes_let_go_of_tangents_when_the_level_is_closed() -> None:
    with gb.autograd.forward_ad.dual_level():
        y = dual(gb, gb.ones(2, requires_grad=True)).exp()
        kept = y.grad_fn.v_result
        assert kept.tangent is not None
    assert kept.tangent is None
    y.sum().backward()


def test_gradients_by_places_of_samples_have_tangents() -> None:
    def f(x: Any) -> Any:
        return gb.nn.functional.grid_sample(x[None, None], x[None, None] / 2, align_corners=False).square().sum()

    x, v = gb.tensor([[0.5, 1.0], [0.25, 0.75]]).double(), gb.tensor([[1.0, -1.0], [0.5, 2.0]]).double()
    expected = gb.func.grad(lambda x: (gb.func.grad(f)(x) * v).sum())(x)
    gb.testing.assert_close(gb.func.jvp(gb.func.grad(f), (x,), (v,))[1], expected)
