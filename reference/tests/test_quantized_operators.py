"""Operators of quantized tensors: on the integers, on the numbers, averages, comparisons, writes, refusals."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest
from hypothesis import given
from hypothesis import strategies as st

F = gb.nn.functional


def quantized(numbers: Any, scale: float = 0.25, zero_point: int = 3, dtype: gb.dtype = gb.quint8) -> gb.Tensor:
    return gb.quantize_per_tensor(gb.tensor(numbers), scale, zero_point, dtype)


def matrix() -> gb.Tensor:
    """Integers 4 0 14 and 3 25 0, at a scale of 0.25 and a zero point of 3."""
    return quantized([[0.25, -1.2, 2.75], [0.0, 5.5, -3.3]])


def told(found: gb.Tensor) -> tuple[Any, float, int]:
    return found.int_repr().tolist(), found.q_scale(), found.q_zero_point()


def test_elements_are_moved_with_their_quantizer() -> None:
    q = matrix()
    assert told(q.flip([0])) == ([[3, 25, 0], [4, 0, 14]], 0.25, 3)
    assert told(q.index_select(0, gb.tensor([1]))) == ([[3, 25, 0]], 0.25, 3)
    assert told(q[gb.tensor([1, 0]), gb.tensor([1, 0])]) == ([25, 4], 0.25, 3)
    assert told(q[q > 1]) == ([14, 25], 0.25, 3)
    assert told(q.repeat(2, 1)) == ([[4, 0, 14], [3, 25, 0]] * 2, 0.25, 3)


def test_extremes_and_orders() -> None:
    q = matrix()
    assert told(q.max()) == (25, 0.25, 3) and told(q.min()) == (0, 0.25, 3)
    values, indices = q.sort(dim=1, descending=True)
    assert told(values) == ([[14, 4, 0], [25, 3, 0]], 0.25, 3) and indices.tolist() == [[2, 0, 1], [1, 0, 2]]
    values, indices = q.topk(1)
    assert told(values) == ([[14], [25]], 0.25, 3) and indices.tolist() == [[2], [1]]


def test_numbers_are_quantized_as_the_tensor_is() -> None:
    q = matrix()
    assert told(q.relu()) == ([[4, 3, 14], [3, 25, 3]], 0.25, 3)
    assert told(q.clamp(0, 1)) == ([[4, 3, 7], [3, 7, 3]], 0.25, 3)
    assert told(F.leaky_relu(q, 0.5)) == ([[4, 2, 14], [3, 25, 2]], 0.25, 3)
    assert told(q.mean(1)) == ([6, 9], 0.25, 3)
    assert told(F.prelu(q, quantized([0.5]))) == ([[4, 2, 14], [3, 25, 2]], 0.25, 3)
    with pytest.raises(RuntimeError, match="Got quint8 and Float"):
        F.prelu(q, gb.tensor([0.5]))


def test_large_integers_are_kept() -> None:
    q = gb._make_per_tensor_quantized_tensor(gb.tensor([2**30 + 1, -(2**30) - 1, 5], dtype=gb.int32), 0.5, 0)
    assert told(q.relu()) == ([2**30 + 1, 0, 5], 0.5, 0)
    assert told(q.clamp(max=4.0)) == ([8, -(2**30) - 1, 5], 0.5, 0)
    assert told(q.max()) == (2**30 + 1, 0.5, 0)
    assert told(F.max_pool1d(q.view(1, 3), 2)) == ([[2**30 + 1]], 0.5, 0)


def test_results_from_0_to_1_bring_their_quantizer() -> None:
    q = matrix()
    assert told(q.sigmoid()) == ([[144, 82, 241], [128, 255, 82]], 1 / 256, 0)
    assert told(q.tanh()) == ([[159, 47, 255], [128, 255, 47]], 1 / 128, 128)
    assert told(quantized([0.0, 9.0], dtype=gb.qint8).sigmoid()) == ([0, 127], 1 / 256, -128)
    assert told(quantized([0.0, 9.0], dtype=gb.qint32).sigmoid())[0] == [0, 2146953728]


def test_averages_round_the_integers_half_to_even() -> None:
    q = quantized([[[[0.0, 0.25], [1.5, 1.75]]]])
    assert q.int_repr().tolist() == [[[[3, 4], [9, 10]]]]
    assert told(F.avg_pool2d(q, 2)) == ([[[[6]]]], 0.25, 3)
    assert told(F.adaptive_avg_pool2d(q, (2, 1))) == ([[[[4], [10]]]], 0.25, 3)
    assert told(F.max_pool2d(q, 2)) == ([[[[10]]]], 0.25, 3)


def test_joining_takes_the_first_quantizer() -> None:
    other = quantized([[1.0, 1.0, 1.0]], 0.5, 0)
    assert told(gb.cat([matrix(), other])) == ([[4, 0, 14], [3, 25, 0], [7, 7, 7]], 0.25, 3)
    with pytest.raises(RuntimeError, match=r"cat.*got gaugeblock.qint8 at position 1"):
        gb.cat([matrix(), quantized([[1.0, 1.0, 1.0]], dtype=gb.qint8)])
    with pytest.raises(RuntimeError, match=r"cat.*got gaugeblock.float32 at position 1"):
        gb.cat([matrix(), gb.ones(1, 3)])


def test_views_copied_and_written() -> None:
    q = matrix()
    assert [told(one) for one in gb.unbind_copy(q)] == [([4, 0, 14], 0.25, 3), ([3, 25, 0], 0.25, 3)]
    assert told(gb.select_scatter(q, gb.ones(3), 0, 1)) == ([[4, 0, 14], [7, 7, 7]], 0.25, 3)
    assert told(gb.fill(q, 1.0)) == ([[7] * 3] * 2, 0.25, 3) and q.int_repr().tolist() == [[4, 0, 14], [3, 25, 0]]


def test_sums_beyond_the_integers_are_clamped() -> None:
    q = quantized([[[[30.0, 60.0], [60.0, 60.0]]]])
    assert told(F.avg_pool2d(q, 2, divisor_override=1)) == ([[[[255]]]], 0.25, 3)


def test_comparisons_are_of_the_numbers() -> None:
    assert (matrix() == quantized([[0.25, -1.0, 2.75]], 0.125, 9)).tolist() == [[True, False, True], [False] * 3]
    assert (matrix() >= 0.25).tolist() == [[True, False, True], [False, True, False]]
    assert (matrix() == gb.zeros(2, 3)).tolist() == [[False] * 3, [True, False, False]]


def test_places_are_filled_with_quantized_numbers() -> None:
    q = matrix()
    assert told(F.pad(q, (1, 0), value=1.3)) == ([[8, 4, 0, 14], [8, 3, 25, 0]], 0.25, 3)
    assert told(q.masked_fill(q > 1, 0.6)) == ([[4, 0, 5], [3, 5, 0]], 0.25, 3)
    assert told(q.masked_fill(q > 1, gb.tensor(0.6))) == ([[4, 0, 5], [3, 5, 0]], 0.25, 3)
    assert told(gb.full_like(q, 0.5)) == ([[5] * 3] * 2, 0.25, 3)
    assert told(gb.ones_like(q)) == ([[7] * 3] * 2, 0.25, 3)


def test_writes() -> None:
    q = matrix()
    q[q > 1] = 0.5
    q[gb.tensor([1])] = gb.tensor([1.0, 2.0, 3.0])
    assert told(q) == ([[4, 0, 5], [7, 11, 15]], 0.25, 3)
    assert q.clamp_(0, 1) is q and told(q) == ([[4, 3, 5], [7, 7, 7]], 0.25, 3)
    version = q._version
    q[gb.tensor([0]), gb.tensor([0])] = 0.0
    assert q._version == version + 1 and q[0, 0].item() == 0.0
    with pytest.raises(RuntimeError, match="'values' should not be quantized"):
        q[gb.tensor([0])] = q[1]
    with pytest.raises(RuntimeError, match="'accumulate' must be False"):
        q.index_put_([gb.tensor([0])], gb.ones(3), accumulate=True)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "mean", "max", "sort", "tanh"])
def test_a_scale_for_each_channel_is_refused(name: str) -> None:
    q = gb.quantize_per_channel(gb.ones(2, 3), gb.tensor([0.5, 0.25]), gb.tensor([0, 0]), 0, gb.quint8)
    with pytest.raises(RuntimeError, match=rf"{name}\(\): expected a tensor of per_tensor_affine"):
        getattr(q, name)()


@pytest.mark.parametrize("expression", ["q + q", "q * 2", "q.exp()", "q.sum()", "q.abs()", "q.roll(1, 0) + 1"])
def test_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(NotImplementedError, match="QuantizedCPU"):
        eval(expression, {"q": matrix()})


@given(st.lists(st.integers(0, 255), min_size=1, max_size=8), st.integers(0, 255), st.sampled_from([0.01, 0.7, 4.0]))
def test_order_of_integers_is_the_order_of_numbers(integers: list[int], zero_point: int, scale: float) -> None:
    q = gb._make_per_tensor_quantized_tensor(gb.tensor(integers, dtype=gb.uint8), scale, zero_point)
    values, indices = q.sort(stable=True)
    numbers, places = q.dequantize().sort(stable=True)
    assert values.dequantize().tolist() == numbers.tolist() and indices.tolist() == places.tolist()
    assert q.relu().dequantize().tolist() == q.dequantize().relu().tolist()
