"""Bools: or for sums, and for products, no differences."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_A, _B = [True, True, False, False], [True, False, True, False]
_OR, _AND, _XOR = [True, True, True, False], [True, False, False, False], [False, True, True, False]
_TABLE = [
    ("add.Tensor", _OR), ("__add__", _OR), ("bitwise_or.Tensor", _OR), ("__or__", _OR), ("logical_or", _OR),
    ("mul.Tensor", _AND), ("__mul__", _AND), ("bitwise_and.Tensor", _AND), ("__and__", _AND),
    ("logical_and", _AND), ("bitwise_xor.Tensor", _XOR), ("__xor__", _XOR), ("logical_xor", _XOR),
]  # fmt: skip
_FORMULAS = {
    "add.Tensor": np.logical_or, "__add__": np.logical_or, "mul.Tensor": np.logical_and, "__mul__": np.logical_and,
    "__and__": np.logical_and, "__or__": np.logical_or, "__xor__": np.logical_xor,
}  # fmt: skip


@requirement("dtypes/bool-add-is-or-and-mul-is-and")
def test_golden(s: Session) -> None:
    def body(s: Session, operator: str, want: list[bool]) -> None:
        s.expect_values(s.call(operator, s.tensor(_A, "bool"), s.tensor(_B, "bool")), want, dtype="bool")

    s.table([row for row in _TABLE if "bitwise" in s.capabilities or "bitwise" not in row[0]], body)
    s.expect_values(s.call("__invert__", s.tensor(_B, "bool")), [not v for v in _B], dtype="bool")
    s.expect_values(s.call("logical_not", s.tensor(_B, "bool")), [not v for v in _B], dtype="bool")
    inf, nan = float("inf"), float("nan")
    quotient = s.call("__truediv__", s.tensor(_A, "bool"), s.tensor(_B, "bool"))
    s.expect_values(quotient, [1.0, inf, 0.0, nan])


@requirement("dtypes/bool-add-is-or-and-mul-is-and")
@forall(xs=st.operands(2, dtypes="bool", long=True), operator=hs.sampled_from(list(_FORMULAS)))
def test_in_any_layout(s: Session, xs: tuple[TensorCase, TensorCase], operator: str) -> None:
    a, b = (c.array for c in xs)
    s.expect_values(s.call(operator, *(s.build(c) for c in xs)), np.asarray(_FORMULAS[operator](a, b)))


@requirement("dtypes/bool-add-is-or-and-mul-is-and")
@forall(
    x=st.tensors("bool", layouts=st.WRITABLE), y=hs.booleans(), operator=hs.sampled_from(["add_.Scalar", "mul_.Scalar"])
)
def test_in_place_with_python_bools(s: Session, x: TensorCase, y: bool, operator: str) -> None:
    s.require("inplace")
    t = s.build(x)
    s.call(operator, t, y)
    s.expect_values(t, np.asarray(x.array | y if "add" in operator else x.array & y))


@requirement("dtypes/bool-subtraction-raises")
def test_differences(s: Session) -> None:
    a, b = s.tensor(_A, "bool"), s.tensor(_B, "bool")
    s.expect_raises(RuntimeError, "sub.Tensor", a, b)
    s.expect_raises(RuntimeError, "__sub__", a, b)
    s.expect_raises(RuntimeError, "sub_.Tensor", a, b)
    s.expect_raises(RuntimeError, "neg", a)
    s.expect_raises(RuntimeError, "__neg__", a)
    s.expect_raises(RuntimeError, "sub.Tensor", s.tensor(True, "bool"), b)


@requirement("dtypes/bool-division-and-products-raise")
def test_quotients_and_powers(s: Session) -> None:
    classes = (NotImplementedError, RuntimeError)
    a, b = s.tensor([True, False], "bool"), s.tensor([True, True], "bool")
    for operator in ("floor_divide", "__floordiv__", "remainder.Tensor", "__mod__", "pow.Tensor_Tensor", "__pow__"):
        s.expect_raises(classes, operator, a, b)
    s.expect_raises(classes, "fmod.Tensor", a, b)


@requirement("dtypes/bool-division-and-products-raise", needs=("matmul",))
def test_matrix_products(s: Session) -> None:
    classes = (NotImplementedError, RuntimeError)
    square = s.tensor([[True, False], [True, True]], "bool")
    s.expect_raises(classes, "mm", square, square)
    s.expect_raises(classes, "dot", s.tensor([True, False], "bool"), s.tensor([True, True], "bool"))
