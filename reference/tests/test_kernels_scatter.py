"""Scatter kernels against plain loops: item sizes, layouts, index dtypes, repeated places, indices outside the dim."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

DTYPES = ("bool", "uint8", "int16", "float16", "float32", "float64", "complex128")


def placed(target: Any, dim: int, places: Any, source: Any, *, add: bool) -> Any:
    """What scatter or scatter_add gives, element by element in the order of the index."""
    result = target.copy()
    for position in np.ndindex(places.shape):
        at = list(position)
        at[dim] = places[position]
        given = source[position]
        result[tuple(at)] = (result[tuple(at)] + given).astype(result.dtype) if add else given
    return result


def layouts(array: Any) -> list[gb.Tensor]:
    """The same values row-major, transposed in memory, and with gaps."""
    turned = gb.from_numpy(np.ascontiguousarray(array.T)).permute(*range(array.ndim)[::-1])
    wide = gb.from_numpy(np.repeat(array, 2, axis=-1))[..., ::2]
    return [gb.from_numpy(array.copy()), turned, wide]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_equals_a_loop(dtype: str, index_dtype: str, dim: int) -> None:
    random = np.random.default_rng(dim)
    array, given = ((random.random((5, 8, 6)) * 9).astype(dtype) for _ in range(2))
    sizes = [max(1, size - 1) for size in array.shape]
    sizes[dim] = 11
    given = np.resize(given, sizes)
    places = random.integers(0, array.shape[dim], sizes).astype(index_dtype)
    index = gb.from_numpy(places)
    for target, source in zip(layouts(array), reversed(layouts(given)), strict=True):
        for _ in range(2):
            found = gb.scatter(target, dim, index, source)
            assert np.array_equal(found.numpy(), placed(array, dim, places, given, add=False)) and found._version == 0
            if dtype != "bool":
                added = gb.scatter_add(target, dim, index, source)
                assert np.array_equal(added.numpy(), placed(array, dim, places, given, add=True))
        number = gb.scatter(target, dim, index, 1)
        assert np.array_equal(number.numpy(), placed(array, dim, places, np.ones_like(given), add=False))
        assert target.scatter_(dim, index, source)._version == 1
        assert np.array_equal(target.numpy(), placed(array, dim, places, given, add=False))


@pytest.mark.parametrize("dim", [0, 1])
def test_vectors_of_places(dim: int) -> None:
    random = np.random.default_rng(3)
    array, places = random.random((7, 9)).astype("float32"), random.integers(0, 7, 5)
    sizes = [5 if d == dim else size for d, size in enumerate(array.shape)]
    given = random.random(sizes).astype("float32")
    wide = np.broadcast_to(places.reshape((-1, 1) if dim == 0 else (1, -1)), sizes)
    for target, source in zip(layouts(array), reversed(layouts(given)), strict=True):
        found = gb.index_add(target, dim, gb.from_numpy(places), source)
        assert np.array_equal(found.numpy(), placed(array, dim, wide, given, add=True))
        found = gb.index_copy(target, dim, gb.from_numpy(places), source)
        assert np.array_equal(found.numpy(), placed(array, dim, wide, given, add=False))


def test_the_bits_do_not_depend_on_the_threads() -> None:
    random = np.random.default_rng(4)
    target, source = (gb.from_numpy(random.random((300, 400)).astype("float32")) for _ in range(2))
    before = gb.get_num_threads()
    try:
        for dim in (0, 1):
            index = gb.from_numpy(random.integers(0, 300, (300, 400)))
            results = []
            for threads in (1, 2, 3):
                gb.set_num_threads(threads)
                results.append([gb.scatter_add(target, dim, index, source), gb.scatter(target, dim, index, source)])
            assert all(gb.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))
    finally:
        gb.set_num_threads(before)


@pytest.mark.parametrize("bad", [-1, 5, 2**40, -(2**63)])
def test_indices_outside_the_dim_change_nothing(bad: int) -> None:
    target, index, source = gb.zeros(5), gb.tensor([0, bad, 1]), gb.ones(3)
    for _ in range(3):
        for call in (target.scatter, target.scatter_, target.scatter_add, target.scatter_add_):
            with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension 0 with size 5"):
                call(0, index, source)
        with pytest.raises(IndexError, match="out of"):
            target.index_add_(0, index, source)
    assert target.tolist() == [0.0] * 5


def test_numbers_are_checked_each_time() -> None:
    target, index = gb.zeros(4, dtype=gb.uint8), gb.tensor([1, 2])
    for value in (1, 200, 7):
        assert target.scatter(0, index, value).tolist() == [0, value, value, 0]
        with pytest.raises(RuntimeError):
            target.scatter(0, index, 300)


def test_operands_that_share_memory() -> None:
    base = gb.arange(6.0)
    assert base.scatter(0, gb.tensor([1, 0]), base[:2]).tolist() == [1.0, 0.0, 2.0, 3.0, 4.0, 5.0]
    counts = gb.tensor([0, 2, 1])
    assert counts.scatter(0, counts, counts).tolist() == [0, 1, 2]
    lazy = gb.tensor([1 + 2j, 3 - 4j]).conj()
    assert gb.scatter(gb.zeros_like(lazy), 0, gb.tensor([1, 0]), lazy).tolist() == [3 + 4j, 1 - 2j]
