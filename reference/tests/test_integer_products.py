"""Products of integer matrices and vectors: every bit that stays is right."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

DTYPES = ("int8", "uint8", "int16", "int32")


def wrapped(left: np.ndarray, right: np.ndarray) -> list:
    """The product in Python's integers, modulo the width of the dtype."""
    info = np.iinfo(left.dtype)
    exact = left.astype(object) @ right.astype(object)
    return ((exact - int(info.min)) % (1 << info.bits) + int(info.min)).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_least_and_greatest_integers(dtype: str) -> None:
    info = np.iinfo(dtype)
    left = np.full((70, 80), info.min, dtype)
    right = np.full((80, 70), info.max, dtype)
    left[::2], right[:, ::3] = info.max, info.min
    assert (gb.from_numpy(left) @ gb.from_numpy(right)).tolist() == wrapped(left, right)


@given(st.sampled_from(DTYPES), st.integers(0, 2**32 - 1), st.booleans())
def test_drawn_integers(dtype: str, seed: int, turned: bool) -> None:
    info, random = np.iinfo(dtype), np.random.default_rng(seed)
    left = random.integers(info.min, info.max, (66, 65), dtype, endpoint=True)
    right = random.integers(info.min, info.max, (65, 3), dtype, endpoint=True)
    x, y = gb.from_numpy(left), gb.from_numpy(right)
    found = (y.t() @ x.t()).t() if turned else x @ y
    assert found.tolist() == wrapped(left, right)


def test_batches() -> None:
    random = np.random.default_rng(3)
    left = random.integers(-(2**31), 2**31 - 1, (3, 40, 50), np.int32)
    right = random.integers(-(2**31), 2**31 - 1, (3, 50, 60), np.int32)
    found = gb.bmm(gb.from_numpy(left), gb.from_numpy(right))
    assert found.tolist() == [wrapped(one, other) for one, other in zip(left, right, strict=True)]


@given(st.sampled_from((*DTYPES, "int64")), st.integers(0, 2**32 - 1), st.booleans())
def test_matrices_and_vectors(dtype: str, seed: int, turned: bool) -> None:
    info, random = np.iinfo(dtype), np.random.default_rng(seed)
    matrix = random.integers(info.min, info.max, (67, 66), dtype, endpoint=True)
    long, short = (random.integers(info.min, info.max, size, dtype, endpoint=True) for size in (67, 66))
    x = gb.from_numpy(matrix.T.copy()).t() if turned else gb.from_numpy(matrix)
    assert (x @ gb.from_numpy(short)).tolist() == wrapped(matrix, short)
    assert (gb.from_numpy(long) @ x).tolist() == wrapped(long, matrix)
