"""Reductions whose plain formula overflows or cancels: variance far from zero, logsumexp and norms of large numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_LN2 = 0.6931471805599453


@requirement("iteration/variance-divides-by-n-minus-correction")
def test_variance_far_from_zero(s: Session) -> None:
    x = s.tensor([10000.0, 10001.0, 10002.0, 10003.0])
    s.expect_values(s.call("var", x), 5.0 / 3.0, ulp=4)
    s.expect_values(s.call("std", x), (5.0 / 3.0) ** 0.5, ulp=4)
    s.expect_values(s.call("var.dim", x, [0]), 5.0 / 3.0, ulp=4)
    s.expect_values(s.call("var.correction", x, correction=0), 1.25, ulp=4)


@requirement("iteration/variance-divides-by-n-minus-correction")
@forall(
    dtype=hs.sampled_from(["float32", "float64"]),
    count=st.thresholds(),
    centre=hs.sampled_from([0.0, 1000.0, -30000.0]),
    seed=hs.integers(0, 999),
    operator=hs.sampled_from(["var", "std", "var.dim", "std.correction"]),
    weight=0.5,
)
def test_variance_around_a_centre(
    s: Session, dtype: str, count: int, centre: float, seed: int, operator: str
) -> None:
    data = (np.random.default_rng(seed).integers(-8, 9, count) / 8 + centre).astype(dtype)
    wide = data.astype(np.longdouble)
    exact = ((wide - wide.mean()) ** 2).sum() / (count - 1)
    eps, spread = float(np.finfo(data.dtype).eps), float(np.abs(wide).max())
    # A running update rounds the sum of squares at each step, and the mean to eps times its size.
    furthest = float(np.abs(wide - wide.mean()).max())
    bound = 2 * count * eps * exact + 8 * eps * spread * furthest + (16 * eps * spread) ** 2
    arguments = {"var.dim": ([0],), "std.correction": (0,)}.get(operator, ())
    y = s.call(operator, s.tensor(data), *arguments)
    if operator.startswith("std"):
        exact, bound = np.sqrt(exact), bound / np.sqrt(exact) + 2 * eps * np.sqrt(exact)
    s.expect_close(y, np.asarray(exact), np.asarray(bound, np.longdouble))


@requirement("iteration/strided-reductions-agree-within-bound")
def test_large_numbers_in_columns(s: Session) -> None:
    columns = s.call("t", s.tensor([[1000.0, 1000.0], [-2000.0, -2000.0]]))
    s.expect_values(s.call("logsumexp", columns, [0]), [1000 + _LN2, -2000 + _LN2], ulp=1)
    s.expect_values(s.call("logsumexp", columns, [0, 1]), 1000 + _LN2, ulp=1)
    s.expect_values(s.call("sum.dim_IntList", columns, [1]), [-1000.0, -1000.0])


@requirement("iteration/strided-reductions-agree-within-bound")
@forall(
    x=st.tensors(("float32", "float64"), min_dims=1, max_dims=3, kind="finite", empty=False),
    dim=hs.integers(0, 2),
    keep=hs.booleans(),
)
def test_logsumexp(s: Session, x: TensorCase, dim: int, keep: bool) -> None:
    dim %= len(x.sizes)
    y = s.call("logsumexp", s.build(x), [dim], keep)
    wide = x.array.astype(np.longdouble)
    top = wide.max(axis=dim, keepdims=True)
    total = np.exp(wide - top).sum(axis=dim, keepdims=True)
    exact = top + np.log(total)
    eps = float(np.finfo(x.array.dtype).eps)
    # One rounding of each difference (of terms that count: at most 50), of each exp, of the sum and of the logarithm.
    bound = eps * (np.abs(top) + np.abs(np.log(total)) + 2 * x.sizes[dim] + 64)
    s.expect_close(y, exact if keep else np.squeeze(exact, dim), bound if keep else np.squeeze(bound, dim))


def _norm(wide: Array, order: float) -> Array:
    scale = np.abs(wide).max()
    if order == 0 or scale == 0 or order == float("inf"):
        return np.asarray((wide != 0).sum() if order == 0 else scale)
    return np.asarray(scale * ((np.abs(wide) / scale) ** order).sum() ** (1 / np.longdouble(order)))


@requirement("iteration/strided-reductions-agree-within-bound")
@forall(
    x=st.tensors(("float32", "float64"), kind="small", empty=False, long=True),
    order=hs.sampled_from([2.0, 1.0, 3.0, 0.0, float("inf")]),
    weight=0.5,
)
def test_norm(s: Session, x: TensorCase, order: float) -> None:
    y = s.call("norm.Scalar", s.build(x), order)
    exact = _norm(x.array.astype(np.longdouble), order)
    s.expect_close(y, exact, (x.numel.bit_length() + 16) * float(np.finfo(x.array.dtype).eps) * float(exact))
