"""Distances between all pairs of rows, beside sums over all differences in NumPy."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.distances import BLOCK, CHUNK, panel

WIDTH = panel(gb.float32)
SIZES = [
    ((3, 2), (5, 2)), ((BLOCK, 7), (WIDTH, 7)), ((BLOCK + 1, 5), (WIDTH + 3, 5)), ((2 * BLOCK, 1), (3 * WIDTH - 1, 1)),
    ((3, 2, CHUNK + 9), (3, 4, CHUNK + 9)), ((2, 3, 4, 6), (3, 7, 6)), ((1, 6), (4, 1, 9, 6)), ((3, 4, 2), (1, 40, 2)),
]  # fmt: skip


def slow(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The distances in float64, by their definition."""
    differences = x[..., :, None, :].astype(np.float64) - y[..., None, :, :]
    return np.asarray(np.sqrt(np.square(differences).sum(-1)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("left", "right"), SIZES, ids=str)
def test_euclidean_distances(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    random = np.random.default_rng(0)
    a, b = (random.normal(size=sizes).astype(dtype) for sizes in (left, right))
    twice = [lambda x: np.repeat(x, 2, -1)[..., ::2], lambda x: np.repeat(x, 2, -2)[..., ::2, :]]
    for lay in (np.asarray, np.asfortranarray, *twice):
        x, y = gb.from_numpy(lay(a)), gb.from_numpy(lay(b))
        for _ in range(2):  # the call is kept
            np.testing.assert_allclose(gb.cdist(x, y).numpy(), slow(a, b), 1e-6 if dtype == "float32" else 1e-14)


def test_near_rows_far_from_zero() -> None:
    """What a formula of squares and products would lose."""
    x = gb.tensor([[4096.0, 4096.5, 0, 0, 0, 0]])
    assert gb.cdist(x, x + gb.tensor([0.5, 0, 0, 0, 0, 0])).tolist() == [[0.5]]
    found = gb.cdist(gb.tensor([[float("nan")], [1.0]]), gb.tensor([[1.0], [float("inf")]]))
    assert found[0].isnan().all().item() and found[1].tolist() == [0, float("inf")]


def test_negated_rows_and_threads() -> None:
    z = gb.complex(gb.ones(2, 3), gb.ones(2, 3) * 2)
    assert gb.cdist(z.conj().imag, gb.zeros(1, 3)).flatten().tolist() == pytest.approx([12**0.5] * 2)
    x, threads, found = gb.arange(60000.0).reshape(300, 200).sin(), gb.get_num_threads(), []
    try:
        for number in (1, 2):
            gb.set_num_threads(number)
            found.append(gb.cdist(x, x))
    finally:
        gb.set_num_threads(threads)
    assert found[0].equal(found[1]) and found[0].diagonal().tolist() == [0.0] * 300
