"""The 8-bit floats: exact numbers, conversion to nearest even, and what is too large for them."""

from __future__ import annotations

import math
from typing import NamedTuple

from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType
from ..forall import forall
from ..handle import Handle
from ..requirement import requirement
from ..session import Session


class Format(NamedTuple):
    """Bits of the fraction, the bias, the largest pattern of a number, what is beyond it, NaN."""

    fraction: int
    bias: int
    largest: int
    beyond: int
    nan: int

    @property
    def one_zero(self) -> bool:
        return self.nan == 0x80


FORMATS = {
    "float8_e4m3fn": Format(3, 7, 0x7E, 0x7E, 0x7F),
    "float8_e5m2": Format(2, 15, 0x7B, 0x7C, 0x7F),
    "float8_e4m3fnuz": Format(3, 8, 0x7F, 0x80, 0x80),
    "float8_e5m2fnuz": Format(2, 16, 0x7F, 0x80, 0x80),
}
_NAMES = tuple(FORMATS)


def number(pattern: int, dtype: str) -> float:
    """The number of a pattern."""
    form = FORMATS[dtype]
    if form.one_zero and pattern == form.nan:
        return math.nan
    sign, magnitude = -1.0 if pattern & 0x80 else 1.0, pattern & 0x7F
    if magnitude > form.largest:
        return sign * math.inf if magnitude == form.beyond else math.nan
    exponent, fraction = magnitude >> form.fraction, magnitude & ((1 << form.fraction) - 1)
    whole = fraction + (1 << form.fraction if exponent else 0)
    return sign * math.ldexp(whole, max(exponent, 1) - form.bias - form.fraction)


def nearest(value: float, dtype: str) -> float:
    """The number that a float converts to."""
    form = FORMATS[dtype]
    if math.isnan(value):
        return value
    size, sign = abs(value), math.copysign(1, value)
    largest = number(form.largest, dtype)
    step = largest - number(form.largest - 1, dtype)
    # Half a step beyond the largest number the even neighbour is that number, or what would follow it.
    if size > largest + step / 2 or (size == largest + step / 2 and form.largest % 2):
        return number(form.beyond, dtype) if form.one_zero else sign * number(form.beyond, dtype)
    near = min(range(form.largest + 1), key=lambda at: (abs(number(at, dtype) - size), at % 2))
    return 0.0 if form.one_zero and not near else sign * number(near, dtype)


def _expect_converted(s: Session, values: list[float], dtype: str, source: str = "float32") -> None:
    narrow = s.call("to.dtype", s.tensor(values, source), DType(dtype))
    s.expect_dtype(narrow, dtype)
    s.expect_values(
        s.call("to.dtype", narrow, DType("float32")), [nearest(value, dtype) for value in values], dtype="float32"
    )


@requirement("dtypes/float8-values-are-exact-in-float32")
def test_every_pattern(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        want = [number(at, dtype) for at in range(256)]
        held = s.call("view.dtype", s.tensor(list(range(256)), "uint8"), DType(dtype))
        for wide in ("float32", "float64"):
            s.expect_values(s.call("to.dtype", held, DType(wide)), want, dtype=wide)

    s.table([(name,) for name in _NAMES], body)


@requirement("dtypes/float8-values-are-exact-in-float32")
def test_values_golden(s: Session) -> None:
    rows = [
        ("float8_e4m3fn", [0x38, 0x7E, 0xFE, 0x01, 0x08], [1.0, 448.0, -448.0, 2.0**-9, 2.0**-6]),
        ("float8_e5m2", [0x3C, 0x7B, 0x7C, 0x01, 0x84], [1.0, 57344.0, math.inf, 2.0**-16, -(2.0**-14)]),
        ("float8_e4m3fnuz", [0x40, 0x7F, 0x01, 0x88], [1.0, 240.0, 2.0**-10, -(2.0**-7)]),
        ("float8_e5m2fnuz", [0x40, 0x7F, 0x01, 0x84], [1.0, 57344.0, 2.0**-17, -(2.0**-15)]),
    ]

    def body(s: Session, dtype: str, patterns: list[int], want: list[float]) -> None:
        held = s.call("view.dtype", s.tensor(patterns, "uint8"), DType(dtype))
        s.expect_values(s.call("to.dtype", held, DType("float32")), want, dtype="float32")

    s.table(rows, body)


@requirement("dtypes/float8-conversion-rounds-to-nearest-even")
def test_middles(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        largest = FORMATS[dtype].largest
        values = [sign * number(at, dtype) for at in range(largest + 1) for sign in (1, -1) if at]
        values += [sign * (number(at, dtype) + number(at + 1, dtype)) / 2 for at in range(largest) for sign in (1, -1)]
        _expect_converted(s, values, dtype)

    s.table([(name,) for name in _NAMES], body)


@requirement("dtypes/float8-conversion-rounds-to-nearest-even")
@forall(
    dtype=st.dtypes(*_NAMES),
    values=hs.lists(hs.floats(-240, 240, width=32), min_size=1, max_size=70),
    source=st.dtypes("float32", "float64"),
)
def test_numbers_in_range(s: Session, dtype: str, values: list[float], source: str) -> None:
    _expect_converted(s, values, dtype, source)


@requirement("dtypes/float8-dtypes-end-in-their-own-ways")
def test_ends(s: Session) -> None:
    values = [1e9, -1e9, math.inf, -math.inf, 449.0, 464.0, 480.0, 248.0, -256.0, 61440.0, 61439.0, -0.0, -1e-9]
    values.append(math.nan)

    def body(s: Session, dtype: str, source: str) -> None:
        _expect_converted(s, values, dtype, source)

    s.table([(name, source) for name in _NAMES for source in ("float32", "float64")], body)


@requirement("dtypes/float8-dtypes-store-and-move")
def test_storage(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        kind = DType(dtype)

        def expect(x: Handle, want: list[float]) -> None:
            s.expect_dtype(x, dtype)
            s.expect_values(s.call("to.dtype", x, DType("float32")), want, dtype="float32")

        expect(s.call("zeros", (2,), dtype=kind), [0, 0])
        expect(s.call("ones", (2,), dtype=kind), [1, 1])
        expect(s.call("full", (2,), 1.5, dtype=kind), [1.5, 1.5])
        x = s.call("to.dtype", s.tensor([1.0, 2.0, 3.0]), kind)
        expect(s.call("clone", x), [1, 2, 3])
        expect(s.call("__getitem__", x, slice(1, None)), [2, 3])
        expect(s.call("__getitem__", x, s.tensor([2, 0], "int64")), [3, 1])
        expect(s.call("cat", [x, x]), [1, 2, 3, 1, 2, 3])
        other = s.call("to.dtype", s.tensor([1.0, -2.0, math.nan]), kind)
        s.expect_values(s.call("eq.Tensor", x, other), [True, False, False], dtype="bool")
        s.call("fill_.Scalar", s.call("__getitem__", x, slice(0, 1)), 4.0)
        s.call("copy_", s.call("__getitem__", x, slice(2, 3)), s.tensor([0.5]))
        expect(x, [4, 2, 0.5])
        s.call("__setitem__", x, s.tensor([1], "int64"), 6.0)
        expect(x, [4, 6, 0.5])
        s.expect_values(s.call("to.dtype", x, DType("int32")), [4, 6, 0], dtype="int32")

    s.table([(name,) for name in _NAMES], body)


@requirement("dtypes/float8-dtypes-do-not-add-or-promote")
def test_no_arithmetic(s: Session) -> None:
    for dtype in _NAMES:
        x = s.call("ones", (2,), dtype=DType(dtype))
        s.expect_raises(NotImplementedError, "add.Tensor", x, x)
        s.expect_raises(NotImplementedError, "__add__", x, x)
        for other in ("bool", "int8", "float16", "float32", "float64", "complex64"):
            s.expect_raises(RuntimeError, "promote_types", DType(dtype), DType(other))
            s.expect_raises(RuntimeError, "promote_types", DType(other), DType(dtype))
        s.expect_raises(RuntimeError, "add.Tensor", x, s.tensor([1.0, 2.0]))
