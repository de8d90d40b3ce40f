"""How many bytes a fresh tensor has, in which order its elements lie in them, and where they start."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from ..backend import DType, numpy_dtype
from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import dtypes, sizes, tensors, thresholds

MAKERS = st.sampled_from(("zeros", "ones", "empty.memory_format"))


@requirement("storage/fresh-storage-is-numel-times-itemsize")
def test_bytes_of_fresh_tensors(s: Session) -> None:
    def body(s: Session, dims: tuple[int, ...], dtype: str, want: int) -> None:
        s.expect_nbytes(s.call("zeros", dims, dtype=DType(dtype)), want)
        s.expect_nbytes(s.tensor(np.zeros(dims, numpy_dtype(dtype))), want)

    s.table(
        [
            ((3, 4), "float32", 48),
            ((2, 2), "float32", 16),
            ((), "float64", 8),
            ((5,), "bool", 5),
            ((2, 0, 3), "int64", 0),
            ((3,), "complex64", 24),
            ((3,), "bfloat16", 6),
            ((1000,), "uint8", 1000),
        ],
        body,
    )


@requirement("storage/fresh-storage-is-numel-times-itemsize")
@forall(dims=sizes(), dtype=dtypes(), maker=MAKERS)
def test_bytes_of_factories(s: Session, dims: tuple[int, ...], dtype: str, maker: str) -> None:
    s.expect_nbytes(s.call(maker, dims, dtype=DType(dtype)), prod(dims) * numpy_dtype(dtype).itemsize)


@requirement("storage/fresh-storage-is-numel-times-itemsize")
@forall(case=tensors(), name=st.sampled_from(("clone", "add.Tensor", "ones_like")))
def test_bytes_of_results(s: Session, case: TensorCase, name: str) -> None:
    x = s.build(case)
    y = s.call(name, x, x) if name == "add.Tensor" else s.call(name, x)
    s.expect_nbytes(y, case.numel * numpy_dtype(case.dtype).itemsize)


@requirement("storage/elements-lie-row-major")
def test_bytes_of_a_matrix(s: Session) -> None:
    x = s.tensor([[1, 2], [3, 258]], "int16")
    if s.has_data:
        want = np.array([1, 2, 3, 258], np.int16).tobytes()
        s.expect_of_last(s.call("storage_bytes", x).hex(), want.hex(), "bytes of the storage", "{}.hex()")
    s.expect_nbytes(x, 8)


@requirement("storage/elements-lie-row-major")
@forall(dims=sizes(), dtype=dtypes(), seed=st.integers(0, 9999))
def test_bytes_in_order(s: Session, dims: tuple[int, ...], dtype: str, seed: int) -> None:
    case = TensorCase(dtype, dims, default_strides(dims), seed=seed)
    x = s.build(case)
    s.expect_nbytes(x, len(case.contents.tobytes()))
    if s.has_data:
        s.expect_of_last(
            s.call("storage_bytes", x).hex(), case.array.tobytes().hex(), "bytes of the storage", "{}.hex()"
        )


@requirement("storage/elements-lie-row-major")
@forall(case=tensors(max_dims=3))
def test_results_lie_row_major(s: Session, case: TensorCase) -> None:
    if s.has_data and case.numel < 300:
        y = s.call("contiguous", s.call("neg" if case.dtype != "bool" else "logical_not", s.build(case)))
        s.expect_of_last(
            s.call("storage_bytes", y).hex(), s.read(y).tobytes().hex(), "bytes of the storage", "{}.hex()"
        )


@requirement("storage/allocation-is-64-byte-aligned")
@forall(length=thresholds() | st.integers(1, 300), dtype=dtypes(), maker=MAKERS)
def test_alignment(s: Session, length: int, dtype: str, maker: str) -> None:
    _expect_aligned(s, s.call(maker, (length,), dtype=DType(dtype)))


@requirement("storage/allocation-is-64-byte-aligned")
def test_alignment_of_three_at_once(s: Session) -> None:
    made = [s.call("zeros", (3,), dtype=DType(dtype)) for dtype in ("uint8", "float32", "complex128", "bool")]
    for x in made:
        _expect_aligned(s, x)


def _expect_aligned(s: Session, x: Handle) -> None:
    past = s.observe("data_ptr", x) % 64
    if past == 0 or s.own_rules.aligned(s.maker(x)):
        s.expect(past, 0, "address modulo 64", f"{s.dialect.observe('data_ptr', x.name)} % 64", [x])


@requirement("storage/itemsize-alignment-suffices", needs=("views",))
@forall(length=thresholds(), start=st.integers(1, 15), dtype=dtypes(), seed=st.integers(0, 999))
def test_operators_take_any_address(s: Session, length: int, start: int, dtype: str, seed: int) -> None:
    case = TensorCase(dtype, (length + start,), (1,), seed=seed, kind="small")
    x = s.call("__getitem__", s.build(case), slice(start, None))
    array = case.array[start:]
    s.expect_values(s.call("add.Tensor", x, x), array + array)
    s.expect_values(s.call("clone", x), array)
    s.expect_values(s.call("eq.Tensor", x, x), np.ones(length, bool))


@requirement("storage/itemsize-alignment-suffices", needs=("views",))
def test_odd_start(s: Session) -> None:
    x = s.call("__getitem__", s.tensor(list(range(100)), "float64"), slice(1, None))
    s.expect_values(s.call("add.Tensor", x, x), [2.0 * k for k in range(1, 100)], dtype="float64")
