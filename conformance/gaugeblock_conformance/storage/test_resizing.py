"""Storages that grow, tensors laid over another storage, and memory that cannot grow.

Tensors here come from factories: a look at them through NumPy may forbid a backend to resize them any more.
"""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from ..backend import DType, numpy_dtype
from ..case import default_strides, extent
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..views.layout import Layout, Sizes

DIMS = st.lists(st.sampled_from((2, 3, 1, 4, 0)), max_size=3).map(tuple)
STRIDES = st.lists(st.sampled_from((1, 0, 2, 3)), min_size=3, max_size=3).map(tuple)
IMPOSSIBLE: tuple[Sizes, ...] = ((2**62,), (2**40, 2**40), (-1,), (2, -3))
DTYPES = st.sampled_from(("int64", "float32", "uint8", "float64", "int16"))


@requirement("storage/growing-resize-keeps-old-elements")
def test_three_elements_become_five(s: Session) -> None:
    x = s.call("arange", 1, 4)
    s.expect_same(s.call("resize_", x, (5,)), x)
    s.expect_geometry(x, (5,), (1,), 0)
    s.expect_nbytes(x, 40)
    s.expect_values(s.call("__getitem__", x, slice(0, 3)), [1, 2, 3], dtype="int64")


@requirement("storage/growing-resize-keeps-old-elements", "storage/shrinking-resize-keeps-the-storage")
@forall(dims=DIMS, target=DIMS, dtype=DTYPES)
def test_resize_to_any_sizes(s: Session, dims: Sizes, target: Sizes, dtype: str) -> None:
    old, new, width = prod(dims), prod(target), numpy_dtype(dtype).itemsize
    x = s.call("resize_", s.call("arange", old, dtype=DType(dtype)), dims)
    s.call("resize_", x, target)
    s.expect_geometry(x, target, default_strides(target), 0)
    s.expect_nbytes(x, max(old, new) * width)
    kept = min(old, new)
    flat = s.call("__getitem__", s.call("view", x, (new,)), slice(0, kept))
    s.expect_values(flat, np.arange(kept).astype(numpy_dtype(dtype)))


@requirement("storage/growing-resize-keeps-old-elements", needs=("views", "inplace"))
@forall(length=st.integers(1, 40), start=st.integers(0, 39), more=st.sampled_from((1, 100, 100000)), dtype=DTYPES)
def test_views_follow_their_growing_storage(s: Session, length: int, start: int, more: int, dtype: str) -> None:
    start %= length
    x = s.call("arange", length, dtype=DType(dtype))
    view = s.call("__getitem__", x, slice(start, None))
    s.call("resize_", x, (length + more,))
    s.expect_shares(view, x)
    s.expect_nbytes(view, (length + more) * numpy_dtype(dtype).itemsize)
    s.expect_shape(view, (length - start,))
    s.call("fill_.Scalar", s.call("__getitem__", x, start), 99)
    want = np.arange(start, length).astype(numpy_dtype(dtype))
    want[0] = 99
    s.expect_values(view, want)


@requirement("storage/shrinking-resize-keeps-the-storage")
def test_shrink_and_grow_again(s: Session) -> None:
    x = s.call("arange", 6)
    s.call("resize_", x, (2,))
    s.expect_nbytes(x, 48)
    s.expect_shape(x, (2,))
    s.call("resize_", x, (2, 3))
    s.expect_nbytes(x, 48)
    s.expect_values(x, [[0, 1, 2], [3, 4, 5]], dtype="int64")


@requirement("storage/shrinking-resize-keeps-the-storage", needs=("views",))
def test_resize_of_a_view_keeps_its_offset(s: Session) -> None:
    x = s.call("arange", 6)
    view = s.call("__getitem__", x, slice(2, 5))
    s.call("resize_", view, (2, 2))
    s.expect_geometry(view, (2, 2), (2, 1), 2)
    s.expect_nbytes(x, 48)
    s.expect_values(view, [[2, 3], [4, 5]], dtype="int64")
    s.expect_values(x, [0, 1, 2, 3, 4, 5], dtype="int64")


@requirement("storage/failed-allocation-leaves-no-trace", needs=("resize", "storage", "strided"))
@forall(target=st.sampled_from(IMPOSSIBLE))
def test_resize_that_cannot_be_done(s: Session, target: Sizes) -> None:
    x = s.call("arange", 3)
    s.expect_raises((RuntimeError, MemoryError), "resize_", x, target)
    s.expect_geometry(x, (3,), (1,), 0)
    s.expect_nbytes(x, 24)
    s.expect_values(x, [0, 1, 2], dtype="int64")


@requirement("storage/borrowed-memory-does-not-grow", needs=("storage",))
@forall(length=st.integers(0, 12), target=DIMS, dtype=DTYPES, offset=st.integers(0, 3))
def test_resize_of_a_numpy_array(s: Session, length: int, target: Sizes, dtype: str, offset: int) -> None:
    array = np.arange(length).astype(numpy_dtype(dtype))
    offset = min(offset, length)
    x = s.call("from_numpy", array)
    if offset:
        x = s.call("__getitem__", x, slice(offset, None))
    needed: int = prod(target)
    if needed and offset + needed > length:
        s.expect_raises(RuntimeError, "resize_", x, target)
    else:
        s.call("resize_", x, target)
        s.expect_values(x, array[offset : offset + needed].reshape(target))
    s.expect_nbytes(x, array.nbytes)


@requirement("storage/borrowed-memory-does-not-grow")
def test_four_borrowed_numbers(s: Session) -> None:
    x = s.call("from_numpy", np.arange(4))
    s.expect_raises(RuntimeError, "resize_", x, (8,))
    s.call("resize_", x, (2,))
    s.expect_values(x, [0, 1], dtype="int64")
    s.call("resize_", x, (2, 2))
    s.expect_values(x, [[0, 1], [2, 3]], dtype="int64")


SET = "set_.source_Storage_storage_offset"


@requirement("storage/set-needs-a-storage-long-enough", needs=("numpy",))
@forall(length=st.integers(0, 9), dims=DIMS, strides=STRIDES, offset=st.integers(0, 5), dtype=DTYPES)
def test_set_over_borrowed_memory(
    s: Session, length: int, dims: Sizes, strides: Sizes, offset: int, dtype: str
) -> None:
    strides = strides[: len(dims)]
    array = np.arange(length).astype(numpy_dtype(dtype))
    source = s.call("from_numpy", array)
    x = s.call("zeros", (0,), dtype=DType(dtype))
    if 0 not in dims and offset + extent(dims, strides) > length:
        s.expect_raises(RuntimeError, SET, x, source, offset, dims, strides)
    else:
        s.expect_same(s.call(SET, x, source, offset, dims, strides), x)
        s.expect_geometry(x, dims, strides, offset)
        s.expect_shares(x, source)
        s.expect_values(x, Layout(dims, strides, offset).of(array))


@requirement("storage/set-needs-a-storage-long-enough", needs=("numpy",))
def test_set_over_four_numbers(s: Session) -> None:
    source = s.call("from_numpy", np.arange(4.0))
    x = s.call("zeros", (0,), dtype=DType("float64"))
    s.expect_raises(RuntimeError, SET, x, source, 1, (4,), (1,))
    s.expect_raises(RuntimeError, SET, x, source, -1, (2,), (1,))
    s.expect_raises(RuntimeError, SET, x, source, 0, (-1,), (1,))
    s.expect_raises(RuntimeError, SET, x, source, 0, (2,), (-1,))
    s.expect_raises(RuntimeError, SET, x, source, 0, (2, 2), (1,))
    s.call(SET, x, source, 1, (3,), (1,))
    s.expect_values(x, [1.0, 2.0, 3.0], dtype="float64")


@requirement("storage/set-grows-a-resizable-storage")
@forall(length=st.integers(0, 9), dims=DIMS, strides=STRIDES, offset=st.integers(0, 5), dtype=DTYPES)
def test_set_past_the_end(s: Session, length: int, dims: Sizes, strides: Sizes, offset: int, dtype: str) -> None:
    strides, width = strides[: len(dims)], numpy_dtype(dtype).itemsize
    source = s.call("arange", length, dtype=DType(dtype))
    x = s.call("zeros", (0,), dtype=DType(dtype))
    s.call(SET, x, source, offset, dims, strides)
    reach = 0 if 0 in dims else offset + extent(dims, strides)
    s.expect_geometry(x, dims, strides, offset)
    s.expect_shares(x, source)
    s.expect_nbytes(x, max(length, reach) * width)
    s.expect_values(source, np.arange(length).astype(numpy_dtype(dtype)))


@requirement("storage/set-grows-a-resizable-storage")
def test_set_six_over_four(s: Session) -> None:
    source = s.call("ones", (4,))
    x = s.call("zeros", (0,))
    s.expect_same(s.call(SET, x, source, 0, (6,), (1,)), x)
    s.expect_nbytes(source, 24)
    s.expect_values(s.call("__getitem__", x, slice(0, 4)), [1.0] * 4)
    s.expect_shares(x, source)


@requirement("storage/set-needs-the-same-dtype")
@forall(mine=DTYPES, other=DTYPES)
def test_set_of_another_dtype(s: Session, mine: str, other: str) -> None:
    x = s.call("zeros", (2,), dtype=DType(mine))
    source = s.call("ones", (3,), dtype=DType(other))
    if mine != other:
        s.expect_raises(RuntimeError, "set_.source_Tensor", x, source)
        s.expect_shape(x, (2,))
    else:
        s.call("set_.source_Tensor", x, source)
        s.expect_shares(x, source)
        s.expect_values(x, np.ones(3, numpy_dtype(mine)))


@requirement("storage/set-needs-the-same-dtype")
def test_set_of_integers_to_floats(s: Session) -> None:
    x = s.call("zeros", (2,))
    s.expect_raises(RuntimeError, "set_.source_Tensor", x, s.call("arange", 3))
    s.expect_values(x, [0.0, 0.0])
