"""Whatever walks all elements walks them in row-major order of the sizes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import tensors
from .layout import expect_view, layout_of

NONZERO = ("int64", "uint8", "bool", "float32", "float16")


@requirement("views/logical-order-is-row-major")
def test_transposed_matrix(s: Session) -> None:
    x = s.call("transpose.int", s.tensor([[1, 2, 3], [4, 5, 6]], "int64"), 0, 1)
    s.expect_values(s.call("flatten.using_ints", x), [1, 4, 2, 5, 3, 6], dtype="int64")
    if s.has_data:
        s.expect(s.call("tolist", x), [[1, 4], [2, 5], [3, 6]], "tolist()")
        mask = s.tensor([[True, True], [False, True], [True, False]], "bool")
        s.expect_values(s.call("masked_select", x, mask), [1, 4, 5, 3], dtype="int64")
        s.expect_values(s.call("nonzero", s.call("gt.Scalar", x, 3)), [[0, 1], [1, 1], [2, 1]], dtype="int64")


@requirement("views/logical-order-is-row-major")
@forall(case=tensors(("int64", "float64", "bool", "uint8", "int16"), kind="finite"))
def test_tolist(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    if s.has_data:
        s.expect(s.call("tolist", x), case.array.tolist(), "tolist()")
    else:
        s.expect_shape(x, case.sizes)


@requirement("views/logical-order-is-row-major")
@forall(case=tensors(NONZERO), seed=st.integers(0, 999))
def test_masked_select_and_nonzero(s: Session, case: TensorCase, seed: int) -> None:
    if not s.has_data:
        s.expect_shape(s.build(case), case.sizes)
        return
    mask = np.random.default_rng(seed).integers(0, 2, case.sizes).astype(bool)
    x = s.build(case)
    s.expect_values(s.call("masked_select", x, s.tensor(mask)), case.array[mask])
    found = np.argwhere(case.array) if case.sizes else np.zeros((int(bool(case.array)), 0), np.int64)
    s.expect_values(s.call("nonzero", x), found.astype(np.int64))


@requirement("views/logical-order-is-row-major")
@forall(case=tensors())
def test_flatten_of_any_layout(s: Session, case: TensorCase) -> None:
    s.expect_values(s.call("flatten.using_ints", s.build(case)), case.array.reshape(-1))


@requirement("views/iteration-yields-views-in-order")
@forall(case=tensors(sizes=st.lists(st.sampled_from((2, 3, 1, 4)), min_size=1, max_size=3).map(tuple)))
def test_iteration(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    rows = s.call("__iter__", x)
    s.expect(len(rows), case.sizes[0], "number of rows", f"len(list({x.name}))", [x])
    s.expect(s.call("__len__", x), case.sizes[0], "len()")
    for k, row in enumerate(rows):
        if {"views", "strided"} <= s.capabilities:
            expect_view(s, row, x, layout_of(case).select(0, k), case.array[k])
        else:
            s.expect_values(row, case.array[k])


@requirement("views/iteration-yields-views-in-order", needs=("views", "inplace"))
def test_writing_while_iterating(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for k, row in enumerate(s.call("__iter__", x)):
        s.call("fill_.Scalar", row, k)
    s.expect_values(x, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    s.expect(s.call("__iter__", s.tensor(np.zeros((0, 2), np.float32))), [], "iteration over no rows")
