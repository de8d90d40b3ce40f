"""Float functions of integers, and comparisons."""

from __future__ import annotations

import numpy as np
from gaugeblock_spec import operators
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase
from ..forall import forall
from ..oracles.agreement import expect_pointwise
from ..oracles.conversion import cast
from ..oracles.integers import COMPARISONS
from ..oracles.pointwise import operators_with_oracle
from ..oracles.promotion import COMPLEX, CORE, KIND, result_type
from ..requirement import requirement
from ..session import Session
from ..strategies import FLOATING, INTEGRAL
from .answers import default_dtype

_INTS = ("bool", *INTEGRAL)
_FUNCTIONS = tuple(
    name
    for name in operators_with_oracle()
    if operators.load()[name].promotion == "int_to_float" and name.count("Tensor") == 0 and "Scalar" not in name
    and str(operators.load()[name].schema).count("Tensor ") == 1 and "Scalar" not in operators.load()[name].schema
)  # fmt: skip


@requirement("dtypes/float-functions-of-integers-are-default-float")
def test_golden(s: Session) -> None:
    x = s.tensor([0, 1, 4], "int64")
    s.expect_values(s.call("sqrt", x), [0.0, 1.0, 2.0])
    s.expect_values(s.call("exp2", x), [1.0, 2.0, 16.0])
    s.expect_values(s.call("sin", x), np.sin(np.array([0.0, 1.0, 4.0])).astype(np.float32), ulp=1)
    s.expect_values(s.call("sigmoid", s.tensor([0, 0], "uint8")), [0.5, 0.5])
    s.expect_values(s.call("log", s.tensor([True, True], "bool")), [0.0, 0.0])
    s.expect_values(s.call("reciprocal", s.tensor([1, 2, -4], "int32")), [1.0, 0.5, -0.25])
    s.expect_dtype(s.call("exp", s.tensor([1.0], "float64")), "float64")
    s.expect_dtype(s.call("exp", s.tensor([1.0], "float16")), "float16")
    with default_dtype(s, "float64"):
        s.expect_values(s.call("sqrt", x), [0.0, 1.0, 2.0], dtype="float64")
    s.expect_raises((RuntimeError, TypeError), "sqrt.out", x, out=s.tensor([0, 0, 0], "int64"))


@requirement("dtypes/float-functions-of-integers-are-default-float")
def test_dtype_table(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str) -> None:
        want = dtype if dtype in FLOATING else "float32"
        s.expect_dtype(s.call(operator, s.tensor([1, 1], dtype)), want)
        if dtype in _INTS:
            s.expect_dtype(s.call(operator, s.tensor(1, dtype)), want)

    s.table(
        [(o, d) for o in _FUNCTIONS for d in (*_INTS, *FLOATING) if d in operators.load()[o].dtypes],
        body,
    )


@requirement("dtypes/float-functions-of-integers-are-default-float")
@forall(operator=hs.sampled_from(_FUNCTIONS), x=st.tensors(_INTS, kind="positive", max_dims=3))
def test_values(s: Session, operator: str, x: TensorCase) -> None:
    row = operators.load()[operator]
    if x.dtype not in row.dtypes:
        x = x.with_dtype("int64")
    if row.domain.get("self") is not None and row.domain["self"].high == 1:
        x = x.with_dtype("bool")
    expect_pointwise(s, s.call(operator, s.build(x)), operator, [x.array], x.dtype)


@requirement("dtypes/comparisons-give-bool")
def test_comparison_golden(s: Session) -> None:
    big, near = s.tensor([2**24 + 1], "int64"), s.tensor([2.0**24])
    s.expect_values(s.call("eq.Tensor", big, near), [True], dtype="bool")
    s.expect_values(s.call("gt.Tensor", big, near), [False], dtype="bool")
    s.expect_values(s.call("__eq__", big, s.tensor([2.0**24], "float64")), [False], dtype="bool")
    s.expect_values(s.call("__lt__", s.tensor([-1], "int8"), s.tensor([255], "uint8")), [True], dtype="bool")
    s.expect_values(s.call("eq.Tensor", s.tensor([0.1], "float64"), s.tensor([0.1])), [False], dtype="bool")
    s.expect_values(s.call("eq.Tensor", s.tensor(0.1, "float64"), s.tensor([0.1])), [True], dtype="bool")
    s.expect_values(s.call("__eq__", s.tensor([1 + 1j, 1], "complex64"), s.tensor([1, 1], "int64")), [False, True],
                    dtype="bool")  # fmt: skip
    both = s.call("logical_and", s.tensor([0.5, 0.0, -0.0]), s.tensor([2, 2, 2], "int64"))
    s.expect_values(both, [True, False, False], dtype="bool")
    s.expect_values(s.call("logical_or", s.tensor([float("nan"), 0.0]), s.tensor([0, 0], "int8")), [True, False],
                    dtype="bool")  # fmt: skip
    s.expect_values(s.call("logical_not", s.tensor([2, 0], "int16")), [False, True], dtype="bool")


_ORDER = ("eq", "ne", "lt", "le", "gt", "ge")
_LOGIC = ("logical_and", "logical_or", "logical_xor")


@requirement("dtypes/comparisons-give-bool")
def test_comparison_table(s: Session) -> None:
    def body(s: Session, left: str, right: str) -> None:
        x, y = s.tensor([0, 1, 1], left), s.tensor([1, 1, 0], right)
        for name in _ORDER:
            if COMPLEX in (KIND[left], KIND[right]) and name not in ("eq", "ne"):
                continue
            want = COMPARISONS[name](np.array([0, 1, 1]), np.array([1, 1, 0]))
            s.expect_values(s.call(f"{name}.Tensor", x, y), want)
        for name in _LOGIC:
            s.expect_values(s.call(name, x, y), COMPARISONS[name](np.array([0, 1, 1]), np.array([1, 1, 0])))

    s.table([(a, b) for a in CORE for b in CORE], body)


@requirement("dtypes/comparisons-give-bool")
@forall(
    xs=st.operands(2, max_dims=3),
    operator=hs.sampled_from([*_ORDER, *_LOGIC]),
    symbol=hs.booleans(),
)
def test_promoted_comparison(s: Session, xs: tuple[TensorCase, TensorCase], operator: str, symbol: bool) -> None:
    dims, dimless = [c.dtype for c in xs if c.sizes], [c.dtype for c in xs if not c.sizes]
    try:
        common = result_type(dims, dimless)
    except KeyError:
        return
    a, b = (cast(c.array, common) for c in xs)
    if operator in _LOGIC:
        s.expect_values(s.call(operator, *(s.build(c) for c in xs)), np.asarray(COMPARISONS[operator](a, b)))
        return
    if KIND[common] == COMPLEX:
        operator = "eq" if operator in ("eq", "le", "ge") else "ne"
    name = f"__{operator}__" if symbol else f"{operator}.Tensor"
    s.expect_values(s.call(name, *(s.build(c) for c in xs)), np.asarray(COMPARISONS[operator](a, b)))
