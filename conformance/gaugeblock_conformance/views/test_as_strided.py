"""as_strided: any view inside the storage, and nothing outside it."""

from __future__ import annotations

from hypothesis import strategies as st

from ..backend import numpy_dtype
from ..case import TensorCase, extent
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import tensors
from .layout import Layout, Sizes, expect_view

DIMS = st.lists(st.sampled_from((2, 3, 1, 4, 0)), max_size=3).map(tuple)
STRIDES = st.lists(st.sampled_from((1, 0, 2, 3, 5)), min_size=3, max_size=3).map(tuple)
INSIDE = tensors(dtypes=("float32", "int64", "uint8", "complex64"), max_dims=2)


@requirement("views/as-strided-reaches-the-whole-storage")
def test_view_reaches_outside_its_input(s: Session) -> None:
    x = s.tensor([0, 1, 2, 3, 4, 5], "int64")
    middle = s.call("__getitem__", x, slice(2, 4))
    y = s.call("as_strided", middle, (3, 2), (2, 1), 0)
    expect_view(s, y, x, Layout((3, 2), (2, 1), 0))
    s.expect_values(y, [[0, 1], [2, 3], [4, 5]], dtype="int64")
    windows = s.call("as_strided", middle, (4, 3), (1, 1), 0)
    s.expect_values(windows, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]], dtype="int64")


@requirement("views/as-strided-reaches-the-whole-storage", "views/as-strided-out-of-bounds-raises")
@forall(case=INSIDE, dims=DIMS, strides=STRIDES, offset=st.integers(0, 12))
def test_bounds_decide(s: Session, case: TensorCase, dims: Sizes, strides: Sizes, offset: int) -> None:
    strides = strides[: len(dims)]
    x = s.build(case)
    if offset + extent(dims, strides) > case.storage and 0 not in dims:
        s.expect_raises(RuntimeError, "as_strided", x, dims, strides, offset)
        return
    y = s.call("as_strided", x, dims, strides, offset)
    want = Layout(dims, strides, offset)
    expect_view(s, y, x, want, want.of(case.contents))


@requirement("views/as-strided-reaches-the-whole-storage", "views/as-strided-out-of-bounds-raises")
@forall(case=INSIDE, dims=DIMS, strides=STRIDES, beyond=st.integers(0, 2))
def test_last_element_of_the_storage(s: Session, case: TensorCase, dims: Sizes, strides: Sizes, beyond: int) -> None:
    """The view is placed so that its last element is the storage's last one, or ``beyond`` elements behind it."""
    strides = strides[: len(dims)]
    reach = extent(dims, strides)
    offset = case.storage - reach + beyond
    if reach == 0 or offset < 0:
        return
    x = s.build(case)
    if beyond:
        s.expect_raises(RuntimeError, "as_strided", x, dims, strides, offset)
    else:
        want = Layout(dims, strides, offset)
        expect_view(s, s.call("as_strided", x, dims, strides, offset), x, want, want.of(case.contents))


@requirement("views/as-strided-keeps-own-offset")
@forall(case=tensors(dtypes=("float32", "int16"), layouts=("offset", "mixed", "contiguous")), length=st.integers(0, 6))
def test_offset_is_kept(s: Session, case: TensorCase, length: int) -> None:
    length = min(length, case.storage - case.offset)
    x = s.build(case)
    want = Layout((length,), (1,), case.offset)
    expect_view(s, s.call("as_strided", x, (length,), (1,)), x, want, want.of(case.contents))


@requirement("views/as-strided-keeps-own-offset")
def test_offset_of_a_row(s: Session) -> None:
    row = s.call("__getitem__", s.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
    s.expect_values(s.call("as_strided", row, (1,), (1,)), [3.0])
    s.expect_values(s.call("as_strided", row, (1,), (1,), 0), [1.0])


OUTSIDE: list[tuple[Sizes, Sizes, int | None]] = [
    ((7,), (1,), 0),
    ((6,), (1,), 1),
    ((2, 3), (4, 1), 0),
    ((1,), (1,), 6),
    ((), (), 6),
    ((2,), (6,), None),
    ((2,), (2**61,), 0),
    ((2**40, 2**40), (2**40, 1), 0),
    ((2,), (-1,), 3),
    ((2,), (1,), -1),
    ((1,), (-1,), 3),
    ((2, 2), (1,), 0),
    ((2,), (1, 1), 0),
    ((-1,), (1,), 0),
]


@requirement("views/as-strided-out-of-bounds-raises")
def test_refused_arguments(s: Session) -> None:
    def body(s: Session, dims: Sizes, strides: Sizes, offset: int | None) -> None:
        x = s.tensor([0, 1, 2, 3, 4, 5], "int32")
        s.expect_raises(RuntimeError, "as_strided", x, dims, strides, offset)

    s.table(OUTSIDE, body)


@requirement("views/as-strided-out-of-bounds-raises", needs=("storage",))
@forall(case=tensors(dtypes=("float32", "float64", "uint8"), max_dims=3), stride=st.integers(0, 9))
def test_bound_counts_bytes_of_the_storage(s: Session, case: TensorCase, stride: int) -> None:
    """The bound is the storage's length in bytes over the item size, also for a view under a narrower dtype."""
    s.require("views.dtype")
    x = s.build(case)
    count = s.observe("storage_nbytes", x) // numpy_dtype(case.dtype).itemsize
    s.expect_raises(RuntimeError, "as_strided", x, (2, 2), (stride, count), 0)
    s.expect_raises(RuntimeError, "as_strided", x, (1,), (stride,), count)
