"""Python ints that only uint64 holds, beside tensors of integers: they enter modulo 2**64, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

LEAST = -(1 << 63)
CALLS: dict[str, tuple[Callable[[Any, int], Any], list[Any], list[Any]]] = {
    "add": (lambda x, n: x + n, [1 + LEAST, 2 + LEAST], [0, 1]),
    "add function": (lambda x, n: gb.add(x, n), [1 + LEAST, 2 + LEAST], [0, 1]),
    "add_": (lambda x, n: x.clone().add_(n), [1 + LEAST, 2 + LEAST], [0, 1]),
    "out=": (lambda x, n: gb.add(x, n, out=gb.zeros(2, dtype=gb.int64)), [1 + LEAST, 2 + LEAST], [0, 1]),
    "rsub": (lambda x, n: n - x, [-1 - LEAST, -2 - LEAST], [-2, -3]),
    "mul": (lambda x, n: x * n, [LEAST, 0], [-1, -2]),
    "floor_divide": (lambda x, n: gb.floor_divide(x, n), [-1, -1], [-1, -2]),
    "remainder": (lambda x, n: gb.remainder(x, n), [1 + LEAST, 2 + LEAST], [0, 0]),
    "eq": (lambda x, n: gb.eq(x, n), [False, False], [False, False]),
    "gt": (lambda x, n: x > n, [True, True], [True, True]),
    "bitwise_and": (lambda x, n: x & n, [0, 0], [1, 2]),
    "isin": (lambda x, n: gb.isin(x, n), [False, False], [False, False]),
}


@pytest.mark.parametrize("name", CALLS)
def test_they_wrap_in_every_call(name: str) -> None:
    call, of_least, of_minus_one = CALLS[name]
    x = gb.tensor([1, 2])
    for number in (3, 2**63, 2**63, 2**64 - 1):  # the first leaves a plan
        found = call(x, number).tolist()
        assert number == 3 or found == (of_least if number == 2**63 else of_minus_one)
    for number in (2**64, LEAST - 1, 10**30):
        with pytest.raises(OverflowError, match=r"int too big to convert|can't convert negative int to unsigned"):
            call(x, number)


@pytest.mark.parametrize("name", CALLS)
def test_as_torch_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    call = CALLS[name][0]
    wanted: list[Any] = []
    for library in (torch, gb):
        monkeypatch.setitem(globals(), "gb", library)
        x = library.tensor([1, 2])
        wanted.append([call(x, number).tolist() for number in (2**63, 2**63 + 5, 2**64 - 1, -1, LEAST)])
    assert wanted[0] == wanted[1]


def test_narrow_dtypes_take_the_low_bits() -> None:
    for dtype, found in ((gb.uint8, [6, 7]), (gb.int8, [6, 7]), (gb.int16, [6, 7]), (gb.int32, [6, 7])):
        assert (gb.tensor([1, 2], dtype=dtype) + (2**63 + 5)).tolist() == found
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        gb.floor_divide(gb.tensor([1], dtype=gb.int32), 2**63)


def test_uint64_takes_them_as_they_are() -> None:
    x = gb.tensor([1, 2**64 - 1], dtype=gb.uint64)
    assert ((x * (2**63 + 1)).tolist(), (x == 2**64 - 1).tolist()) == ([2**63 + 1, 2**63 - 1], [False, True])
    for number in (2**64, LEAST - 1):
        with pytest.raises(OverflowError):
            gb.eq(x, number)


def test_beside_truth_values_they_are_refused() -> None:
    x = gb.tensor([True, False])
    for call in (lambda n: x + n, lambda n: x < n, lambda n: gb.eq(x, n)):
        assert call(5) is not None
        with pytest.raises(OverflowError, match="int too big to convert"):
            call(2**63)


def test_membership_is_of_the_number_itself() -> None:
    for name in ("bool", "uint8", "int64", "uint64", "bfloat16", "float32"):
        x = gb.tensor([1, 0], dtype=getattr(gb, name))
        assert not any(number in x for number in (2**63, 2**64, LEAST - 1))
    assert 2**64 in gb.tensor([2.0**64]) and 2**64 in gb.tensor([2.0**64], dtype=gb.bfloat16)
    assert 2**63 in gb.tensor([2**63], dtype=gb.uint64)


REFUSED: dict[str, Callable[[Any, Any, int], Any]] = {
    "add": lambda t, x, n: x + n, "radd": lambda t, x, n: n + x, "rsub": lambda t, x, n: n - x,
    "mul": lambda t, x, n: t.mul(x, n), "div": lambda t, x, n: x / n, "rdiv": lambda t, x, n: n / x,
    "add_": lambda t, x, n: x.add_(n), "alpha": lambda t, x, n: t.add(x, x, alpha=n), "pow": lambda t, x, n: x**n,
    "rpow": lambda t, x, n: t.pow(n, x), "lt": lambda t, x, n: x < n, "eq": lambda t, x, n: t.eq(x, n),
    "fill_": lambda t, x, n: x.fill_(n), "clamp": lambda t, x, n: x.clamp(max=n),
    "where": lambda t, x, n: t.where(x != 0, x, n), "masked_fill": lambda t, x, n: x.masked_fill(x != 0, n),
    "lerp": lambda t, x, n: t.lerp(x, x, n), "addcmul": lambda t, x, n: t.addcmul(x, x, x, value=n),
    "scatter": lambda t, x, n: x.scatter(0, t.tensor([0]), n), "norm": lambda t, x, n: t.norm(x, n),
    "full": lambda t, x, n: t.full((2,), n), "full of": lambda t, x, n: t.full((2,), n, dtype=x.dtype),
    "full_like": lambda t, x, n: t.full_like(x, n), "new_full": lambda t, x, n: x.new_full((2,), n),
    "scalar_tensor": lambda t, x, n: t.scalar_tensor(n), "arange": lambda t, x, n: t.arange(n, n + 2),
    "linspace": lambda t, x, n: t.linspace(0, n, 3), "leaky_relu": lambda t, x, n: t.nn.functional.leaky_relu(x, n),
    "item": lambda t, x, n: x.__setitem__(0, n), "items": lambda t, x, n: x.__setitem__(t.tensor([0, 1]), n),
}  # fmt: skip
"""Calls that read a number of any kind."""


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_beyond_64_bits_are_refused_beside_floats(name: str) -> None:
    torch = pytest.importorskip("torch")
    call = REFUSED[name]
    for dtype in ("float32", "float64", "complex64") if name not in ("lt", "clamp", "leaky_relu") else ("float32",):
        for number in (3, 2**64, 3, LEAST - 1, 10**30, -(10**400)):
            found: list[Any] = []
            for library in (torch, gb):
                try:
                    call(library, library.ones(2, dtype=getattr(library, dtype)), number)
                    found.append(None)
                except (OverflowError, ValueError) as error:
                    found.append((type(error), str(error)))
            wanted, ours = found
            assert (wanted is None) == (ours is None) == (number == 3)
            assert wanted is None or (wanted[0] is ours[0] and wanted[1].splitlines()[0] in ours[1])


def test_arguments_that_are_floats_take_them() -> None:
    x = gb.ones(2)
    assert gb.allclose(x, x, 10**30) and gb.nan_to_num(x, 10**30).tolist() == [1, 1]
    assert gb.tensor(10**30, dtype=gb.float64).item() == 1e30
