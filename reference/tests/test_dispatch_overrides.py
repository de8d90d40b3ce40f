"""``__torch_function__``: duck types, Tensor subclasses and function modes take over every call of the public API."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch.guards import DisableTorchFunction, DisableTorchFunctionSubclass
from gaugeblock.dispatch.state import STATE
from gaugeblock.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    resolve_name,
)
from gaugeblock.tensor.hooks import SPECIAL

X = gb.tensor([1.0, 2.0, 3.0])


class Duck:
    """No tensor, but it answers every call with its name."""

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: tuple[type, ...], args: Any = (), kwargs: Any = None
    ) -> Any:
        assert types == (Duck,)
        return f"duck {func.__name__}"


D = Duck()


@pytest.mark.parametrize(
    "call",
    [
        lambda: gb.add(D, 1), lambda: gb.add(X, D), lambda: X.add(D), lambda: X + D, lambda: X - D, lambda: X @ D,
        lambda: X == D, lambda: X < D, lambda: X.mul_(D), lambda: gb.exp(D), lambda: gb.stack([X, D]),
        lambda: gb.cat((D, X)), lambda: gb.where(X > 0, D, X), lambda: gb.where(D, X, X), lambda: X[D],
        lambda: X.view_as(D), lambda: gb.zeros_like(D), lambda: gb.full_like(D, 1), lambda: gb.unique(D),
        lambda: gb.norm(D), lambda: gb.nonzero(D), lambda: gb.sum(D), lambda: gb.max(D, 0), lambda: gb.add(X, X, out=D),
        lambda: gb.add(X, X, alpha=D), lambda: gb.clamp(X, min=D), lambda: gb.index_select(X, 0, D),
        lambda: gb.broadcast_tensors(X, D), lambda: gb.einsum("i,i->", X, D), lambda: X.copy_(D), lambda: X.to(D),
        lambda: X.type_as(D), lambda: gb.result_type(X, D), lambda: gb.as_tensor(D), lambda: gb.tensor(D),
        lambda: gb.linalg.det(D), lambda: gb.nn.functional.relu(D), lambda: gb.ops.aten.add.Tensor(X, D),
        lambda: gb.reshape(D, (1,)), lambda: gb.split(D, 1), lambda: X.index_put_((D,), X), lambda: gb.sort(D),
    ],
)  # fmt: skip
def test_a_duck_takes_over(call: Callable[[], Any]) -> None:
    assert call().startswith("duck ")


def test_assignment_of_a_duck() -> None:
    x = X.clone()
    x[0] = D
    assert x.tolist() == X.tolist()


def test_a_duck_is_no_tensor() -> None:
    assert is_tensor_like(D) and is_tensor_like(X) and not is_tensor_like(3)
    assert not gb.is_tensor(D)
    assert has_torch_function((X, D)) and not has_torch_function((X,))


def test_all_declining_is_a_type_error() -> None:
    class Shy:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'add'.*Shy"):
        gb.add(X, Shy())


def test_the_function_is_the_public_one() -> None:
    class Who:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    who = Who()
    assert gb.add(X, who) is gb.add and gb.linalg.det(who) is gb.linalg.det
    assert X.add(who) is gb.Tensor.add and (X + who) is gb.Tensor.add and X.eq(who) is gb.Tensor.eq
    assert X[who] is gb.Tensor.__getitem__ and gb.zeros_like(who) is gb.zeros_like
    assert gb.ops.aten.add.Tensor(X, who) is gb.ops.aten.add.Tensor
    assert resolve_name(gb.add(X, who)) == "gaugeblock.add"
    assert resolve_name(X.add(who)) == "gaugeblock.Tensor.add"
    assert resolve_name(gb.Tensor.shape.__get__) == "gaugeblock.Tensor.shape.__get__"


class Logged(gb.Tensor):
    """A subclass that writes down what is called on it."""

    log: list[str] = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.log.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda x: x + 1, "add", [2.0, 3.0, 4.0]),
        (lambda x: 1 + x, "__radd__", [2.0, 3.0, 4.0]),
        (lambda x: X + x, "add", [2.0, 4.0, 6.0]),
        (lambda x: -x, "neg", [-1.0, -2.0, -3.0]),
        (lambda x: x.exp_().log_(), "exp_", [1.0, 2.0, 3.0]),
        (lambda x: x[1:], "__getitem__", [2.0, 3.0]),
        (lambda x: x.T, "__get__", [1.0, 2.0, 3.0]),
        (lambda x: x.view(3, 1), "view", [[1.0], [2.0], [3.0]]),
        (lambda x: gb.stack([X, x])[0], "stack", [1.0, 2.0, 3.0]),
        (lambda x: x.float(), "float", [1.0, 2.0, 3.0]),
        (lambda x: gb.zeros_like(x), "zeros_like", [0.0, 0.0, 0.0]),
        (lambda x: x.detach(), "detach", [1.0, 2.0, 3.0]),
        (lambda x: x.split(2)[1], "split", [3.0]),
        (lambda x: x @ x, "matmul", 14.0),
    ],
)
def test_a_subclass_is_asked_and_kept(call: Any, name: str, value: Any) -> None:
    x = X.clone().as_subclass(Logged)
    Logged.log.clear()
    result = call(x)
    assert Logged.log[0] == name
    assert type(result) is Logged
    assert gb.allclose(result.as_subclass(gb.Tensor), gb.tensor(value))


def test_metadata_of_a_subclass_goes_through_it() -> None:
    x = X.as_subclass(Logged)
    Logged.log.clear()
    assert (tuple(x.shape), x.size(), len(x), x.dtype) == ((3,), gb.Size([3]), 3, gb.float32)
    assert Logged.log == ["__get__", "size", "__len__", "__get__"]
    assert x.item is not None and x.storage_offset() == 0


def test_subclasses_share_the_data_and_make_instances() -> None:
    x = X.clone()
    y = x.as_subclass(Logged)
    y[0] = 9.0
    assert x.tolist() == [9.0, 2.0, 3.0]
    leaf = gb.Tensor._make_subclass(Logged, x, True)
    assert type(leaf) is Logged and leaf.requires_grad and leaf.data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="subclass of Tensor"):
        x.as_subclass(int)


def test_the_more_special_class_is_asked_first_and_strangers_decline() -> None:
    class Child(Logged):
        pass

    class Stranger(gb.Tensor):
        pass

    Logged.log.clear()
    assert type(X.as_subclass(Logged) + X.as_subclass(Child)) is Child
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        gb.add(X.as_subclass(Child), X.as_subclass(Stranger))


def test_overrides_can_be_switched_off() -> None:
    x = X.as_subclass(Logged)
    with DisableTorchFunctionSubclass():
        assert type(x + 1) is gb.Tensor
        with pytest.raises(TypeError):
            gb.add(X, D)
    assert type(x + 1) is Logged
    assert STATE.overrides == 2


class Seen(TorchFunctionMode):
    """Writes down the functions that it lets through."""

    def __init__(self) -> None:
        self.functions: list[Any] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


def test_a_function_mode_sees_functions_methods_and_properties() -> None:
    with Seen() as mode:
        x = gb.zeros(2, 3)
        gb.ones(2, 3, dtype=gb.float64)
        gb.tensor([1.0])
        gb.arange(3)
        y = x + 1
        y.add_(x)
        y.size()
        assert y.shape == (2, 3)
        gb.stack([x, y]).sum()
        x[0] = 1.0
        x[0]
        gb.unique(x)
        x.sum().item()
        x.numpy()
        1 - x
        gb.full((2,), 3.0)
    t = gb.Tensor
    assert mode.functions == [
        gb.zeros, gb.ones, gb.tensor, gb.arange, t.add, t.add_, t.size, t.shape.__get__, gb.stack, t.sum, t.__setitem__,
        t.__getitem__, gb.unique, t.sum, t.item, t.numpy, t.__rsub__, gb.full,
    ]  # fmt: skip


def test_function_modes_nest_end_and_belong_to_their_thread() -> None:
    with Seen() as outer, Seen() as inner:
        gb.add(X, X)
        thread = threading.Thread(target=lambda: gb.exp(X))
        thread.start()
        thread.join()
        with DisableTorchFunction():
            gb.sin(X)
    gb.cos(X)
    assert outer.functions == inner.functions == [gb.add]
    assert STATE.function_modes == () and not SPECIAL
    assert type(gb.Tensor.__dict__["size"]).__name__ == "function"


def test_a_function_mode_may_answer_anything() -> None:
    class Forty(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return 40

    with Forty():
        assert X + 2 == 40 and gb.zeros(3) == 40 and X.shape == 40 and X[0] == 40
        assert gb.add(X, gb.zeros) == 40
    with BaseTorchFunctionMode():
        assert (X + X).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(NotImplementedError, match="__torch_function__"), TorchFunctionMode():
        gb.exp(X)
    with pytest.raises(KeyError), Seen():
        raise KeyError
    assert STATE.function_modes == ()


def test_modes_of_many_threads_do_not_meet() -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        for _ in range(30):
            x = gb.full((2,), float(number))
            with Seen() as mode:
                y = x + number
                y.size()
                gb.zeros(1)
            if mode.functions != [gb.Tensor.add, gb.Tensor.size, gb.zeros] or y.tolist() != [2.0 * number] * 2:
                wrong.append((number, mode.functions, y))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and STATE.function_modes == () and not SPECIAL
    assert type(gb.Tensor.__dict__["size"]).__name__ == "function"


def test_functions_of_others_may_be_overridable() -> None:
    def mine(x: Any) -> Any:
        if has_torch_function((x,)):
            return handle_torch_function(mine, (x,), x)
        return "mine"

    assert mine(X) == "mine" and mine(D) == "duck mine"
    with pytest.raises(TypeError, match="no argument of 'mine'"):
        handle_torch_function(mine, (X,), X)


class TestAnotherLibrary:
    """Its handlers know how not to be asked again by its own functions, and nothing of this library's."""

    class Foreign:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    def test_its_tensors_are_refused(self) -> None:
        for call in (lambda: gb.exp(self.Foreign()), lambda: gb.add(gb.ones(2), self.Foreign())):
            with pytest.raises(TypeError, match=r"must be Tensor, not Foreign|not .*Foreign"):
                call()

    def test_its_functions_refuse_ours(self) -> None:
        def theirs(x: Any) -> Any:
            return type(x).__torch_function__(theirs, (type(x),), (x,))

        with pytest.raises(TypeError, match=r"theirs.*gaugeblock Tensor.*another library"):
            theirs(gb.ones(2))


class Named:
    """A base that stands before Tensor and has a method of its own for one of Tensor's."""

    def dim(self) -> str:
        return "named"


class Mixed(Named, gb.Tensor):
    """Neither it nor its first base says anything of overrides."""


def test_a_subclass_behind_another_base_keeps_its_class() -> None:
    x = gb.ones(3, 4).as_subclass(Mixed)
    assert [type(one) for one in (x[1], x.T, x.view(12), x + 1, x.detach())] == [Mixed] * 5
    assert (x.dim(), gb.Tensor.dim(x)) == ("named", 2)
