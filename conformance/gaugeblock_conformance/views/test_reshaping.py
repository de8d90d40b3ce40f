"""view, reshape and flatten: which sizes the strides can express without a copy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import tensors
from .indices import paired
from .layout import Layout, Sizes, expect_view, layout_of, view_strides


@st.composite
def regrouped(draw: st.DrawFn, sizes: Sizes) -> Sizes:
    """Other sizes of the same product: dims merged, cut at a divisor, and dims of size 1 put in."""
    result: list[int] = []
    for size in sizes:
        merge = draw(st.booleans())
        if result and merge:
            result[-1] *= size
        else:
            result.append(size)
    cut: list[int] = []
    for size in result:
        divisors = tuple(d for d in range(1, size + 1) if size % d == 0)[:8] or (0,)
        part: int = draw(st.sampled_from(divisors))
        cut += [part, size // part] if 0 < part < size else [size]
    if draw(st.integers(0, 3)) == 3:
        cut.insert(draw(st.integers(0, len(cut))), 1)
    return tuple(cut)


CUT = tensors(max_dims=4, sizes=st.lists(st.sampled_from((2, 3, 4, 1, 6)), max_size=4).map(tuple))


@requirement("views/view-needs-continuing-strides", "views/view-shares-storage")
def test_views_of_two_by_three(s: Session) -> None:
    x = s.tensor([[0, 1, 2], [3, 4, 5]], "int64")
    flat = s.call("view", x, (6,))
    expect_view(s, flat, x, Layout((6,), (1,)))
    s.expect_values(flat, [0, 1, 2, 3, 4, 5], dtype="int64")
    turned = s.call("t", x)
    s.expect_raises(RuntimeError, "view", turned, (6,))
    expect_view(s, s.call("view", turned, (3, 1, 2)), x, Layout((3, 1, 2), (1, None, 3)))


@requirement("views/view-needs-continuing-strides", "views/view-shares-storage", needs=("as_strided",))
@forall(pair=paired(CUT, regrouped))
def test_view_exists_exactly_if_strides_exist(s: Session, pair: tuple[TensorCase, Sizes]) -> None:
    case, target = pair
    x = s.build(case)
    strides = view_strides(layout_of(case), target)
    if strides is None:
        s.expect_raises(RuntimeError, "view", x, target)
    else:
        y = s.call("view", x, target)
        expect_view(s, y, x, Layout(target, strides, case.offset), case.array.reshape(target))


@requirement("views/view-shares-storage", needs=("index.set",))
@forall(pair=paired(tensors(layouts=("contiguous", "offset"), empty=False), regrouped), pick=st.integers(0, 2**16))
def test_write_through_a_view(s: Session, pair: tuple[TensorCase, Sizes], pick: int) -> None:
    case, target = pair
    place = pick % case.numel
    x = s.build(case)
    y = s.call("view", x, target)
    s.call("__setitem__", y, tuple(int(i) for i in np.unravel_index(place, target)), 1)
    want = case.array
    want.reshape(-1)[place] = 1
    s.expect_values(x, want)


BAD_SIZES: list[tuple[Sizes, Sizes]] = [
    ((6,), (4,)),
    ((6,), (2, 2)),
    ((6,), ()),
    ((0,), (1,)),
    ((2, 3), (7,)),
    ((2, 3), (0, 6)),
    ((), (2,)),
]


@requirement("views/view-keeps-numel")
def test_wrong_product_table(s: Session) -> None:
    def body(s: Session, dims: Sizes, target: Sizes) -> None:
        s.expect_raises(RuntimeError, "view", s.tensor(np.zeros(dims, np.float32)), target)

    s.table(BAD_SIZES, body)


@requirement("views/view-keeps-numel")
@forall(
    dims=st.lists(st.integers(0, 4), max_size=3).map(tuple), target=st.lists(st.integers(0, 6), max_size=3).map(tuple)
)
def test_product_decides(s: Session, dims: Sizes, target: Sizes) -> None:
    x = s.tensor(np.arange(prod(dims), dtype=np.int32).reshape(dims))
    if prod(dims) == prod(target):
        s.expect_values(s.call("view", x, target), np.arange(prod(dims), dtype=np.int32).reshape(target))
    else:
        s.expect_raises(RuntimeError, "view", x, target)


@requirement("views/view-infers-one-dim")
def test_inferred_sizes(s: Session) -> None:
    def body(s: Session, dims: Sizes, asked: Sizes, want: Sizes) -> None:
        x = s.tensor(np.arange(prod(dims), dtype=np.int64).reshape(dims))
        y = s.call("view", x, asked)
        s.expect_values(y, np.arange(prod(dims), dtype=np.int64).reshape(want))

    s.table(
        [
            ((2, 6), (3, -1), (3, 4)),
            ((2, 6), (-1,), (12,)),
            ((), (-1,), (1,)),
            ((5,), (-1, 5), (1, 5)),
            ((0,), (-1, 3), (0, 3)),
            ((2, 0), (-1,), (0,)),
        ],
        body,
    )


@requirement("views/view-infers-one-dim")
@forall(pair=paired(tensors(layouts=("contiguous", "offset")), regrouped), dim=st.integers(0, 5))
def test_minus_one_stands_for_any_dim(s: Session, pair: tuple[TensorCase, Sizes], dim: int) -> None:
    case, target = pair
    target = target or (1,)
    dim %= len(target)
    if 0 in target[:dim] + target[dim + 1 :]:
        target = (0,)
        dim = 0
    x = s.build(case)
    s.expect_shape(s.call("view", x, (*target[:dim], -1, *target[dim + 1 :])), target)


@requirement("views/view-infers-only-one-dim")
def test_what_cannot_be_inferred(s: Session) -> None:
    def body(s: Session, dims: Sizes, target: Sizes) -> None:
        x = s.tensor(np.zeros(dims, np.float32))
        s.expect_raises(RuntimeError, "view", x, target)
        s.expect_raises(RuntimeError, "reshape", x, target)

    s.table(
        [
            ((4,), (-1, -1)),
            ((4,), (2, -2)),
            ((4,), (-4,)),
            ((4,), (3, -1)),
            ((4,), (0, -1)),
            ((0,), (-1, 0)),
            ((2, 0), (0, -1)),
            ((0,), (-1, 2, -1)),
        ],
        body,
    )


@requirement("views/reshape-views-when-view-can", "views/reshape-reads-row-major")
@forall(pair=paired(CUT, regrouped))
def test_reshape(s: Session, pair: tuple[TensorCase, Sizes]) -> None:
    case, target = pair
    x = s.build(case)
    y = s.call("reshape", x, target)
    s.expect_values(y, case.array.reshape(target))
    if "storage" in s.capabilities:
        strides = view_strides(layout_of(case), target)
        if strides is None:
            s.expect_fresh(y, x)
        else:
            expect_view(s, y, x, Layout(target, strides, case.offset))


@requirement("views/reshape-views-when-view-can", "views/reshape-reads-row-major")
@forall(case=tensors(), start=st.integers(0, 3), end=st.integers(0, 3))
def test_flatten(s: Session, case: TensorCase, start: int, end: int) -> None:
    rank = len(case.sizes)
    start, end = sorted((start % max(rank, 1), end % max(rank, 1)))
    target = (*case.sizes[:start], prod(case.sizes[start : end + 1]), *case.sizes[end + 1 :])
    x = s.build(case)
    y = s.call("flatten.using_ints", x, start, end - max(rank, 1))
    s.expect_values(y, case.array.reshape(target))
    if case.numel and "storage" in s.capabilities:
        if view_strides(layout_of(case), target) is None:
            s.expect_fresh(y, x)
        else:
            s.expect_shares(y, x)


@requirement("views/reshape-views-when-view-can", "views/reshape-reads-row-major")
def test_reshape_of_a_transposed_matrix(s: Session) -> None:
    x = s.call("t", s.tensor([[0, 1, 2], [3, 4, 5]], "int64"))
    y = s.call("reshape", x, (6,))
    s.expect_values(y, [0, 3, 1, 4, 2, 5], dtype="int64")
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)
        s.expect_shares(s.call("reshape", x, (3, 2)), x)


@requirement("views/reshape-views-when-view-can", needs=("storage",))
def test_reshape_as_another(s: Session) -> None:
    x = s.call("t", s.tensor([[0, 1, 2], [3, 4, 5]], "int64"))
    for sizes, shares in (((3, 2), True), ((3, 1, 2), True), ((6,), False), ((2, 3), False)):
        y = s.call("reshape_as", x, s.tensor(np.zeros(sizes), "float32"))
        s.expect_values(y, np.array([0, 3, 1, 4, 2, 5]).reshape(sizes), dtype="int64")
        if shares:
            s.expect_shares(y, x)
        else:
            s.expect_fresh(y, x)


# Operators that find nothing to do for a matrix, and further arguments.
_IDLE: list[tuple[str, tuple[Any, ...]]] = [
    ("ravel", ()), ("atleast_1d", ()), ("atleast_2d", ()), ("atleast_3d", ()), ("resolve_conj", ()), ("H", ()),
    ("mH", ()), ("unsafe_chunk", (2,)), ("unsafe_split.Tensor", (1,)),
]  # fmt: skip


@requirement("views/nothing-to-do-copies-nothing", needs=("storage",))
@forall(case=tensors(("float32", "int64", "complex64"), sizes=(2, 3)), row=st.integers(0, len(_IDLE) - 1))
def test_operators_with_nothing_to_do(s: Session, case: TensorCase, row: int) -> None:
    operator, arguments = _IDLE[row]
    x = s.build(case)
    if operator == "ravel":
        x = s.call("contiguous", x)
    y = s.call(operator, x, *arguments)
    for part in y if isinstance(y, list | tuple) else [y]:
        s.expect_shares(part, x)


@requirement("views/nothing-to-do-copies-nothing", needs=("storage",))
def test_tensors_that_fit_already(s: Session) -> None:
    for sizes in ((2, 3), (3,), ()):
        x, other = s.tensor(np.zeros(sizes, np.float32)), s.tensor(np.zeros((4, *sizes), np.float32))
        s.expect_shares(s.call("type_as", x, other), x)
        s.expect_shares(s.call("atleast_1d", x), x)
        first, second = s.parts(s.call("broadcast_tensors", [x, other]), 2)
        s.expect_shares(first, x)
        s.expect_shares(second, other)
