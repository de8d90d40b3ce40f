"""Writes whose operands lie on one storage: calls that are kept run where no byte is shared, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.iteration.overlap import apart
from hypothesis import given
from hypothesis import strategies as st

DTYPES = (gb.uint8, gb.int16, gb.float32, gb.complex128)


@st.composite
def windows(draw: st.DrawFn) -> Any:
    """A view of 256 bytes of some dtype, by sizes, strides and offset."""
    dtype = draw(st.sampled_from(DTYPES))
    room = 256 // dtype.itemsize
    sizes = draw(st.lists(st.integers(0, 4), max_size=3))
    strides, left = [], room - 1
    for size in sizes:
        strides.append(draw(st.integers(0, left // max(size - 1, 1))))
        left -= max(size - 1, 0) * strides[-1]
    return dtype, sizes, strides, draw(st.integers(0, left))


def bytes_of(dtype: Any, sizes: list[int], strides: list[int], offset: int) -> set[int]:
    places = {offset} if 0 not in sizes else set()
    for size, stride in zip(sizes, strides, strict=True):
        places = {place + k * stride for place in places for k in range(size)}
    return {place * dtype.itemsize + byte for place in places for byte in range(dtype.itemsize)}


@given(windows(), windows())
def test_what_is_apart_shares_no_byte(one: Any, other: Any) -> None:
    storage = gb.empty(256, dtype=gb.uint8).untyped_storage()
    first, second = [
        gb.tensor([], dtype=dtype).set_(storage, offset, sizes, strides)
        for dtype, sizes, strides, offset in (one, other)
    ]
    shared = bytes_of(*one) & bytes_of(*other)
    same = first.meta is second.meta and one[-1] == other[-1]
    if apart(first, second, elementwise=False):
        assert not shared
    assert apart(first, second, elementwise=True) == (same or apart(first, second, elementwise=False))


@pytest.mark.parametrize(
    ("first", "second", "known"),
    [
        (slice(0, 8), slice(8, 16), True), (slice(0, 9), slice(8, 16), False), (slice(8, 16), slice(0, 8), True),
        (slice(0, 16, 2), slice(1, 16, 2), True), (slice(0, 16, 2), slice(2, 16, 2), False),
        (slice(0, 16, 4), slice(2, 16, 2), False), (slice(0, 16, 4), slice(3, 16, 4), True),
        (slice(3, 3), slice(0, 16), True), (slice(0, 8), slice(0, 8), False),
    ],
)  # fmt: skip
def test_slices_of_a_vector(first: slice, second: slice, known: bool) -> None:
    x = gb.arange(16)
    assert apart(x[first], x[second], elementwise=False) is known


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "copy_": lambda a, b: a.copy_(b), "add_": lambda a, b: a.add_(b, alpha=2), "mul_": lambda a, b: a.mul_(b),
    "out": lambda a, b: gb.sub(b, 1, out=a), "sub_": lambda a, b: a.sub_(b), "lerp_": lambda a, b: a.lerp_(b, 0.5),
    "cumsum": lambda a, b: gb.cumsum(b, 0, out=a), "max": lambda a, b: gb.maximum(a, b, out=a),
}  # fmt: skip
PAIRS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "rows": lambda x: (x[0], x[1]), "columns": lambda x: (x[:, 0], x[:, 2]), "same": lambda x: (x[1], x[1]),
    "row and column": lambda x: (x[0], x[:, 0]), "column and row": lambda x: (x[:, 1], x[2]),
    "every other": lambda x: (x.view(-1)[::2], x.view(-1)[1::2]), "blocks": lambda x: (x[:2, :2], x[2:, :2]),
    "transposed": lambda x: (x[:2, 2:], x[2:, 2:].t()),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("pair", PAIRS)
def test_writes_among_views_of_one_tensor(pair: str, write: str) -> None:
    """The third call is one that has been kept, and the version counts each."""
    for _ in range(3):
        x = gb.arange(16.0).view(4, 4)
        expected = x.clone()
        target, operand = PAIRS[pair](x)
        other = PAIRS[pair](expected.clone())[1].clone()
        if pair != "same":
            WRITES[write](PAIRS[pair](expected)[0], other)
        else:
            wanted = PAIRS[pair](expected)[0]
            WRITES[write](wanted, wanted.clone())
        before = x._version
        if "row" in pair and "column" in pair:
            operand = operand.clone()  # they meet in one element
        WRITES[write](target, operand)
        np.testing.assert_array_equal(x.numpy(), expected.numpy())
        assert x._version == before + 1


def test_assignment_to_parts() -> None:
    x, y = gb.arange(12.0).view(3, 4), gb.ones(3, 4)
    for _ in range(3):
        before = x._version
        x[0] = y[1]
        x[1] = x[2]
        x[2] += 1
        x[:, 0] = x[:, 1]
        x[0:1] = y[2]
        assert x._version == before + 6
    assert x.tolist() == [[1.0] * 4, [11.0, 11.0, 12.0, 13.0], [12.0, 12.0, 13.0, 14.0]]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        gb.ones(1).expand(2, 3)[0] = y[0, :3]
    with pytest.raises(RuntimeError, match=r"[Bb]roadcast|size"):
        x[0] = gb.ones(3)


@pytest.mark.parametrize("call", ["mm(a, b, out=o)", "exp(a, out=o)", "cumsum(a, 0, out=o)", "add(a, b, out=o)"])
def test_out_with_other_strides(call: str) -> None:
    a, b = gb.tensor([[1.0, 2.0], [3.0, 4.0]]), gb.tensor([[0.5, 0.0], [1.0, 2.0]])
    wanted = eval(f"gb.{call}".replace(", out=o", ""), {"gb": gb, "a": a, "b": b})
    for whole in (gb.zeros(2, 4), gb.zeros(4, 2).t()):
        for _ in range(3):
            o, version = whole[:, :2], whole._version
            assert eval(f"gb.{call}", {"gb": gb, "a": a, "b": b, "o": o}) is o
            assert (o.tolist(), whole[:, 2:].tolist()) == (wanted.tolist(), [[0.0, 0.0], [0.0, 0.0]])
            assert whole._version == version + 1
    part = gb.zeros(3, 3)
    part[:2, :2] = a
    for _ in range(3):
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
            gb.mm(a, part.view(-1)[:4].view(2, 2), out=part.view(-1)[2:6].view(2, 2))
