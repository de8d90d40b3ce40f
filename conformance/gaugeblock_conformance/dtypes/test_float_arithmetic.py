"""IEEE 754 in float arithmetic: infinities, NaN, signed zeros, remainders, powers, rounding to integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase
from ..forall import forall
from ..oracles.agreement import expect_pointwise
from ..oracles.pointwise import expected
from ..requirement import requirement
from ..session import Session
from ..strategies import FLOATING, INTEGRAL

_INF, _NAN = math.inf, math.nan
_SYMBOLS = {"add.Tensor": "__add__", "sub.Tensor": "__sub__", "mul.Tensor": "__mul__", "div.Tensor": "__truediv__"}


@requirement("dtypes/ieee-special-values")
def test_special_golden(s: Session) -> None:
    rows = [
        ("mul.Tensor", 0.0, _INF, _NAN), ("sub.Tensor", _INF, _INF, _NAN), ("div.Tensor", 0.0, 0.0, _NAN),
        ("div.Tensor", 1.0, 0.0, _INF), ("div.Tensor", 1.0, -0.0, -_INF), ("div.Tensor", -1.0, 0.0, -_INF),
        ("add.Tensor", _INF, -_INF, _NAN), ("add.Tensor", _INF, 1.0, _INF), ("mul.Tensor", -_INF, 2.0, -_INF),
        ("div.Tensor", 1.0, _INF, 0.0), ("div.Tensor", -1.0, _INF, -0.0), ("div.Tensor", _INF, _INF, _NAN),
        ("mul.Tensor", 3e38, 10.0, _INF), ("add.Tensor", -3e38, -3e38, -_INF), ("sub.Tensor", _NAN, 1.0, _NAN),
        ("mul.Tensor", -0.0, 1.0, -0.0), ("add.Tensor", -0.0, 0.0, 0.0), ("add.Tensor", -0.0, -0.0, -0.0),
    ]  # fmt: skip

    def body(s: Session, operator: str, a: float, b: float, want: float) -> None:
        for name in (operator, _SYMBOLS[operator]):
            s.expect_values(s.call(name, s.tensor([a]), s.tensor([b])), [want])
            s.expect_values(s.call(name, s.tensor([a] * 35), s.tensor([b] * 35)), [want] * 35)

    s.table(rows, body)
    for operator, value, want in (("sqrt", -1.0, _NAN), ("log", -1.0, _NAN), ("log", 0.0, -_INF), ("exp", 1000.0, _INF),
                                  ("sqrt", _INF, _INF), ("exp", -_INF, 0.0), ("log", _INF, _INF)):  # fmt: skip
        for count in (1, 33):
            s.expect_values(s.call(operator, s.tensor([value] * count)), [want] * count)


@requirement("dtypes/ieee-special-values")
@forall(
    xs=st.operands(2, dtypes=("float32", "float64"), same_dtype=True),
    operator=hs.sampled_from(list(_SYMBOLS)),
    symbol=hs.booleans(),
)
def test_hard_operands(s: Session, xs: tuple[TensorCase, TensorCase], operator: str, symbol: bool) -> None:
    y = s.call(_SYMBOLS[operator] if symbol else operator, *(s.build(c) for c in xs))
    s.expect_values(y, expected(operator, [c.array for c in xs], xs[0].dtype))


@requirement("dtypes/signed-zeros")
def test_zeros_golden(s: Session) -> None:
    zeros = s.tensor([0.0, -0.0])
    s.expect_values(s.call("eq.Tensor", zeros, s.tensor([-0.0, 0.0])), [True, True], dtype="bool")
    s.expect_values(s.call("lt.Tensor", s.tensor([-0.0]), s.tensor([0.0])), [False], dtype="bool")
    rows = [
        ("neg", [0.0, -0.0], [-0.0, 0.0]), ("__neg__", [0.0, -0.0], [-0.0, 0.0]), ("abs", [-0.0, -1.0], [0.0, 1.0]),
        ("sqrt", [-0.0, 0.0], [-0.0, 0.0]), ("ceil", [-0.5, -0.0], [-0.0, -0.0]),
        ("round", [-0.5, -0.2, 0.2], [-0.0, -0.0, 0.0]), ("trunc", [-0.9, 0.9], [-0.0, 0.0]),
        ("floor", [-0.0, 0.5], [-0.0, 0.0]),
    ]  # fmt: skip

    def body(s: Session, operator: str, values: list[float], want: list[float]) -> None:
        for dtype in FLOATING:
            for repeat in (1, 20):
                s.expect_values(s.call(operator, s.tensor(values * repeat, dtype)), want * repeat, dtype=dtype)

    s.table(rows, body)


@requirement("dtypes/signed-zeros")
@forall(x=st.tensors(FLOATING), operator=hs.sampled_from(["neg", "abs", "sqrt", "ceil", "floor", "round", "trunc"]))
def test_signs_of_results(s: Session, x: TensorCase, operator: str) -> None:
    want = expected(operator, [x.array], x.dtype)
    y = s.call(operator, s.build(x))
    s.expect_values(y, want, ulp=1 if operator == "sqrt" else 0)
    if not np.isnan(want).any():
        s.expect_values(s.call("signbit", y), np.signbit(want))


@requirement("dtypes/float-floor-division-by-zero-is-ieee")
def test_floor_division_by_zero_golden(s: Session) -> None:
    a = s.tensor([1.0, -1.0, 0.0, _NAN, _INF, -_INF])
    for form, other in (("floor_divide", s.tensor([0.0])), ("__floordiv__", s.tensor([0.0])), ("__floordiv__", 0)):
        s.expect_values(s.call(form, a, other), [_INF, -_INF, _NAN, _NAN, _INF, -_INF])
    s.expect_values(s.call("div.Tensor_mode", a, s.tensor([-0.0]), rounding_mode="floor"),
                    [-_INF, _INF, _NAN, _NAN, -_INF, _INF])  # fmt: skip
    divisors: tuple[tuple[str, Any], ...] = (
        ("remainder.Tensor", s.tensor([0.0])), ("__mod__", s.tensor([-0.0])), ("__mod__", 0.0)
    )  # fmt: skip
    for form, divisor in divisors:
        s.expect_values(s.call(form, a, divisor), [_NAN] * 6)


@requirement("dtypes/float-floor-division-by-zero-is-ieee")
@forall(x=st.tensors(("float32", "float64")), zero=hs.sampled_from([0.0, -0.0]), form=hs.sampled_from(["floor", "mod"]))
def test_division_by_zero(s: Session, x: TensorCase, zero: float, form: str) -> None:
    t, other = s.build(x), s.tensor([zero], x.dtype)
    y = s.call("__floordiv__" if form == "floor" else "__mod__", t, other)
    with np.errstate(all="ignore"):
        want = (
            x.array / np.array([zero], x.array.dtype) if form == "floor" else x.array * np.array([_NAN], x.array.dtype)
        )
    s.expect_values(y, want)


@requirement("dtypes/float-remainder-agrees-with-python")
def test_remainder_golden(s: Session) -> None:
    a = s.tensor([-7.0, 7.0, 7.0, -7.0, 5.5, -5.5, 1e30, 7.0, _INF, _NAN, 0.5, -0.5])
    b = s.tensor([_INF, -_INF, _INF, -_INF, 2.0, 2.0, _INF, 7.0, 2.0, 2.0, -3.0, 3.0])
    remainder = [_INF, -_INF, 7.0, -7.0, 1.5, 0.5, 1e30, 0.0, _NAN, _NAN, -2.5, 2.5]
    quotient = [-1.0, -1.0, 0.0, 0.0, 2.0, -3.0, 0.0, 1.0, _NAN, _NAN, -1.0, -1.0]
    for form in ("remainder.Tensor", "__mod__"):
        s.expect_values(s.call(form, a, b), remainder, signed_zero=False)
    for form in ("floor_divide", "__floordiv__"):
        s.expect_values(s.call(form, a, b), quotient, signed_zero=False)


_FITTING = hs.sampled_from(["floor_divide", "remainder.Tensor", "fmod.Tensor", "__floordiv__", "__mod__"])
_NAMES = {"__floordiv__": "floor_divide", "__mod__": "remainder.Tensor"}


@requirement("dtypes/float-remainder-agrees-with-python")
@forall(dtype=hs.sampled_from(["float32", "float64"]), count=st.thresholds(), seed=hs.integers(0, 2**32 - 1),
        operator=_FITTING, weight=0.5)  # fmt: skip
def test_remainders(s: Session, dtype: str, count: int, seed: int, operator: str) -> None:
    """Dividends and divisors of all signs and sizes whose quotient is within the range of the dtype."""
    rng = np.random.default_rng(seed)
    a = (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)).astype(dtype)
    b = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)
    special = np.array([_INF, -_INF, _NAN, 0.0, 3.0, -3.0], dtype)
    a = np.where(rng.integers(0, 6, count) == 0, special[rng.integers(0, 6, count)], a)
    b = np.where(rng.integers(0, 6, count) == 0, special[rng.integers(0, 6, count)], b)
    y = s.call(operator, s.tensor(a), s.tensor(b))
    s.expect_values(y, expected(_NAMES.get(operator, operator), [a, b], dtype), signed_zero=False)


@requirement("dtypes/round-is-half-to-even")
def test_round_golden(s: Session) -> None:
    values = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 2.4999, -2.6, 1e10, _INF, -_INF, _NAN]
    rows = [
        ("round", [-2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 4.0, 2.0, -3.0, 1e10, _INF, -_INF, _NAN]),
        ("trunc", [-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, 2.0, -2.0, 1e10, _INF, -_INF, _NAN]),
        ("floor", [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 2.0, -3.0, 1e10, _INF, -_INF, _NAN]),
        ("ceil", [-2.0, -1.0, -0.0, 1.0, 2.0, 3.0, 4.0, 3.0, -2.0, 1e10, _INF, -_INF, _NAN]),
    ]
    for operator, want in rows:
        for dtype in ("float32", "float64"):
            s.expect_values(s.call(operator, s.tensor(values, dtype)), want, dtype=dtype)
            s.expect_values(s.call(operator, s.tensor(values * 3, dtype)), want * 3, dtype=dtype)
    for dtype in INTEGRAL:
        for operator, _ in rows:
            s.expect_values(s.call(operator, s.tensor([3, 7, 0, 127], dtype)), [3, 7, 0, 127], dtype=dtype)


@requirement("dtypes/round-is-half-to-even")
@forall(
    dtype=st.dtypes(*FLOATING, *INTEGRAL),
    numbers=hs.lists(hs.integers(-1000, 1000), min_size=1, max_size=70),
    quarter=hs.integers(0, 3),
    operator=hs.sampled_from(["round", "trunc", "floor", "ceil"]),
)
def test_halves(s: Session, dtype: str, numbers: list[int], quarter: int, operator: str) -> None:
    if dtype in INTEGRAL:
        values = [n % 100 for n in numbers]
        s.expect_values(s.call(operator, s.tensor(values, dtype)), values, dtype=dtype)
        return
    x = s.tensor([n / 2 + quarter / 4 for n in numbers], dtype)
    array = s.read(x) if s.has_data else np.zeros(len(numbers), np.float32)
    s.expect_values(s.call(operator, x), expected(operator, [array], dtype))


@requirement("dtypes/round-is-half-to-even")
@forall(x=st.tensors((*FLOATING, *INTEGRAL)), operator=hs.sampled_from(["round", "trunc", "floor", "ceil"]))
def test_rounding_anything(s: Session, x: TensorCase, operator: str) -> None:
    s.expect_values(s.call(operator, s.build(x)), expected(operator, [x.array], x.dtype))


@requirement("dtypes/float-power-follows-c")
def test_power_golden(s: Session) -> None:
    rows = [
        (_NAN, 0.0, 1.0), (_INF, 0.0, 1.0), (0.0, 0.0, 1.0), (1.0, _NAN, 1.0), (1.0, _INF, 1.0), (-1.0, _INF, 1.0),
        (-1.0, -_INF, 1.0), (2.0, _INF, _INF), (0.5, _INF, 0.0), (2.0, -_INF, 0.0), (0.0, -1.0, _INF),
        (-0.0, -1.0, -_INF), (-0.0, -2.0, _INF), (-0.0, 3.0, -0.0), (-8.0, 0.5, _NAN), (-2.0, 3.0, -8.0),
        (-_INF, 3.0, -_INF), (-_INF, 2.0, _INF), (2.0, _NAN, _NAN), (_NAN, 1.0, _NAN), (2.0, 10.0, 1024.0),
        (4.0, 0.5, 2.0), (2.0, -1.0, 0.5), (-_INF, -1.0, -0.0),
    ]  # fmt: skip
    for dtype in ("float32", "float64"):
        for count in (1, 2):
            base = s.tensor([row[0] for row in rows] * count, dtype)
            exponent = s.tensor([row[1] for row in rows] * count, dtype)
            want = [row[2] for row in rows] * count
            s.expect_values(s.call("pow.Tensor_Tensor", base, exponent), want, dtype=dtype)
            s.expect_values(s.call("__pow__", base, exponent), want, dtype=dtype)
    for zero in (0, 0.0):
        s.expect_values(s.call("pow.Tensor_Scalar", s.tensor([_NAN, _INF, 0.0, -3.0]), zero), [1.0] * 4)
    s.expect_values(s.call("pow.Scalar", 1, s.tensor([_NAN, _INF, -2.0])), [1.0] * 3)
    s.expect_values(s.call("__pow__", s.tensor([3.0, -0.5, _NAN]), 2), [9.0, 0.25, _NAN])


@requirement("dtypes/float-power-follows-c")
@forall(
    xs=st.operands(2, dtypes=("float32", "float64"), same_dtype=True),
    form=hs.sampled_from(["pow.Tensor_Tensor", "__pow__"]),
)
def test_power(s: Session, xs: tuple[TensorCase, TensorCase], form: str) -> None:
    y = s.call(form, *(s.build(c) for c in xs))
    expect_pointwise(s, y, "pow.Tensor_Tensor", [c.array for c in xs], xs[0].dtype)


@requirement("dtypes/float-power-follows-c")
@forall(
    x=st.tensors(("float32", "float64")),
    exponent=hs.sampled_from([0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, 10, _INF, -_INF, _NAN]),
)
def test_power_of_python_number(s: Session, x: TensorCase, exponent: float) -> None:
    """Backends take squares, cubes, roots and reciprocals on other ways than pow."""
    left_to_the_next_rule = np.isneginf(x.array) | ((x.array == 0) & np.signbit(x.array))
    if abs(exponent) == 0.5 and left_to_the_next_rule.any():
        exponent = 2 * exponent
    y = s.call("pow.Tensor_Scalar", s.build(x), exponent)
    expect_pointwise(s, y, "pow.Tensor_Scalar", [x.array], x.dtype, exponent=exponent)
