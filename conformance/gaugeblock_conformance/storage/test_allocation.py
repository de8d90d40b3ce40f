"""Asking for no bytes, for a negative number of them, and for too many."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import strategies as st

from ..backend import DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import dtypes

EMPTY = st.lists(st.sampled_from((0, 2, 3)), min_size=0, max_size=2).map(lambda dims: (*dims, 0))


@requirement("storage/zero-bytes-can-be-asked-for")
@forall(dims=EMPTY, dtype=dtypes(), maker=st.sampled_from(("zeros", "ones", "empty.memory_format")))
def test_empty_tensors(s: Session, dims: tuple[int, ...], dtype: str, maker: str) -> None:
    x = s.call(maker, dims, dtype=DType(dtype))
    s.expect_shape(x, dims)
    s.expect_dtype(x, dtype)
    s.expect_shape(s.call("add.Tensor", x, x), dims)
    s.expect_shape(s.call("clone", x), dims)
    s.expect_shape(s.call("cat", [x, x], -1), dims)
    s.expect_shape(s.call("reshape", x, (-1,)), (0,))
    if "inplace" in s.capabilities:
        s.expect_same(s.call("fill_.Scalar", x, 1), x)


@requirement("storage/zero-bytes-can-be-asked-for")
def test_no_elements(s: Session) -> None:
    x = s.call("zeros", (0,))
    s.expect(s.call("numel", x), 0, "numel()")
    if s.has_data:
        s.expect(s.call("tolist", x), [], "tolist()")
    if "storage" in s.capabilities:
        s.expect_nbytes(x, 0)
    if "reduce" in s.capabilities:
        s.expect_values(s.call("sum", x), 0.0)


@requirement("storage/negative-size-raises")
@forall(
    dims=st.lists(st.integers(0, 4), max_size=2),
    bad=st.sampled_from((-1, -2, -7, -(2**31), -(2**63))),
    place=st.integers(0, 2),
    maker=st.sampled_from(("zeros", "ones", "empty.memory_format")),
)
def test_negative_size(s: Session, dims: list[int], bad: int, place: int, maker: str) -> None:
    dims.insert(min(place, len(dims)), bad)
    s.expect_raises(RuntimeError, maker, tuple(dims))


@requirement("storage/negative-size-raises")
def test_negative_size_of_full(s: Session) -> None:
    s.expect_raises(RuntimeError, "full", (2, -1), 3.0)
    s.expect_raises(RuntimeError, "empty.memory_format", (-1,))
    s.expect_raises(RuntimeError, "zeros", (0, -1))


TOO_LARGE: list[tuple[tuple[int, ...], str]] = [
    ((2**62,), "float32"),
    ((2**62,), "float64"),
    ((2**63 - 1,), "uint8"),
    ((2**40, 2**40), "uint8"),
    ((2**32, 2**32), "float32"),
    ((2**31, 2**31, 2**31), "bool"),
    ((2**61,), "float64"),
    ((2**60, 8), "complex64"),
    ((2**50,), "uint8"),
    ((2**47,), "float64"),
]


def _refused(s: Session) -> tuple[type[Exception], ...]:
    return (RuntimeError, MemoryError)


@requirement("storage/oversized-request-raises")
def test_oversized_requests(s: Session) -> None:
    def body(s: Session, dims: tuple[int, ...], dtype: str) -> None:
        if s.has_data or prod(dims) * numpy_dtype(dtype).itemsize >= 2**63:
            s.expect_raises(_refused(s), "empty.memory_format", dims, dtype=DType(dtype))

    s.table(TOO_LARGE, body)


@requirement("storage/oversized-request-raises")
@forall(power=st.integers(58, 62), split=st.integers(0, 62), dtype=st.sampled_from(("float64", "int64", "complex64")))
def test_products_that_do_not_fit(s: Session, power: int, split: int, dtype: str) -> None:
    """At least 2**61 elements of 8 bytes: more than a signed 64-bit integer counts, or 2**61 bytes."""
    split = min(split, power)
    dims = (2**split, 2 ** (power - split), 8)
    s.expect_raises(_refused(s), "empty.memory_format", dims, dtype=DType(dtype))


@requirement("storage/failed-allocation-leaves-no-trace")
@forall(row=st.integers(0, len(TOO_LARGE) - 1), values=st.lists(st.integers(-9, 9), min_size=1, max_size=5))
def test_life_goes_on(s: Session, row: int, values: list[int]) -> None:
    x = s.tensor([float(v) for v in values], "float64")
    dims, dtype = TOO_LARGE[row]
    if s.has_data:
        s.expect_raises(_refused(s), "zeros", dims, dtype=DType(dtype))
        s.expect_raises(_refused(s), "empty.memory_format", dims, dtype=DType(dtype))
    y = s.call("add.Tensor", x, x)
    s.expect_values(y, [2.0 * v for v in values], dtype="float64")
    s.expect_values(s.call("zeros", (len(values),)), [0.0] * len(values))
    s.expect_values(x, [float(v) for v in values], dtype="float64")


@requirement("storage/failed-allocation-leaves-no-trace")
def test_a_failed_request_among_tensors(s: Session) -> None:
    kept: Any = s.tensor([1.0, 2.0, 3.0])
    for _ in range(20):
        s.expect_raises(_refused(s), "zeros", (2**62,))
    s.expect_values(kept, [1.0, 2.0, 3.0])
    s.expect_values(s.call("ones", (4,)), [1.0] * 4)
