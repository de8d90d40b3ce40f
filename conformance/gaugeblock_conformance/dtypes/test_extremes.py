"""Operands at the ends of the float range, where shortcuts in the formula show."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_INF = float("inf")


@requirement("dtypes/remainder-of-tiny-divisor")
@forall(
    count=st.thresholds(),
    dtype=hs.sampled_from(["float32", "float64", "bfloat16", "float16"]),
    dividend=hs.sampled_from([-7.0, 7.0, 1000.0, -1.5]),
    operator=hs.sampled_from(["remainder.Tensor", "fmod.Tensor"]),
    weight=0.3,
)
def test_remainder_of_tiny_divisor(s: Session, count: int, dtype: str, dividend: float, operator: str) -> None:
    kind = numpy_dtype(dtype)
    exponent = {"float64": -1022, "float16": -14}.get(dtype, -126)
    divisor = np.full(count, 2.0**exponent, dtype=np.float64).astype(kind)
    y = s.call(operator, s.tensor(np.full(count, dividend, dtype=kind)), s.tensor(divisor))
    s.expect_values(y, np.zeros(count, dtype=kind), signed_zero=False)


@requirement("dtypes/power-of-one-half-follows-c")
def test_power_of_one_half(s: Session) -> None:
    def row(s: Session, dtype: str) -> None:
        x = s.tensor([-_INF, -0.0, 0.0, _INF, 4.0], dtype)
        s.expect_values(s.call("pow.Tensor_Scalar", x, 0.5), [_INF, 0.0, 0.0, _INF, 2.0], dtype=dtype)
        s.expect_values(s.call("pow.Tensor_Scalar", x, -0.5), [0.0, _INF, _INF, 0.0, 0.5], dtype=dtype)

    s.table(["float32", "float64", "float16", "bfloat16"], row)


@requirement("iteration/strided-inputs-give-the-same-values", needs=("half",))
def test_erf_of_small_half_floats(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str, values: list[float]) -> None:
        kind = numpy_dtype(dtype)
        x = np.array(values, dtype=np.float64)
        want = (x * 1.1283791670955126).astype(np.float32).astype(kind)
        s.expect_values(s.call(operator, s.tensor(x.astype(kind))), want, ulp=1)

    rows = [
        ("erf", "bfloat16", [2.0**-15, -(2.0**-20), 1.5 * 2.0**-30, 2.0**-100, 0.0]),
        ("erf", "float16", [2.0**-13, -(2.0**-14), 1.5 * 2.0**-17, 2.0**-20, 0.0]),
    ]
    s.table(rows, body)


@requirement("dtypes/sinh-and-cosh-reach-the-largest-float")
@forall(count=hs.sampled_from([1, 7, 16, 33]), dtype=hs.sampled_from(["float32", "float64"]), weight=0.2)
def test_largest_hyperbolic_functions(s: Session, count: int, dtype: str) -> None:
    value = 89.25 if dtype == "float32" else 710.25
    want = (np.exp(np.longdouble(value)) / 2).astype(dtype)
    for operator, sign in (("sinh", 1), ("sinh", -1), ("cosh", 1), ("cosh", -1)):
        y = s.call(operator, s.tensor([sign * value] * count, dtype))
        s.expect_values(y, np.full(count, want * (sign if operator == "sinh" else 1)), ulp=2)
