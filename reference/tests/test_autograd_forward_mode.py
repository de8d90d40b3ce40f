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
