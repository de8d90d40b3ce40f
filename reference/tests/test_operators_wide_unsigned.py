"""uint16, uint32 and uint64: storage, equality, bitwise operators and products."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest

WIDE = [(gb.uint16, 2**16 - 1), (gb.uint32, 2**32 - 1), (gb.uint64, 2**64 - 1)]


@pytest.mark.parametrize(("dtype", "most"), WIDE)
def test_wide_unsigned_tensors_compare_for_equality(dtype: Any, most: int) -> None:
    x, y = gb.tensor([most, 1, 2], dtype=dtype), gb.tensor([most, 2, 2], dtype=dtype)
    assert (x == y).tolist() == [True, False, True]
    assert (x != y).tolist() == [False, True, False]
    assert (x == 1).tolist() == [False, True, False]
    assert gb.isclose(x, y).tolist() == [True, False, True]
    with pytest.raises(NotImplementedError, match="lt"):
        x < y  # noqa: B015


@pytest.mark.parametrize(("dtype", "most"), WIDE)
def test_wide_unsigned_tensors_have_bitwise_operators(dtype: Any, most: int) -> None:
    x, y = gb.tensor([most, 5], dtype=dtype), gb.tensor([most - 1, 3], dtype=dtype)
    assert (x & y).tolist() == [most - 1, 1]
    assert (x | y).tolist() == [most, 7]
    assert (x ^ y).tolist() == [1, 6]
    assert (x & 4).tolist() == [4, 4]
    assert (x & y).dtype is dtype
    x &= 1
    assert x.tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match="bitwise_not"):
        ~x  # noqa: B018


@pytest.mark.parametrize(("dtype", "most"), WIDE)
def test_wide_unsigned_tensors_are_multiplied_selected_and_rounded(dtype: Any, most: int) -> None:
    x, y = gb.tensor([most, 3], dtype=dtype), gb.tensor([2, 2], dtype=dtype)
    assert (x * y).tolist() == [most - 1, 6]
    assert gb.where(gb.tensor([True, False]), x, y).tolist() == [most, 2]
    for name in ("floor", "ceil", "round", "trunc", "nan_to_num"):
        assert getattr(gb, name)(x).tolist() == [most, 3]
    for name, value in (("isnan", False), ("isinf", False), ("isfinite", True), ("signbit", False)):
        assert getattr(gb, name)(x).tolist() == [value, value]


@pytest.mark.parametrize("name", ["feature_alpha_dropout", "feature_dropout"])
def test_channel_dropout_that_drops_nothing_takes_any_dims(name: str) -> None:
    drop = getattr(gb, name)
    assert drop(gb.ones(3), 0.5, False).tolist() == drop(gb.ones(3), 0.0, True).tolist() == [1.0] * 3
    assert drop(gb.ones(0), 0.5, True).tolist() == []
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        drop(gb.ones(3), 0.5, True)
    assert gb.nn.functional.feature_alpha_dropout(gb.ones(3), training=False).tolist() == [1.0] * 3
