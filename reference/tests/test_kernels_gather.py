"""Gathering kernels against NumPy: item sizes, layouts, index dtypes, indices outside the dim."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest

DTYPES = ("bool", "int16", "float32", "float64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_gather_equals_take_along_axis(dtype: str, index_dtype: str) -> None:
    random = np.random.default_rng(0)
    array = (random.random((13, 40, 7)) * 50).astype(dtype)
    for tensor in (gb.from_numpy(array), gb.from_numpy(array).transpose(0, 2), gb.from_numpy(array)[:, ::2]):
        values = tensor.numpy()
        for dim in range(3):
            sizes = [max(1, size - 1) for size in values.shape]
            sizes[dim] = 9
            places = random.integers(0, values.shape[dim], sizes).astype(index_dtype)
            corner = tuple(slice(None) if d == dim else slice(size) for d, size in enumerate(sizes))
            for _ in range(2):
                found = gb.gather(tensor, dim, gb.from_numpy(places))
                assert np.array_equal(found.numpy(), np.take_along_axis(values[corner], places.astype(np.int64), dim))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_index_select_equals_take(dtype: str, dim: int) -> None:
    random = np.random.default_rng(1)
    array = (random.random((13, 40, 7)) * 50).astype(dtype)
    for tensor in (gb.from_numpy(array), gb.from_numpy(array).transpose(0, 2), gb.from_numpy(array)[:, ::2]):
        values = tensor.numpy()
        places = random.integers(0, values.shape[dim], 11)
        for _ in range(2):
            assert np.array_equal(gb.index_select(tensor, dim, gb.from_numpy(places)).numpy(), values.take(places, dim))


@pytest.mark.parametrize("bad", [-1, 5, 2**40, -(2**63)])
def test_indices_outside_the_dim(bad: int) -> None:
    index = gb.tensor([0, bad, 1])
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"gather.*index {bad} is out of bounds for dimension 0 with size 5"):
            gb.gather(gb.ones(5), 0, index)
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for size 5"):
            gb.index_select(gb.ones(5, 3), 0, index)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_an_index_outside_is_found_in_rows_of_any_length(index_dtype: str) -> None:
    x = gb.arange(40.0).reshape(4, 10)
    for length in range(1, 11):
        index = gb.arange(length, dtype=getattr(gb, index_dtype)).flip(0)
        assert gb.index_select(x, 1, index).tolist() == x.flip(1)[:, 10 - length :].tolist()
        for place in range(length):
            for bad in (-1, 10):
                wrong = index.clone()
                wrong[place] = bad
                with pytest.raises(IndexError, match=f"index {bad} is out of bounds for size 10"):
                    gb.index_select(x, 1, wrong)
                with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension 1 with size 10"):
                    gb.gather(x, 1, wrong.expand(4, length))


def test_conjugates_are_resolved() -> None:
    lazy = gb.tensor([1 + 2j, 3 - 4j]).conj()
    assert gb.gather(lazy, 0, gb.tensor([1, 0])).tolist() == [3 + 4j, 1 - 2j]
    assert gb.index_select(lazy, 0, gb.tensor([1])).tolist() == [3 + 4j]
