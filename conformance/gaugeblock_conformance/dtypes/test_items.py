"""One element as a Python number: item, tolist, int, float and the use of tensors as indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import ALL, COMPLEX, FLOATING, INTEGRAL
from ..values import table

_UNTOLD = NoReproducer("the test walks through the nested lists")

_TYPES: dict[str, type] = {
    "bool": bool, **dict.fromkeys(INTEGRAL, int), **dict.fromkeys(FLOATING, float), **dict.fromkeys(COMPLEX, complex)
}  # fmt: skip


@requirement("dtypes/item-gives-the-python-kind")
def test_item_golden(s: Session) -> None:
    rows: list[tuple[str, Any]] = [
        ("bool", True), ("uint8", 255), ("int8", -128), ("int64", 2**63 - 1), ("float32", 0.5), ("float64", 0.1),
        ("float16", -2.0), ("bfloat16", 1.0078125), ("complex64", 1 + 2j), ("float32", float("inf")),
        ("float32", float("nan")), ("complex128", 0.1 - 2j), ("int32", 0), ("bool", False),
    ]  # fmt: skip

    def body(s: Session, dtype: str, value: Any) -> None:
        for shape in (value, [value], [[[value]]]):
            s.expect(s.call("item", s.tensor(shape, dtype)), value, f"item() of {dtype}")
        s.expect(s.call("tolist", s.tensor(value, dtype)), value, f"tolist() of {dtype}")
        if value == value:
            s.expect(s.call("tolist", s.tensor([[value, value]], dtype)), [[value, value]], f"tolist() of {dtype}")

    s.table([row for row in rows if s.has_data], body)


@requirement("dtypes/item-gives-the-python-kind")
def test_every_hard_value(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        values = table(dtype)
        want = (values.astype(np.float32) if dtype == "bfloat16" else values).tolist()
        for shape in ((-1,), (1, -1), (-1, 1)):
            x = s.tensor(values.reshape(shape))
            same = list(map(repr, _flatten(s.call("tolist", x)))) == list(map(repr, want))
            s.expect(same, True, f"elements of tolist() of {dtype}", _UNTOLD)
        for value, plain in zip(values, want, strict=True):
            item = s.call("item", s.tensor(value))
            same = repr(item) == repr(plain)
            s.expect_of_last(same, True, f"item() of {dtype} {plain!r}", f"repr({{}}) == {repr(plain)!r}")

    s.table(ALL if s.has_data else (), body)


@requirement("dtypes/item-gives-the-python-kind")
@forall(x=st.tensors(max_dims=3), seed=hs.integers(0, 2**16))
def test_items_of_all_dtypes(s: Session, x: TensorCase, seed: int) -> None:
    t = s.build(x)
    if x.numel != 1:
        s.expect_raises(RuntimeError, "item", t)
    if not s.has_data:
        return
    got = s.call("tolist", t)
    flat = _flatten(got)
    s.expect(all(type(v) is _TYPES[x.dtype] for v in flat), True, f"types of tolist() of {x.dtype}", _UNTOLD)
    s.expect(len(flat), x.numel, "number of elements of tolist()", _UNTOLD)
    want = (x.array.astype(np.float32) if x.dtype == "bfloat16" else x.array).tolist()
    same = all(repr(a) == repr(b) for a, b in zip(_flatten(want), flat, strict=True))
    s.expect(same, True, f"elements of tolist() of {x.dtype}", f"repr({s.text('tolist', t)}) == {repr(want)!r}", [t])
    choices = table(x.dtype)
    value = choices[seed % len(choices)]
    plain = float(value) if x.dtype == "bfloat16" else value.item()
    item = s.call("item", s.tensor([value], x.dtype))
    if not isinstance(plain, complex) or plain == plain:
        s.expect(item, plain, f"item() of {x.dtype}")


def _flatten(nested: Any) -> list[Any]:
    return [v for item in nested for v in _flatten(item)] if isinstance(nested, list) else [nested]


@requirement("dtypes/item-gives-the-python-kind")
def test_item_needs_one_element(s: Session) -> None:
    shapes: tuple[list[Any], ...] = ([1.0, 2.0], [], [[1.0], [2.0]], [[], []])
    for data in shapes:
        for dtype in ALL:
            s.expect_raises(RuntimeError, "item", s.tensor(data, dtype))
            s.expect_raises((RuntimeError, ValueError, TypeError), "__float__", s.tensor(data, dtype))


@requirement("dtypes/item-gives-the-python-kind")
def test_python_conversions(s: Session) -> None:
    if not s.has_data:
        return
    s.expect(s.call("__float__", s.tensor([3], "int64")), 3.0, "float() of an int tensor")
    s.expect(s.call("__int__", s.tensor([-2.9])), -2, "int() of a float tensor")
    s.expect(s.call("__int__", s.tensor(7, "uint8")), 7, "int() of a uint8 tensor")
    s.expect(s.call("__bool__", s.tensor([0.5])), True, "bool() of a float tensor")
    s.expect(s.call("__bool__", s.tensor([-0.0])), False, "bool() of -0.0")
    s.expect(s.call("__complex__", s.tensor([1.5])), 1.5 + 0j, "complex() of a float tensor")


@requirement("dtypes/int-of-nan-raises")
def test_int_of_nan(s: Session) -> None:
    if not s.has_data:
        return
    for dtype in FLOATING:
        s.expect_raises(ValueError, "__int__", s.tensor([float("nan")], dtype))
        s.expect_raises(ValueError, "__int__", s.tensor(float("nan"), dtype))
    s.expect_raises(OverflowError, "__int__", s.tensor(float("inf")))


@requirement("dtypes/only-integer-tensors-are-indices")
def test_index_golden(s: Session) -> None:
    if s.has_data:
        for dtype in INTEGRAL:
            s.expect(s.call("__index__", s.tensor([3], dtype)), 3, f"index of a {dtype} tensor")
            s.expect(s.call("__index__", s.tensor(3, dtype)), 3, f"index of a {dtype} tensor")
        s.expect(s.call("__index__", s.tensor([[-5]], "int32")), -5, "index of an int32 tensor")
        got = s.call("__index__", s.tensor([True], "bool"))
        s.expect_of_last(int(got), 1, "index of a bool tensor", "int({})")
    for dtype in (*FLOATING, *COMPLEX):
        s.expect_raises(TypeError, "__index__", s.tensor([1], dtype))
        s.expect_raises(TypeError, "__index__", s.tensor(1, dtype))
    lists: tuple[list[Any], ...] = ([1, 2], [], [[1], [2]])
    for data in lists:
        s.expect_raises(TypeError, "__index__", s.tensor(data, "int64"))


@requirement("dtypes/only-integer-tensors-are-indices")
@forall(x=st.tensors(max_dims=2))
def test_index_of_any_tensor(s: Session, x: TensorCase) -> None:
    t = s.build(x)
    if x.numel == 1 and _TYPES[x.dtype] in (int, bool):
        if s.has_data:
            got = s.call("__index__", t)
            s.expect_of_last(int(got), int(x.array.reshape(-1)[0]), "index of a one-element tensor", "int({})")
    else:
        s.expect_raises(TypeError, "__index__", t)
