"""Scans: running sums and products along a dim."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session


@requirement("iteration/scans-run-in-index-order")
def test_scan_goldens(s: Session) -> None:
    x = s.tensor([[1, 2, 3], [4, 5, 6]], "int32")
    s.expect_values(s.call("cumsum", x, 0), [[1, 2, 3], [5, 7, 9]], dtype="int64")
    s.expect_values(s.call("cumsum", x, -1), [[1, 3, 6], [4, 9, 15]], dtype="int64")
    s.expect_values(s.call("cumprod", x, 1), [[1, 2, 6], [4, 20, 120]], dtype="int64")
    s.expect_values(s.call("cumsum", s.tensor([True, True, False], "bool"), 0), [1, 2, 2], dtype="int64")
    s.expect_values(s.call("cumsum", s.tensor(3.5), 0), 3.5)
    s.expect_values(s.call("cumsum", s.tensor(np.zeros((0, 2), np.float32)), 0), np.zeros((0, 2), np.float32))
    s.expect_raises(IndexError, "cumsum", x, 2)


@requirement("iteration/scans-run-in-index-order")
@forall(
    x=st.tensors(("int64", "int32", "uint8", "bool"), min_dims=1, max_dims=3),
    dim=hs.integers(-1, 2),
    operator=hs.sampled_from(["cumsum", "cumprod"]),
)
def test_integers_scan_exactly(s: Session, x: TensorCase, dim: int, operator: str) -> None:
    dim = dim if dim < 0 else dim % len(x.sizes)
    with np.errstate(over="ignore"):
        want = getattr(np, operator)(x.array, axis=dim, dtype=np.int64)
    s.expect_values(s.call(operator, s.build(x), dim), want)


@requirement("iteration/scans-run-in-index-order")
@forall(x=st.tensors(("float32", "float64"), min_dims=1, max_dims=3, kind="finite"), dim=hs.integers(0, 2))
def test_floats_scan_in_order(s: Session, x: TensorCase, dim: int) -> None:
    dim %= len(x.sizes)
    wide = x.array.astype(np.longdouble)
    terms = np.cumsum(np.abs(wide), axis=dim)
    steps = np.arange(1, x.sizes[dim] + 1).reshape((-1,) + (1,) * (len(x.sizes) - dim - 1))
    bound = steps * np.finfo(x.array.dtype).eps * terms
    s.expect_close(s.call("cumsum", s.build(x), dim), np.cumsum(wide, axis=dim), bound)


@requirement("iteration/scans-run-in-index-order", needs=("views",))
@forall(
    count=st.thresholds(long=True),
    dtype=hs.sampled_from(["int64", "float64", "int8"]),
    operator=hs.sampled_from(["cumsum", "cumprod"]),
    layout=hs.sampled_from(["whole", "column", "rows", "columns"]),
    weight=0.3,
)
def test_long_scans(s: Session, count: int, dtype: str, operator: str, layout: str) -> None:
    """Small integers, so that sums are exact in every dtype; products of 1 and -1.

    A backend may scan many columns side by side.
    """
    data = np.arange(count) % 5 - 2 if operator == "cumsum" else 1 - 2 * (np.arange(count) % 3 == 1)
    data = data.astype(dtype)
    wide = np.float64 if dtype == "float64" else np.int64
    want = getattr(np, operator)(data, dtype=wide)
    if layout == "whole":
        y = s.call(operator, s.tensor(data), 0)
    elif layout == "column":
        pairs = s.tensor(np.stack([data, data[::-1]], axis=1))
        y = s.call(operator, s.call("select.int", pairs, 1, 0), 0)
    elif layout == "columns":
        rows = np.stack([data, data[::-1], data])
        y, want = s.call(operator, s.tensor(rows), 0), getattr(np, operator)(rows, axis=0, dtype=wide)
    else:
        y, want = s.call(operator, s.tensor(np.stack([data, data])), 1), np.stack([want, want])
    s.expect_values(y, want)
