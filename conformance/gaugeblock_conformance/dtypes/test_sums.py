"""How exact sums are: half floats are added up in float32, long float32 sums do not drift."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array, DType, numpy_dtype
from ..forall import forall
from ..oracles.pointwise import spacing
from ..oracles.reductions import absolute_sum, exact_sum
from ..requirement import requirement
from ..session import Session
from ..strategies import FLOATING
from ..strategies.dtypes import HALF

_ROUNDING = 2.0**-24
# The constant of the error bounds of this module.
_SMALL = 4.0


def _tree_bound(count: int, magnitude: float) -> float:
    """What a sum by halves, or by blocks of blocks, may lose."""
    return _SMALL * (math.log2(max(count, 2)) + 1) * _ROUNDING * magnitude


def _line_bound(count: int, magnitude: float) -> float:
    """What a sum in float32 from left to right may lose."""
    return (count + 2) * _ROUNDING * magnitude


def _half_step(value: Array, dtype: str) -> Array:
    """The rounding of a result to ``dtype``, and one unit more where float32 errors tip it over."""
    return np.asarray(0.5 * spacing(np.abs(value) * (1 + 2.0**-12), dtype))


@requirement("dtypes/sum-of-negative-zeros")
@forall(count=st.thresholds(), dtype=st.dtypes(*FLOATING), dim=hs.booleans(), weight=0.3)
def test_negative_zeros(s: Session, count: int, dtype: str, dim: bool) -> None:
    x = s.tensor(np.full(count, -0.0), dtype)
    s.expect_values(s.call("sum.dim_IntList", x, [0]) if dim else s.call("sum", x), 0.0, dtype=dtype)


@requirement("dtypes/sum-of-negative-zeros")
def test_negative_zeros_golden(s: Session) -> None:
    s.expect_values(s.call("sum", s.tensor([-0.0, -0.0])), 0.0, dtype="float32")
    s.expect_values(s.call("sum", s.tensor([-0.0])), 0.0, dtype="float32")
    s.expect_values(s.call("sum.dim_IntList", s.tensor([[-0.0, -0.0], [-0.0, -0.0]]), [0]), [0.0, 0.0])
    s.expect_values(s.call("sum", s.tensor(np.zeros((0,), np.float32))), 0.0, dtype="float32")


@requirement("dtypes/half-reductions-accumulate-wider")
def test_saturation_golden(s: Session) -> None:
    """A running sum in the dtype itself would stop at 2048 ones, or at 256."""
    for dtype in HALF:
        x = s.call("ones", (3000,), dtype=DType(dtype))
        want = 3000.0 if dtype == "float16" else 3008.0
        s.expect_values(s.call("sum", x), want, dtype=dtype)
        s.expect_values(s.call("sum.dim_IntList", s.call("ones", (3000, 3), dtype=DType(dtype)), [0]), [want] * 3,
                        dtype=dtype)  # fmt: skip
        s.expect_values(s.call("mean", s.call("ones", (70000,), dtype=DType(dtype))), 1.0, dtype=dtype)
        running = s.call("cumsum", x, 0)
        s.expect_values(s.call("__getitem__", running, -1), want, dtype=dtype)
        s.expect_values(s.call("__getitem__", running, 2050), 2051.0 if dtype == "float16" else 2048.0, dtype=dtype)


@requirement("dtypes/half-reductions-accumulate-wider")
def test_rounding_at_the_end_golden(s: Session) -> None:
    """Thirds: a sum that is rounded to the dtype now and then drifts."""
    for dtype, want in (("float16", 1333.0), ("bfloat16", 1336.0)):
        x = s.tensor(np.full(4000, 1 / 3), dtype)
        s.expect_values(s.call("sum", x), want, dtype=dtype)
        s.expect_values(s.call("mean", x), 1333.0 / 4000 if dtype == "float16" else 0.333984375, ulp=0, dtype=dtype)


@requirement("dtypes/half-reductions-accumulate-wider", needs=("matmul",))
def test_saturation_of_products(s: Session) -> None:
    for dtype in HALF:
        want = 3000.0 if dtype == "float16" else 3008.0
        x, y = s.call("ones", (2, 3000), dtype=DType(dtype)), s.call("ones", (3000, 2), dtype=DType(dtype))
        s.expect_values(s.call("mm", x, y), [[want] * 2] * 2, dtype=dtype)
        line = s.call("ones", (3000,), dtype=DType(dtype))
        s.expect_values(s.call("dot", line, line), want, dtype=dtype)


@requirement("dtypes/half-reductions-accumulate-wider")
@forall(
    dtype=st.dtypes(*HALF),
    count=st.thresholds(),
    seed=hs.integers(0, 2**20),
    operator=hs.sampled_from(["sum", "mean", "sum.dim_IntList", "mean.dim", "cumsum"]),
    column=hs.booleans(),
)
def test_half_reductions(s: Session, dtype: str, count: int, seed: int, operator: str, column: bool) -> None:
    data = np.random.default_rng(seed).uniform(0.5, 1.5, count).astype(numpy_dtype(dtype))
    x = s.tensor(data.reshape(count, 1) if column else data)
    wide = data.astype(np.float64)
    want: Array
    bound: Array
    if operator == "cumsum":
        want = np.cumsum(wide.astype(np.longdouble))
        bound = np.asarray(_half_step(want, dtype) + _line_bound(count, float(np.abs(wide).sum())))
        y = s.call("cumsum", x, 0)
        want, bound = (v.reshape(-1, 1) if column else v for v in (want, bound))
    else:
        want = np.asarray(exact_sum(data) / (count if "mean" in operator else 1))
        slack = _line_bound(count, absolute_sum(data)) / (count if "mean" in operator else 1)
        bound = np.asarray(_half_step(want, dtype) + slack)
        y = s.call(operator, x, [0]) if "." in operator else s.call(operator, x)
        if "." in operator and column:
            want, bound = want.reshape(1), bound.reshape(1)
    s.expect_dtype(y, dtype)
    s.expect_close(y, want, bound)


@requirement("dtypes/half-reductions-accumulate-wider", needs=("matmul",))
@forall(
    dtype=st.dtypes(*HALF),
    n=hs.integers(1, 5),
    k=hs.sampled_from([1, 2, 7, 16, 33, 64, 300, 1000]),
    m=hs.integers(1, 17),
    seed=hs.integers(0, 2**20),
    operator=hs.sampled_from(["mm", "matmul", "bmm", "mv"]),
    weight=0.3,
)
def test_half_products(s: Session, dtype: str, n: int, k: int, m: int, seed: int, operator: str) -> None:
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, (n, k)).astype(numpy_dtype(dtype))
    b = rng.uniform(-1, 1, (k,) if operator == "mv" else (k, m)).astype(numpy_dtype(dtype))
    if operator == "bmm":
        a, b = a[None], b[None]
    wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
    want = wide_a @ wide_b
    bound = _half_step(want, dtype) + _line_bound(k, 1.0) * (np.abs(wide_a) @ np.abs(wide_b)).astype(np.float64)
    y = s.call(operator, s.tensor(a), s.tensor(b))
    s.expect_dtype(y, dtype)
    s.expect_close(y, want, bound)


@requirement("dtypes/float32-sum-error-grows-slowly")
def test_many_ones(s: Session) -> None:
    s.expect_values(s.call("sum", s.call("ones", (2**25,))), float(2**25), dtype="float32")
    for place in (0, 1, 31):
        data = np.ones(4096, np.float32)
        data[place] = 2.0**24
        bound = _tree_bound(4096, 2.0**24 + 4095)
        s.expect_close(s.call("sum", s.tensor(data)), np.asarray(2.0**24 + 4095), bound)
        columns = s.tensor(np.stack([data, data], axis=1))
        s.expect_close(s.call("sum.dim_IntList", columns, [0]), np.full(2, 2.0**24 + 4095), bound)


@requirement("dtypes/float32-sum-error-grows-slowly", needs=("views",))
@forall(
    count=hs.one_of(st.thresholds(), hs.sampled_from([20000, 100000])),
    seed=hs.integers(0, 2**20),
    kind=hs.sampled_from(["mixed", "positive", "one big", "steps"]),
    layout=hs.sampled_from(["whole", "row", "column", "strided"]),
    weight=0.3,
)
def test_error_bound(s: Session, count: int, seed: int, kind: str, layout: str) -> None:
    data = _numbers(kind, count, seed)
    want, bound = exact_sum(data), _tree_bound(count, absolute_sum(data))
    bound += 0.5 * float(spacing(np.asarray(abs(want)), "float32"))
    if layout == "whole":
        y = s.call("sum", s.tensor(data))
    elif layout == "row":
        y = s.call("sum.dim_IntList", s.tensor(np.stack([data, data])), [1])
    elif layout == "column":
        y = s.call("sum.dim_IntList", s.tensor(np.stack([data, data], axis=1)), [0])
    else:
        y = s.call("sum", s.call("select.int", s.tensor(np.stack([data] * 3, axis=1)), 1, 1))
    s.expect_close(y, np.full(2, want) if layout in ("row", "column") else np.asarray(want), bound)


def _numbers(kind: str, count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if kind == "one big":
        data = np.ones(count)
        data[int(rng.integers(0, count))] = 2.0**24
    elif kind == "steps":
        data = 2.0 ** rng.integers(-20, 20, count) * rng.choice([-1.0, 1.0], count)
    else:
        data = rng.standard_normal(count) if kind == "mixed" else rng.uniform(0, 1, count)
    return data.astype(np.float32)
