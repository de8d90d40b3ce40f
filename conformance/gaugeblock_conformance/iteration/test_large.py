"""Tensors that need 64-bit offsets."""

from __future__ import annotations

from ..backend import DType
from ..requirement import requirement
from ..session import Session

_BEYOND = 2**31 + 8


@requirement("iteration/long-tensors-need-64-bit-offsets", slow=True)
def test_beyond_two_gib(s: Session) -> None:
    x = s.call("zeros", (_BEYOND,), dtype=DType("int8"))
    s.call("__setitem__", x, _BEYOND - 1, 5)
    s.call("__setitem__", x, 2**31 + 1, -3)
    tail = s.call("slice.Tensor", x, 0, _BEYOND - 8, _BEYOND)
    s.expect_offset(tail, 2**31)
    s.expect_values(tail, [0, -3, 0, 0, 0, 0, 0, 5], dtype="int8")
    s.call("add_.Scalar", x, 1)
    s.expect_values(s.call("slice.Tensor", x, 0, _BEYOND - 8, _BEYOND), [1, -2, 1, 1, 1, 1, 1, 6], dtype="int8")
    s.expect_values(s.call("slice.Tensor", x, 0, 0, 4), [1, 1, 1, 1], dtype="int8")


@requirement("iteration/long-tensors-need-64-bit-offsets", slow=True)
def test_wide_strides(s: Session) -> None:
    x = s.call("zeros", (_BEYOND,), dtype=DType("int8"))
    s.call("__setitem__", x, 2**31, 7)
    far = s.call("slice.Tensor", x, 0, 0, _BEYOND, 2**30)
    s.expect_geometry(far, (3,), (2**30,), 0)
    s.expect_values(s.call("add.Scalar", far, 1), [1, 1, 8], dtype="int8")
