"""Operators of the language between tensors and numbers."""

from __future__ import annotations

import numpy as np

from ..requirement import requirement
from ..session import Session

_BINARY = {
    "__add__": "add.Tensor", "__sub__": "sub.Tensor", "__mul__": "mul.Tensor", "__truediv__": "div.Tensor",
    "__floordiv__": "floor_divide", "__mod__": "remainder.Tensor", "__pow__": "pow.Tensor_Tensor",
    "__matmul__": "matmul", "__eq__": "eq.Tensor", "__ne__": "ne.Tensor", "__lt__": "lt.Tensor",
    "__le__": "le.Tensor", "__gt__": "gt.Tensor", "__ge__": "ge.Tensor",
}  # fmt: skip
_BITWISE = {
    "__and__": "bitwise_and.Tensor", "__or__": "bitwise_or.Tensor", "__xor__": "bitwise_xor.Tensor",
    "__lshift__": "bitwise_left_shift.Tensor", "__rshift__": "bitwise_right_shift.Tensor",
}  # fmt: skip
# What becomes of 5, 2, 4 with 1, 3, 1.
_AUGMENTED = {
    "__iadd__": [6, 5, 5], "__isub__": [4, -1, 3], "__imul__": [5, 6, 4], "__ifloordiv__": [5, 0, 4],
    "__iand__": [1, 2, 0], "__ior__": [5, 3, 5], "__ixor__": [4, 1, 5],
}  # fmt: skip


@requirement("operators/python-operators-are-operators")
def test_between_tensors(s: Session) -> None:
    x, y = s.tensor([5, -3, 4], "int64"), s.tensor([2, 2, 3], "int64")
    for syntax, operator in (_BINARY | (_BITWISE if "bitwise" in s.capabilities else {})).items():
        like, got = s.call(operator, x, y), s.call(syntax, x, y)
        s.expect_dtype(got, str(s.observe("dtype", like)))
        if s.has_data:
            s.expect_agreement(got, like)
    s.expect_values(s.call("__neg__", x), [-5, 3, -4], dtype="int64")
    s.expect_values(s.call("__abs__", x), [5, 3, 4], dtype="int64")
    if "bitwise" in s.capabilities:
        s.expect_values(s.call("__invert__", x), [-6, 2, -5], dtype="int64")


@requirement("operators/python-operators-are-operators")
def test_with_numbers(s: Session) -> None:
    x = s.tensor([5, 2], "int64")
    for syntax, left, right in (
        ("__add__", [8, 5], [8, 5]), ("__sub__", [2, -1], [-2, 1]), ("__mul__", [15, 6], [15, 6]),
        ("__floordiv__", [1, 0], [0, 1]), ("__mod__", [2, 2], [3, 1]), ("__pow__", [125, 8], [243, 9]),
    ):  # fmt: skip
        s.expect_values(s.call(syntax, x, 3), left, dtype="int64")
        s.expect_values(s.call(syntax, 3, x), right, dtype="int64")
    s.expect_values(s.call("__truediv__", x, 2), [2.5, 1.0])
    s.expect_values(s.call("__truediv__", 10, x), [2.0, 5.0])
    s.expect_values(s.call("__lt__", x, 3), [False, True], dtype="bool")
    s.expect_values(s.call("__lt__", 3, x), [True, False], dtype="bool")
    if "bitwise" in s.capabilities:
        s.expect_values(s.call("__and__", x, 3), [1, 2], dtype="int64")
        s.expect_values(s.call("__or__", 3, x), [7, 3], dtype="int64")
        s.expect_values(s.call("__lshift__", x, 1), [10, 4], dtype="int64")
        s.expect_values(s.call("__lshift__", 1, x), [32, 4], dtype="int64")


@requirement("operators/augmented-assignment-is-in-place")
def test_augmented(s: Session) -> None:
    for syntax, want in _AUGMENTED.items():
        if syntax in ("__iand__", "__ior__", "__ixor__") and "bitwise" not in s.capabilities:
            continue
        x = s.tensor([5, 2, 4], "int64")
        s.expect_same(s.call(syntax, x, s.tensor([1, 3, 1], "int64")), x)
        s.expect_values(x, want, dtype="int64")
    y = s.tensor([5.0, 2.0])
    s.expect_same(s.call("__itruediv__", y, 2), y)
    s.expect_values(y, [2.5, 1.0])


@requirement("operators/unsupported-operands-raise")
def test_unsupported_operands(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    bitwise = list(_BITWISE) if "bitwise" in s.capabilities else []
    names = [n for n in _BINARY if n not in ("__eq__", "__ne__")] + bitwise
    for name in names:
        for other in ("a", None):
            s.expect_raises(TypeError, name, x, other)
            if name != "__mod__":
                # A string on the left of % formats.
                s.expect_raises(TypeError, name, other, x)
    s.expect_raises(TypeError, "__matmul__", x, 1)
    s.expect_of_last(s.call("__eq__", x, None) is False, True, "x == None", "{} is False")


@requirement("operators/equal-compares-sizes-and-elements")
def test_equal(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    for other, want in (
        ([1.0, 2.0], True), ([1.0, 3.0], False), ([[1.0, 2.0]], False), ([1.0], False), ([1.0, 2.0, 3.0], False)
    ):  # fmt: skip
        s.expect(s.call("equal", x, s.tensor(other)), want, "equal")
    for dtype in ("float64", "int32", "uint8"):
        s.expect(s.call("equal", x, s.tensor([1, 2], dtype)), True, f"equal of float32 and {dtype}")
    nan, empty = s.tensor([float("nan")]), s.tensor([])
    s.expect(s.call("equal", nan, nan), False, "equal of NaN")
    s.expect(s.call("equal", empty, s.tensor([])), True, "equal of nothing")
    s.expect(s.call("equal", empty, s.tensor(np.zeros((0, 2), np.float32))), False, "equal of other empty sizes")
    s.expect(s.call("equal", s.tensor([0.0]), s.tensor([-0.0])), True, "equal of zeros")
    s.expect(s.call("equal", s.tensor(1.0), s.tensor([1.0])), False, "equal of a tensor without dims")
