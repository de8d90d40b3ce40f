"""Calls that compare two tensors: values, strides, dtypes, NaN and zeros with signs."""

from __future__ import annotations

from collections.abc import Callable

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.equality import equality_call

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool"]
LAYOUTS: dict[str, Callable[[gb.Tensor], gb.Tensor]] = {
    "row-major": lambda x: x.clone(),
    "every second element": lambda x: gb.stack([x, gb.zeros_like(x)], -1)[..., 0],
    "column-major": lambda x: x.transpose(0, -1).clone(memory_format=gb.contiguous_format).transpose(0, -1),
    "with an offset": lambda x: gb.cat([x[:1], x])[1:],
}


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_element_tells_tensors_apart(dtype: str, layout: str) -> None:
    for sizes in ((1,), (7,), (67,), (3, 5), (2, 3, 4)):
        x = gb.arange(int(np.prod(sizes))).reshape(sizes).remainder(2).to(getattr(gb, dtype))
        y = LAYOUTS[layout](x)
        assert [gb.equal(x, y) for _ in range(3)] == [True] * 3
        for place in {0, x.numel() // 2, x.numel() - 1}:
            other = x.clone()
            other.view(-1)[place] = 1 - x.view(-1)[place].item()
            other = LAYOUTS[layout](other)
            assert [gb.equal(x, other) for _ in range(3)] == [False] * 3
            assert not gb.equal(other, x)


def test_nan_equals_nothing_and_zeros_have_no_sign() -> None:
    nan = gb.tensor([1.0, float("nan")])
    for _ in range(3):
        assert not gb.equal(nan, nan)
        assert gb.equal(gb.tensor([0.0, float("inf")]), gb.tensor([-0.0, float("inf")]))
        assert gb.equal(gb.empty(0, 3), gb.empty(0, 3))
        assert not gb.equal(gb.empty(0, 3), gb.empty(3, 0))
        assert gb.equal(gb.tensor(2.0), gb.tensor(2.0))
        assert gb.equal(gb.tensor([1, 2]), gb.tensor([1.0, 2.0]))


def test_long_tensors_are_compared_by_loops_that_share_threads() -> None:
    x = gb.arange(200_000)
    y = x.clone()
    assert gb.equal(x, y)
    y[-1] += 1
    assert not gb.equal(x, y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_difference_is_found_wherever_it_is_among_many_elements(layout: str) -> None:
    x = gb.arange(2 * 300 * 257).reshape(2, 300, 257).remainder(7)
    y = LAYOUTS[layout](x)
    assert gb.equal(x, y)
    for place in (0, 31, 32, 511, 512, 513, 65_535, 65_536, 65_537, 77_100, x.numel() - 1):
        other = x.clone()
        other.view(-1)[place] += 1
        other = LAYOUTS[layout](other)
        assert [gb.equal(x, other) for _ in range(3)] == [False] * 3


def test_the_call_of_the_first_elements_leaves_the_others_to_the_caller() -> None:
    call = equality_call(gb.float32, (3, 1), (0, 0), (4, 4), more=True)
    assert call(gb.ones(4), gb.ones(4)) is None
    assert call(gb.ones(4), gb.tensor([1.0, 1, 2, 1])) is False


def test_the_builtin_takes_tensors_alone() -> None:
    call = equality_call(gb.float32, (3, 1), (0, 0), (4, 4))
    assert call(gb.ones(3), gb.ones(3)) is True
    assert call(gb.ones(3), gb.zeros(3)) is False
    assert call(gb.ones(3), 1.0) is None


def test_tensors_without_elements_are_equal_whatever_their_strides() -> None:
    for strides in ((0, 2, 6, 1), (12, 6, 2, 1)):
        empty = gb.tensor([]).as_strided((0, 2, 3, 2), strides, 0)
        for _ in range(3):
            assert gb.equal(empty, empty)
            assert not gb.equal(empty, gb.zeros(0, 2, 3))
