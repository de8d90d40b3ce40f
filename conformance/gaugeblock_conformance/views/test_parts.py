"""Views that add, drop, cut and combine dims: squeeze, narrow, split, diagonal, unfold and their kin."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from .layout import Layout, expect_layout, expect_view, layout_of, view_strides

UNITS = tensors(sizes=st.lists(st.sampled_from((1, 2, 1, 3, 0)), max_size=4).map(tuple))


def _squeezed(layout: Layout, dims: set[int]) -> Layout:
    for k in reversed(range(layout.ndim)):
        if k in dims and layout.sizes[k] == 1:
            layout = layout.drop(k)
    return layout


@requirement("views/squeeze-and-unsqueeze-touch-unit-dims-only")
def test_squeeze_and_unsqueeze_of_a_row(s: Session) -> None:
    x = s.tensor([[[1, 2, 3]]], "int64")
    expect_view(s, s.call("squeeze", x), x, Layout((3,), (1,)))
    expect_view(s, s.call("squeeze.dim", x, 0), x, Layout((1, 3), (3, 1)))
    expect_view(s, s.call("squeeze.dim", x, 2), x, Layout((1, 1, 3), (3, 3, 1)))
    expect_view(s, s.call("unsqueeze", x, -1), x, Layout((1, 1, 3, 1), (3, 3, 1, None)))
    s.expect_values(s.call("squeeze", x), [1, 2, 3], dtype="int64")


@requirement("views/squeeze-and-unsqueeze-touch-unit-dims-only")
@forall(case=UNITS, dim=st.integers(-4, 3), chosen=st.integers(0, 15))
def test_squeeze(s: Session, case: TensorCase, dim: int, chosen: int) -> None:
    rank = len(case.sizes)
    layout, x = layout_of(case), s.build(case)
    everything = _squeezed(layout, set(range(rank)))
    expect_view(s, s.call("squeeze", x), x, everything, case.array.reshape(everything.sizes))
    dim = max(-rank, min(rank - 1, dim)) if rank else 0
    one = _squeezed(layout, {dim % max(rank, 1)})
    expect_view(s, s.call("squeeze.dim", x, dim), x, one, case.array.reshape(one.sizes))
    dims = tuple(k for k in range(rank) if chosen >> k & 1)
    several = _squeezed(layout, set(dims))
    expect_view(s, s.call("squeeze.dims", x, dims), x, several, case.array.reshape(several.sizes))


@requirement("views/squeeze-and-unsqueeze-touch-unit-dims-only")
@forall(case=tensors(), dim=st.integers(-5, 4))
def test_unsqueeze(s: Session, case: TensorCase, dim: int) -> None:
    rank = len(case.sizes)
    dim = max(-rank - 1, min(rank, dim))
    place = dim % (rank + 1)
    x = s.build(case)
    y = s.call("unsqueeze", x, dim)
    expect_view(s, y, x, layout_of(case).insert(place, 1, None), np.expand_dims(case.array, place))
    expect_layout(s, s.call("squeeze.dim", y, dim), layout_of(case))


@requirement("views/narrow-and-select-shift-the-offset")
def test_narrow_of_rows(s: Session) -> None:
    x = s.tensor([[0, 1], [2, 3], [4, 5]], "int32")
    y = s.call("narrow", x, 0, 1, 2)
    expect_view(s, y, x, Layout((2, 2), (2, 1), 2))
    s.expect_values(y, [[2, 3], [4, 5]], dtype="int32")
    expect_view(s, s.call("select.int", x, 1, -1), x, Layout((3,), (2,), 1))
    s.expect_values(s.call("select.int", x, 1, -1), [1, 3, 5], dtype="int32")
    for start, length in ((2, 2), (0, 4), (4, 0), (-4, 1), (0, -1)):
        s.expect_raises((RuntimeError, IndexError), "narrow", x, 0, start, length)


@requirement("views/narrow-and-select-shift-the-offset")
@forall(case=tensors(min_dims=1), dim=st.integers(0, 3), a=st.integers(0, 9), b=st.integers(0, 9), below=st.booleans())
def test_narrow_and_select(s: Session, case: TensorCase, dim: int, a: int, b: int, below: bool) -> None:
    dim %= len(case.sizes)
    size = case.sizes[dim]
    start, end = sorted((a % (size + 1), b % (size + 1)))
    index: tuple[Any, ...] = (slice(None),) * dim
    x, layout = s.build(case), layout_of(case)
    asked = start - size if below and start < size else start
    y = s.call("narrow", x, dim, asked, end - start)
    expect_view(s, y, x, layout.cut(dim, slice(start, end)), case.array[(*index, slice(start, end))])
    if size:
        picked = a % size - (size if below else 0)
        z = s.call("select.int", x, dim, picked)
        expect_view(s, z, x, layout.select(dim, picked), case.array[(*index, picked)])


def _expect_parts(
    s: Session, parts: list[Handle], x: Handle, layout: Layout, dim: int, bounds: list[int], case: TensorCase
) -> None:
    s.expect(len(parts), len(bounds) - 1, "number of parts", f"len([{', '.join(p.name for p in parts)}])", parts)
    for part, start, end in zip(parts, bounds[:-1], bounds[1:], strict=True):
        values = case.array[(slice(None),) * dim + (slice(start, end),)]
        expect_view(s, part, x, layout.cut(dim, slice(start, end)), values)


@requirement("views/split-and-chunk-are-views")
@forall(case=tensors(min_dims=1, empty=False), dim=st.integers(0, 3), width=st.integers(1, 6), below=st.booleans())
def test_split_and_chunk(s: Session, case: TensorCase, dim: int, width: int, below: bool) -> None:
    rank = len(case.sizes)
    dim %= rank
    size, asked = case.sizes[dim], dim - rank if below else dim
    width = max(width, size // 8)
    layout, x = layout_of(case), s.build(case)
    bounds = [*range(0, size, width), size]
    _expect_parts(s, list(s.call("split.Tensor", x, width, asked)), x, layout, dim, bounds, case)
    count = len(bounds) - 1
    each = -(-size // count)
    _expect_parts(s, list(s.call("chunk", x, count, asked)), x, layout, dim, [*range(0, size, each), size], case)


@requirement("views/split-and-chunk-are-views")
@forall(case=tensors(min_dims=1, max_dims=3), dim=st.integers(0, 2), cut=st.lists(st.integers(0, 5), max_size=3))
def test_split_with_sizes(s: Session, case: TensorCase, dim: int, cut: list[int]) -> None:
    dim %= len(case.sizes)
    size = case.sizes[dim]
    bounds = [0, *sorted(min(c, size) for c in cut), size]
    widths = [b - a for a, b in pairwise(bounds)]
    x = s.build(case)
    parts = s.call("split_with_sizes", x, widths, dim)
    _expect_parts(s, list(parts), x, layout_of(case), dim, bounds, case)


@requirement("views/split-and-chunk-are-views")
@forall(case=tensors(sizes=st.lists(st.sampled_from((2, 3, 1, 4)), min_size=1, max_size=4).map(tuple)),
        dim=st.integers(-4, 3))  # fmt: skip
def test_unbind(s: Session, case: TensorCase, dim: int) -> None:
    rank = len(case.sizes)
    dim = max(-rank, min(rank - 1, dim))
    x = s.build(case)
    parts = s.call("unbind.int", x, dim)
    s.expect(len(parts), case.sizes[dim], "number of parts", f"len({s.text('unbind.int', x, dim)})", [x])
    for k, part in enumerate(parts):
        expect_view(s, part, x, layout_of(case).select(dim % rank, k), case.array.take(k, dim))


@requirement("views/split-and-chunk-are-views")
def test_split_of_five(s: Session) -> None:
    x = s.tensor([1, 2, 3, 4, 5], "int64")
    first, second, third = s.parts(s.call("split.Tensor", x, 2), 3)
    s.expect_values(first, [1, 2], dtype="int64")
    s.expect_values(second, [3, 4], dtype="int64")
    s.expect_values(third, [5], dtype="int64")
    left, right = s.parts(s.call("chunk", x, 2), 2)
    s.expect_values(left, [1, 2, 3], dtype="int64")
    s.expect_values(right, [4, 5], dtype="int64")


@requirement("views/diagonal-adds-two-strides")
def test_diagonals_of_two_by_three(s: Session) -> None:
    x = s.tensor([[0, 1, 2], [3, 4, 5]], "int64")
    for shift, want, start in ((0, [0, 4], 0), (1, [1, 5], 1), (2, [2], 2), (-1, [3], 3)):
        y = s.call("diagonal", x, shift)
        expect_view(s, y, x, Layout((len(want),), (4,), start))
        s.expect_values(y, want, dtype="int64")


@requirement("views/diagonal-adds-two-strides")
@forall(case=tensors(min_dims=2), a=st.integers(0, 3), b=st.integers(1, 3), shift=st.integers(-3, 3))
def test_diagonal(s: Session, case: TensorCase, a: int, b: int, shift: int) -> None:
    rank = len(case.sizes)
    a %= rank
    b = (a + max(b % rank, 1)) % rank
    values = case.array.diagonal(shift, a, b)
    x, layout = s.build(case), layout_of(case)
    y = s.call("diagonal", x, shift, a, b - rank)
    rest = [k for k in range(rank) if k not in (a, b)]
    strides = (*(case.strides[k] for k in rest), case.strides[a] + case.strides[b])
    start = case.offset + (shift * case.strides[b] if shift > 0 else -shift * case.strides[a])
    if not values.shape[-1]:
        start = case.offset
    expect_view(s, y, x, Layout(values.shape, strides, start), values)
    s.expect_shape(x, layout.sizes)


@requirement("views/unfold-overlaps-windows")
def test_windows_of_five(s: Session) -> None:
    x = s.tensor([0, 1, 2, 3, 4], "int64")
    y = s.call("unfold", x, 0, 3, 1)
    expect_view(s, y, x, Layout((3, 3), (1, 1)))
    s.expect_values(y, [[0, 1, 2], [1, 2, 3], [2, 3, 4]], dtype="int64")
    z = s.call("unfold", x, 0, 2, 2)
    expect_view(s, z, x, Layout((2, 2), (2, 1)))
    s.expect_values(z, [[0, 1], [2, 3]], dtype="int64")
    s.expect_raises(RuntimeError, "unfold", x, 0, 6, 1)
    s.expect_raises(RuntimeError, "unfold", x, 0, 2, 0)


@requirement("views/unfold-overlaps-windows")
@forall(case=tensors(min_dims=1), dim=st.integers(0, 3), width=st.integers(1, 6), step=st.integers(1, 4))
def test_unfold(s: Session, case: TensorCase, dim: int, width: int, step: int) -> None:
    dim %= len(case.sizes)
    size = case.sizes[dim]
    width = min(width, size)
    x = s.build(case)
    y = s.call("unfold", x, dim, width, step)
    stride = case.strides[dim]
    want = layout_of(case).replace(dim, (size - width) // step + 1, stride * step)
    if width:
        windows: Any = sliding_window_view(case.array, width, axis=dim)
        values = windows[(slice(None),) * dim + (slice(None, None, step),)]
    else:
        values = np.zeros((*want.sizes, 0), case.array.dtype)
    expect_view(s, y, x, want.insert(len(case.sizes), width, stride), values)


@requirement("views/unflatten-and-view-as-follow-view")
@forall(case=tensors(min_dims=1, empty=False), dim=st.integers(0, 3), parts=st.integers(1, 6), infer=st.booleans())
def test_unflatten_and_view_as(s: Session, case: TensorCase, dim: int, parts: int, infer: bool) -> None:
    rank = len(case.sizes)
    dim %= rank
    size = case.sizes[dim]
    divisors = [d for d in range(1, min(size, 64) + 1) if size % d == 0]
    part = divisors[parts % len(divisors)]
    target = (*case.sizes[:dim], part, size // part, *case.sizes[dim + 1 :])
    x = s.build(case)
    strides = view_strides(layout_of(case), target)
    assert strides is not None
    want = Layout(target, strides, case.offset)
    y = s.call("unflatten.int", x, dim - rank, (part, -1 if infer else size // part))
    expect_view(s, y, x, want, case.array.reshape(target))
    z = s.call("view_as", x, s.tensor(np.zeros(target, np.int8)))
    expect_view(s, z, x, want, case.array.reshape(target))


@requirement("views/unflatten-and-view-as-follow-view")
def test_unflatten_and_view_as_of_six(s: Session) -> None:
    x = s.tensor([0, 1, 2, 3, 4, 5], "int64")
    expect_view(s, s.call("unflatten.int", x, 0, (2, 3)), x, Layout((2, 3), (3, 1)))
    other = s.tensor([[0.0, 0.0]] * 3)
    y = s.call("view_as", x, other)
    expect_view(s, y, x, Layout((3, 2), (2, 1)))
    s.expect_values(y, [[0, 1], [2, 3], [4, 5]], dtype="int64")
    s.expect_raises(RuntimeError, "view_as", x, s.tensor([0.0, 0.0]))
    s.expect_raises(RuntimeError, "unflatten.int", x, 0, (4, 2))
