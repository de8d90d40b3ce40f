"""``gaugeblock bench`` from end to end, on few elements; no test looks at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_benchmarks.bench import run as running
from gaugeblock_benchmarks.bench.suites import BUDGETS, DEFAULT
from gaugeblock_conformance.command import main
from jsonschema import Draft202012Validator

HERE = Path(__file__).parent
SCHEMA = HERE.parents[1] / "reports" / "gaugeblock_reports" / "bench_record.schema.json"
BACKENDS = HERE / "bench_backends.py"


@pytest.fixture(autouse=True)
def _little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = replace(BUDGETS["quick"], seconds=0.001, passes=2, control_bytes=1 << 17, growth_most=100, memory_size=1000)
    monkeypatch.setitem(BUDGETS, "quick", quick)


def bench(out: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["bench", *arguments, "--budget", "quick", "--clock", "cpu", "--out", str(out)])
    return status, json.loads((out / "record.json").read_text())


def statuses(record: dict[str, Any], operator: str, label: str) -> set[str]:
    return {
        result["status"]
        for case in (*record["cases"], *record["memory"])
        if case["operator"] == operator
        for result in case["results"]
        if result["backend"] == label
    }


def test_all_suites_of_two_backends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, record = bench(tmp_path, "reference", "numpy", "--ops", "add", "softmax", "transpose", "--sizes", "16",
                           "1e2", "1000", "--format", "terminal", "markdown")  # fmt: skip
    assert status == 0
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(record)
    assert {case["suite"] for case in record["cases"]} == set(DEFAULT) - {"memory"}
    assert statuses(record, "add", "numpy") == {"measured"}
    assert statuses(record, "softmax", "numpy") == {"unsupported"}
    assert statuses(record, "softmax", "reference") == {"measured"}
    add = next(case for case in record["cases"] if case["operator"] == "add")
    assert [ratio["against"] for ratio in add["ratios"]] == ["reference"]
    assert all(len(block) == len(other) for block, other in zip(add["results"][0]["blocks"], add["yardstick"],
                                                                strict=True))  # fmt: skip
    assert next(row for row in record["growth"] if row["operator"] == "transpose")["unit"] == "bytes"
    exact = next(row for row in record["memory"] if row["operator"] == "add")["results"][0]
    assert (exact["method"], exact["peak_bytes"], exact["least_bytes"]) == ("allocator", 64, 64)
    printed = capsys.readouterr().out
    for title in ("Machine", "Backends", "Roof", "Overhead", "Throughput", "Growth", "Memory", "Not measured"):
        assert title in printed
    assert "| add" in (tmp_path / "report.md").read_text()


def test_faults_are_marked_and_the_rest_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{BACKENDS}:{name}" for name in ("Wrong", "Raising", "Dying")]
    status, record = bench(tmp_path, "numpy", *names, "--suite", "overhead", "memory", "--ops", "add", "mul")
    assert status == 0
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(record)
    assert [backend["process"] for backend in record["backends"]] == ["shared", "shared", "shared", "own"]
    case = next(case for case in record["cases"] if case["operator"] == "add")
    assert [result["status"] for result in case["results"]] == ["measured", "wrong", "error", "crashed"]
    reasons = [result["reason"] for result in case["results"]]
    assert "is right by NumPy in float64" in reasons[1]
    assert reasons[2] == "ArithmeticError: out of order"
    assert reasons[3] == "its process ended with status 7"
    for name in ("numpy", *names):
        assert statuses(record, "mul", name) == {"measured"}
    assert "its process ended with status 7" in capsys.readouterr().out


def test_isolated_backends_are_timed_in_turn(tmp_path: Path) -> None:
    status, record = bench(tmp_path, "numpy", "numpy", "--isolate", "--suite", "overhead", "--ops", "add")
    assert status == 0
    assert [(backend["label"], backend["process"]) for backend in record["backends"]] == [
        ("numpy", "own"),
        ("numpy#2", "own"),
    ]
    assert len(record["cases"][0]["ratios"]) == 1


def test_ratios_against_another_backend(tmp_path: Path) -> None:
    _, record = bench(tmp_path, "numpy", f"{BACKENDS}:Wrapped", "--against", f"{BACKENDS}:Wrapped", "--suite",
                      "overhead", "--ops", "add")  # fmt: skip
    (ratio,) = record["cases"][0]["ratios"]
    assert (ratio["backend"], ratio["against"]) == ("numpy", f"{BACKENDS}:Wrapped")
    assert [backend["adapter"]["timed"] for backend in record["backends"]] == ["function", "call"]


def test_a_task_that_does_not_fit_is_skipped_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.description, "memory", lambda field: 1000)
    _, record = bench(tmp_path, "numpy", "--suite", "overhead", "memory", "--ops", "add", "--sizes", "1000")
    for case in (*record["cases"], *record["memory"]):
        assert case["results"][0]["status"] == "skipped"
        assert "MiB" in case["results"][0]["reason"]


def test_a_run_beside_itself_and_beside_a_faster_past(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("numpy", "--suite", "overhead")
    _, record = bench(tmp_path, *chosen)
    for case in record["cases"]:
        for result in case["results"]:
            result["blocks"] = [[value / 1000 for value in block] for block in result.get("blocks", [])]
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(record))
    status, later = bench(tmp_path, *chosen, "--baseline", str(earlier))
    assert status == 1
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(later)
    assert later["baseline"]["slower"] > 5
    assert "slower" in capsys.readouterr().out


def test_a_brief_record_keeps_medians_and_is_no_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("numpy", "--suite", "overhead", "--ops", "add")
    _, record = bench(tmp_path, *chosen, "--brief")
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(record)
    for case in record["cases"]:
        assert case["yardstick"] == []
        assert [(result["blocks"], result["median"] > 0) for result in case["results"]] == [([], True)]
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(record))
    capsys.readouterr()
    assert main(["bench", *chosen, "--baseline", str(earlier), "--out", str(tmp_path)]) == 2
    assert "it holds no rounds to compare with; make it without --brief" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (("nump",), 2, "unknown backend 'nump'; did you mean numpy?"),
        (("numpy", "--suite", "speed"), 2, "unknown suite 'speed'; known: overhead, "),
        (("numpy", "--ops", "ad"), 2, "unknown operator 'ad'; did you mean add?"),
        (("numpy", "--sizes", "1.5"), 2, "size '1.5' is not a whole number from 1 to 1000000000"),
        (("numpy", "--sizes", "1e12"), 2, "size '1e12' is not"),
        (("numpy", "--sizes", "nan"), 2, "size 'nan' is not"),
        (("numpy", "--budget", "long"), 2, "unknown budget 'long'; known: quick, standard"),
        (("numpy", "--clock", "sun"), 2, "unknown clock 'sun'; known: wall, cpu"),
        (("numpy", "--format", "pdf"), 2, "unknown format 'pdf'; known: terminal, markdown, json"),
        (("numpy", "--against", "torch"), 2, "unknown backend to compare with 'torch'"),
        (("numpy", "--suite", "growth", "--ops", "conv2d", "--sizes", "16"), 2, "no case is left"),
        (("numpy", "--suite", "grid"), 2, "suite 'grid' compares two backends, 1 given"),
        (("numpy", "reference", "--suite", "grid", "memory"), 2, "suite 'grid' runs alone"),
        (("numpy", "--baseline", "/nowhere/record.json"), 2, "--baseline /nowhere/record.json: cannot be read"),
        (("numpy", "--out", "/proc/nowhere"), 2, "--out /proc/nowhere: cannot be written"),
        ((f"{BACKENDS}:Unloadable",), 3, "cannot be loaded: OSError: no driver"),
        ((f"{BACKENDS}:Absent",), 3, "cannot be loaded: AttributeError"),
    ],
)
def test_bad_input_takes_one_line(
    arguments: tuple[str, ...], status: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = () if "--out" in arguments else ("--out", str(tmp_path))
    assert main(["bench", *arguments, *out]) == status
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "its schema is 'None', not 'gaugeblock-bench/1'"),
        ('{"schema": "gaugeblock-run/1"}', "its schema is 'gaugeblock-run/1'"),
        ('{"schema": "gaugeblock-bench/1"}', "not a record of gaugeblock-bench/1: KeyError"),
    ],
)
def test_a_baseline_that_is_none(
    content: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = tmp_path / "earlier.json"
    earlier.write_text(content)
    assert main(["bench", "numpy", "--baseline", str(earlier), "--out", str(tmp_path)]) == 2
    assert text in capsys.readouterr().err


def test_the_grid_is_printed_with_its_explanations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["bench", "reference", "reference", "--suite", "grid", "--ops", "add", "--sizes", "16",
                   "--budget", "quick"])  # fmt: skip
    assert status in (0, 1)
    assert "geometric mean of ratios" in capsys.readouterr().out
