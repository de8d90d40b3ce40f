"""The errors that the accuracy table is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gaugeblock_benchmarks import accuracy
from gaugeblock_benchmarks.accuracy import BLOCKS, blocks, errors, measure_block, report

Array = np.ndarray[Any, Any]


def test_errors_are_counted_in_units_of_the_rounded_result() -> None:
    exact = np.array([1.0, 1.5, 3.0, 2.0**-149 * 2.25, 2.0**128, np.nan, 0.0])
    one_off = np.array([1.0 + 2.0**-23, 1.5, 3.0 - 2.0**-22, 2.0**-149, np.inf, np.nan, -0.0], np.float32)
    with np.errstate(over="ignore"):
        distance, right = errors(one_off, exact)
    np.testing.assert_array_equal(distance, [1.0, 0.0, 1.0, 1.25, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(right, [False, True, False, False, True, True, False])


def test_wrong_nans_and_infinities_are_no_small_errors() -> None:
    distance, right = errors(np.array([np.nan, 1.0, np.inf], np.float32), np.array([1.0, np.nan, 1.0]))
    assert distance[0] == np.inf and distance[1] == np.inf and distance[2] > 1e30
    assert not right.any()


def test_an_odd_function_is_measured_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    bent = np.float32(-1.0)

    def sine(name: str, function: str, x: Array) -> Array:
        return np.where(x == bent, np.float32(0.0), np.sin(x.astype(np.float64)).astype(np.float32))

    monkeypatch.setattr(accuracy, "_results", sine)
    (outcome,) = measure_block(("sin", 15, 1 << 16, ("any",)))
    assert outcome.count == 2 * 1024 == outcome.right + 1
    assert outcome.largest > 1e6 and outcome.at == bent


def test_a_table_lists_the_functions_that_are_complete() -> None:
    found = [measure_block(("sqrt", block, 1 << 22, ("numpy",)))[0] for block in blocks("sqrt")]
    assert len(found) == BLOCKS
    assert "sqrt" in report(found, ("numpy",))
    assert "sqrt" not in report(found[1:], ("numpy",))
