"""Calls that operators make of one another: kept in the call cache, seen by modes, not by overrides."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch.dispatcher import REGISTRY
from gaugeblock.operators.invoke import apply
from gaugeblock.utils._python_dispatch import TorchDispatchMode

from .cached import CACHED


@CACHED
def test_a_call_is_kept_under_the_operators_full_name() -> None:
    x = gb.tensor([1.0, -2.0, 3.0])
    for _ in range(3):
        assert apply("sub.Tensor", x, x).tolist() == [0.0, 0.0, 0.0]
    assert "sub.Tensor" in {key[0] for key in x.meta.calls}


@pytest.mark.parametrize("first", ["public", "inner"])
def test_a_public_function_and_an_operator_of_the_same_name_keep_their_own_calls(first: str) -> None:
    log_probs = gb.zeros(3, 2, 4).log_softmax(2)
    targets = gb.tensor([[1, 2], [3, 1]])

    def public() -> list[float]:
        losses: list[float] = gb._ctc_loss(log_probs, targets, (3, 3), (2, 1), 0, False)[0].tolist()
        return losses

    def inner() -> list[float]:
        losses: list[float] = gb.ctc_loss(log_probs, targets, [3, 3], [2, 1], reduction=0).tolist()
        return losses

    ways = [public, inner] if first == "public" else [inner, public]
    for way in ways * 3:
        assert way() == pytest.approx([2.5494451710, 2.3671236141])


@pytest.mark.parametrize("exponent", [2, 3, 2.0, 0.5])
def test_numbers_are_given_to_the_kept_call(exponent: float) -> None:
    x = gb.tensor([1.0, 4.0])
    for other in (exponent, 3, 2, exponent):
        assert apply("pow.Tensor_Scalar", x, other).tolist() == [1.0, 4.0**other]
        assert apply("mul.Scalar", x, other).tolist() == [other, 4.0 * other]


@CACHED
def test_a_call_whose_kernel_takes_its_operands_in_another_order_is_kept() -> None:
    x, y = gb.tensor([1.0, 4.0]), gb.tensor([2.0, 3.0])
    for number in (3, 5, 1):
        assert apply("rsub.Scalar", x, number).tolist() == [number - 1.0, number - 4.0]
        assert apply("rsub.Scalar", y, number, 1).tolist() == [number - 2.0, number - 3.0]
        assert apply("rsub.Scalar", x, float(number), 0.5).tolist() == [number - 0.5, number - 2.0]
        assert apply("rsub.Scalar", gb.ones(number), float(number), 0.5).tolist() == [number - 0.5] * number
    assert apply("rsub.Tensor", x, x).tolist() == [0.0, 0.0]
    assert apply("rsub.Tensor", x, y).tolist() == [1.0, -1.0]
    kept = {key for key, entry in x.meta.calls.items() if key[0].startswith("rsub") and entry}
    assert {key[0] for key in kept} == {"rsub.Scalar", "rsub.Tensor"}


def test_arguments_after_one_that_is_left_out_keep_their_places() -> None:
    x = gb.arange(4.0).reshape(1, 1, 2, 2)
    for _ in range(3):
        given = apply("upsample_nearest2d", x, (2, 4), None, 2.0)
        assert given.tolist() == [[[[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]]]]
        assert apply("upsample_nearest2d", x, (2, 4), scales_w=2.0).tolist() == given.tolist()
        assert apply("upsample_nearest2d", x, (4, 2), 2.0).shape == (1, 1, 4, 2)


@CACHED
def test_writing_calls_are_kept() -> None:
    x, y = gb.tensor([1.0, 4.0]), gb.tensor([2.0, 3.0])
    for _ in range(3):
        assert apply("add_.Tensor", x, y) is x
    assert x.tolist() == [7.0, 13.0]
    assert any(key[0] == "add_.Tensor" and entry for key, entry in x.meta.calls.items())


def test_a_list_that_changes_after_a_call_is_kept_as_it_was() -> None:
    x = gb.tensor([[1.0], [2.0]])
    for count in (3, 4, 3, 4, 3):
        sizes = [2, count]
        assert apply("expand", x, sizes).shape == (2, count)
        sizes[1] = 7
    source, places = gb.arange(16.0), gb.tensor([0, 2, 3, 1])
    for _ in range(3):
        assert gb.take_along_dim(source, places, 0).tolist() == [0.0, 2.0, 3.0, 1.0]


def test_gradients_are_recorded_by_kept_calls() -> None:
    for _ in range(4):
        x, y = gb.tensor([1.0, 2.0], requires_grad=True), gb.tensor([3.0, 5.0])
        gb.nn.functional.mse_loss(x, y, reduction="sum").backward()
        assert x.grad is not None
        assert x.grad.tolist() == [-4.0, -6.0]


def test_overrides_are_not_asked_for_the_parts_of_a_call() -> None:
    asked: list[str] = []

    class Logged(gb.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    x = gb.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Logged)
    for _ in range(3):
        gb.cov(x)
    assert asked == ["cov"] * 3


def test_a_mode_sees_the_parts_of_a_call() -> None:
    seen: list[str] = []

    class Logging(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function.__name__)
            return function(*args, **(kwargs or {}))

    x = gb.tensor([[1.0, 2.0], [3.0, 4.0]])
    plain = gb.cov(x)
    gb.cov(x)
    with Logging():
        assert gb.cov(x).tolist() == plain.tolist()
    assert len(seen) > 2


def test_an_operator_of_another_namespace_is_called_as_it_is() -> None:
    library = gb.library.Library("operator_calls", "DEF")
    library.define("twice(Tensor self) -> Tensor")
    library.impl("twice", lambda self: self * 2, "CPU")
    function = REGISTRY.bind_operator(REGISTRY.find("operator_calls::twice"))
    assert function(gb.tensor([1.0])).tolist() == [2.0]


def laid_out(values: gb.Tensor, layout: str) -> gb.Tensor:
    if layout == "transposed":
        return values.clone().t().contiguous().t()
    if layout == "gapped":
        wide = gb.zeros(values.shape[0], 2 * values.shape[1])
        wide[:, ::2] = values
        return wide[:, ::2]
    return values.clone()


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "gapped"])
@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (3, 5), (70, 300)])
@pytest.mark.parametrize("operator", ["sub", "atan2", "hypot", "copysign"])
def test_out_may_be_an_operand(operator: str, sizes: tuple[int, int], layout: str) -> None:
    function = getattr(gb, operator)
    first, second = (gb.randn(*sizes, generator=gb.Generator().manual_seed(seed)) for seed in (1, 2))
    expected = function(first, second).tolist()
    for _ in range(3):
        x, y = laid_out(first, layout), laid_out(second, "contiguous")
        version = x._version
        assert function(x, y, out=x) is x
        assert x.tolist() == expected
        assert x._version == version + 1
        x, y = laid_out(first, "contiguous"), laid_out(second, layout)
        function(x, y, out=y)
        assert y.tolist() == expected
    row = laid_out(first, layout)
    once = function(row, row).tolist()
    assert function(row, row, out=row).tolist() == once


def test_out_over_part_of_an_operand_is_refused_each_time() -> None:
    for _ in range(3):
        x = gb.arange(6.0)
        with pytest.raises(RuntimeError, match="single memory location"):
            gb.add(x[:5], x[:5], out=x[1:])


def test_sizes_one_by_one_and_in_a_tuple_are_one_call() -> None:
    for _ in range(3):
        for sizes in ((2,), ((2,),), ([2],), (2,)):
            assert gb.arange(4.0).resize_(*sizes).shape == (2,)
            assert gb.arange(2.0).view(*sizes).shape == (2,)
            assert gb.arange(1.0).expand(*sizes).shape == (2,)


def test_an_overload_that_does_not_fit_reads_no_tensor() -> None:
    x = gb.empty((), device="meta")
    assert gb.special.chebyshev_polynomial_t(x, 2).shape == ()
    with pytest.raises(NotImplementedError, match="no data"):
        gb.add(gb.ones(2), gb.ones(2), alpha=x)
