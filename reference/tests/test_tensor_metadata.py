"""In-place metadata operators."""

from __future__ import annotations

import gaugeblock as gb
import pytest


def test_they_change_only_this_tensor() -> None:
    x = gb.arange(6).view(2, 3)
    other = x.view(2, 3)
    assert x.t_() is x and x.shape == (3, 2)
    assert x.unsqueeze_(0).squeeze_().transpose_(0, 1).shape == (2, 3)
    assert x.as_strided_((2,), (3,), 1).tolist() == [1, 4]
    assert other.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x._version == other._version == 5


def test_resize_counts_and_keeps_strides_for_equal_sizes() -> None:
    x = gb.arange(16).view(4, 4).t()
    assert x.resize_(4, 4).stride() == (1, 4)
    assert x.resize_(2, 2).stride() == (2, 1)
    assert x._version == 1
    assert x.resize_((2, 3, 2, 2), memory_format=gb.channels_last).stride() == (12, 1, 6, 3)
    assert gb.zeros(0).resize_as_(x, memory_format=gb.preserve_format).stride() == x.stride()
    with pytest.raises(RuntimeError, match="rank 4"):
        x.resize_(3, memory_format=gb.channels_last)
    with pytest.raises(RuntimeError, match="preserve_format"):
        x.resize_(3, memory_format=gb.preserve_format)


def test_set_rebinds_and_grows() -> None:
    x, y = gb.zeros(3), gb.arange(8, dtype=gb.float32)
    assert x.set_(y[2:4]).is_set_to(y[2:4])
    assert (x._version, y._version) == (1, 0)
    assert x.set_(y.untyped_storage(), 1, (2, 2), (3, 1)).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert x.set_(y.untyped_storage()).tolist() == list(range(8))
    assert x.set_(y.untyped_storage(), 4, (8,)).untyped_storage().nbytes() == 48
    assert y.tolist() == list(range(8))
    x.set_()
    assert (x.shape, x.untyped_storage().nbytes()) == ((0,), 0)


def test_set_refuses_what_does_not_fit() -> None:
    x = gb.zeros(3)
    foreign = gb.frombuffer(bytearray(16), dtype=gb.float32)
    for use, message in (
        (lambda: x.set_(gb.arange(3)), "dtype"),
        (lambda: x.set_(foreign.untyped_storage(), 0, (5,)), "not resizable"),
        (lambda: x.set_(foreign.untyped_storage(), -1, (2,), (1,)), "negative"),
        (lambda: x.set_(foreign.untyped_storage(), 0, (2,), (-1,)), "negative"),
        (lambda: x.set_(foreign.untyped_storage(), 0, (2,), (1, 1)), "lengths"),
    ):
        with pytest.raises(RuntimeError, match=message):
            use()
    assert x.tolist() == [0.0] * 3


def test_data_can_be_replaced() -> None:
    x, y = gb.zeros(3), gb.ones(2)
    view = x[1:]
    x.data = y
    assert (x.tolist(), x._version, view.tolist()) == ([1.0, 1.0], 0, [0.0, 0.0])
    with pytest.raises(RuntimeError, match="cannot be the data of"):
        x.data = gb.ones(3, device="meta")
