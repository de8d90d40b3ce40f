"""Python numbers that do not fit an integer dtype: refused when stored, unlike in arithmetic."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as hs

from ..backend import DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_BITS = {"int8": 8, "int16": 16, "int32": 32, "uint8": 8}
_FORMS = ("tensor", "tensor list", "full", "fill_", "clamp min", "clamp max", "clamp_")


def _limits(dtype: str) -> tuple[int, int]:
    bits = _BITS[dtype]
    return (0, 2**bits - 1) if dtype == "uint8" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _call(s: Session, form: str, dtype: str, value: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    kind = DType(dtype)
    if form == "tensor":
        return "tensor", (value,), {"dtype": kind}
    if form == "tensor list":
        return "tensor", ([0, value],), {"dtype": kind}
    if form == "full":
        return "full", ((2,), value), {"dtype": kind}
    x = s.tensor([1, 2, 3], dtype)
    if form == "fill_":
        return "fill_.Scalar", (x, value), {}
    if form == "clamp min":
        return "clamp", (x, value), {}
    return ("clamp_" if form == "clamp_" else "clamp"), (x, None, value), {}


@requirement("dtypes/value-that-does-not-fit-raises")
def test_golden(s: Session) -> None:
    rows = [
        ("int8", 128), ("int8", 1000), ("int8", -129 - 256), ("uint8", 256), ("uint8", -256), ("uint8", -1000),
        ("int16", 32768), ("int16", -(2**17)), ("int32", 2**31), ("int32", -(2**40)),
    ]  # fmt: skip

    def body(s: Session, dtype: str, value: int) -> None:
        s.expect_raises(RuntimeError, "tensor", value, dtype=DType(dtype))
        s.expect_raises(RuntimeError, "full", (2,), value, dtype=DType(dtype))
        x = s.tensor([1, 2], dtype)
        s.expect_raises(RuntimeError, "fill_.Scalar", x, value)
        s.expect_raises(RuntimeError, "clamp", x, value)
        s.expect_raises(RuntimeError, "clamp", x, None, value)
        s.expect_values(x, [1, 2], dtype=dtype)

    s.table(rows, body)


@requirement("dtypes/value-that-does-not-fit-raises")
@forall(
    dtype=hs.sampled_from(list(_BITS)),
    form=hs.sampled_from(_FORMS),
    edge=hs.integers(-3, 3),
    place=hs.sampled_from(["zero", "low", "high", "far low", "far high"]),
)
def test_around_the_limits(s: Session, dtype: str, form: str, edge: int, place: str) -> None:
    low, high = _limits(dtype)
    width = 2 ** _BITS[dtype]
    value = {"zero": 0, "low": low, "high": high, "far low": -width - 4, "far high": high + 2 * width}[place] + edge
    if "clamp" in form:
        s.require("inplace")
    operator, args, kwargs = _call(s, form, dtype, value)
    if value > high or value <= -width:
        s.expect_raises(RuntimeError, operator, *args, **kwargs)
        return
    if value < low:
        _below_the_range(s, dtype, form, operator, args, kwargs, value + width)
        return
    y = s.call(operator, *args, **kwargs)
    want = {"tensor": value, "tensor list": [0, value], "full": [value] * 2, "fill_": [value] * 3}.get(form)
    if want is None:
        want = [max(v, value) if form == "clamp min" else min(v, value) for v in (1, 2, 3)]
    s.expect_values(y, want, dtype=dtype)


def _below_the_range(s: Session, dtype: str, form: str, operator: str, args: Any, kwargs: Any, wrapped: int) -> None:
    """Signed dtypes refuse what is below their range, unsigned ones wrap it when it is stored."""
    if dtype != "uint8":
        s.expect_raises(RuntimeError, operator, *args, **kwargs)
    elif "clamp" not in form:
        want = {"tensor": wrapped, "tensor list": [0, wrapped], "full": [wrapped] * 2, "fill_": [wrapped] * 3}[form]
        s.expect_values(s.call(operator, *args, **kwargs), want, dtype=dtype)


@requirement("dtypes/value-that-does-not-fit-raises")
def test_floats_beyond_the_range(s: Session) -> None:
    def body(s: Session, dtype: str, value: float) -> None:
        s.expect_raises(RuntimeError, "full", (2,), value, dtype=DType(dtype))
        s.expect_raises(RuntimeError, "tensor", value, dtype=DType(dtype))
        s.expect_raises(RuntimeError, "fill_.Scalar", s.tensor([1], dtype), value)

    rows = [
        ("int8", 300.0), ("int16", 1e10), ("uint8", 1e3), ("int32", 3e9), ("int64", 1e30), ("int8", 127.5),
        ("int8", -128.5), ("uint8", 255.5), ("uint8", -1.0), ("uint8", -0.5), ("int16", 32767.5),
    ]  # fmt: skip
    s.table(rows, body)


@requirement("dtypes/negative-into-unsigned-wraps")
def test_negative_golden(s: Session) -> None:
    for value, want in ((-1, 255), (-2, 254), (-128, 128), (-255, 1)):
        s.expect_values(s.call("tensor", [value, 7], dtype=DType("uint8")), [want, 7], dtype="uint8")
        s.expect_values(s.call("full", (2,), value, dtype=DType("uint8")), [want, want], dtype="uint8")
        s.expect_values(s.call("fill_.Scalar", s.tensor([0, 0], "uint8"), value), [want, want], dtype="uint8")


@requirement("dtypes/negative-into-unsigned-wraps", needs=("dtype.limited",))
@forall(dtype=hs.sampled_from(["uint8", "uint16", "uint32"]), value=hs.integers(1, 2**32 - 1))
def test_negative_into_wider(s: Session, dtype: str, value: int) -> None:
    bits = 8 * numpy_dtype(dtype).itemsize
    value = -(value % (2**bits - 1)) - 1
    s.expect_values(s.call("full", (3,), value, dtype=DType(dtype)), [value + 2**bits] * 3, dtype=dtype)
