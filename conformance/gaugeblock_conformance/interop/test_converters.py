"""Which converters share memory, and which copy."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..backend import DType
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .arrays import ArrayCase, array_cases, expect_elsewhere

SHARERS = ("as_tensor", "asarray")
# A cast from each of them to each other one loses no element of an array_cases: those are small numbers.
CASTS = ("float32", "int64", "float64", "int32", "complex64")


@requirement("interop/numpy-asarray-shares", needs=("inplace",))
def test_asarray_of_two_zeros(s: Session) -> None:
    x = s.call("zeros", (2,))
    array = s.call("np_asarray", x)
    s.execute("{}[0] = 3", array)
    s.expect_values(x, [3.0, 0.0])
    copy = s.call("np_asarray", x, dtype="float64")
    s.expect_python("{}.dtype.name", "float64", "dtype of the copy", copy)
    s.execute("{}[1] = 4", copy)
    s.expect_values(x, [3.0, 0.0])
    s.call("fill_.Scalar", x, 5)
    s.expect_python("{}.tolist()", [5.0, 5.0], "the array that shares", array)
    s.expect_python("{}.tolist()", [3.0, 4.0], "the copy", copy)


@requirement("interop/numpy-asarray-shares")
@forall(case=array_cases(CASTS), other=st.sampled_from(CASTS))
def test_asarray_with_and_without_another_dtype(s: Session, case: ArrayCase, other: str) -> None:
    x = s.call("from_numpy", s.bind(case.expression))
    before = s.read(x).copy()
    array = s.call("np_asarray", x, dtype=other)
    s.expect_python("{}.tolist()", before.astype(other).tolist(), "the array", array)
    s.execute("{}[...] = 1", array)
    if other == case.dtype:
        before[...] = 1
    s.expect_values(x, before)


@requirement("interop/numpy-array-copies")
@forall(case=array_cases())
def test_array_of_any_tensor(s: Session, case: ArrayCase) -> None:
    x = s.call("from_numpy", s.bind(case.expression))
    before = s.read(x).copy()
    array = s.call("np_array", x)
    s.expect_python("{}.dtype.name", case.dtype, "dtype of the copy", array)
    s.expect_python("{}.tolist()", before.tolist(), "the copy", array)
    s.execute("{0}[...] = {0} == 0", array)
    s.expect_values(x, before)


@requirement("interop/tensor-copies-arrays")
@forall(case=array_cases(), other=st.sampled_from((None, *CASTS)))
def test_tensor_of_any_array(s: Session, case: ArrayCase, other: str | None) -> None:
    array = s.bind(case.expression)
    real = case.dtype.startswith("complex") and other is not None and not other.startswith("complex")
    dtype = {} if other is None or real else {"dtype": DType(other)}
    x = s.call("tensor", array, **dtype)
    s.expect_values(x, array.astype(str(dtype.get("dtype", case.dtype))))
    expect_elsewhere(s, x, array)


@requirement("interop/as-tensor-shares-when-the-dtype-agrees")
@forall(case=array_cases(CASTS), other=st.sampled_from(CASTS), name=st.sampled_from(SHARERS), asked=st.booleans())
def test_same_or_other_dtype(s: Session, case: ArrayCase, other: str, name: str, asked: bool) -> None:
    other = case.dtype if case.dtype == "complex64" else other
    array = s.bind(case.expression)
    x = s.call(name, array, dtype=DType(other)) if asked else s.call(name, array)
    if asked and other != case.dtype:
        s.expect_values(x, array.astype(other))
        expect_elsewhere(s, x, array)
        return
    s.expect_values(x, array)
    s.execute("{}[...] = 1", array)
    s.expect_values(x, array)


@requirement("interop/asarray-copies-as-asked")
@forall(case=array_cases(), copy=st.booleans())
def test_copy_true_and_false(s: Session, case: ArrayCase, copy: bool) -> None:
    array = s.bind(case.expression)
    x = s.call("asarray", array, copy=copy)
    s.expect_values(x, array)
    if copy:
        expect_elsewhere(s, x, array)
    else:
        s.execute("{}[...] = 1", array)
        s.expect_values(x, array)


@requirement("interop/asarray-without-copy-raises")
@forall(case=array_cases(CASTS), other=st.sampled_from(CASTS), listed=st.booleans())
def test_copies_that_are_forbidden(s: Session, case: ArrayCase, other: str, listed: bool) -> None:
    if listed:
        s.expect_raises(ValueError, "asarray", [[1, 2], [3, 4]], copy=False)
    array = s.bind(case.expression)
    if other == case.dtype:
        s.expect_values(s.call("asarray", array, dtype=DType(other), copy=False), array)
    else:
        s.expect_raises(ValueError, "asarray", array, dtype=DType(other), copy=False)


@requirement("interop/sharing-is-decided-by-addresses")
def test_interleaved_columns(s: Session) -> None:
    x = s.call("arange", 6)
    parts = (slice(0, None, 2), slice(1, None, 2), slice(2, None))
    even, odd, tail = (s.call("__getitem__", x, part) for part in parts)
    _expect_common(s, even, tail, True)
    _expect_common(s, even, odd, False)
    _expect_common(s, tail, s.call("clone", tail), False)


@requirement("interop/sharing-is-decided-by-addresses")
@forall(length=st.integers(1, 12), parts=st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 12), st.integers(1, 3)), min_size=2, max_size=2))  # fmt: skip
def test_slices_of_one_tensor(s: Session, length: int, parts: list[tuple[int, int, int]]) -> None:
    x = s.call("arange", length)
    slices = [slice(start, stop, step) for start, stop, step in parts]
    first, second = (s.call("__getitem__", x, part) for part in slices)
    common = set(range(length)[slices[0]]) & set(range(length)[slices[1]])
    _expect_common(s, first, second, bool(common))


@requirement("interop/equality-with-arrays-is-elementwise")
@forall(case=array_cases(("float32", "int64", "float64", "bool")), value=st.integers(0, 3))
def test_equality_with_an_array(s: Session, case: ArrayCase, value: int) -> None:
    array = s.bind(case.expression)
    other = s.bind(f"np.full({tuple(array.shape)}, {value}, {case.dtype!r})")
    x = s.call("from_numpy", array)
    s.expect_values(s.call("__eq__", x, other), array == other)
    row = s.bind("{}[..., None]", array)
    s.expect_values(s.call("__eq__", s.call("unsqueeze", x, -1), row), row == row)


@requirement("interop/equality-with-arrays-is-elementwise")
def test_equality_with_one_row(s: Session) -> None:
    x = s.call("ones", (2, 3))
    y = s.call("__eq__", x, s.bind("np.array([1.0, 2.0, 1.0])"))
    s.expect_values(y, np.array([[True, False, True]] * 2))


def _expect_common(s: Session, x: Handle, y: Handle, want: bool) -> None:
    arrays = [s.call("numpy", tensor) for tensor in (x, y)]
    s.expect_python("bool(np.shares_memory({}, {}))", want, f"whether {x.name} and {y.name} have an element in common",
                    *arrays)  # fmt: skip
