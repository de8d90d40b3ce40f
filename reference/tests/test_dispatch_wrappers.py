"""Wrapper tensors: subclasses with ``__torch_dispatch__`` that have metadata and keys, but no data of their own."""

from __future__ import annotations

import copy
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch.overrides import _disabled_torch_function_impl
from gaugeblock.utils._python_dispatch import TorchDispatchMode


def unwrapped(value: Any) -> Any:
    if isinstance(value, Wrapped):
        return value.inner
    return type(value)(unwrapped(part) for part in value) if isinstance(value, (list, tuple)) else value


class Wrapped(gb.Tensor):
    """Runs every operator on the tensor inside and wraps the result."""

    log: list[str] = []  # noqa: RUF012
    inner: gb.Tensor
    __torch_function__ = classmethod(_disabled_torch_function_impl)

    @staticmethod
    def __new__(cls: Any, inner: gb.Tensor) -> Any:
        made = gb.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            device=inner.device, requires_grad=inner.requires_grad,
        )  # fmt: skip
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.log.append(str(func))
        options = {name: unwrapped(value) for name, value in (kwargs or {}).items()}
        result = func(*[unwrapped(value) for value in args], **options)
        return Wrapped(result) if isinstance(result, gb.Tensor) else result

    def __repr__(self) -> str:
        return f"Wrapped({self.inner!r})"


def wrapped(*values: float) -> Any:
    Wrapped.log.clear()
    return Wrapped(gb.tensor(values))


@pytest.mark.parametrize(
    ("call", "operator", "value"),
    [
        (lambda x: x + x, "aten.add.Tensor", [2.0, 4.0]),
        (lambda x: gb.ones(2) + x, "aten.add.Tensor", [2.0, 3.0]),
        (lambda x: x.exp_(), "aten.exp_.default", [2.718282, 7.389056]),
        (lambda x: gb.Tensor.exp_(x), "aten.exp_.default", [2.718282, 7.389056]),
        (lambda x: gb.stack([gb.ones(2), x]), "aten.stack.default", [[1.0, 1.0], [1.0, 2.0]]),
        (lambda x: x[1], "aten.select.int", 2.0),
        (lambda x: x[:1], "aten.slice.Tensor", [1.0]),
        (lambda x: x[gb.tensor([1, 0])], "aten.index.Tensor", [2.0, 1.0]),
        (lambda x: x.T, "aten.permute.default", [1.0, 2.0]),
        (lambda x: x.t(), "aten.t.default", [1.0, 2.0]),
        (lambda x: x.view(2, 1), "aten.view.default", [[1.0], [2.0]]),
        (lambda x: x.expand(2, 2), "aten.expand.default", [[1.0, 2.0], [1.0, 2.0]]),
        (lambda x: x.detach(), "aten.detach.default", [1.0, 2.0]),
        (lambda x: x.double(), "aten.to.dtype", [1.0, 2.0]),
        (lambda x: x.contiguous(), "aten.contiguous.default", [1.0, 2.0]),
        (lambda x: gb.zeros_like(x), "aten.zeros_like.default", [0.0, 0.0]),
        (lambda x: gb.where(gb.tensor([True, False]), x, x), "aten.where.self", [1.0, 2.0]),
        (lambda x: x @ x, "aten.matmul.default", 5.0),
        (lambda x: x.clone(), "aten.clone.default", [1.0, 2.0]),
        (lambda x: gb.add(gb.ones(2), 1, out=x), "aten.add.out", [2.0, 2.0]),
        (lambda x: x.sum(), "aten.sum.default", 3.0),
    ],
)
def test_every_operator_reaches_the_wrapper(call: Any, operator: str, value: Any) -> None:
    result = call(wrapped(1.0, 2.0))
    assert Wrapped.log[0] == operator
    assert type(result) is Wrapped
    assert gb.allclose(result.inner.float(), gb.tensor(value))


def test_numbers_come_out() -> None:
    x = wrapped(3.0)
    assert x.item() == 3.0 and float(x) == 3.0 and int(x) == 3 and bool(x)
    assert Wrapped.log == ["aten._local_scalar_dense.default"] * 4


def test_assignment_into_and_from_a_wrapper() -> None:
    x = wrapped(1.0, 2.0)
    x[0] = 5.0
    assert x.inner.tolist() == [5.0, 2.0]
    Wrapped.log.clear()
    gb.zeros(2)[:] = x
    assert Wrapped.log == ["aten.copy_.default"]


def test_metadata_without_dispatch() -> None:
    x = wrapped(1.0, 2.0)
    assert (x.shape, x.dtype, x.device.type, x.stride(), x.ndim, x.is_contiguous()) == (
        (2,), gb.float32, "cpu", (1,), 1, True,
    )  # fmt: skip
    assert Wrapped.log == []
    assert gb.dispatch_keys(x).has("Python") and not gb.dispatch_keys(x.inner).has("Python")


def test_in_place_results_are_the_argument() -> None:
    x = wrapped(1.0)
    assert x.add_(1) is x and x.inner.tolist() == [2.0]


def test_modes_come_before_wrappers() -> None:
    order: list[str] = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            order.append(f"mode {[kind.__name__ for kind in types]}")
            return func(*args, **(kwargs or {}))

    x = wrapped(1.0)
    with Mode():
        x.exp()
    assert order == ["mode ['Wrapped']"] and Wrapped.log == ["aten.exp.default"]


def test_nothing_ever_reads_the_missing_data() -> None:
    x = wrapped(1.0, 2.0)
    with gb.dispatch.DisableTorchDispatch():
        for call in (
            lambda: x + 1, lambda: x.exp_(), lambda: x.clone(), lambda: x[0].item(), lambda: x.tolist(),
            lambda: x.numpy(), lambda: x.sum(), lambda: x.sort(), lambda: x.untyped_storage().data_ptr(),
            lambda: copy.deepcopy(x),
        ):  # fmt: skip
            with pytest.raises((RuntimeError, TypeError)):
                call()


def test_a_wrapper_needs_the_method() -> None:
    class Without(gb.Tensor):
        pass

    with pytest.raises(RuntimeError, match="Without must define __torch_dispatch__"):
        gb.Tensor._make_wrapper_subclass(Without, (2,))
    with pytest.raises(TypeError, match="subclass of Tensor, got 3"):
        gb.Tensor._make_wrapper_subclass(3, (2,))
    with pytest.raises(RuntimeError, match="negative"):
        gb.Tensor._make_wrapper_subclass(Wrapped, (-2,))
    with pytest.raises(RuntimeError, match="1 strides do not fit 2 sizes"):
        gb.Tensor._make_wrapper_subclass(Wrapped, (2, 2), strides=(1,))


def test_any_device_and_size_may_be_claimed() -> None:
    big = gb.Tensor._make_wrapper_subclass(Wrapped, (1 << 20, 1 << 20), dtype=gb.float64, device="cuda")
    assert (big.device.type, big.numel(), big.untyped_storage().nbytes()) == ("cuda", 1 << 40, 1 << 43)


class Counting(gb.Tensor):
    """A subclass with data of its own that counts the operators on it."""

    count = 0
    __torch_function__ = classmethod(_disabled_torch_function_impl)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.count += 1
        with gb.dispatch.DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


def test_a_subclass_with_data_may_look_and_pass_on() -> None:
    x = gb.Tensor._make_subclass(Counting, gb.tensor([1.0, 2.0]))
    Counting.count = 0
    assert (x + x).tolist() == [2.0, 4.0] and x.mul_(3) is x and x[1].item() == 6.0
    assert gb.stack([x, gb.ones(2)]).sum().item() == 11.0
    assert Counting.count == 4 and x.as_subclass(gb.Tensor).tolist() == [3.0, 6.0]
