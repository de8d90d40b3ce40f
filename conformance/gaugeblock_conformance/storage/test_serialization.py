"""Saving, loading and deep copies: storages are the unit, sharing survives."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from ..strategies.tensors import WRITABLE


def _pair(s: Session, x: Handle, operator: str) -> tuple[Handle, Handle]:
    """``x`` and a view of it, saved together (or copied) and got back."""
    first, second = s.parts(s.call(operator, [x, s.call("unsqueeze", x, 0)]), 2)
    return first, second


def _expect_sharing_pair(s: Session, x: Handle, case: TensorCase, operator: str) -> None:
    first, second = _pair(s, x, operator)
    s.expect_values(first, case.array)
    s.expect_values(second, case.array[None])
    s.expect_shares(second, first)
    s.expect_fresh(first, x)
    s.expect_strides(first, case.strides)
    s.expect_offset(first, case.offset)
    s.call("fill_.Scalar", first, 1)
    s.expect_values(second, np.ones_like(case.array)[None])
    s.expect_values(x, case.array)


@requirement("storage/save-keeps-sharing", needs=("storage", "strided", "inplace"))
@forall(case=tensors(layouts=WRITABLE, max_dims=3, empty=False), weight=0.5)
def test_saved_together(s: Session, case: TensorCase) -> None:
    _expect_sharing_pair(s, s.build(case), case, "save_and_load")


@requirement("storage/save-keeps-sharing", needs=("storage", "views", "inplace"))
def test_saved_vector_and_its_tail(s: Session) -> None:
    x = s.tensor([0, 1, 2, 3], "int64")
    y, z, w = s.call("save_and_load", [x, s.call("__getitem__", x, slice(1, None)), s.call("clone", x)])
    s.call("fill_.Scalar", s.call("__getitem__", y, 1), 9)
    s.expect_values(z, [9, 2, 3], dtype="int64")
    s.expect_values(w, [0, 1, 2, 3], dtype="int64")
    s.expect_shares(z, y)
    s.expect_fresh(w, y)
    s.expect_fresh(y, x)


@requirement("storage/deepcopy-keeps-sharing", needs=("storage", "strided", "inplace"))
@forall(case=tensors(layouts=WRITABLE, max_dims=3, empty=False))
def test_copied_together(s: Session, case: TensorCase) -> None:
    _expect_sharing_pair(s, s.build(case), case, "deepcopy")


@requirement("storage/deepcopy-keeps-sharing", needs=("storage", "views", "inplace"))
def test_copied_vector_and_its_tail(s: Session) -> None:
    x = s.tensor([0, 1, 2, 3], "int64")
    y, z, again = s.call("deepcopy", [x, s.call("__getitem__", x, slice(1, None)), x])
    s.expect_same(again, y)
    s.call("fill_.Scalar", s.call("__getitem__", y, 1), 9)
    s.expect_values(z, [9, 2, 3], dtype="int64")
    s.expect_values(x, [0, 1, 2, 3], dtype="int64")
    s.expect_shares(z, y)
    s.expect_fresh(y, x)


@requirement("storage/saved-view-carries-its-whole-storage", needs=("storage", "views"))
def test_two_of_a_hundred(s: Session) -> None:
    part = s.call("__getitem__", s.call("arange", 100), slice(3, 5))
    (loaded,) = s.call("save_and_load", [part])
    s.expect_nbytes(loaded, 800)
    s.expect_offset(loaded, 3)
    s.expect_values(loaded, [3, 4], dtype="int64")
    bare = s.call("save_and_load", part)
    s.expect_nbytes(bare, 800)
    s.expect_values(bare, [3, 4], dtype="int64")


@requirement("storage/saved-view-carries-its-whole-storage", needs=("storage", "strided"))
@forall(case=tensors(max_dims=3), bare=st.booleans(), weight=0.5)
def test_saved_views(s: Session, case: TensorCase, bare: bool) -> None:
    x = s.build(case)
    y = s.call("save_and_load", x) if bare else s.call("save_and_load", [x])[0]
    s.expect_nbytes(y, s.observe("storage_nbytes", x))
    s.expect_geometry(y, case.sizes, case.strides, case.offset)
    s.expect_values(y, case.array)
