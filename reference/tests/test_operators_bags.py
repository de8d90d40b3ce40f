"""Bags of rows and rows that are shortened, and images resampled along their dims, against slow formulas."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import gaugeblock.nn.functional as F
import numpy as np
import pytest

Array = np.ndarray[Any, Any]
DTYPES = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}


def table(dtype: str, rows: int = 6, width: int = 37) -> tuple[gb.Tensor, Array]:
    """Return a table of numbers that each dtype holds, and its array."""
    values = np.random.default_rng(0).integers(-8, 9, (rows, width)).astype(np.float64)
    return gb.tensor(values).to(getattr(gb, dtype)), values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags(dtype: str, last: bool, padding: int | None) -> None:
    weight, values = table(dtype)
    indices, starts = [3, 2, 2, 5, 0, 2, 1], [0, 3, 3, 4, *([7] if last else [])]
    ends = [3, 3, 4, 7]
    kept = [[i for i in indices[a:b] if i != padding] for a, b in zip(starts, ends, strict=False)]
    given = gb.tensor(indices), gb.tensor(starts)
    nothing = np.zeros(values.shape[1])
    expected = {
        0: [values[rows].sum(0) for rows in kept], 1: [values[rows].mean(0) if rows else nothing for rows in kept],
        2: [values[rows].max(0) if rows else nothing for rows in kept],
    }  # fmt: skip
    for mode, wanted in expected.items():
        for source in (weight, weight.t().contiguous().t()):
            found = gb.embedding_bag(source, *given, False, mode, False, None, last, padding)
            np.testing.assert_allclose(found[0].double().numpy(), wanted, rtol=DTYPES[dtype])
            if mode:
                assert found[1].tolist() == [0, 0, 0, 2, 3, 3, 3]
                assert found[2].tolist() == [len(rows) for rows in kept]
        if mode == 2:
            places = [[rows[k] for k in values[rows].argmax(0)] if rows else [0] * 37 for rows in kept]
            assert found[3].tolist() == places
    factors = np.arange(1.0, 8.0)
    scaled = gb.embedding_bag(weight, *given, False, 0, False, gb.tensor(factors).to(weight.dtype), last, padding)[0]
    sums = [
        sum((factors[k] * values[indices[k]] for k in range(a, b) if indices[k] != padding), nothing)
        for a, b in zip(starts, ends, strict=False)
    ]
    absolute = 0.5 if dtype == "bfloat16" else 0
    np.testing.assert_allclose(scaled.double().numpy(), sums, rtol=DTYPES[dtype], atol=absolute)


def test_what_bags_refuse_after_a_call_that_they_took() -> None:
    weight, _ = table("float32")
    good, offsets = gb.tensor([0, 5]), gb.tensor([0, 1])
    assert gb.embedding_bag(weight, good, offsets)[0].shape == (2, 37)
    with pytest.raises(IndexError, match="6 is no row of 6"):
        gb.embedding_bag(weight, gb.tensor([0, 6]), offsets)
    with pytest.raises(RuntimeError, match="has to be 0"):
        gb.embedding_bag(weight, good, gb.tensor([1, 1]))
    with pytest.raises(RuntimeError, match="can not be greater"):
        gb.embedding_bag(weight, good, gb.tensor([0, 3]))


@pytest.mark.parametrize("order", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("indices", [[1, 1, 3], [0, 1, 1, 3, 3, 3, 5], []])
def test_rows_are_shortened_once(indices: list[int], order: float) -> None:
    weight, values = table("float64")
    expected = values.copy()
    for row in set(indices):
        norm = np.linalg.norm(values[row], order)
        expected[row] *= 3.0 / (norm + 1e-7) if norm > 3.0 else 1.0
    for kind in (gb.int64, gb.int32):
        for source in (weight.clone(), weight.t().contiguous().t()):
            version = source._version
            assert gb.embedding_renorm_(source, gb.tensor(indices, dtype=kind), 3.0, order) is source
            np.testing.assert_allclose(source.numpy(), expected, rtol=1e-12)
            assert source._version > version


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize("sizes", [(3, 4), (40, 5), (2, 70)])
def test_bilinear_resampling(sizes: tuple[int, int], dtype: str) -> None:
    values = np.random.default_rng(3).integers(0, 200, (2, 3, *sizes)).astype(np.float64)
    wanted = (50, 6) if dtype == "float64" else (7, 33)
    expected = values
    for dim, size in enumerate(wanted, 2):
        old = values.shape[dim]
        real = np.maximum((np.arange(size) + 0.5) * old / size - 0.5, 0)
        low = np.minimum(real.astype(int), old - 1)
        share = (real - low).reshape(-1, *(1,) * (3 - dim))
        high = np.minimum(low + 1, old - 1)
        expected = expected.take(low, dim) * (1 - share) + expected.take(high, dim) * share
    source = gb.tensor(values).to(getattr(gb, dtype))
    turned = source.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    for image in (source, source.contiguous(memory_format=gb.channels_last), turned):
        found = F.interpolate(image, size=wanted, mode="bilinear").double().numpy()
        absolute = {"uint8": 1.01, "float32": 2e-3, "float64": 1e-9}[dtype]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=absolute)
