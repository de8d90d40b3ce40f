"""t_, transpose_, squeeze_, unsqueeze_ and as_strided_: another record for the same tensor."""

from __future__ import annotations

from hypothesis import strategies as st

from ..backend import Array
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from .layout import Layout, expect_layout, layout_of


def _expect_moved(s: Session, y: Handle, x: Handle, want: Layout, storage: Array) -> None:
    s.expect_same(y, x)
    expect_layout(s, x, want)
    s.expect_values(x, want.of(storage))


@requirement("views/inplace-metadata-operators-return-self")
@forall(case=tensors(sizes=st.lists(st.sampled_from((1, 2, 3, 0)), min_size=1, max_size=4).map(tuple)),
        a=st.integers(-4, 3), b=st.integers(-4, 3), step=st.integers(0, 3))  # fmt: skip
def test_metadata_in_place(s: Session, case: TensorCase, a: int, b: int, step: int) -> None:
    rank = len(case.sizes)
    a, b = (max(-rank, min(rank - 1, k)) for k in (a, b))
    x, layout = s.build(case), layout_of(case)
    other = s.call("detach", x)
    if step == 0:
        y, want = s.call("transpose_", x, a, b), layout.swap(a, b)
    elif step == 1:
        y, want = s.call("squeeze_.dim", x, a), layout.drop(a % rank) if case.sizes[a] == 1 else layout
    elif step == 2:
        y, want = s.call("unsqueeze_", x, a), layout.insert(a % (rank + 1), 1, None)
    else:
        want = layout
        for k in reversed(range(rank)):
            want = want.drop(k) if case.sizes[k] == 1 else want
        y = s.call("squeeze_", x)
    _expect_moved(s, y, x, want, case.contents)
    expect_layout(s, other, layout)
    s.expect_values(other, case.array)


@requirement("views/inplace-metadata-operators-return-self")
@forall(case=tensors(max_dims=2))
def test_t_in_place(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    want = layout_of(case).permute(tuple(reversed(range(len(case.sizes)))))
    _expect_moved(s, s.call("t_", x), x, want, case.contents)


@requirement("views/inplace-metadata-operators-return-self", needs=("as_strided",))
@forall(case=tensors(("float32", "int64"), max_dims=2), length=st.integers(0, 3), stride=st.integers(0, 2))
def test_as_strided_in_place(s: Session, case: TensorCase, length: int, stride: int) -> None:
    reach = 1 + max(length - 1, 0) * stride if length else 0
    want = Layout((length,), (stride,), max(case.storage - reach, 0))
    if reach > case.storage:
        s.expect_raises(RuntimeError, "as_strided_", s.build(case), want.sizes, want.known, want.offset)
        return
    x = s.build(case)
    _expect_moved(s, s.call("as_strided_", x, want.sizes, want.known, want.offset), x, want, case.contents)


@requirement("views/inplace-metadata-operators-return-self")
def test_matrix_and_its_views(s: Session) -> None:
    x = s.tensor([[1, 2, 3], [4, 5, 6]], "int64")
    row, turned = s.call("__getitem__", x, 0), s.call("t", x)
    s.expect_same(s.call("t_", x), x)
    s.expect_values(x, [[1, 4], [2, 5], [3, 6]], dtype="int64")
    s.expect_values(row, [1, 2, 3], dtype="int64")
    s.expect_values(turned, [[1, 4], [2, 5], [3, 6]], dtype="int64")
    s.expect_same(s.call("unsqueeze_", x, 0), x)
    s.expect_shape(x, (1, 3, 2))
    s.expect_shape(turned, (3, 2))
    s.expect_same(s.call("squeeze_", x), x)
    s.expect_same(s.call("transpose_", x, 0, 1), x)
    s.expect_values(x, [[1, 2, 3], [4, 5, 6]], dtype="int64")
