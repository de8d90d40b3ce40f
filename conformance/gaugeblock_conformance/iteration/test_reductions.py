"""Reductions: which dims go, what zero elements give, ties, variance."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_INF, _NAN = float("inf"), float("nan")


@requirement("iteration/reduced-dims-drop-or-stay-as-one")
def test_dims_drop_or_stay(s: Session) -> None:
    x = s.tensor(np.arange(24, dtype=np.int64).reshape(2, 3, 4))
    s.expect_values(s.call("sum.dim_IntList", x, [0, 2]), [60, 92, 124], dtype="int64")
    s.expect_values(s.call("sum.dim_IntList", x, [2, 0], True), [[[60], [92], [124]]], dtype="int64")
    s.expect_values(s.call("amax", x, [1]), [[8, 9, 10, 11], [20, 21, 22, 23]], dtype="int64")
    s.expect_values(s.call("sum", x), 276, dtype="int64")


@requirement("iteration/reduced-dims-drop-or-stay-as-one")
@forall(
    x=st.tensors(("int64", "int32", "bool", "uint8"), min_dims=1, kind="small"),
    mask=hs.integers(1, 15),
    keep=hs.booleans(),
    backwards=hs.booleans(),
    operator=hs.sampled_from(["sum.dim_IntList", "amax", "amin"]),
)
def test_any_dims(s: Session, x: TensorCase, mask: int, keep: bool, backwards: bool, operator: str) -> None:
    rank = len(x.sizes)
    dims = [k for k in range(rank) if mask >> k & 1] or [rank - 1]
    named = [k - rank if k % 2 else k for k in (reversed(dims) if backwards else dims)]
    if operator != "sum.dim_IntList" and any(x.sizes[k] == 0 for k in dims):
        operator = "sum.dim_IntList"
    y = s.call(operator, s.build(x), list(named), keep)
    if operator == "sum.dim_IntList":
        want = x.array.sum(axis=tuple(dims), keepdims=keep, dtype=np.int64)
    else:
        want = getattr(x.array, operator[1:])(axis=tuple(dims), keepdims=keep)
    s.expect_values(y, np.asarray(want))


@requirement("iteration/empty-dim-list-reduces-all")
def test_no_dims_means_all(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    s.expect_values(s.call("sum.dim_IntList", x, []), 10.0)
    s.expect_values(s.call("sum.dim_IntList", x, [], True), [[10.0]])


@requirement("iteration/repeated-dims-raise")
def test_repeated_dims(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    for dims in ([0, 0], [1, -1], [0, 1, -2]):
        for operator in ("sum.dim_IntList", "amax", "mean.dim"):
            s.expect_raises(RuntimeError, operator, x, dims)


@requirement("iteration/empty-reductions-give-the-identity")
def test_identities(s: Session) -> None:
    x, empty_rows = s.tensor([]), s.tensor(np.zeros((0, 2), np.float32))
    s.expect_values(s.call("sum", x), 0.0)
    s.expect_values(s.call("prod", x), 1.0)
    s.expect_values(s.call("all", x), True, dtype="bool")
    s.expect_values(s.call("any", x), False, dtype="bool")
    s.expect_values(s.call("sum.dim_IntList", empty_rows, [0]), [0.0, 0.0])
    s.expect_values(s.call("prod.dim_int", empty_rows, 0), [1.0, 1.0])
    s.expect_values(s.call("sum.dim_IntList", empty_rows, [1]), np.zeros(0, np.float32))
    s.expect_values(s.call("norm.Scalar", x, 2), 0.0)
    s.expect_values(s.call("logsumexp", x, [0]), -_INF)
    s.expect_values(s.call("logsumexp", empty_rows, [0]), [-_INF, -_INF])


@requirement("iteration/empty-averages-are-nan")
def test_averages_of_nothing(s: Session) -> None:
    x, empty_rows = s.tensor([]), s.tensor(np.zeros((0, 2), np.float32))
    for operator in ("mean", "var", "std", "median"):
        s.expect_values(s.call(operator, x), _NAN)
    s.expect_values(s.call("mean.dim", empty_rows, [0]), [_NAN, _NAN])
    s.expect_values(s.call("var.dim", empty_rows, [0]), [_NAN, _NAN])


@requirement("iteration/empty-extrema-raise")
def test_extrema_of_nothing(s: Session) -> None:
    x, empty_rows = s.tensor([]), s.tensor(np.zeros((0, 2), np.float32))
    for operator in ("max", "min", "amax", "amin"):
        s.expect_raises(RuntimeError, operator, x)
    for operator in ("amax", "amin"):
        s.expect_raises(IndexError, operator, empty_rows, [0])
        s.expect_values(s.call(operator, empty_rows, [1]), np.zeros(0, np.float32))
    for operator in ("max.dim", "min.dim", "argmax", "argmin"):
        s.expect_raises(IndexError, operator, empty_rows, 0)
    for operator in ("argmax", "argmin"):
        s.expect_raises(IndexError, operator, x)


@requirement("iteration/ties-give-the-first-index")
def test_first_of_the_ties(s: Session) -> None:
    x = s.tensor([[1, 3, 3, 1], [2, 2, 2, 2]], "int32")
    s.expect_values(s.call("argmax", x, 1), [1, 0], dtype="int64")
    s.expect_values(s.call("argmin", x, 1), [0, 0], dtype="int64")
    s.expect_values(s.call("argmax", x), 1, dtype="int64")
    values, indices = s.parts(s.call("max.dim", x, 1), 2)
    s.expect_values(values, [3, 2], dtype="int32")
    s.expect_values(indices, [1, 0], dtype="int64")
    values, indices = s.parts(s.call("min.dim", x, 0), 2)
    s.expect_values(values, [1, 2, 2, 1], dtype="int32")
    s.expect_values(indices, [0, 1, 1, 0], dtype="int64")


@requirement("iteration/ties-give-the-first-index")
@forall(
    x=st.tensors(("int32", "float32", "uint8", "float64"), min_dims=1, max_dims=3, kind="small", empty=False),
    dim=hs.integers(0, 2),
    keep=hs.booleans(),
    operator=hs.sampled_from(["argmax", "argmin", "max.dim", "min.dim"]),
)
def test_ties_anywhere(s: Session, x: TensorCase, dim: int, keep: bool, operator: str) -> None:
    dim %= len(x.sizes)
    y = s.call(operator, s.build(x), dim, keep)
    name = "argmax" if "max" in operator else "argmin"
    want = np.asarray(getattr(x.array, name)(axis=dim, keepdims=keep), dtype=np.int64)
    s.expect_values(y[1] if operator.endswith(".dim") else y, want)
    if operator.endswith(".dim"):
        extreme = x.array.max if "max" in operator else x.array.min
        s.expect_values(y[0], np.asarray(extreme(axis=dim, keepdims=keep)), signed_zero=False)


@requirement("iteration/ties-give-the-first-index")
@forall(
    dtype=hs.sampled_from(["int32", "float32", "uint8", "float64", "float16", "int64"]),
    count=st.thresholds(long=True),
    seed=hs.integers(0, 99),
    distinct=hs.integers(1, 4),
    operator=hs.sampled_from(["argmax", "argmin", "max.dim", "min.dim"]),
    weight=0.5,
)
def test_ties_of_long_tensors(s: Session, dtype: str, count: int, seed: int, distinct: int, operator: str) -> None:
    """Few distinct values, so that equal extrema lie in every block and lane."""
    data = np.random.default_rng(seed).integers(0, distinct, count).astype(dtype)
    want = np.asarray(data.argmax() if "max" in operator else data.argmin(), dtype=np.int64)
    x = s.tensor(data)
    s.expect_values(s.call(operator, x, 0)[1] if operator.endswith(".dim") else s.call(operator, x), want)


@requirement("iteration/variance-divides-by-n-minus-correction")
def test_variance_goldens(s: Session) -> None:
    x = s.tensor([1.0, 3.0, 5.0, 7.0])
    s.expect_values(s.call("var", x), 20.0 / 3.0, ulp=2)
    s.expect_values(s.call("var.correction", x, correction=0), 5.0)
    s.expect_values(s.call("std.correction", x, correction=0), 5.0**0.5, ulp=2)
    s.expect_values(s.call("var.correction", x, correction=2), 10.0)


@requirement("iteration/variance-divides-by-n-minus-correction")
@forall(
    x=st.tensors(("float32", "float64"), min_dims=1, max_dims=3, kind="finite", empty=False),
    correction=hs.integers(0, 2),
    dim=hs.integers(0, 2),
    operator=hs.sampled_from(["var.correction", "std.correction"]),
)
def test_variance_of_any_data(s: Session, x: TensorCase, correction: int, dim: int, operator: str) -> None:
    dim %= len(x.sizes)
    count = x.sizes[dim]
    y = s.call(operator, s.build(x), [dim], correction=correction)
    if count <= correction:
        return
    wide = x.array.astype(np.longdouble)
    centred = wide - wide.mean(axis=dim, keepdims=True)
    exact = (centred**2).sum(axis=dim) / (count - correction)
    eps = np.finfo(x.array.dtype).eps
    # The mean is off by at most count * eps * max|x|; its square enters the variance, its first power once more.
    spread = np.abs(wide).max(axis=dim)
    bound = (count + 4) * eps * exact + 4 * (count * eps * spread) ** 2 + 4 * eps * eps * spread**2
    bound = bound + count * np.finfo(x.array.dtype).smallest_subnormal
    if operator == "std.correction":
        root = np.sqrt(exact)
        with np.errstate(all="ignore"):
            bound = np.where(root > 0, np.minimum(bound / np.maximum(root, 1e-300), np.sqrt(bound)), np.sqrt(bound))
        exact, bound = root, bound + 2 * eps * root
    s.expect_close(y, exact, bound)


@requirement("iteration/variance-without-freedom-is-nan-or-inf")
def test_variance_without_freedom(s: Session) -> None:
    one = s.tensor([5.0])
    s.expect_values(s.call("var", one), _NAN)
    s.expect_values(s.call("std", one), _NAN)
    s.expect_values(s.call("var.correction", s.tensor([1.0, 3.0]), correction=2), _INF)
    s.expect_values(s.call("var.correction", s.tensor([1.0, 3.0]), correction=3), _INF)
    s.expect_values(s.call("var.correction", s.tensor([2.0, 2.0]), correction=5), _NAN)


@requirement("iteration/strided-reductions-agree-within-bound")
@forall(
    x=st.tensors(("float32", "float64", "int32", "int64"), kind="finite", long=True),
    operator=hs.sampled_from(["sum", "mean", "sum.dim_IntList"]),
)
def test_strided_and_packed_sums(s: Session, x: TensorCase, operator: str) -> None:
    floating = x.dtype.startswith("float")
    if operator == "mean" and not floating:
        operator = "sum"
    dims = ([0],) if operator == "sum.dim_IntList" and x.sizes else ()
    if operator == "sum.dim_IntList" and not x.sizes:
        operator = "sum"
    y = s.call(operator, s.build(x), *dims)
    axis = 0 if dims else None
    if not floating:
        s.expect_values(y, np.asarray(x.array.sum(axis=axis, dtype=np.int64)))
        return
    if x.numel == 0 and operator == "mean":
        return
    wide = x.array.astype(np.longdouble)
    count = x.sizes[0] if dims else x.numel
    exact = wide.sum(axis=axis) / (count if operator == "mean" else 1)
    eps = np.finfo(x.array.dtype).eps
    terms = np.abs(wide).sum(axis=axis) / (count if operator == "mean" else 1)
    steps = min(count, 64 + count.bit_length() * 4)
    least = np.finfo(x.array.dtype).smallest_subnormal if operator == "mean" else 0
    s.expect_close(y, np.asarray(exact), np.asarray(steps * eps * terms + least))


@requirement("iteration/strided-reductions-agree-within-bound")
def test_strided_integers_are_exact(s: Session) -> None:
    x = s.tensor(np.arange(60, dtype=np.int32).reshape(5, 12))
    every_other = s.call("slice.Tensor", x, 1, 0, 12, 2)
    s.expect_values(s.call("sum", every_other), int(np.arange(60).reshape(5, 12)[:, ::2].sum()), dtype="int64")
    for dims in itertools.permutations((0, 1), 2):
        s.expect_values(s.call("sum.dim_IntList", s.call("t", x), list(dims)), 1770, dtype="int64")
