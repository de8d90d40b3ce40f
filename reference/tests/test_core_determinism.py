"""Deterministic mode: what fresh memory holds, and that it is off by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.core.dtype import ALL_DTYPES, DType


@pytest.fixture(autouse=True)
def _mode() -> Iterator[None]:
    gb.use_deterministic_algorithms(True)
    yield
    gb.use_deterministic_algorithms(False)


FRESH: list[Callable[[DType], gb.Tensor]] = [
    lambda dtype: gb.empty(2, 3, dtype=dtype),
    lambda dtype: gb.empty((2, 3), dtype=dtype),
    lambda dtype: gb.empty_strided((2, 3), (7, 2), dtype=dtype),
    lambda dtype: gb.empty_like(gb.zeros(3, 2, dtype=dtype).t()),
    lambda dtype: gb.zeros(1, dtype=dtype).new_empty(2, 3),
    lambda dtype: gb.zeros(1, dtype=dtype).new_empty_strided((2, 3), (1, 2)),
    lambda dtype: gb.zeros(0, dtype=dtype).resize_(2, 3),
]


def largest(dtype: DType) -> Any:
    return gb.iinfo(dtype).max if dtype.kind else True


@pytest.mark.parametrize("make", FRESH)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda dtype: dtype.name)
def test_fresh_memory_is_filled(make: Callable[[DType], gb.Tensor], dtype: DType) -> None:
    made = make(dtype)
    values = [value for row in made.tolist() for value in row]
    assert tuple(made.shape) == (2, 3)
    if dtype.kind < 2:
        assert values == [largest(dtype)] * 6
    else:
        assert all(value != value for value in values)


def test_growing_keeps_what_was_there() -> None:
    x = gb.arange(4).to(gb.int16)[1:3].resize_(5)
    assert x.tolist() == [1, 2, 3, 32767, 32767]


def test_a_growth_of_broken_elements_is_filled_from_the_next_one() -> None:
    storage = gb.ones(5, dtype=gb.uint8).untyped_storage()
    x = gb.empty(0, dtype=gb.int32).set_(storage, 0, (3,))
    assert x.tolist()[0] == 0x01010101
    assert x.tolist()[2] == 2**31 - 1


def test_empty_and_meta_tensors_have_nothing_to_fill() -> None:
    assert gb.empty(0).tolist() == []
    assert tuple(gb.empty(3, device="meta").resize_(7).shape) == (7,)


def test_the_switches() -> None:
    assert gb.are_deterministic_algorithms_enabled()
    assert not gb.is_deterministic_algorithms_warn_only_enabled()
    gb.use_deterministic_algorithms(True, warn_only=True)
    assert gb.is_deterministic_algorithms_warn_only_enabled()
    gb.use_deterministic_algorithms(False, warn_only=True)
    assert not gb.are_deterministic_algorithms_enabled()
    assert not gb.is_deterministic_algorithms_warn_only_enabled()
    with pytest.raises(TypeError, match="'mode' must be bool"):
        gb.use_deterministic_algorithms(1)  # type: ignore[arg-type]
