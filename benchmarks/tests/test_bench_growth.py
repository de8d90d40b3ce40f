"""The fit of costs that grow, on costs that are known."""

from __future__ import annotations

import numpy as np
import pytest
from gaugeblock_benchmarks.bench.growth import fit, rate_beyond

WORK = [12.0 * 10**power for power in range(9)]


@pytest.mark.parametrize("overhead", [1e-7, 1e-6, 1e-4])
@pytest.mark.parametrize("rate", [1e9, 2e10])
def test_an_exact_line_is_found(overhead: float, rate: float) -> None:
    found = fit(WORK, [overhead + work / rate for work in WORK])
    assert found is not None
    assert found.overhead == pytest.approx(overhead, rel=1e-3)
    assert found.rate == pytest.approx(rate, rel=1e-3)
    assert found.residual < 1e-3


def test_noise_and_an_outlier_move_it_little() -> None:
    random = np.random.default_rng(3)
    seconds = [(1e-6 + work / 1e10) * float(np.exp(0.03 * random.standard_normal())) for work in WORK]
    seconds[5] *= 10
    found = fit(WORK, seconds)
    assert found is not None
    assert found.overhead == pytest.approx(1e-6, rel=0.1)
    assert found.rate == pytest.approx(1e10, rel=0.15)


def test_what_the_sizes_do_not_show_is_not_known() -> None:
    small = fit([12.0, 120.0, 1200.0], [1e-6] * 3)
    assert small is not None and small.rate is None and small.overhead == pytest.approx(1e-6, rel=0.01)
    large = fit([1e7, 1e8, 1e9], [1e-3, 1e-2, 1e-1])
    assert large is not None and large.overhead is None and large.rate == pytest.approx(1e10, rel=0.01)


def test_views_have_an_overhead_alone() -> None:
    found = fit([0.0] * 4, [1e-7, 1.1e-7, 1e-7, 9e-8])
    assert found is not None
    assert found.overhead == pytest.approx(1e-7, rel=0.01)
    assert found.rate is None


def test_too_few_points() -> None:
    assert fit([], []) is None
    assert fit([1.0, 10.0], [1.0, 2.0]) is None
    assert fit([5.0, 5.0, 5.0], [1.0, 2.0, 3.0]) is None


def test_the_rate_beyond_a_cache() -> None:
    seconds = [1e-6 + work / (1e11 if work < 1e6 else 1e10) for work in WORK]
    assert rate_beyond(WORK, seconds, 1e-6, 1e6) == pytest.approx(1e10)
    assert rate_beyond(WORK[:3], seconds[:3], 1e-6, 1e6) is None
