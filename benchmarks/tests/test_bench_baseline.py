"""Verdicts beside an earlier record, on simulated runs: how often they are false, and what they see."""

from __future__ import annotations

from typing import Any

import pytest
from gaugeblock_benchmarks.bench.baseline import compare, kind_of

from .bench_records import CASES, record

RUNS = 25


def verdicts(found: dict[str, Any], name: str) -> set[int]:
    return {int(row["id"].split("/")[1]) for row in found["verdicts"] if row["verdict"] == name}


@pytest.mark.parametrize("heavy", [False, True], ids=["normal noise", "heavy tails"])
def test_runs_of_an_unchanged_backend_are_seldom_called_slower(heavy: bool) -> None:
    alarms = sum(
        compare(record(2 * seed, heavy=heavy), record(2 * seed + 1, drift=1.3, heavy=heavy), "earlier")["slower"] > 0
        for seed in range(RUNS)
    )
    assert alarms <= 4  # of 25 at a chance of 0.05, more come up in one trial of a hundred


def test_ten_per_cent_on_every_call_are_seen() -> None:
    slower = dict.fromkeys(range(CASES), 1.1)
    for seed in range(5):
        found = verdicts(compare(record(seed), record(seed + 100, slower), "earlier"), "slower")
        assert len(found) > 0.8 * CASES


@pytest.mark.parametrize("count", [1, 6, 60])
def test_a_quarter_on_some_calls_is_seen_and_on_no_others(count: int) -> None:
    slower = dict.fromkeys(range(count), 1.25)
    found = compare(record(7), record(8, slower), "earlier")
    assert len(verdicts(found, "slower") & set(slower)) >= 0.8 * count
    assert len(verdicts(found, "slower") - set(slower)) <= 0.1 * count


def test_what_became_faster() -> None:
    found = compare(record(7, {3: 2.0}), record(8), "earlier")
    assert verdicts(found, "faster") == {3}
    assert found["slower"] == 0


def test_a_machine_that_changed_is_no_verdict() -> None:
    found = compare(record(1), record(2, drift=2.0), "earlier")
    assert found["machine"] == pytest.approx(2.0, rel=0.1)
    assert (found["slower"], found["faster"]) == (0, 0)


def test_new_and_gone_cases_are_listed() -> None:
    earlier, later = record(1), record(2)
    del earlier["cases"][0]
    later["cases"][5]["results"][0] = {"backend": "one", "status": "error", "reason": "raised"}
    found = compare(earlier, later, "earlier")
    assert verdicts(found, "new") == {0}
    assert verdicts(found, "gone") == {5}


def test_few_cases_and_one_pass() -> None:
    earlier, later = record(1), record(2)
    for one in (earlier, later):
        del one["cases"][3:]
        for case in one["cases"]:
            case["yardstick"] = case["yardstick"][:1]
            case["results"][0]["blocks"] = case["results"][0]["blocks"][:1]
    found = compare(earlier, later, "earlier")
    assert found["unchanged"] == 3  # nothing says how far apart runs of one pass lie
    assert compare({**earlier, "cases": []}, later, "earlier")["verdicts"][0]["verdict"] == "new"


def test_kinds() -> None:
    assert [kind_of(moved) for moved in (0, 1 << 16, 1 << 21, 1 << 22)] == ["core", "cache", "cache", "memory"]
