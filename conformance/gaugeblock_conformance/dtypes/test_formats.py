"""Item sizes, and the float formats bit by bit."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .answers import default_dtype, expect_dtype_answer

_SIZES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "float32": 4, "int64": 8, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip


@requirement("dtypes/item-sizes")
def test_item_sizes(s: Session) -> None:
    def body(s: Session, dtype: str, size: int) -> None:
        x = s.call("zeros", (3,), dtype=DType(dtype))
        s.expect_dtype(x, dtype)
        s.expect(s.call("element_size", x), size, f"bytes of one {dtype}")
        s.expect(s.call("itemsize", x), size, f"bytes of one {dtype}")
        s.expect(s.call("nbytes", x), 3 * size, f"bytes of three {dtype}")

    s.table(_SIZES.items(), body)


@requirement("dtypes/item-sizes", needs=("storage",))
@forall(dtype=st.dtypes(), count=hs.sampled_from([0, 1, 2, 3, 7, 64, 1000]))
def test_storage_bytes(s: Session, dtype: str, count: int) -> None:
    x = s.call("zeros", (count,), dtype=DType(dtype))
    s.expect_nbytes(x, count * _SIZES[dtype])


# Value, sign bit, exponent and fraction as an unsigned integer.
_BINARY32 = (
    (1.0, 0x3F800000), (-2.0, 0xC0000000), (0.1, 0x3DCCCCCD), (float("inf"), 0x7F800000), (-0.0, 0x80000000),
    (3.4028234663852886e38, 0x7F7FFFFF), (1.1754943508222875e-38, 0x00800000), (1.401298464324817e-45, 0x00000001),
)  # fmt: skip
_BINARY64 = (
    (1.0, 0x3FF0000000000000), (0.1, 0x3FB999999999999A), (-0.0, 0x8000000000000000),
    (1.7976931348623157e308, 0x7FEFFFFFFFFFFFFF), (5e-324, 1), (float("-inf"), 0xFFF0000000000000),
)  # fmt: skip


@requirement("dtypes/float32-is-binary32", needs=("views.dtype",))
def test_binary_formats(s: Session) -> None:
    def body(s: Session, dtype: str, carrier: str, value: float, bits: int) -> None:
        width = 8 * numpy_dtype(carrier).itemsize
        signed = bits - (1 << width) if bits >> (width - 1) else bits
        x = s.call("full", (2,), value, dtype=DType(dtype))
        s.expect_values(s.call("view.dtype", x, DType(carrier)), [signed, signed], dtype=carrier)
        back = s.call("view.dtype", s.call("full", (2,), signed, dtype=DType(carrier)), DType(dtype))
        s.expect_values(back, [value, value], dtype=dtype)

    s.table([("float32", "int32", *row) for row in _BINARY32], body)
    s.table([("float64", "int64", *row) for row in _BINARY64], body)


@requirement("dtypes/float32-is-binary32")
def test_default_dtype(s: Session) -> None:
    expect_dtype_answer(s, "float32", "get_default_dtype")
    s.expect_dtype(s.call("zeros", (2,)), "float32")
    s.expect_dtype(s.call("tensor", [1.5, 2.0]), "float32")
    with default_dtype(s, "float64"):
        expect_dtype_answer(s, "float64", "get_default_dtype")
        s.expect_dtype(s.call("zeros", (2,)), "float64")
        s.expect_values(s.call("tensor", [0.1, 2.0]), [0.1, 2.0], dtype="float64")
        s.expect_values(s.call("div.Scalar", s.tensor([1, 2], "int64"), 3), np.array([1 / 3, 2 / 3]))
    s.expect_dtype(s.call("ones", (2,)), "float32")


@requirement("dtypes/half-formats")
def test_every_half_value(s: Session) -> None:
    """All 65536 bit patterns of each format have the value that the format's definition gives."""
    patterns = np.arange(65536, dtype=np.uint16)
    for dtype, fraction in (("float16", 10), ("bfloat16", 7)):
        bias = (1 << (14 - fraction)) - 1
        exponent = ((patterns >> fraction) & ((1 << (15 - fraction)) - 1)).astype(np.int64)
        digits = (patterns & ((1 << fraction) - 1)).astype(np.float64) / (1 << fraction)
        top = (1 << (15 - fraction)) - 1
        value = np.ldexp(np.where(exponent == 0, digits, 1 + digits), np.maximum(exponent, 1) - bias)
        value = np.where(exponent == top, np.where(digits == 0, np.inf, np.nan), value)
        value = np.where(patterns >> 15, -value, value)
        x = s.tensor(patterns.view(numpy_dtype(dtype)))
        s.expect_values(s.call("to.dtype", x, DType("float64")), value)
        s.expect_values(s.call("to.dtype", x, DType("float32")), value.astype(np.float32))


@requirement("dtypes/half-formats", needs=("views.dtype",))
def test_half_bits(s: Session) -> None:
    rows = (
        ("float16", 1.0, 0x3C00), ("float16", 65504.0, 0x7BFF), ("float16", 2.0**-24, 0x0001),
        ("float16", 0.1, 0x2E66), ("bfloat16", 1.0, 0x3F80), ("bfloat16", 3.3895313892515355e38, 0x7F7F),
        ("bfloat16", 0.1, 0x3DCD), ("bfloat16", 2.0**-126, 0x0080),
    )  # fmt: skip

    def body(s: Session, dtype: str, value: float, bits: int) -> None:
        x = s.call("full", (3,), value, dtype=DType(dtype))
        s.expect_values(s.call("view.dtype", x, DType("int16")), [bits] * 3, dtype="int16")

    s.table(rows, body)
