"""Strides of a result that the operator allocates: they follow the inputs."""

from __future__ import annotations

from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase, default_strides, is_contiguous
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .model import channels_last_strides, is_channels_last, output_strides


def _case(sizes: tuple[int, ...], strides: tuple[int, ...]) -> TensorCase:
    return TensorCase("float32", sizes, strides, kind="small")


@requirement("iteration/row-major-inputs-give-row-major-output")
@forall(shapes=st.broadcastable(2))
def test_row_major(s: Session, shapes: tuple[tuple[int, ...], ...]) -> None:
    x, y = (s.build(_case(sizes, default_strides(sizes))) for sizes in shapes)
    total = s.call("add.Tensor", x, y)
    if shapes[0] == shapes[1]:
        s.expect_strides(total, default_strides(shapes[0]))
    s.expect_strides(s.call("neg", x), default_strides(shapes[0]))


@requirement("iteration/row-major-inputs-give-row-major-output")
def test_row_major_goldens(s: Session) -> None:
    x = s.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    s.expect_strides(s.call("mul.Tensor", x, x), (6, 2, 1))
    s.expect_strides(s.call("add.Tensor", x, s.tensor([1.0, 2.0])), (6, 2, 1))


@requirement("iteration/channels-last-inputs-give-channels-last-output")
@forall(sizes=st.sizes(4, 4, empty=False), both=hs.booleans())
def test_channels_last(s: Session, sizes: tuple[int, ...], both: bool) -> None:
    case = _case(sizes, channels_last_strides(sizes))
    x = s.build(case)
    y = s.call("add.Tensor", x, s.build(case)) if both else s.call("neg", x)
    if is_contiguous(sizes, case.strides):
        s.expect_strides(y, default_strides(sizes))
    else:
        s.expect_strides(y, channels_last_strides(sizes))


@requirement("iteration/channels-last-inputs-give-channels-last-output")
def test_channels_last_golden(s: Session) -> None:
    x = s.build(_case((2, 3, 4, 5), (60, 1, 15, 3)))
    s.expect_strides(s.call("mul.Tensor", x, x), (60, 1, 15, 3))
    row_major = s.build(_case((2, 3, 4, 5), (60, 20, 5, 1)))
    s.expect_strides(s.call("add.Tensor", x, row_major), (60, 1, 15, 3))
    s.expect_strides(s.call("add.Tensor", row_major, x), (60, 20, 5, 1))
    assert is_channels_last((2, 3, 4, 5), (60, 1, 15, 3))


@requirement("iteration/equal-dense-strides-are-kept")
@forall(x=st.tensors("float32", layouts=("permuted",), kind="small", min_dims=2, empty=False))
def test_equal_dense(s: Session, x: TensorCase) -> None:
    y = s.call("mul.Tensor", s.build(x), s.build(x))
    s.expect_strides(y, output_strides([x, x]))


@requirement("iteration/equal-dense-strides-are-kept")
def test_equal_dense_golden(s: Session) -> None:
    x = s.build(_case((4, 2, 3), (1, 12, 4)))
    s.expect_strides(s.call("mul.Tensor", x, x), (1, 12, 4))
    s.expect_strides(s.call("exp", x), (1, 12, 4))


@requirement("iteration/output-dims-follow-input-order")
def test_first_input_decides(s: Session) -> None:
    def row(s: Session, left: TensorCase, right: TensorCase, want: tuple[int, ...]) -> None:
        s.expect_strides(s.call("add.Tensor", s.build(left), s.build(right)), want)

    columns, rows = _case((2, 3), (1, 2)), _case((2, 3), (3, 1))
    s.table(
        [
            (columns, rows, (1, 2)),
            (rows, columns, (3, 1)),
            (_case((4, 3), (2, 10)), _case((4, 3), (2, 10)), (1, 4)),
            (_case((3,), (1,)), columns, (1, 2)),
            (_case((2, 1), (1, 1)), columns, (1, 2)),
            (_case((1, 3), (3, 1)), _case((2, 1), (1, 1)), (3, 1)),
        ],
        row,
    )


@requirement("iteration/output-dims-follow-input-order")
@forall(xs=st.operands(2, "float32", kind="small", empty=False))
def test_two_inputs(s: Session, xs: tuple[TensorCase, ...]) -> None:
    y = s.call("add.Tensor", *[s.build(x) for x in xs])
    s.expect_strides(y, output_strides(xs))


@requirement("iteration/output-dims-follow-input-order")
@forall(xs=st.operands(3, "float32", kind="small", empty=False), weight=0.5)
def test_three_inputs(s: Session, xs: tuple[TensorCase, ...]) -> None:
    y = s.call("addcmul", *[s.build(x) for x in xs])
    s.expect_strides(y, output_strides(xs))


@requirement("iteration/output-dims-follow-input-order")
@forall(x=st.tensors("float32", kind="small"), operator=hs.sampled_from(["neg", "abs", "exp", "floor", "square"]))
def test_one_input(s: Session, x: TensorCase, operator: str) -> None:
    s.expect_strides(s.call(operator, s.build(x)), output_strides([x]))
