"""expand: dims enlarged by a stride of 0."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import sizes, tensors
from .indices import paired
from .layout import Layout, expect_view, layout_of

GROWN = st.sampled_from((2, 1, 3, 5, 0, 7))


def expanded(layout: Layout, sizes: tuple[int, ...]) -> Layout:
    """The record of ``expand(sizes)``, sizes without -1."""
    lead = len(sizes) - layout.ndim
    if not layout.sizes:
        return Layout(sizes, (0,) * lead, layout.offset)
    strides: list[int] = []
    for k in reversed(range(len(sizes))):
        if k >= lead:
            old = layout.sizes[k - lead]
            strides.insert(0, layout.known[k - lead] if sizes[k] == old else 0)
        elif sizes[k] != 1:
            strides.insert(0, 0)
        else:
            strides.insert(0, sizes[k + 1] * strides[0])
    return Layout(sizes, tuple(strides), layout.offset)


@st.composite
def targets(draw: st.DrawFn, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes that a tensor of ``dims`` can be expanded to."""
    lead = draw(st.lists(GROWN, max_size=2))
    return (*lead, *(draw(GROWN) if n == 1 else n for n in dims))


@requirement("views/expand-has-stride-zero")
def test_row_to_four_rows(s: Session) -> None:
    x = s.tensor([1.0, 2.0, 3.0])
    y = s.call("expand", x, (4, 3))
    expect_view(s, y, x, Layout((4, 3), (0, 1)))
    s.expect_values(y, [[1.0, 2.0, 3.0]] * 4)
    column = s.tensor([[1], [2]], "int64")
    z = s.call("expand", column, (3, 2, 2))
    expect_view(s, z, column, Layout((3, 2, 2), (0, 1, 0)))
    s.expect_values(z, [[[1, 1], [2, 2]]] * 3, dtype="int64")


@requirement("views/expand-has-stride-zero", "views/expand-keeps-other-strides",
             "views/expand-new-unit-dim-continues-strides")  # fmt: skip
@forall(pair=paired(tensors(max_dims=3), targets), minus=st.integers(0, 7))
def test_expand_follows_the_rules(s: Session, pair: tuple[TensorCase, tuple[int, ...]], minus: int) -> None:
    case, target = pair
    lead = len(target) - len(case.sizes)
    kept = tuple(
        -1 if k >= lead and n == case.sizes[k - lead] and minus >> (k - lead) & 1 else n for k, n in enumerate(target)
    )
    x = s.build(case)
    expect_view(s, s.call("expand", x, kept), x, expanded(layout_of(case), target), np.broadcast_to(case.array, target))


@requirement("views/expand-keeps-other-strides", needs=("as_strided",))
def test_unit_dim_kept_at_one_keeps_its_stride(s: Session) -> None:
    x = s.build(TensorCase("float32", (2, 1, 3), (3, 7, 1), storage=9, kind="distinct"))
    s.expect_strides(s.call("expand", x, (2, 1, 3)), (3, 7, 1))
    s.expect_strides(s.call("expand", x, (2, 4, 3)), (3, 0, 1))
    s.expect_strides(s.call("expand", x, (5, -1, -1, -1)), (0, 3, 7, 1))


NEW_UNIT_DIMS = [
    ((2, 3), (3, 1), (1, 2, 3), (6, 3, 1)),
    ((3,), (1,), (1, 1, 3), (3, 3, 1)),
    ((), (), (1,), (0,)),
    ((), (), (1, 1), (0, 0)),
    ((3,), (1,), (1, 2, 3), (0, 0, 1)),
    ((3,), (2,), (2, 1, 3), (0, 6, 2)),
    ((0,), (1,), (1, 0), (0, 1)),
]


@requirement("views/expand-new-unit-dim-continues-strides", needs=("as_strided", "strided"))
def test_new_unit_dims(s: Session) -> None:
    def body(
        s: Session, dims: tuple[int, ...], strides: tuple[int, ...], target: tuple[int, ...], want: tuple[int, ...]
    ) -> None:
        x = s.build(TensorCase("int32", dims, strides, storage=8, kind="distinct"))
        s.expect_strides(s.call("expand", x, target), want)

    s.table(NEW_UNIT_DIMS, body)


@requirement("views/expand-copies-nothing", needs=("storage",))
@forall(case=tensors(dtypes=("uint8", "float64"), max_dims=2), big=st.sampled_from((10**9, 2**31, 2**40, 2**50)))
def test_expand_to_huge_sizes(s: Session, case: TensorCase, big: int) -> None:
    x = s.build(case)
    bytes_before = s.observe("storage_nbytes", x)
    y = s.call("expand", x, (big, *case.sizes))
    s.expect_shape(y, (big, *case.sizes))
    s.expect_shares(y, x)
    s.expect_nbytes(y, bytes_before)
    if case.numel and s.has_data:
        last = s.call("__getitem__", y, -1)
        s.expect_values(last, case.array)


@requirement("views/expand-minus-one-keeps-a-size")
def test_minus_one(s: Session) -> None:
    x = s.tensor([[1.0], [2.0]])
    s.expect_values(s.call("expand", x, (-1, 3)), [[1.0] * 3, [2.0] * 3])
    s.expect_values(s.call("expand", x, (-1, -1)), [[1.0], [2.0]])
    s.expect_raises(RuntimeError, "expand", x, (-1, 2, 3))
    s.expect_raises(RuntimeError, "expand", s.tensor(1.0), (-1,))


@requirement("views/expand-minus-one-keeps-a-size")
@forall(case=tensors(max_dims=3, dtypes=("float32", "int64")), lead=st.lists(st.integers(1, 3), max_size=2))
def test_minus_one_in_front_raises(s: Session, case: TensorCase, lead: list[int]) -> None:
    x = s.build(case)
    s.expect_raises(RuntimeError, "expand", x, (-1, *lead, *case.sizes))
    s.expect_shape(s.call("expand", x, (*lead, *(-1,) * len(case.sizes))), (*lead, *case.sizes))


@requirement("views/expand-mismatch-raises")
@forall(dims=sizes(1, 3), dim=st.integers(0, 2), asked=st.sampled_from((2, 4, 0, 6, 1)))
def test_expand_of_a_larger_dim(s: Session, dims: tuple[int, ...], dim: int, asked: int) -> None:
    dim %= len(dims)
    x = s.tensor(np.zeros(dims, np.float32))
    target = (*dims[:dim], asked, *dims[dim + 1 :])
    if dims[dim] in (1, asked):
        s.expect_shape(s.call("expand", x, target), target)
        s.expect_shape(s.call("expand", x, (2, *target)), (2, *target))
    else:
        s.expect_raises(RuntimeError, "expand", x, target)


@requirement("views/expand-mismatch-raises")
def test_illegal_expands(s: Session) -> None:
    def body(s: Session, dims: tuple[int, ...], target: tuple[int, ...]) -> None:
        s.expect_raises(RuntimeError, "expand", s.tensor(np.zeros(dims, np.float32)), target)

    s.table([((2, 3), (3,)), ((2, 3), (4, 3)), ((3,), (0,)), ((1, 2), ()), ((3, 1), (2, 5)), ((1,), (-2,))], body)
    one = s.tensor([[1.0]])
    s.expect_shape(s.call("expand", one, (0, 1)), (0, 1))
    s.expect_shape(s.call("expand", one, (3, 4)), (3, 4))
