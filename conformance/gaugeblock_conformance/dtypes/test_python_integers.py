"""Python ints as operands: they enter arithmetic and comparisons modulo two to the bits of the dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.conversion import cast
from ..oracles.integers import INTEGER, wrap
from ..oracles.promotion import common
from ..requirement import requirement
from ..session import Session
from ..strategies import INTEGRAL

_SYMBOLS = {"add": "__add__", "sub": "__sub__", "mul": "__mul__"}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_WIDE = hs.one_of(
    hs.integers(-(2**63), 2**63 - 1),
    hs.sampled_from([2**k + d for k in (7, 8, 15, 16, 31, 32, 62) for d in (-1, 0, 1)]),
    hs.integers(-300, 300),
)


@requirement("dtypes/python-int-operand-wraps")
def test_golden(s: Session) -> None:
    s.expect_values(s.call("add.Scalar", s.tensor([1], "int8"), 1000), [-23], dtype="int8")
    s.expect_values(s.call("__add__", s.tensor([1], "int8"), 1000), [-23], dtype="int8")
    s.expect_values(s.call("mul.Scalar", s.tensor([3], "uint8"), 257), [3], dtype="uint8")
    s.expect_values(s.call("sub.Scalar", s.tensor([0], "uint8"), 1), [255], dtype="uint8")
    s.expect_values(s.call("__sub__", s.tensor([0], "int16"), 2**40 + 5), [-5], dtype="int16")
    s.expect_values(s.call("add_.Scalar", s.tensor([1], "int8"), 255), [0], dtype="int8")
    s.expect_values(s.call("bitwise_and.Scalar", s.tensor([-1], "int8"), 0x1FF), [-1], dtype="int8")


@requirement("dtypes/python-int-operand-wraps")
@forall(
    x=st.tensors(INTEGRAL),
    number=_WIDE,
    operator=hs.sampled_from(list(_SYMBOLS)),
    form=hs.sampled_from(["schema", "symbol", "inplace"]),
)
def test_wraps(s: Session, x: TensorCase, number: int, operator: str, form: str) -> None:
    dtype = numpy_dtype(x.dtype)
    operand = np.array(wrap(number, dtype), dtype=dtype)
    formula = INTEGER[operator]
    with np.errstate(all="ignore"):
        one = np.ones((), dtype)
        want = np.asarray(formula(x.array, operand) if operator == "mul" else formula(x.array, operand, one))
    if form == "inplace":
        t = s.tensor(x.array)
        s.call(f"{operator}_.Scalar", t, number)
        s.expect_values(t, want)
    else:
        s.expect_values(
            s.call(_SYMBOLS[operator] if form == "symbol" else f"{operator}.Scalar", s.build(x), number), want
        )


@requirement("dtypes/python-int-operand-beyond-64-bits-raises")
@forall(
    dtype=st.dtypes(*INTEGRAL),
    excess=hs.one_of(hs.integers(0, 5), hs.integers(0, 2**70)),
    below=hs.booleans(),
    operator=hs.sampled_from(["add.Scalar", "mul.Scalar", "sub.Scalar", "eq.Scalar", "__add__", "__mul__"]),
)
def test_beyond_64_bits(s: Session, dtype: str, excess: int, below: bool, operator: str) -> None:
    number = -(2**63) - 1 - excess if below else 2**64 + excess
    s.expect_raises((OverflowError, RuntimeError), operator, s.tensor([1, 2], dtype), number)


@requirement("dtypes/python-int-operand-beyond-64-bits-raises")
def test_beyond_64_bits_golden(s: Session) -> None:
    for number in (2**64, -(2**63) - 1, 10**30, -(10**30)):
        s.expect_raises((OverflowError, RuntimeError), "add.Scalar", s.tensor([1], "int64"), number)
        s.expect_raises((OverflowError, RuntimeError), "__add__", s.tensor([1], "int8"), number)


@requirement("dtypes/comparison-wraps-python-int")
def test_comparison_golden(s: Session) -> None:
    s.expect_values(s.call("lt.Scalar", s.tensor([100], "int8"), 1000), [False], dtype="bool")
    s.expect_values(s.call("eq.Scalar", s.tensor([1], "uint8"), 257), [True], dtype="bool")
    s.expect_values(s.call("__lt__", s.tensor([100], "int8"), 1000), [False], dtype="bool")
    s.expect_values(s.call("__eq__", s.tensor([1], "uint8"), 257), [True], dtype="bool")
    s.expect_values(s.call("gt.Tensor", s.tensor([5], "uint8"), s.tensor(-1, "int64")), [False], dtype="bool")
    s.expect_values(s.call("eq.Tensor", s.tensor([44], "int8"), s.tensor(300, "int32")), [True], dtype="bool")


@requirement("dtypes/comparison-wraps-python-int")
@forall(
    x=st.tensors(INTEGRAL),
    number=_WIDE,
    operator=hs.sampled_from(_COMPARISONS),
    form=hs.sampled_from(["Scalar", "symbol", "dimless"]),
)
def test_comparison_wraps(s: Session, x: TensorCase, number: int, operator: str, form: str) -> None:
    dtype = numpy_dtype(x.dtype)
    if form == "dimless" and not x.sizes:
        form = "Scalar"
    want = np.asarray(INTEGER[operator](x.array, np.array(wrap(number, dtype), dtype=dtype)))
    t = s.build(x)
    if form == "symbol":
        y = s.call(f"__{operator}__", t, number)
    elif form == "Scalar":
        y = s.call(f"{operator}.Scalar", t, number)
    else:
        y = s.call(f"{operator}.Tensor", t, s.tensor(number, "int64"))
    s.expect_values(y, want)


@requirement("dtypes/alpha-kind-is-limited")
def test_alpha_golden(s: Session) -> None:
    ints, floats, bools = s.tensor([1, 2], "int64"), s.tensor([1.0, 2.0]), s.tensor([True, False], "bool")
    s.expect_values(s.call("add.Tensor", ints, ints, alpha=3), [4, 8], dtype="int64")
    s.expect_values(s.call("sub.Tensor", floats, floats, alpha=2), [-1.0, -2.0])
    s.expect_values(s.call("add.Tensor", floats, ints, alpha=0.5), [1.5, 3.0])
    s.expect_values(s.call("add.Tensor", bools, bools, alpha=True), [True, False], dtype="bool")
    for operator in ("add.Tensor", "sub.Tensor"):
        s.expect_raises(RuntimeError, operator, ints, ints, alpha=1.5)
        s.expect_raises(RuntimeError, operator, floats, floats, alpha=1j)
        s.expect_raises(RuntimeError, operator, ints, ints, alpha=1j)
        s.expect_raises(RuntimeError, operator, floats, ints, alpha=True)
        s.expect_raises(RuntimeError, operator, ints, ints, alpha=True)


@requirement("dtypes/alpha-kind-is-limited")
@forall(
    left=st.dtypes("int8", "uint8", "int64", "float32", "float64", "complex64"),
    right=st.dtypes("int8", "int32", "float32", "float64", "complex64", "bool"),
    alpha=hs.sampled_from([2, -1, True, 1.5, 0.0, 2j]),
    operator=hs.sampled_from(["add", "sub"]),
    form=hs.sampled_from(["Tensor", "inplace", "out"]),
)
def test_alpha_kinds(s: Session, left: str, right: str, alpha: complex, operator: str, form: str) -> None:
    if operator == "sub" and right == "bool":
        right = "int32"
    kinds = ("int", "float", "complex")
    kind = max(kinds.index(k) for d in (left, right) for k in kinds if k in d or (d == "bool" and k == "int"))
    mine = kinds.index("complex" if isinstance(alpha, complex) else "float" if isinstance(alpha, float) else "int")
    x, y = s.tensor([1, 2, 3], left), s.tensor([1, 0, 1], right)
    name = f"{operator}.Tensor"
    kwargs: dict[str, Any] = {"alpha": alpha}
    if form == "out":
        name, kwargs = f"{operator}.out", {"alpha": alpha, "out": s.tensor([0, 0, 0], "complex128")}
    elif form == "inplace":
        if kind > max(kinds.index(k) for k in kinds if k in left):
            return
        name = f"{operator}_.Tensor"
    if mine > kind or alpha is True:
        s.expect_raises(RuntimeError, name, x, y, **kwargs)
        return
    sign = 1 if operator == "add" else -1
    exact = np.array([v + sign * alpha * w for v, w in zip((1, 2, 3), (1, 0, 1), strict=True)])
    s.expect_values(s.call(name, x, y, **kwargs), cast(exact, _result(left, right, form)), signed_zero=False)


def _result(left: str, right: str, form: str) -> str:
    return "complex128" if form == "out" else left if form == "inplace" else common(left, right)
