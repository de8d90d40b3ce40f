"""The dtype of ``tensor`` of Python values."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .answers import default_dtype

_GOLDEN: tuple[tuple[Any, str], ...] = (
    (True, "bool"), (False, "bool"), (0, "int64"), (-5, "int64"), (2**62, "int64"), (1.0, "float32"),
    (float("nan"), "float32"), (1j, "complex64"), ([True, False], "bool"), ([True, 2], "int64"),
    ([1, 2.5], "float32"), ([True, 2.5], "float32"), ([1, 2j], "complex64"), ([[1, 2], [3, 4.0]], "float32"),
    ([[True], [False]], "bool"), ([1.5, 2j], "complex64"), ((1, 2), "int64"), ([[True, 1], [2.0, 1j]], "complex64"),
)  # fmt: skip


@requirement("dtypes/inferred-from-python-kind")
def test_golden(s: Session) -> None:
    def body(s: Session, data: Any, dtype: str) -> None:
        s.expect_values(s.call("tensor", data), np.array(data, dtype=dtype))

    s.table(_GOLDEN, body)


@requirement("dtypes/inferred-from-python-kind")
def test_under_another_default(s: Session) -> None:
    with default_dtype(s, "float64"):
        s.expect_values(s.call("tensor", [1, 0.1]), [1, 0.1], dtype="float64")
        s.expect_values(s.call("tensor", [0.1, 2j]), [0.1, 2j], dtype="complex128")
        s.expect_dtype(s.call("tensor", [1, 2]), "int64")
        s.expect_dtype(s.call("tensor", [True]), "bool")


_LEAVES = {
    "bool": hs.booleans(),
    "int64": hs.integers(-(2**63), 2**63 - 1),
    "float32": hs.floats(width=32),
    "complex64": hs.complex_numbers(width=64),
}
_KINDS = list(_LEAVES)


@requirement("dtypes/inferred-from-python-kind")
@forall(
    data=hs.data(),
    shape=hs.sampled_from([(), (1,), (3,), (2, 2), (1, 3), (2, 1, 2)]),
    top=hs.sampled_from(_KINDS),
    below=hs.lists(hs.sampled_from(_KINDS), max_size=3),
    place=hs.integers(0, 11),
)
def test_highest_kind_wins(
    s: Session, data: Any, shape: tuple[int, ...], top: str, below: list[str], place: int
) -> None:
    count = int(np.prod(shape))
    kinds = [k for k in below if _KINDS.index(k) <= _KINDS.index(top)] or [top]
    flat: list[Any] = [data.draw(_LEAVES[kinds[k % len(kinds)]]) for k in range(count)]
    flat[place % count] = data.draw(_LEAVES[top])
    if top != "int64":
        flat = [v % 1000 if type(v) is int else v for v in flat]
    want = np.array([numpy_dtype(top).type(v) for v in flat], dtype=top).reshape(shape)
    s.expect_values(s.call("tensor", _nest(flat, shape)), want)


def _nest(flat: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    step = len(flat) // shape[0]
    return [_nest(flat[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]


@requirement("dtypes/inferred-from-python-kind")
def test_empty_lists(s: Session) -> None:
    s.expect_values(s.call("tensor", []), np.zeros((0,), np.float32))
    s.expect_values(s.call("tensor", [[], []]), np.zeros((2, 0), np.float32))
    with default_dtype(s, "float64"):
        s.expect_values(s.call("tensor", []), np.zeros((0,), np.float64))
    s.expect_values(s.call("tensor", [], dtype=DType("int32")), np.zeros((0,), np.int32))


@requirement("dtypes/int-beyond-64-bits-raises")
@forall(excess=hs.one_of(hs.integers(0, 5), hs.integers(0, 2**80)), below=hs.booleans(), nested=hs.booleans())
def test_ints_beyond_64_bits(s: Session, excess: int, below: bool, nested: bool) -> None:
    value = -(2**63) - 1 - excess if below else 2**63 + excess
    s.expect_raises((ValueError, RuntimeError, OverflowError), "tensor", [0, value] if nested else value)


@requirement("dtypes/int-beyond-64-bits-raises")
def test_largest_ints(s: Session) -> None:
    s.expect_values(s.call("tensor", [2**63 - 1, -(2**63)]), [2**63 - 1, -(2**63)], dtype="int64")
    for value in (2**63, -(2**63) - 1, 10**30):
        s.expect_raises((ValueError, RuntimeError, OverflowError), "tensor", value)
        s.expect_raises((ValueError, RuntimeError, OverflowError), "tensor", [[1], [value]])


@requirement("dtypes/ragged-list-raises")
def test_ragged_lists(s: Session) -> None:
    ragged: list[list[Any]] = [
        [[1, 2], [3]],
        [[1], [2, 3]],
        [[[1], [2]], [[3]]],
        [[1.0], []],
        [[[1, 2]], [[3]]],
        [[[1], []]],
    ]
    for data in ragged:
        s.expect_raises(ValueError, "tensor", data)
    mixed: list[list[Any]] = [[[1, 2], 3], [1, [2]]]
    for data in mixed:
        s.expect_raises((ValueError, TypeError), "tensor", data)


@requirement("dtypes/ragged-list-after-an-empty-one-raises")
def test_empty_row_before_a_full_one(s: Session) -> None:
    for data in ([[], [1, 2]], [[[], []], [[1], [2]]], [[], [], [0.5]]):
        s.expect_raises(ValueError, "tensor", data)


@requirement("dtypes/ragged-list-raises")
@forall(rows=hs.lists(hs.integers(0, 4), min_size=2, max_size=5), change=hs.integers(0, 4), extra=hs.integers(1, 3))
def test_one_row_of_another_length(s: Session, rows: list[int], change: int, extra: int) -> None:
    lengths = [3] * len(rows)
    lengths[change % len(rows)] += extra if change % 2 or change % len(rows) == 0 else -extra
    s.expect_raises(ValueError, "tensor", [list(range(n)) for n in lengths])
