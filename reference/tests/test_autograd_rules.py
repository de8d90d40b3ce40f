"""Edge cases of autograd: refused calls, dependencies of created graphs, versions, subclasses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock import autograd

F = gb.nn.functional


class Doubled(gb.Tensor):
    """A subclass that overrides nothing."""


def test_a_function_with_backward_and_vjp_is_refused_when_it_is_differentiated() -> None:
    class Both(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

        @staticmethod
        def vjp(ctx: Any, grad: Any) -> Any:
            return grad * 3

    assert Both.apply(gb.ones(2)).tolist() == [2.0, 2.0]
    y = Both.apply(gb.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match=r"Implementing both 'backward' and 'vjp'.*Both must implement only one"):
        y.sum().backward()


def test_vjp_is_an_alias_of_backward() -> None:
    class Tripled(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        def vjp(ctx: Any, grad: Any) -> Any:
            return grad * 3

    x = gb.ones(2, requires_grad=True)
    Tripled.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("inputs", [[], ()])
def test_gradients_with_respect_to_nothing_are_refused(inputs: Any) -> None:
    x = gb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        autograd.grad(x.sum(), inputs)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        x.sum().backward(inputs=inputs)
    with pytest.raises(RuntimeError, match="at index 0"):
        autograd.grad([], x)


def test_views_taken_in_inference_mode_are_not_known_to_autograd() -> None:
    views: list[Callable[[Any], Any]] = [
        lambda x: x.view(1, 4), lambda x: x.t(), lambda x: x[0], lambda x: x.unbind()[0], lambda x: x.mT,
        lambda x: x.split(1)[1], lambda x: x.expand(3, 2, 2),
    ]  # fmt: skip
    with gb.inference_mode():
        for view in views:
            v = view(gb.ones(2, 2, requires_grad=True))
            assert (v.requires_grad, v._is_view(), v.is_inference()) == (False, False, True)
        leaf = gb.ones(2, requires_grad=True)
        inside = leaf.view(1, 2)
        assert inside.add_(1) is inside and leaf.tolist() == [2.0, 2.0]
    outside = leaf.view(1, 2)
    assert outside.requires_grad and outside.is_inference()


def test_replaced_data_keeps_the_version_and_shares_it_with_views() -> None:
    x = gb.randn(1, 2)
    x.add_(1).add_(1)
    view = x[:]
    view.add_(1)
    assert (x._version, view._version) == (3, 3)
    y = gb.zeros(3)
    y.add_(1)
    x.data = y
    assert (x._version, view._version, y._version) == (3, 3, 1)
    x.add_(1)
    assert (x._version, view._version, y._version) == (4, 4, 1)
    view.add_(1)
    y.add_(1)
    assert (x._version, view._version, y._version, x.data._version) == (5, 5, 2, 0)
    assert y.tolist() == x.tolist() == [3.0, 3.0, 3.0]


def test_a_write_after_data_was_replaced_is_detected() -> None:
    x = gb.ones(2, requires_grad=True)
    y = x * x
    x.data = gb.ones(2)
    with gb.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()


def test_a_node_keeps_the_values_it_was_computed_from() -> None:
    x = gb.ones(2, requires_grad=True)
    y = x * x
    x.data = gb.zeros(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_assigning_data_of_inference_tensors_makes_inference_tensors() -> None:
    with gb.inference_mode():
        inside = gb.ones(2)
    x, y = gb.zeros(2), gb.zeros(2)
    x.data = inside
    inside.data = y
    assert x.is_inference() and not inside.is_inference()
    assert inside._version == 0


def test_replaced_data_frees_the_old_storage() -> None:
    import weakref

    x = gb.ones(1000)
    before = weakref.ref(x.storage_impl)
    x.data = gb.zeros(1)
    assert before() is None


def test_the_gradient_of_a_subclass_is_a_plain_tensor() -> None:
    x = gb.ones(2).as_subclass(Doubled).requires_grad_()
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert type(x.grad) is type(y.grad) is gb.Tensor
    assert type(y) is Doubled and type(autograd.grad((x * 2).sum(), x)[0]) is Doubled
    given = gb.ones(2).as_subclass(Doubled)
    x.grad = given
    assert x.grad is given
    (x * 2).sum().backward()
    assert x.grad is given and given.tolist() == [3.0, 3.0]


def test_a_tensor_under_a_subclass_is_a_view_with_history() -> None:
    p = gb.ones(2, requires_grad=True)
    x = p.as_subclass(Doubled)
    assert (type(x), x.is_leaf, x._base is p, x.requires_grad) == (Doubled, False, True, True)
    (x * 2).sum().backward()
    assert p.grad.tolist() == [2.0, 2.0]
    plain = gb.ones(2)
    y = plain.as_subclass(Doubled)
    y.add_(1)
    assert (plain._version, y._base is plain, y.requires_grad_().is_leaf, plain.requires_grad) == (1, True, True, False)


def test_autograd_functions_can_be_overridden() -> None:
    asked: list[str] = []

    class Logged(gb.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = gb.Tensor._make_subclass(Logged, gb.ones(2), True)
    autograd.grad(x.sum(), x)
    autograd.backward(x.sum())
    assert asked == ["sum", "grad", "sum", "backward"]


def test_acosh_has_the_slope_of_its_formula_left_of_its_domain() -> None:
    x = gb.tensor([-1.7, -1.0, 0.5, 1.0, 1.25], requires_grad=True)
    x.acosh().sum().backward()
    slopes = x.grad.tolist()
    assert slopes[0] == pytest.approx(0.7274, abs=1e-4)
    assert (slopes[1], math.isnan(slopes[2]), slopes[3]) == (math.inf, True, math.inf)
    assert slopes[4] == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (F.relu, "ReluBackwardBackward0"),
        (F.leaky_relu, "LeakyReluBackwardBackward0"),
        (F.hardtanh, "HardtanhBackwardBackward0"),
        (F.relu6, None),
        (F.hardsigmoid, None),
        (F.softshrink, None),
        (F.hardshrink, None),
        (lambda x: F.threshold(x, 0.5, 1.0), None),
        (lambda x: F.prelu(x, gb.tensor([0.5])), None),
        (lambda x: F.max_pool2d(x, 2), "MaxPool2dBackwardBackward0"),
        (lambda x: F.avg_pool2d(x, 2), "AvgPool2dBackwardBackward0"),
        (lambda x: F.adaptive_avg_pool2d(x, 2), None),
        (lambda x: F.adaptive_max_pool2d(x, 2), None),
        (lambda x: F.max_pool3d(x, (1, 2, 2)), None),
        (lambda x: F.avg_pool1d(x[0], 2), None),
        (lambda x: F.max_pool1d(x[0], 2), None),
        (lambda x: F.pad(x, (1, 1, 1, 1), "reflect"), None),
        (lambda x: F.pad(x, (1, 1, 1, 1), "replicate"), None),
        (lambda x: F.conv2d(x, gb.ones(1, 1, 2, 2)), None),
        (lambda x: F.nll_loss(x[0, 0], gb.tensor([0, 1, 2, 3])), None),
        (lambda x: F.multi_margin_loss(x[0, 0], gb.tensor([0, 1, 2, 3])), None),
        (lambda x: F.grid_sample(x, gb.zeros(1, 2, 2, 2), mode="nearest", align_corners=False), None),
    ],
)
def test_created_gradients_depend_on_what_they_are_constant_in(function: Any, name: str | None) -> None:
    x = gb.arange(1.0, 17.0).view(1, 1, 4, 4).requires_grad_()
    (g,) = autograd.grad(function(x).sum(), x, create_graph=True)
    assert g.requires_grad and (name is None or g.grad_fn.name() == name)
    (second,) = autograd.grad((g * g).sum(), x)
    assert second.tolist() == gb.zeros(1, 1, 4, 4).tolist()


def test_a_followed_gradient_still_passes_its_own_gradient_on() -> None:
    x, seed = gb.tensor([1.0, -1.0], requires_grad=True), gb.tensor([2.0, 3.0], requires_grad=True)
    (g,) = autograd.grad(F.relu(x), x, seed, create_graph=True)
    by_x, by_seed = autograd.grad(g.sum(), [x, seed])
    assert (by_x.tolist(), by_seed.tolist()) == ([0.0, 0.0], [1.0, 0.0])


@pytest.mark.parametrize("function", [gb.sum, lambda x: x * 2, gb.amax, lambda x: x.clamp(0, 1)])
def test_other_constant_gradients_do_not_require_grad(function: Any) -> None:
    x = gb.ones(3, requires_grad=True)
    (g,) = autograd.grad(function(x).sum(), x, create_graph=True)
    assert not g.requires_grad


@pytest.mark.parametrize(
    ("dims", "gradient"),
    [
        ((0, 1), [[1j, 4 + 5j], [2 + 3j, 6 + 7j]]),
        ((0, 2), [[4j, 2 + 6j], [1 + 5j, 3 + 7j]]),
        ((1, 2), [[2j, 1 + 3j], [4 + 6j, 5 + 7j]]),
    ],
)
@pytest.mark.parametrize("written", [False, True])
def test_gradients_through_a_real_view_that_is_transposed_in_place(dims: Any, gradient: Any, written: bool) -> None:
    a = gb.tensor([[1 + 2j, 3 - 1j], [2, 1j]], requires_grad=True)
    view = gb.view_as_real(a.clone())
    view.transpose_(*dims)
    if written:
        view += 1
    (view * gb.arange(8.0).view(2, 2, 2)).sum().backward()
    assert a.grad.tolist() == gradient


@pytest.mark.parametrize("dtype", [gb.float16, gb.bfloat16])
@pytest.mark.parametrize("name", ["mish", "silu", "gelu"])
def test_slopes_of_half_floats_are_those_of_doubles_rounded(name: str, dtype: gb.dtype) -> None:
    function = getattr(gb.nn.functional, name)
    x = gb.linspace(-6, 6, 501).to(dtype)
    half, double = x.clone().requires_grad_(), x.double().requires_grad_()
    (found,) = gb.autograd.grad(function(half).sum(), half)
    (want,) = gb.autograd.grad(function(double).sum(), double)
    error = (found.double() - want).abs() / want.abs().clamp(1e-3)
    assert found.dtype is dtype
    assert error.max().item() <= gb.finfo(dtype).eps


def test_hardswish_has_the_outer_slopes_at_its_bounds() -> None:
    x = gb.tensor([-3.0, 0.0, 3.0], requires_grad=True)
    assert gb.autograd.grad(gb.nn.functional.hardswish(x).sum(), x)[0].tolist() == [0.0, 0.5, 1.0]
