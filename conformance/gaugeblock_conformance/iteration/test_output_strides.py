"""Strides of a result that the operator allocates: they follow the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase, default_strides, is_contiguous
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies.code import Digits, coded
from .model import broadcast, channels_last_strides, is_channels_last, output_strides

Ints = tuple[int, ...]

# A call of an operator: the numbers among its operands as None, other arguments by name.
_CALLS: tuple[tuple[str, tuple[str | float | None, ...], dict[str, float]], ...] = (
    ("neg", ("x",), {}), ("exp", ("x",), {}), ("logical_not", ("x",), {}), ("abs", ("x",), {}), ("isnan", ("x",), {}),
    ("clamp", ("x",), {"min": 0, "max": 1}), ("clamp_min", ("x", 0.0), {}), ("clamp_max", ("x", 1.0), {}),
    ("leaky_relu", ("x", 0.5), {}), ("pow.Tensor_Scalar", ("x", 2.0), {}),
    ("add.Scalar", ("x", None), {}), ("sub.Scalar", ("x", None), {}), ("mul.Scalar", ("x", None), {}),
    ("div.Scalar", ("x", None), {}), ("eq.Scalar", ("x", None), {}), ("lt.Scalar", ("x", None), {}),
    ("fmod.Scalar", ("x", None), {}), ("remainder.Scalar", ("x", None), {}),
    ("add.Tensor", ("x", "y"), {}), ("add.Tensor", ("x", "y"), {"alpha": 2}), ("maximum", ("x", "y"), {}),
    ("gt.Tensor", ("x", "y"), {}), ("lerp.Scalar", ("x", "y", 0.5), {}), ("clamp_min.Tensor", ("x", "y"), {}),
    ("where.ScalarOther", ("c", "x", None), {}), ("where.ScalarSelf", ("c", None, "x"), {}),
    ("where.self", ("c", "x", "y"), {}), ("addcmul", ("x", "y", "z"), {}), ("lerp.Tensor", ("x", "y", "z"), {}),
)  # fmt: skip
_NUMBER = TensorCase("float32", (), ())
_WHICH = hs.integers(0, len(_CALLS) - 1)


def _case(sizes: Ints, strides: Ints) -> TensorCase:
    return TensorCase("float32", sizes, strides, kind="small")


def _called(s: Session, which: int, layouts: Sequence[TensorCase]) -> tuple[Handle, list[TensorCase]]:
    """Return the result of call ``which`` on tensors of ``layouts``, used in turn, and its operands."""
    operator, operands, options = _CALLS[which]
    given: list[Any] = []
    joined: list[TensorCase] = []
    for operand in operands:
        if operand is None:
            joined.append(_NUMBER)
            given.append(2.0)
        elif isinstance(operand, str):
            case = layouts["xyzc".index(operand) % len(layouts)]
            joined.append(replace(case, dtype="bool") if operand == "c" else case)
            given.append(s.build(joined[-1]))
        else:
            given.append(operand)
    return s.call(operator, *given, **options), joined


def _alike(digits: Digits) -> list[TensorCase]:
    """Draw two to four tensors with the same number of dims, many of which have size 1 and any stride."""
    rank = 1 + digits.below(4)
    return [_dense(digits, rank) for _ in range(2 + digits.below(3))]


def _dense(digits: Digits, rank: int) -> TensorCase:
    """Draw a tensor without gaps whose dims are in any order; dims of size 1 may have any stride."""
    sizes = tuple(digits.pick((1, 2, 1, 4, 3)) for _ in range(rank))
    strides, step = [0] * rank, 1
    for k in reversed(digits.order(rank)):
        strides[k] = step if sizes[k] > 1 else digits.pick((step, 1, 2, 4, 12))
        step *= sizes[k]
    return _case(sizes, tuple(strides))


@requirement("iteration/row-major-inputs-give-row-major-output")
@forall(shapes=st.broadcastable(4), which=_WHICH)
def test_row_major(s: Session, shapes: tuple[Ints, ...], which: int) -> None:
    y, operands = _called(s, which, [_case(sizes, default_strides(sizes)) for sizes in shapes])
    given = [case.sizes for case in operands]
    result = broadcast(*given)
    assert result is not None
    if 0 not in result or len(set(given)) == 1:
        s.expect_strides(y, default_strides(result))


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
def test_numbers_are_operands_without_dims(s: Session) -> None:
    """A number is an operand of another shape, even next to a contiguous tensor with unusual strides."""

    def row(s: Session, operator: str, sizes: Ints, strides: Ints, joined: Ints) -> None:
        x = s.build(_case(sizes, strides))
        s.expect_strides(s.call(operator, x, 2.0), joined)
        s.expect_strides(s.call("clamp", x, 0.0, 1.0), default_strides(sizes))
        s.expect_strides(s.call("where.ScalarOther", s.call("gt.Scalar", x, 0.0), x, 2.0), joined)

    forms = ("add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "lt.Scalar", "remainder.Scalar")
    layouts = (
        ((4, 1), (1, 4), (1, 4)),
        ((2, 1, 1), (1, 2, 2), (1, 2, 2)),
        ((3, 1), (1, 7), (1, 3)),
        ((2, 1, 3), (3, 1, 1), (3, 1, 1)),
        ((1, 4, 1), (9, 1, 2), (4, 1, 4)),
    )
    s.table([(operator, *layout) for operator in forms for layout in layouts], row)


@requirement("iteration/row-major-inputs-give-row-major-output")
@forall(layouts=coded(_alike), which=_WHICH)
def test_row_major_after_other_layouts(s: Session, layouts: list[TensorCase], which: int) -> None:
    for case in layouts:
        _called(s, which, [case])
    sizes = layouts[0].sizes
    s.expect_strides(_called(s, which, [_case(sizes, default_strides(sizes))])[0], default_strides(sizes))


@requirement("iteration/output-dims-follow-input-order")
@forall(layouts=coded(_alike), which=_WHICH)
def test_after_other_layouts(s: Session, layouts: list[TensorCase], which: int) -> None:
    """A cached order of dims of one layout must not be used for another layout with as many dims."""
    for case in layouts:
        y, operands = _called(s, which, [case])
        s.expect_strides(y, output_strides(operands))


@requirement("iteration/output-dims-follow-input-order")
@forall(xs=st.operands(4, "float32", kind="small", empty=False), which=_WHICH, weight=2)
def test_operands_of_any_layout(s: Session, xs: tuple[TensorCase, ...], which: int) -> None:
    y, operands = _called(s, which, xs)
    s.expect_strides(y, output_strides(operands))


@requirement("iteration/output-dims-follow-input-order")
@forall(x=st.tensors("float32", kind="small"), operator=hs.sampled_from(["neg", "abs", "exp", "floor", "square"]))
def test_one_input(s: Session, x: TensorCase, operator: str) -> None:
    s.expect_strides(s.call(operator, s.build(x)), output_strides([x]))
