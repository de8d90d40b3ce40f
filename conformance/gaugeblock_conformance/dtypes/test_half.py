"""float16 and bfloat16: one rounding from float32."""

from __future__ import annotations

import numpy as np
from gaugeblock_spec import operators
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array, numpy_dtype
from ..case import TensorCase
from ..comparison import first_mismatch
from ..forall import forall
from ..oracles.conversion import cast
from ..oracles.integers import COMPARISONS
from ..oracles.judged import judged
from ..oracles.pointwise import expected, operators_with_oracle, result_dtype, zero_sign_is_free
from ..requirement import requirement
from ..session import Session
from ..strategies.dtypes import HALF

_ARITHMETIC = {
    "add.Tensor": "__add__", "sub.Tensor": "__sub__", "mul.Tensor": "__mul__", "div.Tensor": "__truediv__",
}  # fmt: skip
_STEPS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
_ORDER = ("eq", "ne", "lt", "le", "gt", "ge")


@requirement("dtypes/half-arithmetic-rounds-once")
def test_golden(s: Session) -> None:
    def pair(s: Session, a: float, b: float, dtype: str) -> tuple[object, object]:
        return s.tensor([a], dtype), s.tensor([b], dtype)

    rows = [
        ("add.Tensor", "float16", 2048.0, 1.0, 2048.0), ("add.Tensor", "float16", 2048.0, 3.0, 2052.0),
        ("add.Tensor", "bfloat16", 256.0, 1.0, 256.0), ("add.Tensor", "bfloat16", 256.0, 3.0, 260.0),
        ("mul.Tensor", "float16", 256.0, 256.0, float("inf")), ("mul.Tensor", "float16", 2.0**-14, 2.0**-10, 2.0**-24),
        ("mul.Tensor", "bfloat16", 256.0, 256.0, 65536.0), ("div.Tensor", "float16", 1.0, 3.0, 0.333251953125),
        ("div.Tensor", "bfloat16", 1.0, 3.0, 0.333984375), ("sub.Tensor", "float16", 65504.0, -16.0, float("inf")),
    ]  # fmt: skip

    def body(s: Session, operator: str, dtype: str, a: float, b: float, want: float) -> None:
        s.expect_values(s.call(operator, *pair(s, a, b, dtype)), [want], dtype=dtype)
        s.expect_values(s.call(_ARITHMETIC[operator], *pair(s, a, b, dtype)), [want], dtype=dtype)

    s.table(rows, body)


def _any_half(dtype: str, count: int, seed: int) -> Array:
    """Any bit patterns."""
    bits = np.random.default_rng(seed).integers(0, 2**16, count).astype(np.uint16)
    return _quiet(bits.view(numpy_dtype(dtype)))


def _quiet(array: Array) -> Array:
    """All NaN as the ordinary one: what a signalling NaN does is not ruled."""
    return np.where(np.isnan(array), array.dtype.type(np.nan), array)


@requirement("dtypes/half-arithmetic-rounds-once")
@forall(dtype=st.dtypes(*HALF), count=st.thresholds(), seed=hs.integers(0, 2**32 - 1),
        operator=hs.sampled_from([*_ARITHMETIC, *_ORDER]), symbol=hs.booleans(), weight=0.6)  # fmt: skip
def test_any_bits(s: Session, dtype: str, count: int, seed: int, operator: str, symbol: bool) -> None:
    a, b = _any_half(dtype, count, seed), _any_half(dtype, count, seed + 1)
    near = np.random.default_rng(seed).integers(0, 2, count) == 0
    b = np.where(near, np.roll(a, 1), b)
    base = operator.split(".")[0]
    with np.errstate(all="ignore"):
        wide = (a.astype(np.float32), b.astype(np.float32))
        want = np.asarray(COMPARISONS[base](*wide)) if base in _ORDER else cast(_STEPS[base](*wide), dtype)
    name = (_ARITHMETIC[operator] if base in _STEPS else f"__{base}__") if symbol else f"{base}.Tensor"
    s.expect_values(s.call(name, s.tensor(a), s.tensor(b)), want)


@requirement("dtypes/half-arithmetic-rounds-once")
@forall(xs=st.operands(2, dtypes=HALF, same_dtype=True), operator=hs.sampled_from(list(_ARITHMETIC)))
def test_any_layout(s: Session, xs: tuple[TensorCase, TensorCase], operator: str) -> None:
    a, b = (c.array.astype(np.float32) for c in xs)
    with np.errstate(all="ignore"):
        want = cast(np.asarray(_STEPS[operator.split(".")[0]](a, b)), xs[0].dtype)
    s.expect_values(s.call(operator, *(s.build(c) for c in xs)), want)


def _judged(name: str) -> bool:
    """Functions of tensors only, whose terms do not cancel and whose steps the spec does not name otherwise."""
    row = operators.load()[name]
    plain = "Scalar" not in row.schema and row.ulp_scale == "result" and row.result == "common"
    exact = row.base_name not in ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "nextafter", "ldexp")
    return plain and exact and "float16" in row.dtypes and "decimals" not in name and "Tensor?" not in row.schema


_FUNCTIONS = tuple(name for name in operators_with_oracle() if _judged(name))
_UNARY = tuple(n for n in _FUNCTIONS if str(operators.load()[n].schema).count("Tensor ") == 1)
# Their oracle takes a millisecond an element: not for all 65536 values.
_SLOW = ("erf", "erfc", "erfinv", "lgamma", "digamma")


def _check(s: Session, operator: str, arrays: list[Array], dtype: str) -> None:
    wide = [a.astype(np.float32) if a.dtype.kind != "b" else a for a in arrays]
    want = cast(expected(operator, wide, "float32"), dtype)
    signed = not zero_sign_is_free(operator)
    y = s.call(operator, *(s.tensor(a) for a in arrays))
    s.expect_dtype(y, result_dtype(operator, dtype))
    if not s.has_data:
        return
    got = s.read(y)
    want = np.where(_inside(operator, arrays, want), want, got)
    at = first_mismatch(got, want, 1, signed)
    if at is None:
        return
    few = [a[at[0] : at[0] + 1] for a in arrays]
    s.expect_values(s.call(operator, *(s.tensor(a) for a in few)), want[at[0] : at[0] + 1], ulp=1, signed_zero=signed)
    s.expect_values(y, want, ulp=1, signed_zero=signed)


def _inside(operator: str, arrays: list[Array], want: Array) -> Array:
    """Where the operands are within the domain of the operator's row and the result is judged."""
    inside = judged(operator, arrays, want)
    for limits, array in zip(operators.load()[operator].domain.values(), arrays, strict=False):
        value = array.astype(np.float64)
        low, high = limits.low, limits.high
        inside = inside & np.isfinite(value) & ~np.isin(value, limits.exclude)
        inside &= (value >= (low if low is not None else -np.inf)) & (value <= (high if high is not None else np.inf))
    return inside


@requirement("dtypes/half-functions-are-within-one-ulp")
def test_every_value(s: Session) -> None:
    """All 65536 values of each dtype, in one call of each operator."""

    def body(s: Session, operator: str, dtype: str) -> None:
        _check(s, operator, [_quiet(np.arange(65536, dtype=np.uint16).view(numpy_dtype(dtype)))], dtype)

    s.table([(n, d) for n in _UNARY if n not in _SLOW for d in HALF], body)


@requirement("dtypes/half-functions-are-within-one-ulp")
def test_functions(s: Session) -> None:
    def judge(operator: str) -> None:
        @forall(dtype=st.dtypes(*HALF), count=st.thresholds(), seed=hs.integers(0, 2**20), weight=0.03)
        def function(s: Session, dtype: str, count: int, seed: int) -> None:
            _check_drawn(s, operator, dtype, count, seed)

        function.__name__ = f"function_{operator.replace('.', '_')}"
        function(s)

    s.each(_FUNCTIONS, judge)


def _check_drawn(s: Session, operator: str, dtype: str, count: int, seed: int) -> None:
    schema = str(operators.load()[operator].schema)
    arrays = []
    for k in range(schema.count("Tensor ")):
        array = _any_half(dtype, count, seed + k)
        arrays.append(array[:9] if operator in _SLOW else array)
    if operator.startswith("where"):
        arrays[0] = np.arange(count) % 3 == 0
    _check(s, operator, arrays, dtype)


@requirement("dtypes/half-functions-are-within-one-ulp")
def test_functions_golden(s: Session) -> None:
    rows = [
        ("exp", "float16", 1.0, 2.71875), ("exp", "bfloat16", 1.0, 2.71875), ("sqrt", "float16", 2.0, 1.4140625),
        ("sin", "float16", 1.0, 0.84130859375), ("log", "bfloat16", 10.0, 2.296875),
        ("tanh", "float16", 0.5, 0.462158203125),
        ("exp", "float16", 12.0, float("inf")), ("exp", "bfloat16", 12.0, 162816.0),
    ]  # fmt: skip

    def body(s: Session, operator: str, dtype: str, value: float, want: float) -> None:
        s.expect_values(s.call(operator, s.tensor([value], dtype)), [want], ulp=1, dtype=dtype)

    s.table(rows, body)
