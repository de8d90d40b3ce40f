"""How long a storage stays: as long as a tensor is over it, and not longer."""

from __future__ import annotations

import gc
import traceback
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


class Watch:
    """Whether the storage under a tensor is there, and the words for it when it should not be."""

    def __init__(self, s: Session, x: Handle) -> None:
        self._s = s
        self._alive = s.backend.watch_storage(x.raw)  # type: ignore[attr-defined]
        self._name = x.name

    def expect(self, want: bool, *gone: str) -> None:
        """Expect it to be there or not, after the variables ``gone`` went."""
        if self._alive() == want:
            return
        late = ""
        if not want:
            gc.collect()
            late = "" if self._alive() else " before a garbage collection"
        line, expression = self._s.dialect.watching
        says = f"the storage is not released with its last tensor{late}" if not want else "the storage went too early"
        lines = [line.format(self._name), f"del {', '.join(gone)}", f"assert ({expression}) == {want}"]
        wanted = {self._name, *gone}
        raise self._s.failure(says, "alive" if want else "gone", "gone" if want else "alive", lines, wanted)


@requirement("storage/storage-outlives-its-first-tensor", needs=("views",))
@forall(steps=st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=3), length=st.integers(4, 2000))
def test_view_outlives_the_tensor(s: Session, steps: list[int], length: int) -> None:
    x = s.call("arange", 10, 10 + length)
    alive, name = Watch(s, x), x.name
    y = _chain(s, x, steps)
    shape = tuple(s.observe("shape", y))
    cut = steps.count(0) if shape else 0
    del x
    junk = [s.call("zeros", (length,), dtype=DType("int64")) for _ in range(3)]
    alive.expect(True, name)
    s.expect_nbytes(y, 8 * length)
    if s.has_data:
        got = s.read(y).reshape(-1)
        start = 10 + length - got.size
        want = list(range(start, start + got.size))
        text = f"np.array({s.text('tolist', y)}).reshape(-1).tolist() == {want!r}"
        s.expect(cut >= 0 and got.tolist() == want, True, "elements of the view", text, [y])
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
    alive = Watch(s, x)
    y = _chain(s, x, steps)
    first, last = x.name, y.name
    del x
    alive.expect(True, first)
    del y
    alive.expect(False, *dict.fromkeys((first, last)))


@requirement("storage/storage-is-released-with-last-tensor", needs=("views", "inplace"))
def test_release_after_use(s: Session) -> None:
    x = s.call("ones", (1000,))
    alive = Watch(s, x)
    s.call("add_.Scalar", x, 1)
    total = s.call("add.Tensor", x, x)
    reshaped = s.call("reshape", x, (10, 100))
    first, last = x.name, reshaped.name
    del x
    alive.expect(True, first)
    del reshaped
    alive.expect(False, first, last)
    s.expect_values(total, [4.0] * 1000)


# Calls of a matrix of 3 rows and 4 columns: operator, other arguments, the classes of which it raises one.
_CALLS: tuple[tuple[str, tuple[Any, ...], tuple[type[Exception], ...]], ...] = (
    ("abs", (), ()),
    ("sum", (), ()),
    ("add.Tensor", (2.0,), ()),
    ("view", ((5,),), (RuntimeError,)),
    ("select.int", (7, 0), (IndexError,)),
    ("select.int", (0, 9), (IndexError,)),
    ("__getitem__", ((0, 1, 2),), (IndexError,)),
    ("reshape", ((-1, 5),), (RuntimeError,)),
    ("permute", ((0, 0),), (RuntimeError,)),
    ("__add__", ("a",), (TypeError,)),
)


def _let_go(error: BaseException | None) -> None:
    """Clear the frames that an exception and those before it went through: their variables hold the arguments."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


@requirement("storage/calls-keep-no-reference")
def test_calls_borrow(s: Session) -> None:
    """Each call is made three times, so that what the first of them leaves in a cache is told."""

    def row(s: Session, operator: str, arguments: tuple[Any, ...], classes: tuple[type[Exception], ...]) -> None:
        for _ in range(3):
            x = s.call("ones", (3, 4))
            alive, name = Watch(s, x), x.name
            _, error = s.attempt(operator, x, *arguments)
            if classes:
                s.expect_refusal(error, classes, operator)
            elif error is not None:
                s.expect_accepted(error, operator)
            _let_go(error)
            del x
            alive.expect(False, name)

    s.table(_CALLS, row)


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
        alive, gone = Watch(s, huge), (huge.name, part.name)
        del huge, part
        alive.expect(False, *gone)
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
