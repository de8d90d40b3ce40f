"""Elements where something is true, against NumPy: layouts, broadcasting, kept calls, out= and errors."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

NUMBERS = np.random.default_rng(3)
SIZES = [(), (0,), (5,), (3, 4), (4, 0, 2), (2, 1, 3), (5, 6, 7), (200,), (2,) * 9]
DTYPES = ["float32", "float64", "int8", "int64", "bool", "complex64"]


def _drawn(sizes: tuple[int, ...], dtype: str) -> np.ndarray:
    return NUMBERS.integers(-1, 2, sizes).astype(dtype)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_places_and_elements_agree_with_numpy(sizes: tuple[int, ...], dtype: str) -> None:
    for array in (_drawn(sizes, dtype), _drawn(sizes[::-1], dtype).T, _drawn((*sizes, 4), dtype)[..., 1]):
        mask = _drawn(array.shape, "bool")
        source = np.arange(array.size + 2).astype(dtype)
        given = gb.from_numpy(array) if array.ndim else gb.tensor(array)
        chosen, values = gb.tensor(mask), gb.tensor(source)
        replaced = array.copy()
        replaced[mask] = source[: mask.sum()]
        for _ in range(3):  # planned, then kept
            np.testing.assert_array_equal(given.nonzero().numpy(), np.argwhere(array))
            np.testing.assert_array_equal(gb.masked_select(given, chosen).numpy(), array[mask])
            np.testing.assert_array_equal(given[chosen].numpy(), array[mask])
            np.testing.assert_array_equal(given.masked_scatter(chosen, values).numpy(), replaced)
            padded = np.concatenate([np.argwhere(array), np.full((3, array.ndim), -1)])[:3]
            np.testing.assert_array_equal(gb.nonzero_static(given, size=3).numpy(), padded)


def test_masks_broadcast_and_sources_of_any_layout_are_read_in_order() -> None:
    column, row = gb.tensor([[True], [False], [True]]), gb.tensor([1.0, 2.0])
    source = gb.arange(10.0)[::2]
    assert gb.masked_select(row, column).tolist() == [1.0, 2.0, 1.0, 2.0]
    assert row.masked_scatter(column, source).tolist() == [[0.0, 2.0], [1.0, 2.0], [4.0, 6.0]]


def test_results_are_written_into_out_of_another_size() -> None:
    given = gb.tensor([[0.0, 3.0], [4.0, 0.0]])
    places, values = gb.empty(0, dtype=gb.int64), gb.empty(0)
    for _ in range(3):
        assert gb.nonzero(given, out=places).tolist() == [[0, 1], [1, 0]]
        assert gb.masked_select(given, given > 3, out=values).tolist() == [4.0]


@pytest.mark.parametrize("count", [0, 2])
def test_a_source_with_too_few_elements_is_refused_and_nothing_written(count: int) -> None:
    target, mask = gb.zeros(4), gb.tensor([True, True, False, True])
    for _ in range(3):
        with pytest.raises(RuntimeError, match="Number of elements of source < number of ones in mask"):
            target.masked_scatter(mask, gb.ones(count))
    with pytest.raises(RuntimeError, match="Number of elements of source"):
        target.masked_scatter_(mask, gb.ones(count))
    assert target.tolist() == [0.0] * 4


def test_many_elements_are_found_by_vectors_and_the_rest() -> None:
    array = NUMBERS.random((333, 301)) < 0.3
    np.testing.assert_array_equal(gb.from_numpy(array).nonzero().numpy(), np.argwhere(array))


EVERY_KIND = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("sizes", [(7,), (5, 3), (2, 1, 9), (3, 2, 2, 4), (1, 1), (40, 50)])
def test_places_are_those_of_numpy(sizes: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(3)
    for share in (0.0, 0.1, 0.9, 1.0):
        array = (rng.random(sizes) < share).astype(np.float64)
        given = gb.from_numpy(array).to(getattr(gb, kind))
        layouts: list[tuple[Any, Any]] = [(given, array), (given[::2], array[::2]), (given[..., :1], array[..., :1])]
        layouts.append((given.transpose(0, -1), array.swapaxes(0, -1)))
        for tensor, values in layouts:
            for _ in range(2):
                found = tensor.nonzero()
                assert found.dtype is gb.int64 and found.tolist() == np.argwhere(values).tolist()
                assert [one.tolist() for one in gb.where(tensor)] == [one.tolist() for one in values.nonzero()]
            assert not found.numel() or found.stride() == (1, len(found))


def test_rare_values_and_sizes() -> None:
    assert gb.tensor([0.0, -0.0, math.nan, math.inf, 1e-45]).nonzero().tolist() == [[2], [3], [4]]
    assert gb.tensor([0j, 1j, -1 + 0j]).nonzero().tolist() == [[1], [2]]
    assert [tuple(gb.full((), one).nonzero().shape) for one in (0, 2)] == [(0, 0), (1, 0)]
    assert tuple(gb.ones(2, 0, 3).nonzero().shape) == (0, 3)
    assert gb.ones(3).expand(2, 3).nonzero().tolist() == [[i, j] for i in range(2) for j in range(3)]
    assert gb.ones([1] * 70).nonzero().tolist() == [[0] * 70]
