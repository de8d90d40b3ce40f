"""Counting kernels against NumPy, for every number of threads."""

from __future__ import annotations

from collections.abc import Iterator

import gaugeblock as gb
import numpy as np
import pytest


@pytest.fixture(params=[1, 3], autouse=True)
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = gb.get_num_threads()
    gb.set_num_threads(request.param)
    yield
    gb.set_num_threads(before)


@pytest.mark.parametrize("count", [33, 100, 257, 70_001])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (-3.5, 7.25), (5, 5), (10, -10), (1e30, -1e30)])
def test_linspace_counts_from_both_ends(count: int, dtype: str, first: float, last: float) -> None:
    if dtype == "int32":
        first, last = int(min(first, 1e6)), int(max(last, -1e6))
    places = np.arange(count, dtype=np.float64)
    step = (float(last) - float(first)) / (count - 1)
    line = np.where(places < (count + 1) // 2, places * step + first, last - (count - 1 - places) * step)
    assert np.array_equal(gb.linspace(first, last, count, dtype=getattr(gb, dtype)).numpy(), line.astype(dtype))


@pytest.mark.parametrize("count", [33, 500, 70_001])
def test_arange_counts(count: int) -> None:
    for bounds in ((count,), (3, 3 + 2 * count, 2), (count, -count, -2)):
        assert np.array_equal(gb.arange(*bounds).numpy(), np.arange(*bounds))
    tenths = gb.arange(0.0, count / 10, 0.1, dtype=gb.float64).numpy()
    assert np.array_equal(tenths, np.arange(tenths.size) * 0.1)
    assert np.array_equal(gb.arange(0, count, 1.0).numpy(), np.arange(count, dtype=np.float32))
    least = -(2**63)
    low = gb.arange(least, least + 5 * count, 5)
    assert (low[0].item(), low[-1].item()) == (least, least + 5 * (count - 1))
