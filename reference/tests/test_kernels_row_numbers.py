"""Kernels that tell the number of a row by where it lies: triangles and distances of pairs, shared out to threads."""

from __future__ import annotations

from collections.abc import Iterator

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(params=[1, 2, 3, 8])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = gb.get_num_threads()
    gb.set_num_threads(request.param)
    yield request.param
    gb.set_num_threads(before)


def test_long_triangles(threads: int) -> None:
    matrix = np.arange(600 * 700, dtype=np.float32).reshape(600, 700)
    for diagonal in (-601, -600, -17, 0, 300, 699, 700, 10**30 % 2**62):
        x, edge = gb.from_numpy(matrix), max(-700, min(700, diagonal))
        assert (x.tril(diagonal).numpy() == np.tril(matrix, edge)).all()
        assert (x.triu(diagonal).numpy() == np.triu(matrix, edge)).all()


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(-6, 6), st.randoms(use_true_random=False),
    st.sampled_from(["bool", "int8", "int16", "float32", "float64", "complex128"]),
)  # fmt: skip
def test_triangles_of_views(sizes: list[int], diagonal: int, random: object, dtype: str) -> None:
    dims = list(range(len(sizes)))
    random.shuffle(dims)  # type: ignore[attr-defined]
    array = (np.arange(int(np.prod(sizes))) % 7).reshape(sizes).astype(dtype)
    x, view = gb.from_numpy(array).permute(dims), array.transpose(dims)
    assert x.tril(diagonal).tolist() == np.tril(view, diagonal).tolist()
    assert x.triu(diagonal).tolist() == np.triu(view, diagonal).tolist()


def test_distances_of_pairs(threads: int) -> None:
    matrix = np.random.default_rng(0).normal(size=(301, 37)).astype(np.float32)
    places = np.triu_indices(301, 1)
    for p, order in ((2.0, 2), (1.0, 1), (float("inf"), np.inf), (3.5, 3.5)):
        wanted = np.linalg.norm(matrix[places[0]].astype(np.float64) - matrix[places[1]], order, 1)
        np.testing.assert_allclose(gb.pdist(gb.from_numpy(matrix), p).numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_few_rows(rows: int) -> None:
    x = gb.arange(3.0 * rows).view(rows, 3)
    assert gb.pdist(x, 1.0).tolist() == [9.0 * (j - i) for i in range(rows) for j in range(i + 1, rows)]
    assert gb.pdist(x[:, :0]).tolist() == [0.0] * (rows * (rows - 1) // 2)
