"""The order of sort: NaN last, equal elements in their order when it is stable."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array
from ..case import TensorCase
from ..forall import forall
from ..oracles.ordering import sorted_indices
from ..requirement import requirement
from ..session import Session
from ..strategies import FLOATING, INTEGRAL

_INF, _NAN = math.inf, math.nan


@requirement("dtypes/sort-puts-nan-last")
def test_golden(s: Session) -> None:
    x = s.tensor([_NAN, 1.0, _INF, -_INF, 0.0])
    values, indices = s.parts(s.call("sort", x), 2)
    s.expect_values(values, [-_INF, 0.0, 1.0, _INF, _NAN])
    s.expect_values(indices, [3, 4, 1, 2, 0], dtype="int64")
    values, indices = s.parts(s.call("sort", x, 0, True), 2)
    s.expect_values(values, [_NAN, _INF, 1.0, 0.0, -_INF])
    s.expect_values(indices, [0, 2, 1, 4, 3], dtype="int64")
    s.expect_values(s.call("argsort", x), [3, 4, 1, 2, 0], dtype="int64")
    values, _ = s.call("sort", s.tensor([[2.0, _NAN], [_NAN, 1.0]]), 0)
    s.expect_values(values, [[2.0, 1.0], [_NAN, _NAN]])


def _model(array: Array, axis: int, descending: bool) -> Array:
    """Indices of the stable order along one axis."""
    moved = np.moveaxis(array, axis, -1)
    lines = (
        [sorted_indices(line.tolist(), descending) for line in moved.reshape(-1, moved.shape[-1])] if array.size else []
    )
    return np.moveaxis(np.array(lines, dtype=np.int64).reshape(moved.shape), -1, axis)


@requirement("dtypes/sort-puts-nan-last")
@forall(x=st.tensors((*FLOATING, *INTEGRAL), min_dims=1), dim=hs.integers(0, 3), descending=hs.booleans(), weight=0.6)
def test_sorted_values(s: Session, x: TensorCase, dim: int, descending: bool) -> None:
    axis, array = dim % len(x.sizes), x.array
    want = np.take_along_axis(array, _model(_plain(array), axis, descending), axis)
    values, indices = s.call("sort", s.build(x), axis, descending)
    s.expect_values(values, want, signed_zero=False)
    s.expect_dtype(indices, "int64")
    if s.has_data:
        s.expect_values(values, np.take_along_axis(array, s.read(indices), axis), signed_zero=False)


def _plain(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array


@requirement("dtypes/stable-sort-keeps-order")
def test_stable_golden(s: Session) -> None:
    x = s.tensor([1.0, 0.0, -0.0, 1.0, 0.0, _NAN, _NAN])
    values, indices = s.call("sort.stable", x, stable=True, dim=0, descending=False)
    s.expect_values(values, [0.0, -0.0, 0.0, 1.0, 1.0, _NAN, _NAN])
    s.expect_values(indices, [1, 2, 4, 0, 3, 5, 6], dtype="int64")
    values, indices = s.call("sort.stable", x, stable=True, dim=0, descending=True)
    s.expect_values(values, [_NAN, _NAN, 1.0, 1.0, 0.0, -0.0, 0.0])
    s.expect_values(indices, [5, 6, 0, 3, 1, 2, 4], dtype="int64")
    bools = s.tensor([True, False, True, False], "bool")
    s.expect_values(s.call("sort.stable", bools, stable=True)[1], [1, 3, 0, 2], dtype="int64")


@requirement("dtypes/stable-sort-keeps-order")
@forall(
    x=st.tensors((*FLOATING, *INTEGRAL, "bool"), min_dims=1),
    dim=hs.integers(0, 3),
    descending=hs.booleans(),
    weight=0.6,
)
def test_stable(s: Session, x: TensorCase, dim: int, descending: bool) -> None:
    axis, array = dim % len(x.sizes), x.array
    order = _model(_plain(array), axis, descending)
    values, indices = s.call("sort.stable", s.build(x), stable=True, dim=axis, descending=descending)
    s.expect_values(indices, order)
    s.expect_values(values, np.take_along_axis(array, order, axis))
