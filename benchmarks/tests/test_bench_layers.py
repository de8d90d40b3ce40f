"""The suite of layers: costs as differences of steps, and their instructions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gaugeblock_benchmarks.bench import instructions, tables
from gaugeblock_benchmarks.bench.layers import EMPTY, INTO, NEW, NOTHING, RECORDED, STEPS, costs, layer_task
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.command import main
from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[2] / "reports" / "gaugeblock_reports" / "bench_record.schema.json"


def test_layers_are_differences_of_steps() -> None:
    found = costs({NOTHING: 1.0, EMPTY: 4.0, INTO: 4.5, NEW: 6.5, RECORDED: None})
    assert [cost for _, cost in found] == [1.0, 3.0, 0.5, 2.0, None]


def test_recording_needs_autograd() -> None:
    with pytest.raises(Unsupported, match="autograd"):
        layer_task(RECORDED).prepare(NumpyBackend())


def test_the_command_prints_the_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--suite", "layers", "--budget", "quick", "--clock", "cpu", "--out", str(tmp_path)]
    assert main(["bench", "reference", "numpy", *chosen]) == 0
    record = json.loads((tmp_path / "record.json").read_text())
    assert [case["operator"] for case in record["cases"]] == [*STEPS]
    assert "record for backward" in capsys.readouterr().out
    for case, count in zip(record["cases"], (100.0, 700.0, 900.0, 1000.0, 4000.0), strict=True):
        case["results"][0]["instructions"] = count
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(record)
    shown = tables.report(record, "simple")
    row = next(line for line in shown.splitlines() if line.startswith("record for backward"))
    assert "3,000" in row


def test_instructions_of_other_suites_are_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "numpy", "--suite", "overhead", "--instructions"]) == 2
    assert "layers" in capsys.readouterr().err


def test_without_valgrind_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(instructions, "available", lambda: False)
    assert main(["bench", "numpy", "--suite", "layers", "--instructions"]) == 2
    assert "valgrind" in capsys.readouterr().err


@pytest.mark.skipif(not instructions.available(), reason="callgrind is not installed")
def test_instructions_are_counted_by_callgrind() -> None:
    found = instructions.count("numpy")
    assert set(found) == {NOTHING, NEW}
    assert 10 < found[NOTHING] < found[NEW] < 100_000
