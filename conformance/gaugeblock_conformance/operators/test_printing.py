"""Tensors as text: `repr` of any tensor, and what it tells apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors

LARGEST = 60
"""Elements of a drawn tensor at most: a longer one may be abridged."""
_APART = (
    ("float32", (), "float32", (1,)), ("float32", (1,), "float32", (1, 1)), ("float32", (2,), "float32", (2, 1)),
    ("float32", (0,), "float32", (0, 2)), ("float32", (0, 2), "float32", (2, 0)), ("float32", (2,), "float64", (2,)),
    ("float32", (0,), "float64", (0,)), ("float32", (), "int64", ()), ("int64", (2,), "int32", (2,)),
    ("int32", (0,), "int64", (0,)), ("uint8", (2,), "bool", (2,)), ("bool", (0,), "float32", (0,)),
)  # fmt: skip
_ODD = (
    [float("nan"), float("inf"), float("-inf")], [-0.0, 0.0], [5e-324, 1.7976931348623157e308], [1e-8, 1.0, 1e8],
    [[float("nan")]], [[0.1], [-100000.0]],
)  # fmt: skip


def _printed(s: Session, x: Handle) -> str:
    """Return the `repr` of a tensor, which must be a string that is not empty."""
    text = s.call("__repr__", x)
    s.expect_of_last(isinstance(text, str) and text != "", True, "repr gives text", "len({}) > 0")
    return str(text)


def _tell_apart(s: Session, x: Handle, y: Handle, what: str) -> None:
    first, second = _printed(s, x), _printed(s, y)
    expression = f"{s.text('__repr__', x)} != {s.text('__repr__', y)}"
    s.expect(first != second, True, f"repr tells {what} apart", expression, [x, y])


@requirement("operators/repr-tells-sizes-and-dtypes")
def test_zeros(s: Session) -> None:
    """Zeros of other sizes or of another dtype have another text."""

    def row(s: Session, dtype: str, sizes: tuple[int, ...], other: str, more: tuple[int, ...]) -> None:
        x, y = s.tensor(np.zeros(sizes, numpy_dtype(dtype))), s.tensor(np.zeros(more, numpy_dtype(other)))
        _tell_apart(s, x, y, "sizes" if dtype == other else "dtypes")

    s.table(_APART, row)


@requirement("operators/repr-tells-sizes-and-dtypes")
def test_odd_elements(s: Session) -> None:
    """NaN, infinities, numbers of all sizes."""

    def row(s: Session, data: Any) -> None:
        _printed(s, s.tensor(data, "float64"))

    s.table(_ODD, row)


@requirement("operators/repr-tells-sizes-and-dtypes")
@forall(case=tensors(), axis=st.integers(0, 5))
def test_any_tensor(s: Session, case: TensorCase, axis: int) -> None:
    """Any tensor has a text, and one more dim makes another."""
    x = s.build(case)
    _printed(s, x)
    if case.numel <= LARGEST:
        longer = np.expand_dims(case.array, min(axis, case.array.ndim))
        _tell_apart(s, x, s.tensor(longer), "sizes")
