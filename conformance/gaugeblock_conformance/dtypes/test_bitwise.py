"""Bitwise operators and shifts."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import COMPLEX, FLOATING, INTEGRAL


def _shift(value: int, count: int, bits: int, signed: bool, left: bool) -> int:
    """The model of one shift, in Python's integers."""
    if left:
        result = value << count if 0 <= count < bits else 0
        result &= (1 << bits) - 1
        return result - (1 << bits) if signed and result >> (bits - 1) else result
    return value >> count if 0 <= count < bits else (-1 if value < 0 else 0)


@requirement("dtypes/shifts-are-defined-for-all-counts")
def test_golden(s: Session) -> None:
    x = s.tensor([-4, -4, -4, -4, -4, 1, 1, 127], "int8")
    counts = s.tensor([1, 7, 8, 100, -1, 7, 8, 1], "int8")
    s.expect_values(s.call("bitwise_right_shift.Tensor", x, counts), [-2, -1, -1, -1, -1, 0, 0, 63], dtype="int8")
    s.expect_values(s.call("bitwise_left_shift.Tensor", x, counts), [-8, 0, 0, 0, 0, -128, 0, -2], dtype="int8")
    s.expect_values(s.call("__rshift__", s.tensor([-5, 5], "int64"), 1), [-3, 2], dtype="int64")
    s.expect_values(s.call("__lshift__", s.tensor([-5, 5], "int64"), 64), [0, 0], dtype="int64")
    s.expect_values(s.call("__rshift__", s.tensor([-5, 5], "int64"), 64), [-1, 0], dtype="int64")
    s.expect_values(s.call("__rshift__", s.tensor([200, 1], "uint8"), 3), [25, 0], dtype="uint8")
    s.expect_values(s.call("__rshift__", s.tensor([200, 1], "uint8"), 8), [0, 0], dtype="uint8")
    s.expect_values(s.call("__lshift__", s.tensor([200, 1], "uint8"), 1), [144, 2], dtype="uint8")


@requirement("dtypes/shifts-are-defined-for-all-counts")
@forall(
    dtype=st.dtypes(*INTEGRAL),
    pairs=hs.lists(hs.tuples(hs.integers(-(2**63), 2**63 - 1), hs.integers(-70, 70)), min_size=1, max_size=70),
    left=hs.booleans(),
    form=hs.sampled_from(["Tensor", "Tensor_Scalar", "symbol"]),
    step=hs.integers(1, 2),
)
def test_all_counts(s: Session, dtype: str, pairs: list[tuple[int, int]], left: bool, form: str, step: int) -> None:
    kind = numpy_dtype(dtype)
    bits, signed = 8 * kind.itemsize, kind.kind == "i"
    values = [v % 2**bits - (2 ** (bits - 1) if signed else 0) for v, _ in pairs]
    counts = [c % 2**bits if not signed else c for _, c in pairs]
    base = "bitwise_left_shift" if left else "bitwise_right_shift"
    symbol = "__lshift__" if left else "__rshift__"
    spread = [v for v in values for _ in range(step)]
    x = TensorCase(dtype, (len(values),), (step,), storage=len(spread), literal=tuple(spread))
    if form == "Tensor":
        y = s.call(f"{base}.Tensor", s.build(x), s.tensor(counts, dtype))
    else:
        counts = [counts[0]] * len(values)
        y = s.call(symbol if form == "symbol" else f"{base}.Tensor_Scalar", s.build(x), counts[0])
    want = [_shift(v, c, bits, signed, left) for v, c in zip(values, counts, strict=True)]
    s.expect_values(y, want, dtype=dtype)


_BITWISE = ("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "__and__", "__or__", "__xor__",
            "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor", "__lshift__", "__rshift__")  # fmt: skip


@requirement("dtypes/bitwise-of-floats-raises")
def test_floats(s: Session) -> None:
    classes = (NotImplementedError, RuntimeError, TypeError)

    def body(s: Session, dtype: str, operator: str) -> None:
        x, y = s.tensor([1, 2], dtype), s.tensor([1, 1], dtype)
        if "shift" not in operator or dtype in COMPLEX:
            s.expect_raises(classes, operator, x, y)
            if dtype not in COMPLEX:
                s.expect_raises(classes, operator, x, s.tensor([1, 1], "int32"))

    s.table([(d, o) for d in (*FLOATING, *COMPLEX) for o in _BITWISE], body)
    for dtype in FLOATING:
        s.expect_raises(classes, "bitwise_not", s.tensor([1, 2], dtype))
        s.expect_raises(classes, "__invert__", s.tensor([1, 2], dtype))


@requirement("dtypes/bitwise-of-floats-raises")
def test_shifts_of_floats(s: Session) -> None:
    for dtype in FLOATING:
        for operator in ("bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"):
            s.expect_raises((NotImplementedError, RuntimeError, TypeError), operator, s.tensor([1, 2], dtype),
                            s.tensor([1, 1], dtype))  # fmt: skip


@requirement("dtypes/shifts-are-defined-for-all-counts")
@forall(xs=st.operands(2, dtypes=("bool", *INTEGRAL), same_dtype=True), operator=hs.sampled_from(["and", "or", "xor"]))
def test_bits(s: Session, xs: tuple[TensorCase, TensorCase], operator: str) -> None:
    """Bitwise operators in the same layouts as shifts."""
    a, b = (c.array for c in xs)
    want = np.asarray({"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[operator](a, b))
    t, u = (s.build(c) for c in xs)
    s.expect_values(s.call(f"bitwise_{operator}.Tensor", t, u), want)
    s.expect_values(s.call(f"__{operator}__", t, u), want)
