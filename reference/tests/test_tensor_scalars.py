"""Tensors as Python numbers, lists and truth values; getters."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bool", True),
        ("uint8", 255),
        ("int8", -128),
        ("int16", -5),
        ("int32", 7),
        ("int64", -(2**63)),
        ("uint64", 2**64 - 1),
        ("float16", 0.5),
        ("bfloat16", -1.25),
        ("float32", 1.5),
        ("float64", 0.1),
        ("complex64", 1 + 2j),
        ("complex128", 0.1j),
    ],
)
def test_item_and_tolist_have_the_kind_of_the_dtype(name: str, value: Any) -> None:
    dtype = getattr(gb, name)
    x = gb.tensor([[value]], dtype=dtype)
    assert x.item() == value and type(x.item()) is type(value)
    assert x.tolist() == [[value]] and type(x.tolist()[0][0]) is type(value)
    assert gb.tensor(value, dtype=dtype).tolist() == value


def test_conversions() -> None:
    assert (int(gb.tensor(-2.7)), float(gb.tensor([3])), complex(gb.tensor(2.0))) == (-2, 3.0, 2 + 0j)
    assert int(gb.tensor(1 + 0j)) == 1
    assert [operator.index(gb.tensor(value)) for value in (True, [[3]])] == [1, 3]
    assert bool(gb.tensor(nan)) and not bool(gb.tensor([0.0])) and bool(gb.tensor(1j))


RAISING: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: gb.tensor([1, 2]).item(), RuntimeError, "2 elements"),
    (lambda: gb.tensor([]).item(), RuntimeError, "0 elements"),
    (lambda: int(gb.tensor(nan)), ValueError, "NaN"),
    (lambda: int(gb.tensor(inf)), OverflowError, "infinity"),
    (lambda: float(gb.tensor(1j)), RuntimeError, "without overflow"),
    (lambda: int(gb.tensor([1, 2])), ValueError, "one element"),
    (lambda: operator.index(gb.tensor(1.0)), TypeError, "integer tensors"),
    (lambda: operator.index(gb.tensor([1, 2])), TypeError, "integer tensors"),
    (lambda: bool(gb.tensor([])), RuntimeError, "no values"),
    (lambda: bool(gb.tensor([1, 2])), RuntimeError, "more than one"),
    (lambda: len(gb.tensor(1)), TypeError, "0-d"),
    (lambda: iter(gb.tensor(1)), TypeError, "0-d"),
    (lambda: "a" in gb.tensor([1]), RuntimeError, "__contains__"),
    (lambda: gb.zeros(2, device="meta").tolist(), NotImplementedError, "meta"),
    (lambda: gb.zeros((), device="meta").item(), RuntimeError, "meta"),
]


@pytest.mark.parametrize("case", range(len(RAISING)))
def test_what_raises(case: int) -> None:
    use, kind, message = RAISING[case]
    with pytest.raises(kind, match=message):
        use()


def test_iteration_and_membership() -> None:
    x = gb.arange(6).view(3, 2)
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert next(iter(x))._base is x._base
    assert (len(x), 3 in x, 9 in x, gb.tensor([4, 5]) in x) == (3, True, False, True)


def test_hash_is_identity() -> None:
    x, y = gb.zeros(1), gb.zeros(1)
    before = hash(x)
    x.add_(1)
    assert hash(x) == before
    assert len({x, y, x}) == 2


def test_getters_agree() -> None:
    x = gb.zeros(2, 3, 4, dtype=gb.int16)[:, 1:, ::2]
    assert (x.dim(), x.ndim, x.numel(), x.nelement(), x.element_size(), x.itemsize) == (3, 3, 8, 8, 2, 2)
    assert (x.size(), x.size(-1), x.stride(), x.stride(1), x.storage_offset()) == ((2, 2, 2), 2, (12, 4, 2), 4, 4)
    assert x.data_ptr() == x.untyped_storage().data_ptr() + 8
    assert (x.nbytes, x.expand(5, 2, 2, 2).nbytes) == (16, 80)
    assert x.shape.numel() == 8 and isinstance(x.shape, tuple)
    assert x.layout is gb.strided and x.is_cpu and not x.is_meta
    assert x.is_set_to(x.view(2, 2, 2)) and not x.is_set_to(x[0])
    with pytest.raises(AttributeError):
        x.shape = (1,)  # type: ignore[misc]
    for outside in (3, -4):
        with pytest.raises(IndexError):
            x.size(outside)
        with pytest.raises(IndexError):
            x.stride(outside)
    assert not hasattr(x, "strides")


def test_requires_grad_needs_a_floating_dtype() -> None:
    x = gb.zeros(2).requires_grad_()
    assert x.requires_grad and not x.detach().requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    for name in ("bool", "int64", "uint8"):
        with pytest.raises(RuntimeError, match="floating point"):
            gb.zeros(2, dtype=getattr(gb, name)).requires_grad_()


def test_meta_tensors_carry_metadata_only() -> None:
    x = gb.empty(1 << 20, 1 << 20, device="meta")
    assert x.t()[1:].shape == ((1 << 20) - 1, 1 << 20)
    assert x.untyped_storage().nbytes() == 1 << 42
    assert x.data_ptr() == 0
