"""Attributes that a user may set, assign to and delete: new ones, components, the gradient."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.autograd.autograd_meta import unpack
from gaugeblock.tensor.tensor import INITIAL


class Marked(gb.Tensor):
    """A subclass."""


def test_a_tensor_takes_attributes() -> None:
    x: Any = gb.arange(6.0)
    assert vars(x) == {}
    x.foo = 2
    assert (x.foo, x.__dict__, "foo" in dir(x)) == (2, {"foo": 2}, True)
    x.__dict__ = {"bar": 1}
    assert x.bar == 1
    del x.bar
    with pytest.raises(AttributeError, match="bar"):
        _ = x.bar
    with pytest.raises(TypeError, match="dictionary"):
        x.__dict__ = 3


def test_metadata_is_not_assigned_to() -> None:
    x: Any = gb.arange(6.0)
    for name in ("shape", "dtype", "device", "layout", "ndim", "is_leaf", "T"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_attributes_stay_with_the_tensor_and_no_other() -> None:
    x: Any = gb.arange(6.0)
    x.foo = 2
    assert x.add_(1).requires_grad_().foo == 2
    for other in (x.detach(), x.clone(), x.view(2, 3), x.data, x * 1, x.as_subclass(Marked)):
        assert vars(other) == {}


def test_attributes_are_copied_and_pickled() -> None:
    x: Any = gb.arange(6.0, requires_grad=True)
    x.foo = [2]
    shallow, deep, pickled = copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    assert shallow.foo is x.foo
    assert deep.foo == pickled.foo == [2]
    assert deep.foo is not x.foo
    assert deep.requires_grad and pickled.requires_grad


def test_attributes_of_a_subclass_are_copied_with_its_class() -> None:
    x: Any = gb.ones(2).as_subclass(Marked)
    x.foo = [1]
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    assert (type(shallow), type(deep)) == (Marked, Marked)
    assert shallow.foo is x.foo
    assert deep.foo == [1] and deep.foo is not x.foo


def test_a_pickle_gives_attributes_and_nothing_else() -> None:
    x: Any = gb.ones(2)
    with pytest.raises(TypeError, match=r"__setstate__.*dict of attributes"):
        x.__setstate__((None, {"pointer": 8}))


def test_a_tensor_in_its_own_attribute_is_collected() -> None:
    x: Any = gb.ones(2)
    x.me = x
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("real", gb.ones(2), [1 + 5j, 1 + 5j]), ("imag", gb.ones(2), [1j, 1j]), ("imag", 3, [3j, 3j]),
        ("imag", 2.5, [2.5j, 2.5j]), ("imag", gb.tensor(2), [2j, 2j]), ("real", True, [1 + 5j, 1 + 5j]),
    ],
)  # fmt: skip
def test_a_component_is_assigned_to(name: str, value: Any, expected: list[complex]) -> None:
    x = gb.tensor([5j, 5j])
    setattr(x, name, value)
    assert x.tolist() == expected
    assert x._version == 1


def test_components_of_lazy_and_real_tensors_are_assigned_to() -> None:
    x = gb.zeros(2, dtype=gb.complex64).conj()
    x.imag = gb.ones(2)
    assert x.resolve_conj().tolist() == [1j, 1j]
    y = gb.arange(4.0)
    y.real = 3
    assert y.tolist() == [3.0] * 4
    with pytest.raises(RuntimeError, match="imag"):
        y.imag = 1


@pytest.mark.parametrize("value", [[1.0, 2.0], None, "a"])
def test_a_component_takes_tensors_and_numbers_alone(value: Any) -> None:
    x = gb.zeros(2, dtype=gb.complex64)
    with pytest.raises(TypeError, match=f"imag.*{type(value).__name__}"):
        x.imag = value


def test_assignment_to_a_component_is_recorded() -> None:
    x = gb.zeros(2, dtype=gb.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x.imag = gb.ones(2)
    part = gb.ones(2, requires_grad=True)
    y = x * 1
    y.imag = part * 3
    y.imag.sum().backward()
    assert part.grad.tolist() == [3.0, 3.0]


def test_the_gradient_is_deleted() -> None:
    x = gb.ones(2, requires_grad=True)
    x.grad = gb.ones(2)
    del x.grad
    assert x.grad is None
    y = gb.ones(2)
    del y.grad
    assert y.grad is None
    z = gb.ones(2, requires_grad=True).as_subclass(Marked).detach().requires_grad_()
    z.grad = gb.ones(2)
    del z.grad
    assert z.grad is None


def test_data_is_not_deleted_and_requires_grad_is_a_bool() -> None:
    x: Any = gb.ones(2)
    with pytest.raises(RuntimeError, match="data"):
        del x.data
    for value in (1, None, gb.tensor(True)):
        with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
            x.requires_grad = value


def test_storage_gives_elements_of_the_dtype() -> None:
    x = gb.arange(6.0).view(2, 3).t()
    storage = x.storage()
    assert storage.size() == 6 and storage.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    storage[1] = 7.0
    assert x.tolist() == [[0.0, 3.0], [7.0, 4.0], [2.0, 5.0]]


class Wrapped(gb.Tensor):
    """A subclass that answers operators itself."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


def test_every_way_to_make_a_tensor_fills_every_slot() -> None:
    x, w = gb.ones(4, 4), gb.ones(4, 4, requires_grad=True)
    added = [x + x for _ in range(4)]  # the last ones by machine code
    made = {
        "fresh": gb.empty(4), "large": gb.empty(1 << 20), "without elements": gb.empty(0), "strided": w.new_empty(3),
        "an operator": added[0], "a cached call": added[-1], "a row": x[1], "a slice": x[1:3], "a column": x[:, 1],
        "t": x.t(), "transpose": x.transpose(0, 1), "expand": x.expand(2, 4, 4), "view": x.view(16),
        "a real part": gb.ones(2, dtype=gb.complex64).real, "detach": w.detach(), "an array": gb.from_numpy(np.ones(3)),
        "recorded": w * w, "a recorded view": w.t(), "kept by autograd": unpack(w),
        "as_strided": x.as_strided((2,), (1,)), "a subclass": x.as_subclass(Marked),
        "a wrapper": Wrapped._make_wrapper_subclass(Wrapped, (2,)),
    }  # fmt: skip
    slots = {slot for slot in gb.Tensor.__slots__ if not slot.startswith("__")} - {"viewed"}
    for way, tensor in made.items():
        missing = [slot for slot in slots if not hasattr(tensor, slot)]
        assert not missing, f"{way}: {missing}"
        assert slots - set(INITIAL) == {"_meta", "_offset", "_pointer", "_storage_impl"}
