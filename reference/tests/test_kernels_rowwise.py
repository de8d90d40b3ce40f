"""Kernels over whole rows: softmax and log_softmax against extended precision, their special values, every layout."""

from __future__ import annotations

import math

import gaugeblock as gb
import numpy as np
import pytest

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
SMALLEST = {"float32": 1.2e-38, "float64": 2.3e-308, "float16": 6.1e-5, "bfloat16": 1.2e-38}


def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    wide = x.astype(np.longdouble)
    shifted = wide - wide.max(-1, keepdims=True)
    total = np.exp(shifted).sum(-1, keepdims=True)
    return np.exp(shifted) / total, shifted - np.log(total)


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("columns", [1, 5, 16, 33, 1000])
def test_accuracy(dtype: str, columns: int) -> None:
    drawn = np.random.default_rng(columns).standard_normal((4, columns)) * 20
    given = gb.from_numpy(drawn).to(getattr(gb, dtype))
    share, logarithm = expected(given.to(gb.float64).numpy())
    found = gb.softmax(given, -1).to(gb.float64).numpy()
    error = np.abs(found - share) / np.maximum(np.abs(share), SMALLEST[dtype]) / EPSILON[dtype]
    assert error.max() < 2
    found = gb.log_softmax(given, -1).to(gb.float64).numpy()
    assert (np.abs(found - logarithm) / np.maximum(np.abs(logarithm), 1.0) / EPSILON[dtype]).max() < 2


def test_far_apart_values_keep_their_ratio() -> None:
    given = gb.tensor([0.0, -20.3, -60.7, -90.1, -103.0, -150.0])
    share, _ = expected(given.to(gb.float64).numpy())
    assert np.allclose(gb.softmax(given, 0).to(gb.float64).numpy(), share.astype(float), rtol=3e-7, atol=1.5e-45)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_special_values(dtype: str) -> None:
    infinity = math.inf
    rows = [([infinity, 1.0], False), ([-infinity] * 2, False), ([math.nan, 1.0], False), ([-infinity, 1.0], True)]
    for row, some in rows:
        found = gb.softmax(gb.tensor(row, dtype=getattr(gb, dtype)), 0).tolist()
        assert found == [0.0, 1.0] if some else all(map(math.isnan, found))
    assert gb.softmax(gb.tensor([]), 0).shape == (0,)
    assert gb.softmax(gb.tensor(3.0), 0).item() == 1.0


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_layouts(dim: int) -> None:
    array = np.random.default_rng(0).standard_normal((6, 7, 40)).astype(np.float32)
    for tensor in (gb.from_numpy(array), gb.from_numpy(array).transpose(0, 2), gb.from_numpy(array)[..., ::2]):
        values = np.moveaxis(tensor.numpy(), dim, -1)
        share = np.moveaxis(expected(values)[0], -1, dim)
        found = gb.softmax(tensor, dim)
        assert found.is_contiguous()
        assert np.allclose(found.numpy(), share.astype(np.float32), rtol=1e-6)


def test_rows_of_every_length() -> None:
    drawn = np.random.default_rng(3).standard_normal((3, 70)).astype(np.float32) * 9
    for columns in range(1, 71):
        given = gb.from_numpy(np.ascontiguousarray(drawn[:, :columns]))
        share, logarithm = expected(given.numpy())
        assert np.allclose(gb.softmax(given, -1).numpy(), share.astype(float), rtol=3e-7, atol=1e-37)
        assert np.allclose(gb.log_softmax(given, -1).numpy(), logarithm.astype(float), rtol=2e-7, atol=2e-7)
        wide = given.numpy().astype(np.float64)
        normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 0.25)
        assert np.allclose(gb.nn.functional.layer_norm(given, (columns,), eps=0.25).numpy(), normal, atol=2e-6)
        root = wide / np.sqrt((wide * wide).mean(1, keepdims=True) + 0.25)
        assert np.allclose(gb.nn.functional.rms_norm(given, (columns,), eps=0.25).numpy(), root, rtol=3e-7)
