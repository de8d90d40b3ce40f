"""Medians, intervals, Student's t, and many tests at once."""

from __future__ import annotations

import numpy as np
import pytest
from gaugeblock_benchmarks.bench.statistics import (
    closest_third,
    discoveries,
    geometric_mean,
    middles,
    ratio,
    spread,
    student_quantile,
    student_tail,
    summary,
)


def test_summary() -> None:
    assert summary([[1.0, 2.0], [3.0, 4.0, 5.0]]) == {"median": 3.0, "low": 2.0, "high": 4.0, "best": 1.0}


@pytest.mark.parametrize(
    ("value", "freedom", "tail"),
    [(0, 3, 0.5), (2.5, 4.2, 0.03190770673326885), (8, 10, 5.887471394833083e-06), (-1, 7, 0.8246916685898974),
     (30, 10, 1.9808961710156623e-11)],
)  # fmt: skip
def test_students_tail(value: float, freedom: float, tail: float) -> None:
    assert student_tail(value, freedom) == pytest.approx(tail, rel=1e-9)


def test_students_quantile() -> None:
    assert student_quantile(0.975, 10) == pytest.approx(2.2281388519649385)


def test_the_interval_of_a_ratio_holds_the_true_one_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    hits = 0
    for number in range(100):
        ours, theirs = (
            [[scale * float(np.exp(noise)) for noise in 0.1 * random.standard_normal(20)] for _ in range(4)]
            for scale in (1.3, 1.0)
        )
        found = ratio(ours, theirs, seed=number)
        assert found["low"] <= found["ratio"] <= found["high"]
        hits += found["low"] <= 1.3 <= found["high"]
    assert hits >= 85


def test_middles_divide_by_the_yardstick() -> None:
    assert middles([[2.0, 4.0, 6.0], []], [[1.0, 2.0, 3.0], []]) == [pytest.approx(np.log(2))]


def test_spreads() -> None:
    values = list(np.random.default_rng(0).standard_normal(2000))
    assert spread(values) == pytest.approx(1, rel=0.1)
    assert closest_third(values) == pytest.approx(1, rel=0.1)
    assert closest_third([*values, *(value + 100 for value in values[:900])]) < 2


def test_discoveries() -> None:
    assert discoveries([0.01, 0.04, 0.03, 0.5], 0.05) == [True, False, False, False]
    assert discoveries([0.01, 0.02, 0.03, 0.04], 0.05) == [True] * 4
    assert discoveries([], 0.05) == []


def test_geometric_mean() -> None:
    assert geometric_mean([{"ratio": 1.0}, {"ratio": 4.0}]) == pytest.approx(2.0)
    assert np.isnan(geometric_mean([]))
