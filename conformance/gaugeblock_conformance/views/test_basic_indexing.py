"""Integers, slices, None, Ellipsis and integer tensors without dims between the brackets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import sizes, tensors
from .indices import basic_indices, cuts, paired
from .layout import Layout, expect_layout, expect_view, layout_of

NUMBERS = [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]

# Index, sizes, strides and offset of the result, first element; None where there is none or the stride is free.
OF_2_2_3: list[tuple[Any, tuple[int, ...], tuple[int | None, ...], int, int | None]] = [
    (1, (2, 3), (3, 1), 6, 6),
    (-2, (2, 3), (3, 1), 0, 0),
    ((1, 0), (3,), (1,), 6, 6),
    ((1, -1, 2), (), (), 11, 11),
    (slice(1, None), (1, 2, 3), (6, 3, 1), 6, 6),
    ((slice(None), slice(None), slice(0, None, 2)), (2, 2, 2), (6, 3, 2), 0, 0),
    ((..., 1), (2, 2), (6, 3), 1, 1),
    ((0, ..., slice(1, 3)), (2, 2), (3, 1), 1, 1),
    (..., (2, 2, 3), (6, 3, 1), 0, 0),
    ((), (2, 2, 3), (6, 3, 1), 0, 0),
    (None, (1, 2, 2, 3), (None, 6, 3, 1), 0, 0),
    ((1, None, slice(None), None, 2), (1, 2, 1), (None, 3, None), 8, 8),
    ((slice(None), 1, slice(5, 9)), (2, 0), (6, 1), 6, None),
    ((slice(-1, None), slice(None), slice(-2, -1)), (1, 2, 1), (6, 3, 1), 7, 7),
]


@requirement("views/basic-index-is-a-view")
def test_basic_index_table(s: Session) -> None:
    def body(
        s: Session, index: Any, dims: tuple[int, ...], strides: tuple[int | None, ...], offset: int, first: int | None
    ) -> None:
        x = s.tensor(NUMBERS, "int64")
        y = s.call("__getitem__", x, index)
        expect_view(s, y, x, Layout(dims, strides, offset))
        if first is not None and s.has_data:
            s.expect(s.read(y).reshape(-1)[0].item(), first, "first element", f"{y.name}.flatten().tolist()[0]", [y])

    s.table(OF_2_2_3, body)


def _with_tensors(s: Session, index: Any, dtype: str | None) -> Any:
    """The index with its integers as tensors without dims of ``dtype``."""
    if dtype is None:
        return index
    if isinstance(index, tuple):
        return tuple(_with_tensors(s, item, dtype) for item in index)
    return s.tensor(index, dtype) if isinstance(index, int) else index


@requirement(
    "views/basic-index-is-a-view", "views/int-index-drops-the-dim", "views/slice-scales-the-stride"
)
@forall(pair=paired(tensors(), basic_indices), scalar=st.sampled_from((None, None, None, "int64", "int32")))
def test_basic_index_follows_the_formula(s: Session, pair: tuple[TensorCase, Any], scalar: str | None) -> None:
    case, index = pair
    x = s.build(case)
    y = s.call("__getitem__", x, _with_tensors(s, index, scalar if s.has_data else None))
    expect_view(s, y, x, layout_of(case).index(index), case.array[index])


@requirement("views/int-index-drops-the-dim")
@forall(
    case=tensors(min_dims=1, empty=False), dim=st.integers(0, 3), index=st.integers(-5, 4), negative=st.booleans()
)
def test_int_index_of_any_dim(s: Session, case: TensorCase, dim: int, index: int, negative: bool) -> None:
    dim %= len(case.sizes)
    size = case.sizes[dim]
    index = max(-size, min(size - 1, index))
    want = layout_of(case).select(dim, index)
    values = case.array[(slice(None),) * dim + (index,)]
    x = s.build(case)
    bare = negative and not dim
    expect_view(s, s.call("__getitem__", x, index if bare else (slice(None),) * dim + (index,)), x, want, values)
    expect_view(s, s.call("select.int", x, dim - len(case.sizes) if negative else dim, index), x, want, values)


@requirement("views/slice-scales-the-stride", "views/slices-clamp")
@forall(pair=paired(tensors(min_dims=1), cuts))
def test_slice_of_any_dim(s: Session, pair: tuple[TensorCase, tuple[int, slice]]) -> None:
    case, (dim, piece) = pair
    index = (slice(None),) * dim + (piece,)
    x = s.build(case)
    expect_view(s, s.call("__getitem__", x, index), x, layout_of(case).cut(dim, piece), case.array[index])


@requirement("views/slice-scales-the-stride")
@forall(pair=paired(tensors(min_dims=1), cuts), negative=st.booleans())
def test_slice_operator(s: Session, pair: tuple[TensorCase, tuple[int, slice]], negative: bool) -> None:
    """slice.Tensor by its schema: a bound of None is left out."""
    case, (dim, piece) = pair
    x = s.build(case)
    asked = dim - len(case.sizes) if negative else dim
    y = s.call("slice.Tensor", x, asked, piece.start, piece.stop, piece.step or 1)
    expect_view(s, y, x, layout_of(case).cut(dim, piece), case.array[(slice(None),) * dim + (piece,)])


@requirement("views/slice-keeps-where-int-drops")
def test_two_by_two(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    rows = s.call("__getitem__", x, slice(1, None))
    expect_layout(s, rows, Layout((1, 2), (2, 1), 2))
    s.expect_values(rows, [[3.0, 4.0]])
    row = s.call("__getitem__", x, 1)
    expect_layout(s, row, Layout((2,), (1,), 2))
    s.expect_values(row, [3.0, 4.0])
    column = s.call("__getitem__", x, (slice(None), 0))
    expect_layout(s, column, Layout((2,), (2,), 0))
    s.expect_values(column, [1.0, 3.0])


CLAMPED = [
    (slice(0, 99), [0, 1, 2, 3]),
    (slice(-99, 2), [0, 1]),
    (slice(3, 1), []),
    (slice(4, None), []),
    (slice(99, None), []),
    (slice(-99, -99), []),
    (slice(-3, -1), [1, 2]),
    (slice(None, None, 9), [0]),
    (slice(1, None, 2), [1, 3]),
    (slice(-(2**63), 2**63 - 1), [0, 1, 2, 3]),
]


@requirement("views/slices-clamp")
def test_slice_table(s: Session) -> None:
    def body(s: Session, piece: slice, want: list[int]) -> None:
        s.expect_values(s.call("__getitem__", s.tensor([0, 1, 2, 3], "int32"), piece), want, dtype="int32")

    s.table(CLAMPED, body)


@requirement("views/slice-step-must-be-positive")
@forall(case=tensors(min_dims=1), step=st.sampled_from((-1, 0, -2, -7)), start=st.none() | st.integers(-3, 3))
def test_slice_step_must_be_positive(s: Session, case: TensorCase, step: int, start: int | None) -> None:
    x = s.build(case)
    s.expect_raises(ValueError, "__getitem__", x, slice(start, None, step))
    s.expect_raises(ValueError, "__getitem__", x, (..., slice(None, start, step)))


@requirement("views/index-out-of-range-raises")
@forall(dims=sizes(1, 4), dim=st.integers(0, 3), beyond=st.integers(0, 5), below=st.booleans())
def test_int_out_of_range(s: Session, dims: tuple[int, ...], dim: int, beyond: int, below: bool) -> None:
    dim %= len(dims)
    index = -dims[dim] - 1 - beyond if below else dims[dim] + beyond
    x = s.build(TensorCase("float32", dims, default_strides(dims)))
    s.expect_raises(IndexError, "__getitem__", x, (slice(None),) * dim + (index,))
    s.expect_raises(IndexError, "select.int", x, dim, index)


@requirement("views/index-out-of-range-raises")
def test_ends_of_the_range(s: Session) -> None:
    x = s.tensor([10, 20, 30], "int64")
    for index, want in ((2, 30), (-3, 10), (0, 10), (-1, 30)):
        s.expect_values(s.call("__getitem__", x, index), want, dtype="int64")
    for index in (3, -4, 2**40):
        s.expect_raises(IndexError, "__getitem__", x, index)


@requirement("views/too-many-indices-raise")
@forall(dims=sizes(0, 3, empty=False), extra=st.integers(1, 3), ellipsis=st.booleans(), full=st.booleans())
def test_too_many_indices(s: Session, dims: tuple[int, ...], extra: int, ellipsis: bool, full: bool) -> None:
    x: Handle = s.build(TensorCase("int32", dims, default_strides(dims)))
    item: Any = slice(None) if full else 0
    index: tuple[Any, ...] = (item,) * (len(dims) + extra)
    s.expect_raises(IndexError, "__getitem__", x, (..., *index) if ellipsis else index)


@requirement("views/too-many-indices-raise")
def test_zero_dim_takes_no_integer(s: Session) -> None:
    x = s.tensor(5.0)
    s.expect_raises(IndexError, "__getitem__", x, 0)
    s.expect_raises(IndexError, "__getitem__", x, (0, None))
    s.expect_values(s.call("__getitem__", x, ...), 5.0)
    s.expect_values(s.call("__getitem__", x, None), [5.0])
