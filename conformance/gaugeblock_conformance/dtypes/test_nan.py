"""NaN in comparisons, reductions, maxima and minima."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.reductions import exact_sum
from ..requirement import requirement
from ..session import Session
from ..strategies import FLOATING

_INF, _NAN = math.inf, math.nan
# Where the odd element of a long line is: at an end, or anywhere.
_PLACES = hs.one_of(hs.sampled_from([-1, 0]), hs.integers(0, 2**20))


@requirement("dtypes/nan-differs-from-itself")
def test_comparisons_golden(s: Session) -> None:
    for dtype in FLOATING:
        for count in (1, 40):
            x = s.tensor([_NAN] * count, dtype)
            for operator in ("eq", "lt", "le", "gt", "ge"):
                s.expect_values(s.call(f"{operator}.Tensor", x, x), [False] * count, dtype="bool")
                s.expect_values(s.call(f"__{operator}__", x, 1.0), [False] * count, dtype="bool")
            s.expect_values(s.call("ne.Tensor", x, x), [True] * count, dtype="bool")
            if s.has_data:
                s.expect(s.call("equal", x, x), False, "equal() of a tensor with NaN and itself")
    if s.has_data:
        y = s.tensor([1.0, -0.0, _INF])
        s.expect(s.call("equal", y, y), True, "equal() of a tensor and itself")
        s.expect(s.call("equal", y, s.tensor([1.0, 0.0, _INF])), True, "equal() of zeros of two signs")
        s.expect(s.call("equal", y, s.tensor([1.0, 0.0])), False, "equal() of two lengths")


@requirement("dtypes/nan-differs-from-itself")
@forall(x=st.tensors(FLOATING))
def test_equal_to_itself(s: Session, x: TensorCase) -> None:
    t = s.build(x)
    s.expect_values(s.call("eq.Tensor", t, t), ~np.isnan(x.array))
    s.expect_values(s.call("isnan", t), np.isnan(x.array))
    if s.has_data:
        s.expect(s.call("equal", t, t), not bool(np.isnan(x.array).any()), "equal() of a tensor and itself")


@requirement("dtypes/isclose-of-nan-and-inf")
def test_isclose_golden(s: Session) -> None:
    x = s.tensor([_NAN, _INF, _INF, -_INF, 1.0, 1.0, _NAN, _INF])
    y = s.tensor([_NAN, _INF, -_INF, -_INF, 1.0 + 1e-6, 1.1, 1.0, 1e38])
    want = [False, True, False, True, True, False, False, False]
    s.expect_values(s.call("isclose", x, y), want, dtype="bool")
    s.expect_values(s.call("isclose", x, y, equal_nan=True), [True, *want[1:]], dtype="bool")
    if s.has_data:
        nans = s.tensor([1.0, _NAN])
        s.expect(s.call("allclose", nans, nans), False, "allclose() with NaN")
        s.expect(s.call("allclose", nans, nans, equal_nan=True), True, "allclose(equal_nan=True)")
        s.expect(s.call("allclose", s.tensor([_INF]), s.tensor([_INF])), True, "allclose() of infinities")
        s.expect(s.call("allclose", s.tensor([_INF]), s.tensor([-_INF])), False, "allclose() of both infinities")


@requirement("dtypes/isclose-of-nan-and-inf")
@forall(xs=st.operands(2, dtypes=("float32", "float64"), same_dtype=True), equal_nan=hs.booleans())
def test_isclose(s: Session, xs: tuple[TensorCase, TensorCase], equal_nan: bool) -> None:
    a, b = (c.array.astype(np.float64) for c in xs)
    with np.errstate(all="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= 1e-8 + 1e-5 * np.abs(b))
    want = (a == b) | near | (np.isnan(a) & np.isnan(b) & equal_nan)
    t, u = (s.build(c) for c in xs)
    s.expect_values(s.call("isclose", t, u, equal_nan=equal_nan), np.asarray(want))
    if s.has_data:
        s.expect(s.call("allclose", t, u, equal_nan=equal_nan), bool(want.all()), "allclose()")


@requirement("dtypes/nan-propagates")
def test_propagation_golden(s: Session) -> None:
    x = s.tensor([1.0, _NAN, 3.0])
    for operator in ("max", "min", "sum", "mean", "median", "prod"):
        s.expect_values(s.call(operator, x), _NAN, dtype="float32")
    for operator in ("amax", "amin", "sum.dim_IntList", "mean.dim"):
        s.expect_values(s.call(operator, x, [0]), _NAN, dtype="float32")
    for operator in ("max.dim", "min.dim", "median.dim"):
        values, indices = s.call(operator, x, 0)
        s.expect_values(values, _NAN, dtype="float32")
        s.expect_values(indices, 1, dtype="int64")
    s.expect_values(s.call("clamp", x, 0.0, 2.0), [1.0, _NAN, 2.0])
    s.expect_values(s.call("maximum", x, s.tensor([_NAN, 1.0, 2.0])), [_NAN, _NAN, 3.0])
    s.expect_values(s.call("minimum", x, s.tensor([_NAN, 1.0, 2.0])), [_NAN, _NAN, 2.0])
    s.expect_values(s.call("sum", s.tensor([_INF, -_INF])), _NAN, dtype="float32")


@requirement("dtypes/nan-propagates")
def test_nan_at_the_ends(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str, count: int) -> None:
        for place in (0, count // 2, count - 1):
            data = np.ones(count)
            data[place] = _NAN
            s.expect_values(s.call(operator, s.tensor(data, dtype)), _NAN, dtype=dtype)

    operators = ("max", "min", "amax", "amin", "median", "sum", "mean", "prod")
    s.table([(o, d, n) for o in operators for d in FLOATING for n in (1, 17, 100, 4097)], body)


_WHOLE = ("max", "min", "amax", "amin", "median")


@requirement("dtypes/nan-propagates")
@forall(
    count=st.thresholds(),
    place=_PLACES,
    seed=hs.integers(0, 2**20),
    dtype=st.dtypes(*FLOATING),
    operator=hs.sampled_from([*_WHOLE, "sum", "mean", "prod"]),
    step=hs.integers(1, 2),
    weight=0.6,
)
def test_one_nan_anywhere(s: Session, count: int, place: int, seed: int, dtype: str, operator: str, step: int) -> None:
    """One NaN at any place of a long line, in the body of a vector loop or in its remainder."""
    data = np.random.default_rng(seed).standard_normal(count * step).astype(numpy_dtype(dtype))
    data[place % count * step] = _NAN
    x = TensorCase(dtype, (count,), (step,), storage=count * step, literal=tuple(data.tolist()))
    s.expect_values(s.call(operator, s.build(x)), _NAN, dtype=dtype)


@requirement("dtypes/nan-propagates")
def test_extrema(s: Session) -> None:
    def judge(operator: str) -> None:
        @forall(x=st.tensors(FLOATING, min_dims=1, empty=False), dim=hs.integers(0, 3), whole=hs.booleans(), weight=0.2)
        def extremum(s: Session, x: TensorCase, dim: int, whole: bool) -> None:
            _expect_extremum(s, operator, x, dim % len(x.sizes), whole)

        extremum.__name__ = f"extremum_{operator}"
        extremum(s)

    s.each(_WHOLE, judge)


def _expect_extremum(s: Session, operator: str, x: TensorCase, axis: int, whole: bool) -> None:
    t, array = s.build(x), x.array
    if whole:
        s.expect_values(s.call(operator, t), _along(operator, array.reshape(-1), 0), signed_zero=False)
    elif operator in ("amax", "amin"):
        s.expect_values(s.call(operator, t, [axis]), _along(operator, array, axis), signed_zero=False)
    else:
        values, indices = s.call(f"{operator}.dim", t, axis)
        s.expect_values(values, _along(operator, array, axis), signed_zero=False)
        s.expect_dtype(indices, "int64")
        if s.has_data:
            chosen = np.take_along_axis(array, np.expand_dims(s.read(indices), axis), axis).squeeze(axis)
            s.expect_values(values, chosen, signed_zero=False)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("as_strided",))
def test_median_of_expanded_dim(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str, length: int) -> None:
        for value in range(-3, 4):
            x = s.call("expand", s.tensor([[float(value)]], dtype), (1, length))
            values, _ = s.parts(s.call(operator, x, -1), 2)
            s.expect_values(values, np.array([value]), dtype=dtype)

    names = ("median.dim", "nanmedian.dim")
    s.table([(name, dtype, length) for name in names for dtype in FLOATING for length in (2, 5, 9)], body)


def _along(operator: str, array: Array, axis: int) -> Array:
    """The extremum or lower median along one axis; NaN where there is one."""
    ordered = np.sort(array.astype(np.float64), axis=axis)
    last = array.shape[axis] - 1
    place = {"max": last, "amax": last, "median": last // 2}.get(operator, 0)
    result = np.take(ordered, place, axis=axis)
    return np.asarray(np.where(np.isnan(array).any(axis=axis), _NAN, result)).astype(array.dtype)


@requirement("dtypes/nan-propagates")
@forall(
    xs=st.operands(2, dtypes=FLOATING, same_dtype=True),
    operator=hs.sampled_from(["maximum", "minimum", "clamp_min.Tensor", "clamp_max.Tensor"]),
)
def test_elementwise_extrema(s: Session, xs: tuple[TensorCase, TensorCase], operator: str) -> None:
    a, b = (c.array for c in xs)
    pick = np.maximum if operator in ("maximum", "clamp_min.Tensor") else np.minimum
    want = pick(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    s.expect_values(s.call(operator, *(s.build(c) for c in xs)), want, signed_zero=False)


@requirement("dtypes/argmax-of-nan-is-the-first-nan")
def test_argmax_golden(s: Session) -> None:
    x = s.tensor([1.0, _NAN, _INF, _NAN])
    s.expect_values(s.call("argmax", x), 1, dtype="int64")
    s.expect_values(s.call("argmin", x), 1, dtype="int64")
    s.expect_values(s.call("argmax", s.tensor([1.0, 3.0, -_INF])), 1, dtype="int64")
    s.expect_values(s.call("argmin", s.tensor([1.0, 3.0, -_INF])), 2, dtype="int64")
    square = s.tensor([[_INF, _NAN], [_NAN, -_INF]])
    s.expect_values(s.call("argmax", square, 1), [1, 0], dtype="int64")
    s.expect_values(s.call("argmin", square, 0), [1, 0], dtype="int64")


@requirement("dtypes/argmax-of-nan-is-the-first-nan")
@forall(
    count=st.thresholds(),
    places=hs.lists(_PLACES, min_size=1, max_size=3),
    dtype=st.dtypes(*FLOATING),
    operator=hs.sampled_from(["argmax", "argmin"]),
    layout=hs.sampled_from(["line", "column", "strided"]),
    weight=0.5,
)
def test_first_nan(s: Session, count: int, places: list[int], dtype: str, operator: str, layout: str) -> None:
    data = (np.arange(count) % 100 - 50).astype(numpy_dtype(dtype))
    for place in places:
        data[place % count] = _NAN
    first = min(place % count for place in places)
    if layout == "column":
        y = s.call(operator, s.tensor(np.stack([data, data[::-1]], axis=1)), 0)
        s.expect_values(y, [first, count - 1 - max(p % count for p in places)], dtype="int64")
    elif layout == "line":
        s.expect_values(s.call(operator, s.tensor(data)), first, dtype="int64")
    else:
        spread = np.repeat(data, 2)
        x = TensorCase(dtype, (count,), (2,), storage=2 * count, literal=tuple(spread.tolist()))
        s.expect_values(s.call(operator, s.build(x), 0), first, dtype="int64")


@requirement("dtypes/nan-ignoring-operators")
def test_ignoring_golden(s: Session) -> None:
    x = s.tensor([1.0, _NAN, 3.0])
    s.expect_values(s.call("fmax", x, s.tensor([_NAN, 2.0, 2.0])), [1.0, 2.0, 3.0])
    s.expect_values(s.call("fmin", x, s.tensor([_NAN, 2.0, 2.0])), [1.0, 2.0, 2.0])
    s.expect_values(s.call("fmax", s.tensor([_NAN]), s.tensor([_NAN])), [_NAN])
    s.expect_values(s.call("nansum", x), 4.0)
    s.expect_values(s.call("nanmean", x), 2.0)
    s.expect_values(s.call("nansum", s.tensor([_NAN, _NAN])), 0.0)
    s.expect_values(s.call("nanmean", s.tensor([_NAN])), _NAN)


@requirement("dtypes/nan-ignoring-operators")
@forall(xs=st.operands(2, dtypes=FLOATING, same_dtype=True), operator=hs.sampled_from(["fmax", "fmin"]))
def test_fmax_and_fmin(s: Session, xs: tuple[TensorCase, TensorCase], operator: str) -> None:
    a, b = (c.array for c in xs)
    want = getattr(np, operator)(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    s.expect_values(s.call(operator, *(s.build(c) for c in xs)), want, signed_zero=False)


@requirement("dtypes/nan-ignoring-operators")
@forall(x=st.tensors(("float32", "float64"), kind="small"), nans=hs.integers(0, 2**16), mean=hs.booleans())
def test_nansum_and_nanmean(s: Session, x: TensorCase, nans: int, mean: bool) -> None:
    """Small integers with NaN sprinkled in: the sums are exact."""
    data = x.contents.copy()
    data[(np.arange(len(data)) * 7 + nans) % 3 == 0] = _NAN
    x = TensorCase(x.dtype, x.sizes, x.strides, x.offset, x.storage, literal=tuple(data.tolist()))
    kept = x.array[~np.isnan(x.array)]
    total, count = exact_sum(kept), kept.size
    y = s.call("nanmean" if mean else "nansum", s.build(x))
    kind = numpy_dtype(x.dtype).type
    want = (kind(total) / kind(count) if count else kind(_NAN)) if mean else kind(total)
    s.expect_values(y, np.asarray(want), ulp=1 if mean else 0, signed_zero=False)
