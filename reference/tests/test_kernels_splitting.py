"""Reductions split among threads: the same bits for every number of them, right positions, strided elements."""

from __future__ import annotations

from collections.abc import Iterator

import gaugeblock as gb
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = gb.get_num_threads()
    yield
    gb.set_num_threads(before)


def full(a: gb.Tensor) -> dict[str, float]:
    found = {
        "sum": a.sum(), "var": a.var(), "argmax": a.argmax(), "amax": a.amax(), "any": (a > 8.5).any(),
        "count": a.count_nonzero(), "logsumexp": gb.logsumexp(a, 0), "prod": (1 + a * 1e-6).prod(),
    }  # fmt: skip
    return {name: tensor.item() for name, tensor in found.items()}


@pytest.mark.parametrize("n", [17, 100, 65_536, 65_537, 200_003])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_full(n: int, step: int) -> None:
    x = np.random.default_rng(n).standard_normal(n * step).astype(np.float32)
    x[(n // 3) * step] = x[(n // 2) * step] = 9
    a, y = gb.from_numpy(x)[::step], x[::step].astype(np.float64)
    gb.set_num_threads(1)
    alone = full(a)
    assert np.isclose(alone["sum"], y.sum(), rtol=1e-6, atol=1e-6)
    assert np.isclose(alone["var"], y.var(ddof=1), rtol=1e-6)
    assert alone["argmax"] == n // 3
    assert (alone["amax"], alone["any"], alone["count"]) == (9, True, np.count_nonzero(y))
    for count in (2, 5):
        gb.set_num_threads(count)
        assert full(a) == alone


@pytest.mark.parametrize("shape", [(300, 400), (3, 50, 500), (60_000, 3), (3, 60_000)], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_along_a_dim(shape: tuple[int, ...], turned: bool) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    a = gb.from_numpy(x).transpose(0, -1) if turned else gb.from_numpy(x)
    values = a.numpy().astype(np.float64)
    for dim in range(len(shape)):
        results = []
        for count in (1, 2, 5):
            gb.set_num_threads(count)
            found = (a.sum(dim), a.argmax(dim), a.var(dim), gb.max(a, dim)[1], gb.mean(a, dim, keepdim=True))
            results.append([tensor.numpy().copy() for tensor in found])
        assert all(np.array_equal(x, y) for one in results[1:] for x, y in zip(results[0], one, strict=True))
        assert np.allclose(results[0][0], values.sum(dim), rtol=1e-5, atol=1e-4)
        assert np.array_equal(results[0][1], values.argmax(dim))
        assert np.allclose(results[0][2], values.var(dim, ddof=1), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "bfloat16"])
@pytest.mark.parametrize(
    "shape", [(1000, 3), (1000, 1), (1000, 16), (1000, 17), (128, 4), (127, 4), (5, 300, 3)], ids=str
)
def test_few_elements_side_by_side(shape: tuple[int, ...], dtype: str) -> None:
    drawn = np.random.default_rng(0).integers(-8, 8, shape).astype(np.float64)
    whole = gb.from_numpy(drawn).to(getattr(gb, dtype))
    for a in (whole, whole[::2], whole[..., : max(1, shape[-1] - 1)]):
        values = a.to(gb.float64).numpy()
        assert np.array_equal(a.sum(-1).to(gb.float64).numpy(), values.sum(-1))
        assert np.array_equal(a.amax(-1).to(gb.float64).numpy(), values.max(-1))
        assert np.array_equal(a.argmax(-1).numpy(), values.argmax(-1))
