"""How long a storage stays: as long as a tensor is over it, and not longer."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import DType, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors

STEPS: list[tuple[str, tuple[Any, ...]]] = [
    ("__getitem__", (slice(1, None),)),
    ("detach", ()),
    ("unsqueeze", (0,)),
    ("__getitem__", (None,)),
    ("transpose.int", (0, -1)),
    ("expand_as", ()),
]


def _chain(s: Session, x: Handle, steps: list[int]) -> Handle:
    for k in steps:
        name, arguments = STEPS[k]
        x = s.call(name, x, *(arguments or ((x,) if name == "expand_as" else ())))
    return x


def _watch(s: Session, x: Handle) -> Any:
    return s.backend.watch_storage(x.raw)  # type: ignore[attr-defined]


def _expect_alive(s: Session, alive: Any, want: bool, what: str) -> None:
    if not want:
        got = alive()
        if got:
            gc.collect()
            what += " (after a garbage collection it is)" if not alive() else ""
        s.expect(got, False, what, "True")
    else:
        s.expect(alive(), True, what, "False")


@requirement("storage/storage-outlives-its-first-tensor", needs=("views",))
@forall(steps=st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=3), length=st.integers(4, 2000))
def test_view_outlives_the_tensor(s: Session, steps: list[int], length: int) -> None:
    x = s.call("arange", 10, 10 + length)
    alive = _watch(s, x)
    y = _chain(s, x, steps)
    shape = tuple(s.observe("shape", y))
    cut = steps.count(0) if shape else 0
    del x
    junk = [s.call("zeros", (length,), dtype=DType("int64")) for _ in range(3)]
    _expect_alive(s, alive, True, "the storage is there while a view is")
    s.expect_nbytes(y, 8 * length)
    if s.has_data:
        got = s.read(y).reshape(-1)
        start = 10 + length - got.size
        s.expect(cut >= 0 and got.tolist() == list(range(start, start + got.size)), True, "elements of the view",
                 f"{y.name}.tolist()", [y])  # fmt: skip
    s.expect_fresh(y, *junk)


@requirement("storage/storage-outlives-its-first-tensor", needs=("views",))
def test_five_of_ten_thousand(s: Session) -> None:
    huge = s.call("full", (100, 100), 7.0)
    part = s.call("__getitem__", huge, (0, slice(None, 5)))
    del huge
    s.call("zeros", (100, 100))
    s.expect_nbytes(part, 40000)
    s.expect_values(part, [7.0] * 5)


@requirement("storage/storage-is-released-with-last-tensor", needs=("views",))
@forall(steps=st.lists(st.integers(0, len(STEPS) - 1), max_size=3), length=st.sampled_from((1, 5, 100, 5000, 300000)))
def test_release_at_the_last_moment(s: Session, steps: list[int], length: int) -> None:
    x = s.call("zeros", (length,))
    alive = _watch(s, x)
    y = _chain(s, x, steps)
    del x
    _expect_alive(s, alive, True, "the storage is there while a tensor is")
    del y
    _expect_alive(s, alive, False, "the storage is gone with the last tensor")


@requirement("storage/storage-is-released-with-last-tensor", needs=("views", "inplace"))
def test_release_after_use(s: Session) -> None:
    x = s.call("ones", (1000,))
    alive = _watch(s, x)
    s.call("add_.Scalar", x, 1)
    total = s.call("add.Tensor", x, x)
    reshaped = s.call("reshape", x, (10, 100))
    del x
    _expect_alive(s, alive, True, "the storage is there while a view is")
    del reshaped
    _expect_alive(s, alive, False, "the storage is gone with the last tensor")
    s.expect_values(total, [4.0] * 1000)


@requirement("storage/clone-takes-only-its-elements")
def test_clone_of_a_small_part(s: Session) -> None:
    huge = s.call("zeros", (100, 100))
    part = s.call("__getitem__", huge, (0, slice(None, 5)))
    copy = s.call("clone", part)
    s.expect_nbytes(part, 40000)
    s.expect_nbytes(copy, 20)
    s.expect_offset(copy, 0)
    s.expect_fresh(copy, huge)
    if "refcount" in s.capabilities:
        alive = _watch(s, huge)
        del huge, part
        _expect_alive(s, alive, False, "a clone does not keep the storage it was cut from")
    s.expect_values(copy, [0.0] * 5)


@requirement("storage/clone-takes-only-its-elements")
@forall(case=tensors())
def test_clone_of_any_view(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    y = s.call("clone", x)
    s.expect_nbytes(y, case.numel * numpy_dtype(case.dtype).itemsize)
    s.expect_values(y, case.array)
    s.expect_fresh(y, x)


@requirement("storage/contiguous-keeps-the-big-storage")
def test_contiguous_is_no_escape(s: Session) -> None:
    huge = s.call("zeros", (100, 100))
    part = s.call("__getitem__", huge, (0, slice(None, 5)))
    same = s.call("contiguous", part)
    s.expect_same(same, part)
    s.expect_nbytes(same, 40000)
    s.expect_shares(same, huge)


@requirement("storage/contiguous-keeps-the-big-storage")
@forall(rows=st.integers(1, 6), start=st.integers(0, 5), stop=st.integers(0, 6), row=st.booleans())
def test_contiguous_of_rows(s: Session, rows: int, start: int, stop: int, row: bool) -> None:
    x = s.tensor(np.arange(rows * 3, dtype=np.int64).reshape(rows, 3))
    part = s.call("__getitem__", x, start % rows if row else slice(start, stop))
    same = s.call("contiguous", part)
    s.expect_same(same, part)
    s.expect_nbytes(same, rows * 24)
    s.expect_shares(same, x)
