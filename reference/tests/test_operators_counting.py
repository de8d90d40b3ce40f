"""Histograms, counts, repeated places, distances of pairs, cross products and running extremes, against NumPy."""

from __future__ import annotations

import math

import gaugeblock as gb
import numpy as np
import pytest

NUMBERS = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("scale", "middle"), [(1.0, 0.0), (1e-6, 1.0), (1e-12, 1.0), (1e30, 0.0)])
@pytest.mark.parametrize("bins", [1, 7, 5000, 300_000])
def test_each_element_is_counted_in_the_bin_between_its_edges(
    dtype: type, scale: float, middle: float, bins: int
) -> None:
    array = (NUMBERS.normal(size=1500) * scale + middle).astype(dtype)
    weight = NUMBERS.random(1500).astype(dtype)
    given = gb.from_numpy(array)
    for _ in range(2):  # planned, then kept
        counts, edges = (one.numpy().astype(np.float64) for one in gb.histogram(given, bins))
        places = np.clip(np.searchsorted(edges, array.astype(np.float64), "right") - 1, 0, bins - 1)
        np.testing.assert_array_equal(counts, np.bincount(places, minlength=bins))
        found = gb.histogram(given, bins, weight=gb.from_numpy(weight)).hist.numpy()
        np.testing.assert_array_equal(found, np.bincount(places, weight.astype(np.float64), bins).astype(dtype))


def test_histograms_of_any_layout_leave_out_nan_and_what_lies_outside() -> None:
    given = gb.tensor([[0.0, math.nan, 5.0], [1.0, 2.0, -1.0]]).t()
    out = gb.empty(0)
    for _ in range(2):
        assert gb.histc(given, 2, 0, 2).tolist() == [1, 2]
        assert gb.histc(given, 2, 0, 2, out=out).tolist() == [1, 2]
        assert gb.histogram(given, gb.tensor([0.0, 0.5, 2.0])).hist.tolist() == [1, 2]
        assert gb.histogram(given, 2, range=(0.0, 2.0), density=True).hist.tolist() == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_ints_are_counted(dtype: str) -> None:
    array = NUMBERS.integers(0, 100, 700).astype(dtype)
    weight = NUMBERS.random(700)
    np.testing.assert_array_equal(gb.bincount(gb.from_numpy(array)[::3]).numpy(), np.bincount(array[::3]))
    found = gb.bincount(gb.from_numpy(array), gb.from_numpy(weight), 200)
    np.testing.assert_array_equal(found.numpy(), np.bincount(array, weight, 200))
    with pytest.raises(RuntimeError, match="non-negative"):
        gb.bincount(gb.tensor([3, -1]))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("most", [1, 3, 12, 100])
def test_places_are_repeated(dtype: str, most: int) -> None:
    counts = NUMBERS.integers(0, most, 301).astype(dtype)
    for step in (1, 2):
        found = gb.repeat_interleave(gb.from_numpy(counts)[::step])
        np.testing.assert_array_equal(found.numpy(), np.repeat(np.arange(-(-301 // step)), counts[::step]))
        assert found.dtype is getattr(gb, dtype)
    rows = NUMBERS.random((2, 301))
    repeated = gb.repeat_interleave(gb.from_numpy(rows), gb.from_numpy(counts), 1)
    np.testing.assert_array_equal(repeated.numpy(), np.repeat(rows, counts, 1))


def test_repeats_that_no_tensor_can_have_are_refused() -> None:
    with pytest.raises(RuntimeError, match="can not be negative"):
        gb.repeat_interleave(gb.tensor([2, -1]))
    with pytest.raises(RuntimeError, match="does not fit 64 bits"):
        gb.repeat_interleave(gb.tensor([2**62, 2**62]))


@pytest.mark.parametrize("order", [0.0, 1.0, 2.0, math.inf, 3.0, 0.5])
@pytest.mark.parametrize("sizes", [(0, 3), (1, 3), (2, 0), (2, 1), (5, 33), (9, 100)])
def test_pairs_of_rows_have_the_norms_of_their_differences(order: float, sizes: tuple[int, int]) -> None:
    array = NUMBERS.normal(size=sizes)
    pairs = [(i, j) for i in range(sizes[0]) for j in range(i + 1, sizes[0])]
    wanted = [np.linalg.norm(array[i] - array[j], order) if sizes[1] else 0.0 for i, j in pairs]
    for given in (gb.from_numpy(array), gb.from_numpy(array.T.copy()).t()):
        for _ in range(2):
            np.testing.assert_allclose(gb.pdist(given, order).numpy(), wanted, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_cross_products_broadcast_along_any_dim(dtype: str) -> None:
    one, other = (NUMBERS.integers(-5, 6, sizes).astype(dtype) for sizes in ((4, 3, 5), (1, 3, 5)))
    wanted = np.cross(one, other, axis=1)
    given = gb.from_numpy(np.ascontiguousarray(one.T)).permute(2, 1, 0)
    for _ in range(2):
        found = gb.linalg.cross(given, gb.from_numpy(other), dim=1)
        np.testing.assert_array_equal(found.numpy(), wanted)
        assert found.is_contiguous()


def test_running_extremes_keep_the_last_of_equal_ones_and_of_nan() -> None:
    given = gb.tensor([-math.inf, 1.0, 1.0, 0.0, math.nan, 2.0, math.nan, 3.0])
    values, places = gb.cummax(given, 0)
    assert places.tolist() == [0, 1, 2, 2, 4, 4, 6, 6]
    assert values.tolist()[:4] == [-math.inf, 1.0, 1.0, 1.0] and values[4:].isnan().all().item()
    assert gb.cummin(gb.tensor([3, 1, 1, 2, 0]), 0).indices.tolist() == [0, 1, 2, 2, 4]


def test_spacings_of_a_kept_gradient_are_told_apart() -> None:
    given = gb.tensor([[1.0, 4.0, 9.0], [2.0, 5.0, 10.0]])
    for spacing in (1, 2.0, 2, [2.0], [4], gb.tensor([0.0, 1.0, 3.0]), gb.tensor([0.0, 2.0, 4.0])):
        for _ in range(3):
            (found,) = gb.gradient(given, spacing=[spacing] if isinstance(spacing, gb.Tensor) else spacing, dim=1)
            steps = spacing.numpy() if isinstance(spacing, gb.Tensor) else np.ravel(spacing)[0]
            np.testing.assert_allclose(found.numpy(), np.gradient(given.numpy(), steps, axis=1), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_single_edge_is_no_bin(dtype: str) -> None:
    x, edge = gb.tensor([0.0, 2.0, 4.0]).to(getattr(gb, dtype)), gb.tensor([2.0]).to(getattr(gb, dtype))
    for weight in (None, x):
        for density in (False, True):
            for _ in range(3):
                counts, edges = gb.histogram(x, edge, weight=weight, density=density)
                assert (counts.tolist(), edges.tolist()) == ([], [2.0])
