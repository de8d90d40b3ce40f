"""Tensors from buffers, from capsules and from sequences of other libraries."""

from __future__ import annotations

import collections
from array import array
from typing import Any

import gaugeblock as gb
import pytest


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
@pytest.mark.parametrize(
    ("buffer", "dtype", "expected"),
    [
        (memoryview(b"abcd"), gb.int8, [97, 98, 99, 100]), (bytearray(b"abcd"), gb.int16, [25185, 25699]),
        (b"abcd", gb.uint8, [97, 98, 99, 100]), (array("i", [1, 2]), gb.int32, [1, 2]),
        (array("d", [1, 2]), gb.float64, [1.0, 2.0]), (memoryview(array("i", [1, 2])), gb.int32, [1, 2]),
        (array("f", [1, 2]), None, [1.0, 2.0]),
    ],
)  # fmt: skip
def test_asarray_reads_the_bytes_of_a_buffer(buffer: Any, dtype: Any, expected: list[float]) -> None:
    assert gb.asarray(buffer, dtype=dtype).tolist() == expected


def test_asarray_shares_a_buffer_unless_it_is_to_copy() -> None:
    shared, copied = array("d", [1, 2]), array("d", [1, 2])
    gb.asarray(shared, dtype=gb.float64)[0] = 5
    gb.asarray(shared, dtype=gb.float64, copy=False)[1] = 6
    gb.asarray(copied, dtype=gb.float64, copy=True)[0] = 5
    assert shared.tolist() == [5.0, 6.0]
    assert copied.tolist() == [1.0, 2.0]
    assert gb.asarray(bytearray(4), dtype=gb.float32, requires_grad=True).requires_grad


@pytest.mark.parametrize("buffer", [bytearray(), bytearray(b"abcde"), array("b", [1, 2])])
def test_asarray_refuses_a_buffer_of_another_length(buffer: Any) -> None:
    with pytest.raises(ValueError, match="buffer length"):
        gb.asarray(buffer, dtype=gb.float32)


def test_asarray_takes_a_capsule() -> None:
    x = gb.ones(2)
    gb.asarray(gb.utils.dlpack.to_dlpack(x))[0] = 3
    gb.asarray(gb.utils.dlpack.to_dlpack(x), copy=True)[1] = 4
    assert x.tolist() == [3.0, 1.0]
    assert gb.asarray(gb.utils.dlpack.to_dlpack(x), dtype=gb.float64).dtype is gb.float64
    with pytest.raises(ValueError, match="copy"):
        gb.asarray(gb.utils.dlpack.to_dlpack(x), dtype=gb.float64, copy=False)


@pytest.mark.parametrize(
    "data", [bytearray(b"\1\2"), memoryview(b"\1\2"), array("i", [1, 2]), collections.UserList([1, 2]),
             collections.deque([1, 2]), gb.Size([1, 2])],
)  # fmt: skip
def test_any_sequence_is_read_item_by_item(data: Any) -> None:
    assert gb.tensor(data).tolist() == gb.as_tensor(data).tolist() == [1, 2]
    assert gb.tensor([data, data]).tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize("data", [{1: 2}, {1, 2}, iter([1]), "ab", b"ab", collections.OrderedDict()])
def test_objects_that_are_not_sequences_are_refused(data: Any) -> None:
    with pytest.raises((RuntimeError, TypeError), match=type(data).__name__):
        gb.tensor(data)
